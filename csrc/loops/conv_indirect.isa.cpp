#include "loops/conv_indirect.h"

#include <cstring>

#include "loops/transpose.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using S = Simd<float>;
using Vec = S::Vec;

// A tile of the result is rows_of(V) x V vectors, held in registers while taps and channels run: V up to kVectors, or
// kMost where columns come to that.
#if defined(__AVX512F__)
constexpr int kVectors = 3, kMost = 4;
constexpr int rows_of(int vectors) { return vectors == kMost ? 6 : 8; }
#elif defined(__AVX2__)
constexpr int kVectors = 3, kMost = 3;
constexpr int rows_of(int) { return 4; }
#else
constexpr int kVectors = 2, kMost = 2;
constexpr int rows_of(int) { return 4; }
#endif

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

inline const float* added_to(const Finish& how, const float* y) {
  return reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(y) + uintptr_t(how.apart));
}

// Four vectors at the end are one tile, else two and two, since tiles of three and one would take longer.
int64_t sliver(int64_t columns, int64_t begin) {
  int64_t left = columns - begin, vectors = (left + S::W - 1) / S::W;
  if (kVectors == 3 && vectors == 4) return kMost == 4 ? left : 2 * S::W;
  return least(left, (columns % (kMost * S::W) ? kVectors : kMost) * S::W);
}

int64_t filled(int64_t columns) { return (columns + S::W - 1) / S::W * S::W; }

void pack(const float* from, int64_t apart, int64_t columns, int64_t count, const int64_t* row, float* to) {
  constexpr int64_t kAtOnce = 64;
  int64_t lanes = filled(columns);
  alignas(64) float space[kAtOnce * kMost * S::W];
  if (lanes != columns) std::memset(space, 0, sizeof space);
  for (int64_t q = 0; q < count; q += kAtOnce) {
    int64_t some = least(kAtOnce, count - q);
    transpose_block(from + q, apart, space, lanes, some, columns);
    for (int64_t i = 0; i < some; ++i)
      std::memcpy(to + row[q + i] * lanes, space + i * lanes, size_t(lanes) * sizeof(float));
  }
}

// Calls f(constant) for a number of vectors.
template <class F>
inline void by_vectors(int64_t vectors, const F& f) {
  if (vectors == 1)
    f(std::integral_constant<int, 1>());
  else if (vectors == 2)
    f(std::integral_constant<int, 2>());
  else if (vectors == kVectors)
    f(std::integral_constant<int, kVectors>());
  else
    f(std::integral_constant<int, kMost>());
}

struct Job {
  const IndirectRows& rows;
  int64_t offset, depth, to;
  const float* packed;
  const float* bias;
  bool adds;
  Bounds bounds;
  Finish finish;
  float* const* result;
  int64_t last;  // lanes of the last vector
};

// R places from `first` on, V vectors of columns.
template <int R, int V>
void tile(const Job& t, int64_t first) {
  Vec sum[R][V] = {};
  const int64_t depth = t.depth;
  for (int64_t tap = 0; tap < t.rows.taps; ++tap) {
    const float *a[R], *b = t.packed + t.rows.numbers[tap] * depth * V * S::W;
    bool reads = false;
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      a[i] = t.rows.at[tap * t.rows.places + first + i];
      reads |= a[i] != t.rows.zeros;
      a[i] += t.offset;
    }
    if (!reads) continue;
#pragma GCC unroll 2
    for (int64_t k = 0; k < depth; ++k, b += V * S::W) {
      Vec bv[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) bv[v] = S::load(b + v * S::W);
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) {
        Vec ai = S::splat(a[i][k]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[i][v] = S::fma(ai, bv[v], sum[i][v]);
      }
    }
  }
  const int64_t last = t.last;
  const bool joins = t.finish.adds && !t.finish.loop;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    float* y = t.result[first + i] + t.to;
    const float* plus = added_to(t.finish, y);
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      auto load = [&](const float* p) { return v < V - 1 ? S::load(p) : S::load(p, last); };
      Vec made = sum[i][v];
      if (t.adds) made = load(y + v * S::W) + made;
      if (t.bias) made = made + load(t.bias + v * S::W);
      made = S::within(made, t.bounds);
      if (joins) made = S::within(made + load(plus + v * S::W), t.finish.bounds);
      v < V - 1 ? S::store(y + v * S::W, made) : S::store(y + v * S::W, made, last);
    }
  }
}

