// Convolutions of few channels, with as many images side by side as a vector has lanes: however few the channels are,
// no lane is idle. Joined, an image is what it is channels last, with a vector for each number.
#pragma once

#include <cstdint>

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

// One line of the result, and the image it is made from. Lengths are in vectors, and so is where things lie.
struct JoinedLine {
  int64_t places, out;
  int64_t step;               // from the window of one place to that of the next
  int64_t before, within;     // of the image's line: zeros at its left edge, and where those at its right edge begin
  int64_t runs, length;       // a window is `runs` stretches of the image
  const int64_t* run_begin;   // where each of them lies for the first place
  const int64_t* run_number;  // which one of the kernel it is
};

// Some lines of the result, and one stretch of each of their windows.
struct JoinedLines {
  int64_t lines, line_step;
  int64_t places, out, step, length;
};

struct JoinedKernels {
  int64_t lanes;
  // n numbers of each of `count` images, which are `step` apart, into (n, lanes); lanes without an image are zero.
  void (*join)(const float* images, int64_t step, int64_t count, int64_t n, float* joined);
  // The way back.
  void (*part)(const float* joined, int64_t n, int64_t count, float* images, int64_t step);
  // y (places, out) from weights (all runs, length, out), which are plain numbers.
  void (*forward)(const JoinedLine& line, const float* x, const float* weights, Ending end, float* y);
  // Adds the products of x and g (lines, places, out) to sums (length, out), which are vectors.
  void (*weight)(const JoinedLines& lines, const float* x, const float* g, float* sums);
  // The sum of the lanes of each of n vectors, n a multiple of 4.
  void (*add_lanes)(const float* sums, int64_t n, float* to);
};

WEFT_DECLARE_KERNELS(JoinedKernels, joined_kernels)

}  // namespace weft
