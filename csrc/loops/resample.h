// Separable linear maps of the last one to three dimensions: resizing, averages over adaptive windows, padding by
// elements of the image, and the adjoints of these.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// One axis: element o of the result is the sum of weight[k] * x[index[k]] for k in [begin[o], end[o]), divided by
// count[o] if there are counts. Without an index, these are windows: the sum of x[k].
struct ResampleAxis {
  int64_t in = 1, out = 1;
  const int32_t* begin = nullptr;
  const int32_t* end = nullptr;
  const int32_t* index = nullptr;
  const double* weight = nullptr;
  const double* count = nullptr;
  int64_t terms = 1;  // of all sums
  // The tables are those of the adjoint: x[o] goes to the elements that they name. For the last axis only.
  bool scatters = false;

  int64_t at(int64_t k) const { return index ? index[k] : k; }
  double by(int64_t k) const { return index ? weight[k] : 1.0; }
};

struct ResampleKernels {
  // Planes of `channels` interleaved numbers each (1: channels first), float or double.
  void (*sum)(DType type, const ResampleAxis* axes, int64_t planes, int64_t channels, const void* x, void* y);
  // The same where each sum is one element with weight 1: elements of `item` bytes are moved.
  void (*pick)(int64_t item, const ResampleAxis* axes, int64_t planes, int64_t channels, const void* x, void* y);
};

WEFT_DECLARE_KERNELS(ResampleKernels, resample_kernels)

}  // namespace weft