template <int V>
void tiles(const Job& t) {
  constexpr int R = rows_of(V);
  int64_t i = 0;
  for (; i + R <= t.rows.places; i += R) tile<R, V>(t, i);
  if (R > 4 && i + 4 <= t.rows.places) tile<4, V>(t, i), i += 4;
  if (i + 2 <= t.rows.places) tile<2, V>(t, i), i += 2;
  if (i < t.rows.places) tile<1, V>(t, i);
}

void multiply(const IndirectRows& rows, int64_t offset, const IndirectKernel& kernel, bool adds, Ending end,
              float* const* result, int64_t to) {
  const float* packed = kernel.packed;
  for (int64_t j = 0; j < kernel.columns;) {
    int64_t width = sliver(kernel.columns, j), lanes = filled(width);
    Job t{
      rows,       offset, kernel.depth,          to + j, packed, end.bias ? end.bias + j : nullptr, adds, end.bounds,
      end.finish, result, S::W - (lanes - width)};
    by_vectors(lanes / S::W, [&](auto vectors) { tiles<vectors>(t); });
    packed += kernel.taps * kernel.depth * lanes;
    j += width;
  }
}

// ---- outer products ----

struct Outer {
  int64_t places;
  const float* const* at;
  int64_t offset;
  const float* g;
  int64_t ldg;
  float* sums;
  int64_t lds, last;
};

