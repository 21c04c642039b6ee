// detect_anomaly: where NaN came from, and with which values.
#pragma once

#include "ops/op.h"

namespace weft {

void note_ranges(OpNode& n, Call& c);  // of what goes in, should the derivative give NaN
// Fails if a gradient that the node gave, from those it was given, holds NaN.
void check_nan(Node& n, const Grads& results, const Grads& given);

}  // namespace weft
