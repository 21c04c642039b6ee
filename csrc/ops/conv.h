// The shape rule that ops with windows share.
#pragma once

#include "loops/conv.h"
#include "ops/op.h"

namespace weft {

// From the shapes of input and kernel, and the arguments from number `at` on: stride, padding, dilation, groups.
Conv conv_of(Call& c, const Dims& x, const Dims& w, int at);
Dims result_sizes(const Conv& v);

}  // namespace weft
