#include "loops/conv_direct.h"

#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using S = Simd<float>;
constexpr int kVectors = int(kDirectChannels) / S::W;
constexpr int kPlaces = 14 / kVectors;  // side by side, in registers

// R places of one line.
template <int R>
void places(const DirectImage& d, const float* x, const float* weights, Ending end, float* y) {
  S::Vec sum[R][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    int64_t lanes = d.out - v * S::W < 0 ? 0 : d.out - v * S::W < S::W ? d.out - v * S::W : S::W;
    S::Vec first = end.bias && lanes > 0 ? S::load(end.bias + v * S::W, lanes) : S::Vec{};
    for (int r = 0; r < R; ++r) sum[r][v] = first;
  }
  const int64_t step = d.step, count = d.count;
  const float* third[(R + 2) / 3];  // place 3q + r is at third[q] + r * step: few enough pointers for the registers
  for (int q = 0; q < (R + 2) / 3; ++q) third[q] = x + 3 * q * step;
  for (int64_t k = 0; k < count; ++k, weights += kDirectChannels) {
    const int64_t at = d.offsets[k];
    S::Vec wv[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) wv[v] = S::load(weights + v * S::W);
#pragma GCC unroll 14
    for (int r = 0; r < R; ++r) {
      S::Vec xr = S::splat(third[r / 3][r % 3 * step + at]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = S::fma(xr, wv[v], sum[r][v]);
    }
  }
  if (end.bounds) {
    for (auto& row : sum)
      for (S::Vec& v : row) v = S::within(v, end.bounds);
  }
  // Whole vectors are written as long as there is room: what is too much is written over by the next place.
#pragma GCC unroll 14
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      int64_t room = (R - r) * d.out - v * S::W;
      if (room >= S::W)
        S::store(y + r * d.out + v * S::W, sum[r][v]);
      else if (room > 0)
        S::store(y + r * d.out + v * S::W, sum[r][v], room);
    }
}

using Places = void (*)(const DirectImage&, const float*, const float*, Ending, float*);

template <int... R>
constexpr Places places_of(int count, std::integer_sequence<int, R...>) {
  constexpr Places table[] = {places<R + 1>...};
  return table[count - 1];
}

void forward(const DirectImage& d, const float* x, const float* weights, Ending end, float* y) {
  for (int64_t l = 0; l < d.lines; ++l)
    for (int64_t p = 0; p < d.places;) {
      // Parts of the same length, as far as that goes.
      int64_t parts = (d.places - p + kPlaces - 1) / kPlaces, count = (d.places - p + parts - 1) / parts;
      places_of(int(count), std::make_integer_sequence<int, kPlaces>())(d, x + d.line_begin[l] + p * d.step, weights,
                                                                        end, y + (l * d.places + p) * d.out);
      p += count;
    }
}

}  // namespace

extern const DirectKernels direct_kernels_table;
const DirectKernels direct_kernels_table{forward};

}  // namespace weft::WEFT_ISA
