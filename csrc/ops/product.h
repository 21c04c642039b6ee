#pragma once
#include "ops/api.h"

namespace weft {

// out = alpha op(x) op(y) + beta out. out is contiguous, its batch is the broadcast of theirs.
void multiply(const Tensor& x, bool trans_x, const Tensor& y, bool trans_y, const Tensor& out, double alpha = 1,
              double beta = 0);

}  // namespace weft
