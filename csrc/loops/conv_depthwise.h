// Depthwise convolutions: each channel has a kernel of its own. Images lie channels last.
#pragma once

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

// `weights` are (taps, channels). The Conv's dimensions are moved to the end.
struct DepthwiseKernels {
  // Rows `begin` to `end` of all images' results. Line i of an image lies at line i & ring of x: all ones, unless only
  // the last lines of one image are there.
  void (*forward)(const Conv& c, const float* x, int64_t ring, const float* weights, Ending ending, float* y,
                  int64_t begin, int64_t end);
  // The gradient of one image, for `channels` channels from `first` on.
  void (*input)(const Conv& c, const float* g, const float* weights, float* dx, int64_t first, int64_t channels);
  // The gradient of the kernels of these channels, summed over all images.
  void (*weight)(const Conv& c, const float* x, const float* g, float* dweights, int64_t first, int64_t channels);
};

WEFT_DECLARE_KERNELS(DepthwiseKernels, depthwise_kernels)

// Kernels as (taps, channels), taken from `packed`, or made and left there.
class DepthwiseWeights;
std::shared_ptr<DepthwiseWeights> depthwise_weights(const Conv& c, const float* w,
                                                    std::shared_ptr<PackedKernel>* packed);
const float* numbers_of(const DepthwiseWeights& weights);

}  // namespace weft
