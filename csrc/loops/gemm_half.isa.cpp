#include "loops/gemm_half.h"

#include "loops/convert.h"
#include "loops/transpose.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using Floats = Vec<float>;
constexpr int W = kLanes<float>;

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

inline float sum_of(Floats v) {
  return join_lanes<float>(v, [](auto a, auto b) { return a + b; });
}

template <class F>
inline void visit_half(DType type, const F& f) {
  type == DType::Half ? f(Half{}) : f(BFloat16{});
}

// ---- inner products ----

// How a vector of a half type is multiplied: widened to floats...
template <class H>
struct Widened {
  using V = Floats;
  static constexpr int64_t step = W;
  static V load(const H* p) { return load_floats(p); }
  static V load(const H* p, int64_t n) { return load_some_floats(p, n, 0.0f); }
  static void add(Floats& sum, V a, V b) { sum = multiply_add(a, b, sum); }
};

#if WEFT_SIMD_BFLOAT_PAIRS  // ...or as pairs
bool has_pairs() {
  static const bool has = BFloatPairs::on_this_machine();
  return has;
}
#else
bool has_pairs() { return false; }
#endif

// The inner products of R rows of a with C rows of b.
template <class H, class Way, int R, int C>
void inner_tile(const H* a, int64_t lda, const H* b, int64_t ldb, int64_t k, float (*sums)[C]) {
  Floats sum[R][C] = {};
  int64_t q = 0;
  auto step = [&](auto load) __attribute__((always_inline)) {
    typename Way::V bv[C];
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) bv[j] = load(b + j * ldb + q);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      typename Way::V av = load(a + i * lda + q);
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) Way::add(sum[i][j], av, bv[j]);
    }
  };
  for (; q + Way::step <= k; q += Way::step) {
    if (q % 32 == 0)
      for (int j = 0; j < C; ++j) __builtin_prefetch(b + (C + j) * ldb + q);  // for the next tile
    step([](const H* x) { return Way::load(x); });
  }
  if (q < k) step([left = k - q](const H* x) { return Way::load(x, left); });
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) sums[i][j] = sum_of(sum[i][j]);
}

template <class H>
inline void put(const Product& p, int64_t i, int64_t j, float sum) {
  H* c = static_cast<H*>(p.c) + i * p.ldc + j;
  float v = float(p.alpha) * sum;
  if (p.beta != 0) v += float(p.beta) * float(p.plus ? static_cast<const H*>(p.plus)[i * p.ld_plus + j] : *c);
  const float low = float(p.bounds.low), high = float(p.bounds.high);
  *c = H(v <= low ? low : v > high ? high : v);
}

template <class H, class Way, int R, int C>
void inner_rows(const Product& p, int64_t i) {
  const H *a = static_cast<const H*>(p.a) + i * p.lda, *b = static_cast<const H*>(p.b);
  for (int64_t j = 0; j < p.n;) {
    if (j + C <= p.n) {
      float sums[R][C];
      inner_tile<H, Way, R, C>(a, p.lda, b + j * p.ldb, p.ldb, p.k, sums);
      for (int r = 0; r < R; ++r)
        for (int s = 0; s < C; ++s) put<H>(p, i + r, j + s, sums[r][s]);
      j += C;
    } else {
      float sums[R][1];
      inner_tile<H, Way, R, 1>(a, p.lda, b + j * p.ldb, p.ldb, p.k, sums);
      for (int r = 0; r < R; ++r) put<H>(p, i + r, j, sums[r][0]);
      j += 1;
    }
  }
}

template <class H, class Way>
void inner(const Product& p) {
  int64_t i = 0;
  for (; i + 4 <= p.m; i += 4) inner_rows<H, Way, 4, 4>(p, i);
  for (; i + 2 <= p.m; i += 2) inner_rows<H, Way, 2, 4>(p, i);
  for (; i < p.m; ++i) inner_rows<H, Way, 1, 8>(p, i);
}

void any_inner(DType type, const Product& p) {
#if WEFT_SIMD_BFLOAT_PAIRS
  if (type == DType::BFloat16 && has_pairs()) return inner<BFloat16, BFloatPairs>(p);
#endif
  visit_half(type, [&](auto h) { inner<decltype(h), Widened<decltype(h)>>(p); });
}