template <int R, int V>
void outer_tile(const Outer& o) {
  Vec sum[R][V] = {};
  const float* g = o.g;
  for (int64_t p = 0; p < o.places; ++p, g += o.ldg) {
    const float* x = o.at[p] + o.offset;
    Vec xv[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) xv[v] = v < V - 1 ? S::load(x + v * S::W) : S::load(x + v * S::W, o.last);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      Vec gi = S::splat(g[i]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[i][v] = S::fma(gi, xv[v], sum[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      float* at = o.sums + i * o.lds + v * S::W;
      if (v < V - 1)
        S::store(at, S::load(at) + sum[i][v]);
      else
        S::store(at, S::load(at, o.last) + sum[i][v], o.last);
    }
}

template <int V>
void outer_tiles(Outer o, int64_t columns) {
  auto next = [&](int rows) { o.g += rows, o.sums += rows * o.lds, columns -= rows; };
  constexpr int R = rows_of(V);
  for (; columns >= R; next(R)) outer_tile<R, V>(o);
  if (R > 4 && columns >= 4) outer_tile<4, V>(o), next(4);
  if (columns >= 2) outer_tile<2, V>(o), next(2);
  if (columns) outer_tile<1, V>(o);
}

void add_outer(int64_t places, const float* const* at, int64_t offset, int64_t depth, const float* g, int64_t ldg,
               int64_t columns, float* sums, int64_t lds) {
  for (int64_t j = 0; j < depth;) {
    int64_t width = sliver(depth, j), lanes = filled(width);
    Outer o{places, at, offset + j, g, ldg, sums + j, lds, S::W - (lanes - width)};
    by_vectors(lanes / S::W, [&](auto vectors) { outer_tiles<vectors>(o, columns); });
    j += width;
  }
}

// ---- small groups ----

bool small(int64_t n) { return (n == 2 || n == 4 || n == 8) && n < S::W; }

// In each group of D lanes, lane I everywhere.
template <int D, int I, size_t... L>
inline Vec spread(Vec x, std::index_sequence<L...>) {
  return __builtin_shufflevector(x, x, (L / D * D + I)...);
}
template <int D, int I>
inline Vec spread(Vec x) {
  return spread<D, I>(x, std::make_index_sequence<S::W>());
}

// Calls f(integral constant) for 0 to D - 1.
template <class F, int... I>
inline void each(const F& f, std::integer_sequence<int, I...>) {
  (f(std::integral_constant<int, I>()), ...);
}

template <int R, int D>
void small_tile(const IndirectRows& rows, int64_t first, int64_t channel, const float* packed, Ending end,
                float* const* result) {
  Vec sum[R] = {};
  for (int64_t tap = 0; tap < rows.taps; ++tap) {
    const float* const* at = rows.at + tap * rows.places + first;
    const float* w = packed + rows.numbers[tap] * D * S::W;
    Vec x[R];
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) x[i] = S::load(at[i] + channel);
    each(
        [&](auto k) {
          Vec wk = S::load(w + k * S::W);
#pragma GCC unroll 8
          for (int i = 0; i < R; ++i) sum[i] = S::fma(spread<D, k>(x[i]), wk, sum[i]);
        },
        std::make_integer_sequence<int, D>());
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    Vec made = S::within(end.bias ? sum[i] + S::load(end.bias + channel) : sum[i], end.bounds);
    float* y = result[first + i] + channel;
    if (end.finish.adds && !end.finish.loop)
      made = S::within(made + S::load(added_to(end.finish, y)), end.finish.bounds);
    S::store(y, made);
  }
}

template <int D>
void small_tiles(const IndirectRows& rows, const IndirectKernel& k, Ending end, float* const* result) {
  const float* packed = k.packed;
  for (int64_t c = 0; c < k.columns; c += S::W, packed += k.taps * D * S::W) {
    int64_t i = 0;
    for (; i + 8 <= rows.places; i += 8) small_tile<8, D>(rows, i, c, packed, end, result);
    if (i + 4 <= rows.places) small_tile<4, D>(rows, i, c, packed, end, result), i += 4;
    for (; i < rows.places; ++i) small_tile<1, D>(rows, i, c, packed, end, result);
  }
}

void multiply_small(const IndirectRows& rows, const IndirectKernel& k, Ending end, float* const* result) {
  if (k.depth == 2) return small_tiles<2>(rows, k, end, result);
  if (k.depth == 4) return small_tiles<4>(rows, k, end, result);
  small_tiles<8>(rows, k, end, result);
}

// V vectors of channels.
template <int V, int D>
void small_outer(int64_t places, const float* const* at, int64_t channel, const float* g, int64_t channels,
                 float* sums) {
  Vec sum[V][D] = {};
  g += channel;
  for (int64_t p = 0; p < places; ++p, g += channels) {
    const float* x = at[p] + channel;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      Vec xv = S::load(x + v * S::W), gv = S::load(g + v * S::W);
      each([&](auto k) { sum[v][k] = S::fma(spread<D, k>(xv), gv, sum[v][k]); }, std::make_integer_sequence<int, D>());
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v)
    each(
        [&](auto k) {
          float* to = sums + ((channel / S::W + v) * D + k) * S::W;
          S::store(to, S::load(to) + sum[v][k]);
        },
        std::make_integer_sequence<int, D>());
}

template <int D>
void small_outers(int64_t places, const float* const* at, const float* g, int64_t channels, float* sums) {
  constexpr int V = 16 / D < 4 ? 16 / D : 4;
  int64_t c = 0;
  for (; c + V * S::W <= channels; c += V * S::W) small_outer<V, D>(places, at, c, g, channels, sums);
  for (; c < channels; c += S::W) small_outer<1, D>(places, at, c, g, channels, sums);
}

void add_outer_small(int64_t places, const float* const* at, int64_t depth, const float* g, int64_t channels,
                     float* sums) {
  if (depth == 2) return small_outers<2>(places, at, g, channels, sums);
  if (depth == 4) return small_outers<4>(places, at, g, channels, sums);
  small_outers<8>(places, at, g, channels, sums);
}

}  // namespace

extern const IndirectKernels indirect_kernels_table;
const IndirectKernels indirect_kernels_table{sliver,         filled,          pack,     multiply, S::W, small,
                                             multiply_small, add_outer_small, add_outer};

}  // namespace weft::WEFT_ISA
