// Convolutions to few channels of images with few, channels last: windows are too short to be laid out, so they are
// read where they lie, and all channels of the result are one vector.
#pragma once

#include <cstdint>

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

constexpr int64_t kDirectChannels = 16;  // at most

// One image with its edges around it.
struct DirectImage {
  int64_t lines, places;      // of the result: all dimensions but the last, and the last
  const int64_t* line_begin;  // where the first window of each line begins
  int64_t step;               // from the window of one place to that of the next
  int64_t count;              // numbers in a window
  const int64_t* offsets;     // where each of them lies, counted from where the window begins
  int64_t out;
};

struct DirectKernels {
  // weights: (count, kDirectChannels), filled up with zeros.
  void (*forward)(const DirectImage& d, const float* x, const float* weights, Ending end, float* y);
};

WEFT_DECLARE_KERNELS(DirectKernels, direct_kernels)

}  // namespace weft