// In eight interleaved sums.
template <class H>
float dot(const H* a, const H* b, int64_t n) {
  constexpr int V = 8;
  Floats sum[V] = {};
  int64_t i = 0;
  for (; i + V * W <= n; i += V * W)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[v] = multiply_add(load_floats(a + i + v * W), load_floats(b + i + v * W), sum[v]);
  for (int v = 0; i < n; i += W, ++v) {
    int64_t some = least(W, n - i);
    sum[v] = multiply_add(load_some_floats(a + i, some, 0.0f), load_some_floats(b + i, some, 0.0f), sum[v]);
  }
  for (int half = V / 2; half; half /= 2)
    for (int v = 0; v < half; ++v) sum[v] += sum[v + half];
  return sum_of(sum[0]);
}

float any_dot(DType type, const void* a, const void* b, int64_t n) {
  return type == DType::Half ? dot(static_cast<const Half*>(a), static_cast<const Half*>(b), n)
                             : dot(static_cast<const BFloat16*>(a), static_cast<const BFloat16*>(b), n);
}

// ---- one row ----

// V vectors of sums, over all rows of b; of the last, `last` lanes.
template <class H, int V>
inline void row_strip(const Product& p, int64_t j, int64_t last, float* sums) {
  const H *x = static_cast<const H*>(p.a), *b = static_cast<const H*>(p.b) + j;
  Floats sum[V];
  for (int v = 0; v < V; ++v) sum[v] = v == V - 1 ? load_some(sums + v * W, last, 0.0f) : load<Floats>(sums + v * W);
  for (int64_t q = 0; q < p.k; ++q, b += p.ldb) {
    const Floats xq = splat(float(x[q]));
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
      sum[v] = multiply_add(
          xq, v == V - 1 && last < W ? load_some_floats(b + v * W, last, 0.0f) : load_floats(b + v * W), sum[v]);
  }
  for (int v = 0; v < V; ++v)
    v == V - 1 && last < W ? store_some(sums + v * W, last, sum[v]) : store(sums + v * W, sum[v]);
}

template <class H>
void row(const Product& p, float* sums) {
  int64_t j = 0;
  for (; p.n - j >= 8 * W; j += 8 * W) row_strip<H, 8>(p, j, W, sums + j);
  for (; p.n - j >= 2 * W; j += 2 * W) row_strip<H, 2>(p, j, W, sums + j);
  for (; p.n - j > 0; j += W) row_strip<H, 1>(p, j, least(W, p.n - j), sums + j);
}

void any_row(DType type, const Product& p, float* sums) {
  visit_half(type, [&](auto h) { row<decltype(h)>(p, sums); });
}

// ---- the end of a product ----

template <class H>
void finish(const Product& p, const float* sums, int64_t ld) {
  const Floats alpha = splat(float(p.alpha)), beta = splat(float(p.beta));
  const bool plain = p.alpha == 1 && p.beta == 0 && !p.bounds;
  const Floats low = splat(float(p.bounds.low)), high = splat(float(p.bounds.high));
  for (int64_t i = 0; i < p.m; ++i) {
    const float* from = sums + i * ld;
    H* c = static_cast<H*>(p.c) + i * p.ldc;
    if (plain) {
      narrow(from, c, p.n);
      continue;
    }
    const H* old = p.plus ? static_cast<const H*>(p.plus) + i * p.ld_plus : c;
    for (int64_t j = 0; j < p.n; j += W) {
      const int64_t n = least(W, p.n - j);
      Floats v = alpha * (n == W ? load<Floats>(from + j) : load_some(from + j, n, 0.0f));
      if (p.beta != 0) v += beta * (n == W ? load_floats(old + j) : load_some_floats(old + j, n, 0.0f));
      v = v <= low ? low : v;
      v = v > high ? high : v;
      store_halves(c + j, n, v);
    }
  }
}

void any_finish(DType type, const Product& p, const float* sums, int64_t ld) {
  visit_half(type, [&](auto h) { finish<decltype(h)>(p, sums, ld); });
}

// ---- products in pairs ----

constexpr int kRows = 8, kVectors = 3, kColumns = kVectors * 16;

#if WEFT_SIMD_BFLOAT_PAIRS

using Bits = BFloatPairs::V;

struct Job {
  int64_t pairs, a_stride, ldc;  // a_stride: bytes from row to row of a, or from pair to pair of a packed one
  bool half, add;                // half: behind the pairs, a row of a has one more number
};

