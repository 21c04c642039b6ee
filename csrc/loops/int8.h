// Products of bytes: activations (0 to 255) times weights (-128 to 127), summed in int32, and what makes floats of the
// sums. Exact on every machine, however it multiplies.
#pragma once

#include <cstdint>

#include "loops/conv.h"
#include "loops/isa.h"

namespace weft {

constexpr int64_t kInt8Step = 64;        // rows of both factors are filled up to a multiple of this with zeros
constexpr int64_t kInt8Deepest = 65536;  // products whose sum an int32 is sure to hold

inline int64_t int8_row(int64_t k) { return (k + kInt8Step - 1) / kInt8Step * kInt8Step; }

// Numbers that bytes stand for: (byte - zero) * scale.
struct ByteGrid {
  float scale = 0;  // 0: none
  int32_t zero = 0;
};

// The grid whose bytes go from low to high, and on which zero is; one of NaN where there is none, since a bound is not
// finite.
ByteGrid grid_between(float low, float high);

// y = (a - zero) wᵀ scale + bias: rows of bytes times rows of weights. Then, where asked, no longer negative, and
// rounded to `rounded`.
struct Int8Product {
  int64_t m, n, k;  // k: a multiple of kInt8Step
  const uint8_t* a;
  const int8_t* w;
  const float* scale;    // n
  const int32_t* shift;  // n: zero times the sum of a row of w
  const float* bias;     // n, or null
  float* y;              // rows ldy apart
  int64_t ldy;
  bool relu;
  ByteGrid rounded;
};

struct Int8Kernels {
  void (*range)(const float* x, int64_t n, float* low, float* high);  // NaN where an x is not finite
  void (*quantize)(const float* x, int64_t n, ByteGrid grid, uint8_t* bytes);
  void (*round)(const float* x, int64_t n, ByteGrid grid, float* y);  // to the numbers of the grid
  void (*multiply)(const Int8Product& p);
};

WEFT_DECLARE_KERNELS(Int8Kernels, int8_kernels)

// The same over all threads.
ByteGrid grid_of(const float* x, int64_t n);
// m rows of k numbers to rows of `row` bytes, filled up with zeros.
void int8_quantize(const float* x, int64_t m, int64_t k, ByteGrid grid, uint8_t* bytes, int64_t row);
void int8_multiply(const Int8Product& p);

// A convolution of an image of bytes, channels last. `p` holds what is not the image's: w has rows of
// int8_row(taps * channels of a group), each (taps, channels).
void int8_convolve(const Conv& c, const uint8_t* image, int32_t zero, const Int8Product& p);

}  // namespace weft
