// Convolutions with kernels of 3x3 by Winograd's algorithm (docs/notes/winograd.md): fewer products for several places
// of the result at once.
#pragma once

#include <cstdint>

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

constexpr int64_t kWinogradTaps = 9;
constexpr int kWinogradMost = 6;  // pixels, or points, along one side of a tile

// A tile makes `makes` x `makes` places of the result from `side` x `side` pixels, by as many points, one product each.
// Images lie channels last. The points of a tile lie `apart` numbers from each other, the channels of one side by side.
struct Winograd {
  int makes, side;
  // The rows [first, first + count) of points, of pixels or, for the gradient of a kernel, of places. `count` divides
  // `side`, and `first`.
  void (*read_pixels)(const float* const* pixels, int64_t channels, int first, int count, float* points, int64_t apart);
  void (*read_places)(const float* const* places, int64_t channels, int first, int count, float* points, int64_t apart);
  // Places from points.
  void (*write_places)(const float* points, int64_t apart, int64_t channels, Ending end, float* const* places);
  // The points of `count` kernels, whose 9 taps lie one behind the other, or from the last to the first; and back.
  void (*read_taps)(const float* taps, int64_t count, bool turned, float* points, int64_t apart);
  void (*write_taps)(const float* points, int64_t apart, int64_t count, float* taps);

  int points() const { return side * side; }
};

struct WinogradKernels {
  Winograd by_two, by_four;  // places along one side
};

WEFT_DECLARE_KERNELS(WinogradKernels, winograd_kernels)

}  // namespace weft
