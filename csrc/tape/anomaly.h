// detect_anomaly and debug.nan_origin: where NaN came from, and with which values.
#pragma once

#include "ops/op.h"

namespace weft {

// weft.debug.nan_origin, of a thread.
extern constinit thread_local bool t_keeps_inputs;   // nodes keep also the inputs that want no gradient: see record.cpp
extern constinit thread_local bool t_checks_leaves;  // backward looks at the gradients of leaves: see backward.cpp
extern constinit thread_local bool t_found_infinite;  // it met one that is not finite
bool all_finite(const Tensor& t);

void note_ranges(OpNode& n, Call& c);  // of what goes in, should the derivative give NaN
// Fails if a gradient that the node gave, from those it was given, holds NaN.
void check_nan(Node& n, const Grads& results, const Grads& given);

}  // namespace weft
