// Distances between all rows of two matrices, and their derivatives. float and double.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct DistanceKernels {
  // out[b, i, j] = (sum over k of |x[b, i, k] - y[b, j, k]|^p)^(1/p); p = 0 counts differences, p = inf takes the
  // largest.
  void (*between)(DType type, int64_t batch, int64_t m, int64_t n, int64_t k, double p, const void* x, const void* y,
                  void* out);
  // dx[b, i, k]: the derivative by x, given that of the distances and the distances.
  void (*back)(DType type, int64_t batch, int64_t m, int64_t n, int64_t k, double p, const void* g, const void* x,
               const void* y, const void* distances, void* dx);
};

WEFT_DECLARE_KERNELS(DistanceKernels, distance_kernels)

}  // namespace weft
