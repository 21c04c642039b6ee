// Depthwise convolutions: each channel has a kernel of its own. Images lie channels last.
#pragma once

#include "loops/conv.h"
#include "loops/isa.h"

namespace weft {

// `weights` are (taps, channels). The Conv's dimensions are moved to the end.
struct DepthwiseKernels {
  // Rows `begin` to `end` of all images' results.
  void (*forward)(const Conv& c, const float* x, const float* weights, Ending ending, float* y, int64_t begin,
                  int64_t end);
  // The gradient of one image, for `channels` channels from `first` on.
  void (*input)(const Conv& c, const float* g, const float* weights, float* dx, int64_t first, int64_t channels);
  // The gradient of the kernels of these channels, summed over all images.
  void (*weight)(const Conv& c, const float* x, const float* g, float* dweights, int64_t first, int64_t channels);
};

WEFT_DECLARE_KERNELS(DepthwiseKernels, depthwise_kernels)

}  // namespace weft