inline uint32_t pair_at(const char* p) {
  uint32_t x;
  std::memcpy(&x, p, 4);
  return x;
}

// R rows and V vectors of c. ByRows: pairs lie along the rows of a; else the R pairs of a column side by side. One
// loop that is not unrolled: the compiler would move sums to other registers, and to memory, between two halves of it.
template <int R, int V, bool ByRows>
void tile(const Job& job, const char* a, const uint32_t* b, float* c, int64_t last) {
  Floats sum[R][V] = {};
  const int64_t as = job.a_stride;
  const char* third[(R + 2) / 3];  // row 3q + r is at third[q] + r * as: few enough pointers for the registers
  for (int q = 0; q < (R + 2) / 3; ++q) third[q] = a + 3 * q * as;
#pragma GCC unroll 1
  for (int64_t p = 0; p < job.pairs; ++p, b += kColumns) {
    Bits bv[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) bv[v] = load<Bits>(b + v * 16);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const Bits ai = BFloatPairs::spread(pair_at(ByRows ? third[i / 3] + i % 3 * as + p * 4 : a + i * 4));
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) BFloatPairs::add(sum[i][v], ai, bv[v]);
    }
    if (!ByRows) a += as;
  }
  if (ByRows && job.half) {  // which a may end with, so that no pair is read
    Bits bv[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) bv[v] = load<Bits>(b + v * 16);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      uint16_t x;
      std::memcpy(&x, third[i / 3] + i % 3 * as + job.pairs * 4, 2);
      const Bits ai = BFloatPairs::spread(x);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) BFloatPairs::add(sum[i][v], ai, bv[v]);
    }
  }
  const int64_t ldc = job.ldc;  // copies, which no element of c can be part of
  const bool add = job.add;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      float* at = c + i * ldc + v * 16;
      const int64_t some = v < V - 1 ? W : last;
      Floats x = sum[i][v];
      if (add) x = load_first(at, some) + x;
      store_first(at, x, some);
    }
}

using TileFn = void (*)(const Job&, const char*, const uint32_t*, float*, int64_t);
template <bool ByRows>
constexpr TileFn kTiles[4][kVectors] = {
  {tile<1, 1, ByRows>, tile<1, 2, ByRows>, tile<1, 3, ByRows>},
  {tile<2, 1, ByRows>, tile<2, 2, ByRows>, tile<2, 3, ByRows>},
  {tile<4, 1, ByRows>, tile<4, 2, ByRows>, tile<4, 3, ByRows>},
  {tile<8, 1, ByRows>, tile<8, 2, ByRows>, tile<8, 3, ByRows>},
};

template <bool ByRows>
void all_tiles(const Product& p, const char* packed_a, const uint32_t* packed_b) {
  const int64_t pairs = (p.k + 1) / 2;
  const char* a = ByRows ? static_cast<const char*>(p.a) : packed_a;
  const Job job{ByRows ? p.k / 2 : pairs, ByRows ? p.lda * 2 : kRows * 4, p.ldc, p.k % 2 != 0, p.beta != 0};
  float* c = static_cast<float*>(p.c);
  for (int64_t i = 0; i < p.m; i += kRows)
    for (int64_t j = 0; j < p.n; j += kColumns) {
      int64_t width = least(kColumns, p.n - j), height = least(kRows, p.m - i);
      int vectors = int((width + 15) / 16);
      for (int64_t r = 0; r < height;) {
        int64_t left = height - r;
        int by = left >= 8 ? 3 : left >= 4 ? 2 : left >= 2 ? 1 : 0;
        const char* from = ByRows ? a + (i + r) * p.lda * 2 : a + i * pairs * 4 + r * 4;
        kTiles<ByRows>[by][vectors - 1](job, from, packed_b + j* pairs, c + (i + r)* p.ldc + j, (width - 1) % 16 + 1);
        r += 1 << by;
      }
    }
}

void multiply_pairs(const Product& p, const void* packed_a, const void* packed_b) {
  if (packed_a)
    all_tiles<false>(p, static_cast<const char*>(packed_a), static_cast<const uint32_t*>(packed_b));
  else
    all_tiles<true>(p, nullptr, static_cast<const uint32_t*>(packed_b));
}

