#pragma once
#include "ops/api.h"

namespace weft {

// out = alpha op(x) op(y) + beta out. out is contiguous, its batch is the broadcast of theirs.
void multiply(const Tensor& x, bool trans_x, const Tensor& y, bool trans_y, const Tensor& out, double alpha = 1,
              double beta = 0);

// The derivative by each factor takes the other one.
inline uint32_t product_keeps(const Op&, uint32_t wanting) {
  return (wanting & 1 ? uint32_t(keep::x1) : 0) | (wanting & 2 ? uint32_t(keep::x0) : 0);
}

}  // namespace weft
