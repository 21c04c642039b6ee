// Outer products that are added to a matrix. float and double.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct OuterKernels {
  // out[i, j] = from[i, j] + x[i] y[j], without gaps; out may be from.
  void (*add)(DType type, int64_t rows, int64_t columns, const void* from, const void* x, const void* y, void* out);
};

WEFT_DECLARE_KERNELS(OuterKernels, outer_kernels)

}  // namespace weft
