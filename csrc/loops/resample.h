// Separable linear maps of the last one to three dimensions: resizing, averages over adaptive windows, padding by
// elements of the image, and the adjoints of these.
#pragma once

#include "core/dtype.h"
#include "loops/isa.h"

namespace weft {

// One axis: element o of the result is the sum of weight[k] * x[index[k]] for k in [begin[o], begin[o + 1]), divided
// by count[o] if there are counts.
struct ResampleAxis {
  int64_t in = 1, out = 1;
  const int32_t* begin = nullptr;
  const int32_t* index = nullptr;
  const double* weight = nullptr;
  const double* count = nullptr;
};

struct ResampleKernels {
  // Planes of `channels` interleaved numbers each (1: channels first), float or double.
  void (*sum)(DType type, const ResampleAxis* axes, int64_t planes, int64_t channels, const void* x, void* y);
  // The same where each sum is one element with weight 1: elements of `item` bytes are moved.
  void (*pick)(int64_t item, const ResampleAxis* axes, int64_t planes, int64_t channels, const void* x, void* y);
};

WEFT_DECLARE_KERNELS(ResampleKernels, resample_kernels)

}  // namespace weft