// Panels of Full columns of k rows: pairs of two rows each, zeros behind the last column of the last vector.
template <int Full>
void pack_down(const uint16_t* x, int64_t ld, int64_t k, int64_t n, uint32_t* packed) {
  const int64_t pairs = (k + 1) / 2;
  for (int64_t p = 0; p < pairs; ++p) {
    const uint16_t *upper = x + 2 * p * ld, *lower = 2 * p + 1 < k ? upper + ld : nullptr;
    auto both = [&](int64_t at, int64_t count, Bits* low, Bits* high) {
      BFloatPairs::interleave(upper + at, lower ? lower + at : nullptr, count, low, high);
    };
    Bits v[4] = {};
    if constexpr (Full == 8) {  // four panels at a time
      for (int64_t i = 0; i < n; i += 32) {
        both(i, n - i, v, v + 1);
        uint32_t* to = packed + i * pairs + p * 8;
        for (int64_t s = 0; s < 4 && i + s * 8 < n; ++s)
          std::memcpy(to + s * 8 * pairs, reinterpret_cast<const char*>(v) + s * 32, 32);
      }
    } else {
      static_assert(Full == 48);
      for (int64_t i = 0; i < n; i += Full) {
        uint32_t* to = packed + i * pairs + p * Full;
        both(i, n - i, v, v + 1);
        if (n - i > 32) both(i + 32, least(n - i - 32, 16), v + 2, v + 3);
        for (int s = 0; s < 3 && s * 16 < n - i; ++s) store(to + s * 16, v[s]);
      }
    }
  }
}

// The same of n rows along which k runs.
void pack_across(const uint16_t* x, int64_t ld, int64_t k, int64_t n, uint32_t* packed) {
  constexpr int64_t Full = kColumns, kSide = 16;  // kSide: of what is transposed at a time
  const int64_t pairs = (k + 1) / 2, whole = k / 2;
  const bool even = ld % 2 == 0 && reinterpret_cast<uintptr_t>(x) % 4 == 0;
  for (int64_t i = 0; i < n; i += Full, x += Full * ld, packed += Full * pairs) {
    const int64_t width = least(Full, n - i), filled = (width + kSide - 1) / kSide * kSide;
    int64_t s = 0;
    for (; even && s + kSide <= width; s += kSide) {
      const auto* rows = reinterpret_cast<const uint32_t*>(x + s * ld);
      int64_t p = 0;
      for (; p + kSide <= whole; p += kSide)
        Tile<uint32_t, kSide>::transpose(rows + p, ld / 2, packed + p * Full + s, Full);
      for (; p < whole; ++p)
        for (int r = 0; r < kSide; ++r)
          packed[p * Full + s + r] = pair_at(reinterpret_cast<const char*>(x + (s + r) * ld + 2 * p));
    }
    for (; s < width; ++s)
      for (int64_t p = 0; p < whole; ++p)
        packed[p * Full + s] = pair_at(reinterpret_cast<const char*>(x + s * ld + 2 * p));
    for (int64_t r = width; r < filled; ++r)
      for (int64_t p = 0; p < whole; ++p) packed[p * Full + r] = 0;
    if (whole < pairs)
      for (int64_t r = 0; r < filled; ++r) packed[whole * Full + r] = r < width ? x[r * ld + k - 1] : 0;
  }
}

void pack_b_pairs(const Product& p, void* packed) {
  auto* b = static_cast<const uint16_t*>(p.b);
  auto* to = static_cast<uint32_t*>(packed);
  p.trans_b ? pack_across(b, p.ldb, p.k, p.n, to) : pack_down<kColumns>(b, p.ldb, p.k, p.n, to);
}
void pack_a_pairs(const Product& p, void* packed) {
  pack_down<kRows>(static_cast<const uint16_t*>(p.a), p.lda, p.k, p.m, static_cast<uint32_t*>(packed));
}

#else
void multiply_pairs(const Product&, const void*, const void*) {}
void pack_b_pairs(const Product&, void*) {}
void pack_a_pairs(const Product&, void*) {}
#endif

}  // namespace

extern const HalfGemmKernels half_gemm_kernels_table;
const HalfGemmKernels half_gemm_kernels_table = {has_pairs, pack_b_pairs, pack_a_pairs, multiply_pairs, kRows,
                                                 kColumns,  any_finish,   any_inner,    any_row,        any_dot};

}  // namespace weft::WEFT_ISA
