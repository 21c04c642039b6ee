#include "loops/conv_winograd.h"

#include "simd/simd.h"

// Y = A^T [(G g G^T) * (B^T d B)] A for a tile d of pixels and a kernel g of taps. Here are the matrices along one
// side; docs/notes/winograd.md says where they come from.
namespace weft::WEFT_ISA {
namespace {

using S = Simd<float>;
using Vec = S::Vec;

inline Vec fma(float a, Vec b, Vec c) { return S::fma(S::splat(a), b, c); }

// Two places: the points 0, 1, -1 and infinity.
struct Two {
  static constexpr int makes = 2, side = 4;
  static void pixels(const Vec* d, Vec* t) {  // B^T
    t[0] = d[0] - d[2], t[1] = d[1] + d[2], t[2] = d[2] - d[1], t[3] = d[1] - d[3];
  }
  static void places(const Vec* y, Vec* t) {  // A
    t[0] = y[0], t[1] = y[0] + y[1], t[2] = y[0] - y[1], t[3] = -y[1];
  }
  static void results(const Vec* m, Vec* y) {  // A^T
    y[0] = m[0] + m[1] + m[2], y[1] = m[1] - m[2] - m[3];
  }
  static void taps(const Vec* g, Vec* t) {  // G
    Vec sum = (g[0] + g[2]) * 0.5f, half = g[1] * 0.5f;
    t[0] = g[0], t[1] = sum + half, t[2] = sum - half, t[3] = g[2];
  }
  static void gradients(const Vec* t, Vec* g) {  // G^T
    Vec sum = (t[1] + t[2]) * 0.5f;
    g[0] = t[0] + sum, g[1] = (t[1] - t[2]) * 0.5f, g[2] = sum + t[3];
  }
};

// Four places: the points 0, a, -a, b, -b and infinity.
struct Four {
  static constexpr int makes = 4, side = 6;
  static constexpr float a = 0.625f, b = 1.5f, aa = a * a, bb = b * b, aabb = aa * bb, both = aa + bb;
  static constexpr float of_0 = 1 / aabb, of_a = 1 / (2 * aa * (aa - bb)), of_b = 1 / (2 * bb * (bb - aa));

