// Windows of an image, laid out one below the other, and added back to it.
#pragma once

#include <cstdint>

#include "simd/isa.h"

namespace weft {

// n numbers that lie one behind the other in a window and in the image; -1: beyond the image's edge, where zeros are.
struct Run {
  int64_t window, image, n;
};

// Some images and their windows, and how far apart two of each are.
struct Images {
  int64_t count, image_step, window_step;
};

// Images take turns within each run: what is added to one of them need not wait for what was just added beside it.
struct WindowKernels {
  void (*lay_out)(const Run* runs, int64_t count, const Images& all, const float* images, float* windows);
  void (*add_back)(const Run* runs, int64_t count, const Images& all, const float* windows, float* images);
};

WEFT_DECLARE_KERNELS(WindowKernels, window_kernels)

}  // namespace weft
