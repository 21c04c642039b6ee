#include "loops/conv_planes.h"

#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using S = Simd<float>;
#if defined(__AVX512F__)
constexpr int kVectors = 2, kPlaces = 12;  // side by side, in registers
#elif defined(__AVX2__)
constexpr int kVectors = 2, kPlaces = 6;
#else
constexpr int kVectors = 2, kPlaces = 4;
#endif

// R places, V vectors of columns, of which the last has `last` lanes.
template <int R, int V>
void places(const PlaneLine& d, const float* x, const float* weights, const Ending& end, int64_t last, float* y) {
  S::Vec sum[R][V] = {};
  const int64_t step = d.step, count = d.count;
  const float* third[(R + 2) / 3];  // place 3q + r is at third[q] + r * step: few enough pointers for the registers
  for (int q = 0; q < (R + 2) / 3; ++q) third[q] = x + 3 * q * step;
  for (int64_t k = 0; k < count; ++k, weights += kPlaneColumns) {
    const int64_t at = d.offsets[k];
    S::Vec wv[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) wv[v] = S::load(weights + v * S::W);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      S::Vec xr = S::splat(third[r / 3][r % 3 * step + at]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = S::fma(xr, wv[v], sum[r][v]);
    }
  }
  const Ending e = end;
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const int64_t lanes = v < V - 1 ? S::W : last;
      S::Vec made = e.bias ? sum[r][v] + S::load(e.bias + v * S::W, lanes) : sum[r][v];
      S::store(y + r * d.out + v * S::W, S::within(made, e.bounds), lanes);
    }
}

using Places = void (*)(const PlaneLine&, const float*, const float*, const Ending&, int64_t, float*);

template <int V, int... R>
constexpr Places places_of(int64_t count, std::integer_sequence<int, R...>) {
  constexpr Places table[] = {places<R + 1, V>...};
  return table[count - 1];
}

template <int V>
void columns(const PlaneLine& d, const float* x, const float* weights, const Ending& end, int64_t last, float* y) {
  for (int64_t p = 0; p < d.places;) {
    // Parts of the same length, as far as that goes.
    int64_t parts = (d.places - p + kPlaces - 1) / kPlaces, count = (d.places - p + parts - 1) / parts;
    places_of<V>(count, std::make_integer_sequence<int, kPlaces>())(d, x + p * d.step, weights, end, last,
                                                                    y + p * d.out);
    p += count;
  }
}

void line(const PlaneLine& d, const float* x, const float* weights, Ending end, float* y) {
  for (int64_t j = 0; j < d.columns; j += kVectors * S::W) {
    int64_t left = d.columns - j < kVectors * S::W ? d.columns - j : kVectors * S::W;
    int64_t vectors = (left + S::W - 1) / S::W, last = left - (vectors - 1) * S::W;
    (vectors == 1 ? columns<1> : columns<kVectors>)(d, x, weights + j, end.of_channels_from(j), last, y + j);
  }
}

}  // namespace

extern const PlaneKernels plane_kernels_table;
const PlaneKernels plane_kernels_table{line};

}  // namespace weft::WEFT_ISA