  static void pixels(const Vec* d, Vec* t) {
    t[0] = fma(aabb, d[0], fma(-both, d[2], d[4]));
    Vec even = fma(-bb, d[2], d[4]), odd = fma(-bb, d[1], d[3]);
    t[1] = fma(a, odd, even), t[2] = fma(-a, odd, even);
    even = fma(-aa, d[2], d[4]), odd = fma(-aa, d[1], d[3]);
    t[3] = fma(b, odd, even), t[4] = fma(-b, odd, even);
    t[5] = fma(aabb, d[1], fma(-both, d[3], d[5]));
  }
  static void places(const Vec* y, Vec* t) {
    t[0] = y[0];
    Vec even = fma(aa, y[2], y[0]), odd = fma(aa, y[3], y[1]);
    t[1] = fma(a, odd, even), t[2] = fma(-a, odd, even);
    even = fma(bb, y[2], y[0]), odd = fma(bb, y[3], y[1]);
    t[3] = fma(b, odd, even), t[4] = fma(-b, odd, even);
    t[5] = y[3];
  }
  static void results(const Vec* m, Vec* y) {
    Vec sum_a = m[1] + m[2], less_a = (m[1] - m[2]) * a, sum_b = m[3] + m[4], less_b = (m[3] - m[4]) * b;
    y[0] = m[0] + sum_a + sum_b;
    y[1] = less_a + less_b;
    y[2] = fma(aa, sum_a, sum_b * bb);
    y[3] = fma(aa, less_a, fma(bb, less_b, m[5]));
  }
  static void taps(const Vec* g, Vec* t) {
    t[0] = g[0] * of_0;
    Vec even = fma(aa, g[2], g[0]) * of_a;
    t[1] = fma(a * of_a, g[1], even), t[2] = fma(-a * of_a, g[1], even);
    even = fma(bb, g[2], g[0]) * of_b;
    t[3] = fma(b * of_b, g[1], even), t[4] = fma(-b * of_b, g[1], even);
    t[5] = g[2];
  }
  static void gradients(const Vec* t, Vec* g) {
    Vec sum_a = (t[1] + t[2]) * of_a, less_a = (t[1] - t[2]) * of_a;
    Vec sum_b = (t[3] + t[4]) * of_b, less_b = (t[3] - t[4]) * of_b;
    g[0] = fma(of_0, t[0], sum_a + sum_b);
    g[1] = fma(a, less_a, less_b * b);
    g[2] = fma(aa, sum_a, fma(bb, sum_b, t[5]));
  }
};

inline int64_t lanes_of(int64_t left) { return left < S::W ? left : S::W; }
inline Vec load(const float* p, int64_t lanes) { return lanes == S::W ? S::load(p) : S::load(p, lanes); }
inline void store(float* p, Vec v, int64_t lanes) { lanes == S::W ? S::store(p, v) : S::store(p, v, lanes); }

// Some rows of points, of W channels. From: how many numbers along one side are given.
template <class Way, int From, int First, int Count, void Along(const Vec*, Vec*)>
inline void read_vectors(const float* const* given, int64_t c, int64_t lanes, float* points, int64_t apart) {
  constexpr int side = Way::side;
  Vec rows[Count][From];
#pragma GCC unroll 6
  for (int j = 0; j < From; ++j) {
    Vec column[From], all[side];
#pragma GCC unroll 6
    for (int i = 0; i < From; ++i) column[i] = load(given[i * From + j] + c, lanes);
    Along(column, all);
#pragma GCC unroll 6
    for (int r = 0; r < Count; ++r) rows[r][j] = all[First + r];
  }
#pragma GCC unroll 6
  for (int r = 0; r < Count; ++r) {
    Vec all[side];
    Along(rows[r], all);
#pragma GCC unroll 6
    for (int j = 0; j < side; ++j) store(points + (r * side + j) * apart + c, all[j], lanes);
  }
}

template <class Way, int From, int First, int Count, void Along(const Vec*, Vec*)>
void read_rows(const float* const* given, int64_t channels, float* points, int64_t apart) {
  int64_t c = 0;
  for (; c + S::W <= channels; c += S::W) read_vectors<Way, From, First, Count, Along>(given, c, S::W, points, apart);
  if (c < channels) read_vectors<Way, From, First, Count, Along>(given, c, channels - c, points, apart);
}

// Which of them, chosen at run time.
template <class Way, int From, int Count, void Along(const Vec*, Vec*), int First = 0>
void read_from(const float* const* given, int64_t channels, int first, float* points, int64_t apart) {
  if constexpr (First + Count < Way::side)
    if (first > First) return read_from<Way, From, Count, Along, First + Count>(given, channels, first, points, apart);
  read_rows<Way, From, First, Count, Along>(given, channels, points, apart);
}
template <class Way, int From, void Along(const Vec*, Vec*)>
void read(const float* const* given, int64_t channels, int first, int count, float* points, int64_t apart) {
  constexpr int side = Way::side;
  auto by = count == side       ? read_from<Way, From, side, Along>
            : count == side / 2 ? read_from<Way, From, side / 2, Along>
            : count == 2        ? read_from<Way, From, 2, Along>
                                : read_from<Way, From, 1, Along>;
  by(given, channels, first, points, apart);
}

template <class Way>
inline void write_vectors(const float* points, int64_t apart, int64_t c, int64_t lanes, Ending end,
                          float* const* places) {
  constexpr int side = Way::side, makes = Way::makes;
  Vec rows[makes][side];
#pragma GCC unroll 6
  for (int j = 0; j < side; ++j) {
    Vec column[side], all[makes];
#pragma GCC unroll 6
    for (int i = 0; i < side; ++i) column[i] = load(points + (i * side + j) * apart + c, lanes);
    Way::results(column, all);
#pragma GCC unroll 4
    for (int r = 0; r < makes; ++r) rows[r][j] = all[r];
  }
  Vec plus = end.bias ? load(end.bias + c, lanes) : Vec{};
#pragma GCC unroll 4
  for (int r = 0; r < makes; ++r) {
    Vec all[makes];
    Way::results(rows[r], all);
#pragma GCC unroll 4
    for (int j = 0; j < makes; ++j) {
      Vec made = all[j] + plus;
      store(places[r * makes + j] + c, S::within(made, end.bounds), lanes);
    }
  }
}

template <class Way>
void write_places(const float* points, int64_t apart, int64_t channels, Ending end, float* const* places) {
  int64_t c = 0;
  for (; c + S::W <= channels; c += S::W) write_vectors<Way>(points, apart, c, S::W, end, places);
  if (c < channels) write_vectors<Way>(points, apart, c, channels - c, end, places);
}

// The taps of W kernels, tap by tap.
struct Taps {
  alignas(64) float of[kWinogradTaps][S::W];
};

template <class Way>
void read_taps(const float* taps, int64_t count, bool turned, float* points, int64_t apart) {
  constexpr int side = Way::side;
  Taps t{};
  for (int64_t i = 0; i < count; i += S::W) {
    int64_t lanes = lanes_of(count - i);
    for (int64_t l = 0; l < lanes; ++l)
      for (int64_t k = 0; k < kWinogradTaps; ++k)
        t.of[turned ? kWinogradTaps - 1 - k : k][l] = taps[(i + l) * kWinogradTaps + k];
    Vec rows[side][3];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      Vec column[3] = {S::load(t.of[j]), S::load(t.of[3 + j]), S::load(t.of[6 + j])}, all[side];
      Way::taps(column, all);
#pragma GCC unroll 6
      for (int r = 0; r < side; ++r) rows[r][j] = all[r];
    }
#pragma GCC unroll 6
    for (int r = 0; r < side; ++r) {
      Vec all[side];
      Way::taps(rows[r], all);
#pragma GCC unroll 6
      for (int j = 0; j < side; ++j) store(points + (r * side + j) * apart + i, all[j], lanes);
    }
  }
}

template <class Way>
void write_taps(const float* points, int64_t apart, int64_t count, float* taps) {
  constexpr int side = Way::side;
  Taps t;
  for (int64_t i = 0; i < count; i += S::W) {
    int64_t lanes = lanes_of(count - i);
    Vec rows[3][side];
#pragma GCC unroll 6
    for (int j = 0; j < side; ++j) {
      Vec column[side], all[3];
#pragma GCC unroll 6
      for (int r = 0; r < side; ++r) column[r] = load(points + (r * side + j) * apart + i, lanes);
      Way::gradients(column, all);
#pragma GCC unroll 3
      for (int r = 0; r < 3; ++r) rows[r][j] = all[r];
    }
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) {
      Vec all[3];
      Way::gradients(rows[r], all);
      for (int j = 0; j < 3; ++j) S::store(t.of[r * 3 + j], all[j]);
    }
    for (int64_t l = 0; l < lanes; ++l)
      for (int64_t k = 0; k < kWinogradTaps; ++k) taps[(i + l) * kWinogradTaps + k] = t.of[k][l];
  }
}

template <class Way>
constexpr Winograd winograd_of() {
  return {Way::makes,
          Way::side,
          read<Way, Way::side, Way::pixels>,
          read<Way, Way::makes, Way::places>,
          write_places<Way>,
          read_taps<Way>,
          write_taps<Way>};
}

}  // namespace

extern const WinogradKernels winograd_kernels_table;
const WinogradKernels winograd_kernels_table{winograd_of<Two>(), winograd_of<Four>()};

}  // namespace weft::WEFT_ISA
