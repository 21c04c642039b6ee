// What the kernels of bytes share: activations made, sums of products of 16 bits, results finished. Only for *.isa.cpp
// files.
#pragma once

#include "loops/gemm_kernels.h"
#include "loops/int8.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {

extern const Int8Tiles int8_tiles;

using Floats = Simd<float>;
using Ints = Simd<int32_t>;

// Adding this number rounds to the nearest whole one, to the even one of two, and leaves it in the lowest bits.
constexpr float kRounder = 12582912.0f;

// NaN becomes the first byte.
template <class T>
void quantize(const float* __restrict x, int64_t n, ByteGrid grid, void* a) {
  T* __restrict to = static_cast<T*>(a);
  const float inverse = 1.0f / grid.scale, lowest = -float(grid.zero), highest = float(grid.most - grid.zero);
  const uint32_t zero = uint32_t(grid.zero);
  for (int64_t i = 0; i < n; ++i) {
    float v = x[i] * inverse;
    v = v > lowest ? v : lowest;
    v = v < highest ? v : highest;
    to[i] = T(__builtin_bit_cast(uint32_t, v + kRounder) + zero);
  }
}

// To the numbers of the grid, or to those that are not negative.
struct Rounding {
  Rounding(ByteGrid grid, bool relu)
      : inverse(1.0f / grid.scale),
        lowest(relu ? 0.0f : -float(grid.zero)),
        highest(float(grid.most - grid.zero)),
        scale(grid.scale) {}
  Floats::Vec operator()(Floats::Vec x) const {
    Floats::Vec v = x * inverse, low = Floats::splat(lowest), high = Floats::splat(highest);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return ((v + kRounder) - kRounder) * scale;
  }
  float inverse, lowest, highest, scale;
};

// Columns [j, j + count) of the result, for one row after the other.
class Finish {
 public:
  Finish(const Int8Product& p, int64_t j, int64_t count) : p_(p), j_(j), count_(count), rounding_(p.rounded, p.relu) {
    whole_ = count == Floats::W;
    factor_ = p.grid.scale * (p.each ? load<Floats>(p.scale + j) : Floats::splat(*p.scale));
    shift_ = p.grid.zero * load<Ints>(p.sums + j);
    if (p.bias) bias_ = load<Floats>(p.bias + j);
  }
  void operator()(Ints::Vec sums, int64_t row) const {
    int64_t at = row * p_.ldy + j_;
    Floats::Vec y = __builtin_convertvector(sums - shift_, Floats::Vec) * factor_;
    if (p_.bias) y += bias_;
    if (p_.added) y = load<Floats>(p_.added + at) + y;
    if (p_.rounded.scale != 0.0f)
      y = rounding_(y);
    else if (p_.relu)
      y = Floats::within(y, kRelu);
    if (whole_)
      Floats::store(p_.y + at, y);
    else
      Floats::store(p_.y + at, y, count_);
  }

 private:
  template <class S, class T>
  typename S::Vec load(const T* from) const {
    return whole_ ? S::load(from) : S::load(from, count_);
  }
  const Int8Product& p_;
  int64_t j_, count_;
  bool whole_;
  Floats::Vec factor_, bias_{};
  Ints::Vec shift_;
  Rounding rounding_;
};

using Shorts = Vec<int16_t>;
typedef int16_t LooseShorts __attribute__((vector_size(kVectorBytes), aligned(2), may_alias));
constexpr int kShorts = kVectorBytes / 2;

}  // namespace weft::WEFT_ISA
