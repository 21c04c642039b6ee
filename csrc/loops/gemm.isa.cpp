#include "loops/gemm_finish.h"
#include "loops/gemm_kernels.h"
#include "loops/transpose.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

// A tile of c is kRows x kVectors vectors, held in registers while k runs: 24 of 32, 12 of 16 or 8 of 16.
#if defined(__AVX512F__)
constexpr int kRows = 8, kVectors = 3;
#elif defined(__AVX2__)
constexpr int kRows = 4, kVectors = 3;
#else
constexpr int kRows = 4, kVectors = 2;
#endif

#if defined(__AVX512F__)  // an L2 cache of 1 MiB or more: a panel of b stays there while all rows of a pass by
constexpr GemmBlocks kBlocks = {512, 1152, 512, 64, 64, 2048, 0};
#else  // 256 to 512 KiB: rows of a stay there, while slivers of b pass through an L1 cache of 64 sets, 8 lines each
constexpr GemmBlocks kBlocks = {256, 2304, 128, 24, 16, 0, 4096};
#endif

constexpr int64_t kNearBytes = 32 * 1024;  // what stays in the L1 cache
constexpr int64_t kLineBytes = 64;
#if defined(__AVX2__) && !defined(__AVX512F__)
constexpr bool kFetchesAhead = true;  // measured to pay: docs/notes/matmul.md
#else
constexpr bool kFetchesAhead = false;
#endif
// A vector times a matrix that is only read: the machine fetches its rows better by itself, and from far away sixteen
// of them at a time (docs/notes/matmul.md).
#if defined(__AVX512F__)
constexpr bool kReadsAlone = true;
#else
constexpr bool kReadsAlone = false;
#endif
constexpr int64_t kFarBytes = 4 << 20;  // of b, where sixteen rows pay
constexpr int64_t kFewTiles = 32;       // that use a sliver of b: too few to hide how long the next one takes to come

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- one tile ----

template <class T>
struct Job {
  int64_t k, a_stride, b_stride, ldc, ld_plus;
  T alpha, beta;
  bool bounded = false;  // by low and high
  T low = {}, high = {};
  const T* ahead = nullptr;  // of b, to be asked for while k runs
  int64_t ahead_lines = 0;   // how many cache lines of it, each time that a line's worth of k has gone by
};

// What stands in c for a sum: times one, or plus an old value times one, no bit of it changes.
template <class T>
inline typename Simd<T>::Vec scaled(const Job<T>& job, typename Simd<T>::Vec sum) {
  auto v = sum * job.alpha;
  return job.bounded ? Simd<T>::within(v, job.low, job.high) : v;
}
template <class T>
inline typename Simd<T>::Vec scaled(const Job<T>& job, typename Simd<T>::Vec sum, typename Simd<T>::Vec old) {
  auto v = Simd<T>::fma(old, Simd<T>::splat(job.beta), sum * job.alpha);
  return job.bounded ? Simd<T>::within(v, job.low, job.high) : v;
}

// The last vector of a tile has all lanes, or some, or few enough for a vector half as wide.
enum class End { whole, some, half };
template <class T>
constexpr bool has_halves = false;
#if WEFT_SIMD_HALF_VECTORS
template <>
constexpr bool has_halves<float> = true;
#endif

// R rows and V vectors of c. ByRows: the rows of a are a_stride apart and k runs along them; else its columns
// are a_stride apart and the R elements of one lie side by side. The last vector has `last` lanes.
template <class T, int R, int V, bool ByRows, End E>
void tile(const Job<T>& job, const T* a, const T* b, T* c, const T* plus, int64_t last) {
  using S = Simd<T>;
  using Vec = typename S::Vec;
  constexpr bool Whole = E == End::whole, Half = E == End::half && has_halves<T>;
  constexpr int wide = Half ? V - 1 : V;  // vectors that are not half as wide
  Vec sum[R][V] = {};
#if WEFT_SIMD_HALF_VECTORS
  HalfFloats::Vec narrow[R] = {};
#endif
  const int64_t as = job.a_stride, bs = job.b_stride;
  const T* third[(R + 2) / 3];  // row 3q + r is at third[q] + r * as: few enough pointers for the registers
  for (int q = 0; q < (R + 2) / 3; ++q) third[q] = a + 3 * q * as;
  int64_t p = 0;
  auto step = [&]() __attribute__((always_inline)) {
    Vec bv[V];
    if (ByRows && V < kVectors)
      __builtin_prefetch(a + 2 * R * as + p * R);  // of the tile after the next, if a has no gaps
#pragma GCC unroll 4
    for (int v = 0; v < wide; ++v) bv[v] = Whole || v < V - 1 ? S::load(b + v * S::W) : S::load(b + v * S::W, last);
#if WEFT_SIMD_HALF_VECTORS
    HalfFloats::Vec short_b = {};
    if constexpr (Half) short_b = HalfFloats::load(b + wide * S::W, last);
#endif
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) {
      Vec ai = S::splat(ByRows ? third[i / 3][i % 3 * as + p] : a[i]);
#pragma GCC unroll 4
      for (int v = 0; v < wide; ++v) sum[i][v] = S::fma(ai, bv[v], sum[i][v]);
#if WEFT_SIMD_HALF_VECTORS
      if constexpr (Half) narrow[i] = HalfFloats::fma(HalfFloats::lower(ai), short_b, narrow[i]);
#endif
    }
    if (!ByRows) a += as;
    b += bs;
    ++p;
  };
  if (kFetchesAhead && V == kVectors && R == kRows && job.ahead_lines) {
    constexpr int64_t kLine = kLineBytes / sizeof(T);
    const T* ahead = job.ahead;
    while (p + kLine <= job.k) {
      for (int64_t i = 0; i < job.ahead_lines; ++i, ahead += kLine) __builtin_prefetch(ahead);
#pragma GCC unroll 2
      for (int64_t q = 0; q < kLine; ++q) step();
    }
  }
#pragma GCC unroll 2
  while (p < job.k) step();
#if WEFT_SIMD_HALF_VECTORS
  if constexpr (Half)
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) sum[i][V - 1] = HalfFloats::whole(narrow[i]);
#endif
  const Job<T> out = job;  // a copy, which no element of c can be part of
  auto each = [&](auto value) {
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        T* at = c + i * out.ldc + v * S::W;
        const T* old = plus + i * out.ld_plus + v * S::W;
        if (Whole || v < V - 1)
          S::store(at, value(sum[i][v], [&] { return S::load(old); }));
        else
          S::store(at, value(sum[i][v], [&] { return S::load(old, last); }), last);
      }
  };
  const bool plain = out.alpha == T(1) && !out.bounded;
  if (out.beta == T(0))
    plain ? each([](Vec x, auto) { return x; }) : each([&](Vec x, auto) { return scaled(out, x); });
  else if (plain && out.beta == T(1))
    each([](Vec x, auto old) { return old() + x; });
  else if (out.alpha == T(1) && out.beta == T(1))
    each([&](Vec x, auto old) { return S::within(old() + x, out.low, out.high); });
  else
    each([&](Vec x, auto old) { return scaled(out, x, old()); });
}

template <class T>
using TileFn = void (*)(const Job<T>&, const T*, const T*, T*, const T*, int64_t);

// Entry 0 is the tile of full width, entry v the one of v vectors, of which the last may be short, entry 4 that of two
// whole ones, entry 4 + v the one of v vectors, of which the last is half as wide.
template <class T, int R, bool ByRows>
inline TileFn<T> tile_of(int vectors) {
  constexpr int most = kVectors == 3 ? 3 : 1;
  switch (vectors) {
    case 1: return tile<T, R, 1, ByRows, End::some>;
    case 2: return tile<T, R, 2, ByRows, End::some>;
    case 3: return tile<T, R, most, ByRows, End::some>;
    case 4: return tile<T, R, 2, ByRows, End::whole>;
  }
  if constexpr (has_halves<T>) {
    switch (vectors) {
      case 5: return tile<T, R, 1, ByRows, End::half>;
      case 6: return tile<T, R, 2, ByRows, End::half>;
      case 7: return tile<T, R, most, ByRows, End::half>;
    }
  }
  return tile<T, R, kVectors, ByRows, End::whole>;
}

template <class T, bool ByRows>
inline TileFn<T> tile_of(int rows, int vectors) {
  switch (rows) {
    case 1: return tile_of<T, 1, ByRows>(vectors);
    case 2: return tile_of<T, 2, ByRows>(vectors);
    case 4: return tile_of<T, 4, ByRows>(vectors);
    case 8: return tile_of<T, kRows >= 8 ? 8 : 4, ByRows>(vectors);
    default: return tile_of<T, kRows, ByRows>(vectors);
  }
}

// c is cut into tiles of full width from the left. Four vectors at its end are two and two, since tiles of three and
// one would take longer.
template <class T>
inline bool ends_in_halves(int64_t n) {
  constexpr int64_t W = Simd<T>::W, tail = kVectors * W;
  return kVectors == 3 && n > tail && n % tail > 0 && n % tail <= W;
}

inline int rows_at_once(int64_t left) {
  if (left >= kRows) return kRows;
  return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

template <class T, bool ByRows>
void all_tiles(const Product& p, const T* packed_a, const T* packed_b) {
  constexpr int W = Simd<T>::W, kCols = kVectors * W;
  const T* a = packed_a ? packed_a : static_cast<const T*>(p.a);
  const T* b = packed_b ? packed_b : static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  const T* plus = p.plus ? static_cast<const T*>(p.plus) : c;
  int64_t ld_plus = p.plus ? p.ld_plus : p.ldc;
  Job<T> job{p.k, packed_a ? kRows : p.lda, packed_b ? kCols : p.ldb, p.ldc, ld_plus, T(p.alpha), T(p.beta)};
  if (p.bounds) job.bounded = true, job.low = T(p.bounds.low), job.high = T(p.bounds.high);
  // How far apart two slivers of a (per row) and of b (per column) begin.
  int64_t a_step = packed_a ? p.k : ByRows ? p.lda : 1, b_step = packed_b ? p.k : 1;
  int64_t a_inner = ByRows ? p.lda : 1;
  const bool halves = ends_in_halves<T>(p.n);
  auto in_halves = [&](int64_t j) { return halves && p.n - j <= 4 * W; };
  auto width_at = [&](int64_t j) { return least(in_halves(j) ? 2 * W : kCols, p.n - j); };
  auto band = [&](int64_t sliver, int64_t j, int64_t width) {
    int64_t last = (width - 1) % W + 1;
    int vectors = width == kCols ? 0 : width == 2 * W ? 4 : int((width + W - 1) / W);
    if (has_halves<T> && vectors && vectors != 4 && last <= W / 2) vectors += 4;
    if (packed_b) job.b_stride = in_halves(j) ? 2 * W : kCols;
    int64_t height = least(kRows, p.m - sliver);
    for (int64_t i = 0; i < height;) {
      int rows = rows_at_once(height - i);
      tile_of<T, ByRows>(rows, vectors)(job, a + sliver * a_step + i * a_inner, b + j * b_step,
                                        c + (sliver + i) * p.ldc + j, plus + (sliver + i) * ld_plus + j, last);
      i += rows;
    }
  };
  auto finish = [&](int64_t i, int64_t j, int64_t width) {
    if constexpr (std::is_same_v<T, float>)
      for (int64_t r = i; r < least(i + kRows, p.m); ++r) finish_part(p.finish, c + r * p.ldc + j, width);
  };
  int64_t sliver_bytes = p.k * kCols * int64_t(sizeof(T));
  if (sliver_bytes <= kNearBytes && p.k * p.n * int64_t(sizeof(T)) > kNearBytes) {  // not all of b stays near
    int64_t tiles = (p.m + kRows - 1) / kRows;
    if (kFetchesAhead && packed_b && tiles <= kFewTiles) job.ahead_lines = (kCols + tiles - 1) / tiles;
    for (int64_t j = 0; j < p.n; j += width_at(j)) {
      job.ahead = b + (j + kCols) * p.k;
      for (int64_t i = 0; i < p.m; i += kRows) {
        band(i, j, width_at(j));
        if (p.finish) finish(i, j, width_at(j));
        job.ahead += job.ahead_lines * p.k;
      }
    }
  } else {
    for (int64_t i = 0; i < p.m; i += kRows) {
      for (int64_t j = 0; j < p.n; j += width_at(j)) band(i, j, width_at(j));
      if (p.finish) finish(i, 0, p.n);
    }
  }
}

// ---- packing ----

// packed[p * Full + i] = x[i * ld + p] for i < width <= Full.
template <class T, int Full>
void pack_across(const T* x, int64_t ld, int64_t k, int64_t width, T* packed) {
  constexpr int side = Full % tile_side(sizeof(T)) == 0 ? tile_side(sizeof(T)) : 4;
  int64_t i = 0;
  for (; i + side <= width; i += side) {
    int64_t p = 0;
    for (; p + side <= k; p += side) Tile<T, side>::transpose(x + i * ld + p, ld, packed + p * Full + i, Full);
    for (; p < k; ++p)
      for (int s = 0; s < side; ++s) packed[p * Full + i + s] = x[(i + s) * ld + p];
  }
  for (; i < width; ++i)
    for (int64_t p = 0; p < k; ++p) packed[p * Full + i] = x[i * ld + p];
}

// All slivers of k rows of n elements, a few rows at a time: rows are read from end to end, and what is written to a
// sliver fills whole cache lines.
template <class T, int Full>
void pack_down(const T* x, int64_t ld, int64_t k, int64_t n, T* packed) {
  constexpr int64_t kRowsAtOnce = 4, kRowsAhead = 8;
  for (int64_t p = 0; p < k; p += kRowsAtOnce) {
    int64_t rows = least(kRowsAtOnce, k - p), i = 0;
    for (; i + Full <= n; i += Full)
      for (int64_t r = p; r < p + rows; ++r) {
        const T* from = x + r * ld + i;
        if constexpr (kFetchesAhead) {
          __builtin_prefetch(from + kRowsAhead * ld);
          if (Full * sizeof(T) > kLineBytes) __builtin_prefetch(from + kRowsAhead * ld + Full - 1);
        }
        std::memcpy(packed + i * k + r * Full, from, Full * sizeof(T));
      }
    for (int64_t r = p; r < p + rows; ++r)
      for (int64_t j = i; j < n; ++j) packed[i * k + r * Full + j - i] = x[r * ld + j];
  }
}

// n rows, or columns if k runs down, as slivers.
template <class T, int Full>
void pack(const T* x, int64_t ld, bool down, int64_t k, int64_t n, T* packed) {
  if (down) return pack_down<T, Full>(x, ld, k, n, packed);
  for (int64_t i = 0; i < n; i += Full) pack_across<T, Full>(x + i * ld, ld, k, least(Full, n - i), packed + i * k);
}

template <class T>
void pack_b(const Product& p, T* packed) {
  constexpr int W = Simd<T>::W, kCols = kVectors * W;
  const T* b = static_cast<const T*>(p.b);
  int64_t wide = ends_in_halves<T>(p.n) ? (p.n / kCols - 1) * kCols : p.n;  // columns in slivers of full width
  pack<T, kCols>(b, p.ldb, !p.trans_b, p.k, wide, packed);
  if (wide < p.n)
    pack<T, 2 * W>(b + (p.trans_b ? wide * p.ldb : wide), p.ldb, !p.trans_b, p.k, p.n - wide, packed + wide * p.k);
}

template <class T>
void pack_a(const Product& p, T* packed) {
  pack<T, kRows>(static_cast<const T*>(p.a), p.lda, p.trans_a, p.k, p.m, packed);
}

// ---- inner products and rows ----

template <class T>
inline void put_inner(const Product& p, T* c, const T* plus, T sum) {
  T v = T(p.alpha) * sum;
  if (p.beta != 0) v += T(p.beta) * *plus;
  if (p.bounds) v = v <= T(p.bounds.low) ? T(p.bounds.low) : v > T(p.bounds.high) ? T(p.bounds.high) : v;
  *c = v;
}

// Where a tile of inner products reads and writes.
template <class T>
struct Inner {
  const T *a, *b;
  T* c;
  const T* plus;
  int64_t ld_plus;
};

template <class T, int R, int C>
void inner_tile(const Product& p, const Inner<T>& at) {
  using S = Simd<T>;
  typename S::Vec sum[R][C] = {};
  int64_t q = 0;
  auto step = [&](auto load) {
    typename S::Vec bv[C];
#pragma GCC unroll 16
    for (int j = 0; j < C; ++j) bv[j] = load(at.b + j * p.ldb + q);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      typename S::Vec av = load(at.a + i * p.lda + q);
#pragma GCC unroll 16
      for (int j = 0; j < C; ++j) sum[i][j] = S::fma(av, bv[j], sum[i][j]);
    }
  };
  for (; q + S::W <= p.k; q += S::W) {
    if (R > 1 || !kReadsAlone)
      for (int j = 0; j < C; ++j) __builtin_prefetch(at.b + (C + j) * p.ldb + q);  // for the next tile
    step([](const T* x) { return S::load(x); });
  }
  if (q < p.k) step([left = p.k - q](const T* x) { return S::load(x, left); });
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; j += 4) {
      T sums[4];
      if constexpr (C % 4 == 0)
        S::sum4(&sum[i][j], sums);
      else
        sums[0] = S::sum(sum[i][j]);
      for (int s = 0; s < (C % 4 == 0 ? 4 : 1); ++s)
        put_inner(p, at.c + i * p.ldc + j + s, at.plus + i * at.ld_plus + j + s, sums[s]);
    }
}

template <class T, int R, int C>
void inner_rows(const Product& p, Inner<T> at, int64_t i) {
  at.a += i * p.lda, at.c += i * p.ldc, at.plus += i * at.ld_plus;
  int64_t j = 0;
  auto next = [&](int64_t columns) { j += columns, at.b += columns * p.ldb, at.c += columns, at.plus += columns; };
  for (; j + C <= p.n; next(C)) inner_tile<T, R, C>(p, at);
  if constexpr (C > 8)
    for (; j + 8 <= p.n; next(8)) inner_tile<T, R, 8>(p, at);
  for (; j < p.n; next(1)) inner_tile<T, R, 1>(p, at);
}

template <class T>
void inner(const Product& p) {
  T* c = static_cast<T*>(p.c);
  Inner<T> at{static_cast<const T*>(p.a), static_cast<const T*>(p.b), c, p.plus ? static_cast<const T*>(p.plus) : c,
              p.plus ? p.ld_plus : p.ldc};
  int64_t i = 0;
  for (; i + 4 <= p.m; i += 4) inner_rows<T, 4, 4>(p, at, i);
  for (; i + 2 <= p.m; i += 2) inner_rows<T, 2, 4>(p, at, i);
  bool far = p.k * p.n * int64_t(sizeof(T)) >= kFarBytes;
  for (; i < p.m; ++i) kReadsAlone&& far ? inner_rows<T, 1, 16>(p, at, i) : inner_rows<T, 1, 8>(p, at, i);
}

// The inner product of two vectors, in eight interleaved sums.
template <class T>
T dot(const T* a, const T* b, int64_t n) {
  using S = Simd<T>;
  constexpr int V = 8;
  typename S::Vec sum[V] = {};
  int64_t i = 0;
  for (; i + V * S::W <= n; i += V * S::W)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[v] = S::fma(S::load(a + i + v * S::W), S::load(b + i + v * S::W), sum[v]);
  for (int v = 0; i < n; i += S::W, ++v) {
    int64_t count = least(S::W, n - i);
    sum[v] = S::fma(S::load(a + i, count), S::load(b + i, count), sum[v]);
  }
  for (int half = V / 2; half; half /= 2)
    for (int v = 0; v < half; ++v) sum[v] += sum[v + half];
  return S::sum(sum[0]);
}

// The columns [j, j + (V - 1) W + last) of c = x b, summed in registers over all rows of b.
template <class T, int V>
inline void row_strip(const Product& p, int64_t j, int64_t last) {
  using S = Simd<T>;
  const T *x = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b) + j;
  T* c = static_cast<T*>(p.c) + j;
  typename S::Vec sum[V] = {};
  for (int64_t q = 0; q < p.k; ++q, b += p.ldb) {
    typename S::Vec xq = S::splat(x[q]);
    if (V == 8)  // the strip after the next
      for (int v = 0; v < V; ++v) __builtin_prefetch(b + (2 * V + v) * S::W);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
      sum[v] = S::fma(xq, v == V - 1 && last < S::W ? S::load(b + v * S::W, last) : S::load(b + v * S::W), sum[v]);
  }
  const Job<T> job{p.k, 0, 0, 0, 0, T(p.alpha), T(p.beta)};
  for (int v = 0; v < V; ++v, c += S::W) {
    const bool whole = v < V - 1 || last == S::W;
    auto x = job.beta == T(0) ? scaled(job, sum[v]) : scaled(job, sum[v], whole ? S::load(c) : S::load(c, last));
    whole ? S::store(c, x) : S::store(c, x, last);
  }
}

template <class T>
void row(const Product& p) {
  constexpr int W = Simd<T>::W;
  int64_t j = 0;
  for (; p.n - j >= 8 * W; j += 8 * W) row_strip<T, 8>(p, j, W);
  for (; p.n - j >= 2 * W; j += 2 * W) row_strip<T, 2>(p, j, W);
  for (; p.n - j > 0; j += W) row_strip<T, 1>(p, j, least(W, p.n - j));
}

// ---- complex numbers as pairs of real ones ----

template <class T>
void split(const T* __restrict pairs, int64_t n, T* __restrict re, T* __restrict im) {
  for (int64_t i = 0; i < n; ++i) re[i] = pairs[2 * i], im[i] = pairs[2 * i + 1];
}

template <class T, int Re, int Im, bool Swap>
void turn_by(const T* __restrict pairs, int64_t n, T* __restrict to) {
  for (int64_t i = 0; i < 2 * n; i += 2) to[i] = Re * pairs[i + Swap], to[i + 1] = Im * pairs[i + !Swap];
}

template <class T>
void turn(const T* pairs, int64_t n, Turn how, T* to) {
  switch (how) {
    case Turn::none: std::memcpy(to, pairs, size_t(2 * n) * sizeof(T)); return;
    case Turn::left: return turn_by<T, -1, 1, true>(pairs, n, to);
    case Turn::conj: return turn_by<T, 1, -1, false>(pairs, n, to);
    case Turn::conj_left: return turn_by<T, 1, 1, true>(pairs, n, to);
  }
}

template <class T, bool Turned, bool Added>
void put(const T* __restrict re, const T* __restrict im, int64_t n, T beta, T* __restrict c) {
  for (int64_t i = 0; i < n; ++i) {
    T x = Turned ? re[2 * i] - im[2 * i + 1] : re[i], y = Turned ? re[2 * i + 1] + im[2 * i] : im[i];
    c[2 * i] = Added ? x + beta * c[2 * i] : x, c[2 * i + 1] = Added ? y + beta * c[2 * i + 1] : y;
  }
}

// Products of like parts and of unlike ones, each in four interleaved sums.
template <class T>
void dot_pairs(const T* a, const T* b, int64_t n, bool conj, T* result) {
  using S = Simd<T>;
  constexpr int V = 4;
  auto swapped = [](typename S::Vec v) {
    return []<size_t... I>(typename S::Vec v, std::index_sequence<I...>) {
      return __builtin_shufflevector(v, v, (I ^ 1)...);
    }(v, std::make_index_sequence<S::W>());
  };
  typename S::Vec like[V] = {}, unlike[V] = {};
  auto add = [&](int v, typename S::Vec x, typename S::Vec y) {
    like[v] = S::fma(x, y, like[v]), unlike[v] = S::fma(x, swapped(y), unlike[v]);
  };
  int64_t i = 0, end = 2 * n;
  for (; i + V * S::W <= end; i += V * S::W)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) add(v, S::load(a + i + v * S::W), S::load(b + i + v * S::W));
  for (int v = 0; i < end; i += S::W, ++v) {
    int64_t count = least(S::W, end - i);
    add(v, S::load(a + i, count), S::load(b + i, count));
  }
  for (int half = V / 2; half; half /= 2)
    for (int v = 0; v < half; ++v) like[v] += like[v + half], unlike[v] += unlike[v + half];
  typename S::Vec sign;  // of what the imaginary part of a is in
  for (int l = 0; l < S::W; ++l) sign[l] = l % 2 ? T(-1) : T(1);
  result[0] = S::sum(conj ? like[0] : like[0] * sign);
  result[1] = S::sum(conj ? unlike[0] * sign : unlike[0]);
}

// ---- the table ----

template <class F>
inline void visit_number(DType type, const F& f) {
  switch (type) {
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    case DType::Int32: return f(uint32_t{});  // unsigned: integers wrap
    default: return f(uint64_t{});
  }
}

void any_pack_a(DType type, const Product& p, void* packed) {
  visit_number(type, [&](auto t) { pack_a(p, static_cast<decltype(t)*>(packed)); });
}
void any_pack_b(DType type, const Product& p, void* packed) {
  visit_number(type, [&](auto t) { pack_b(p, static_cast<decltype(t)*>(packed)); });
}
void any_multiply(DType type, const Product& p, const void* packed_a, const void* packed_b) {
  visit_number(type, [&](auto t) {
    using T = decltype(t);
    auto *a = static_cast<const T*>(packed_a), *b = static_cast<const T*>(packed_b);
    if (a || p.trans_a)
      all_tiles<T, false>(p, a, b);
    else
      all_tiles<T, true>(p, a, b);
  });
}
void any_inner(DType type, const Product& p) {
  visit_number(type, [&](auto t) { inner<decltype(t)>(p); });
}
void any_dot(DType type, const void* a, const void* b, int64_t n, void* result) {
  visit_number(type, [&](auto t) {
    using T = decltype(t);
    *static_cast<T*>(result) = dot(static_cast<const T*>(a), static_cast<const T*>(b), n);
  });
}
// The complex numbers of a real type: float or double.
template <class F>
inline void visit_part(DType type, const F& f) {
  if (type == DType::Float)
    f(float{});
  else
    f(double{});
}
void any_split(DType type, const void* pairs, int64_t n, void* re, void* im) {
  visit_part(type, [&](auto t) {
    using T = decltype(t);
    split(static_cast<const T*>(pairs), n, static_cast<T*>(re), static_cast<T*>(im));
  });
}
void any_turn(DType type, const void* pairs, int64_t n, Turn how, void* to) {
  visit_part(type, [&](auto t) {
    using T = decltype(t);
    turn(static_cast<const T*>(pairs), n, how, static_cast<T*>(to));
  });
}
template <bool Turned>
void any_put(DType type, const void* re, const void* im, int64_t n, double beta, void* c) {
  visit_part(type, [&](auto t) {
    using T = decltype(t);
    auto *x = static_cast<const T*>(re), *y = static_cast<const T*>(im);
    if (beta == 0)
      put<T, Turned, false>(x, y, n, 0, static_cast<T*>(c));
    else
      put<T, Turned, true>(x, y, n, T(beta), static_cast<T*>(c));
  });
}
void any_dot_pairs(DType type, const void* a, const void* b, int64_t n, bool conj, void* result) {
  visit_part(type, [&](auto t) {
    using T = decltype(t);
    dot_pairs(static_cast<const T*>(a), static_cast<const T*>(b), n, conj, static_cast<T*>(result));
  });
}
void any_finish(const Finish& how, float* y, int64_t n) { finish_part(how, y, n); }
void any_row(DType type, const Product& p) {
  visit_number(type, [&](auto t) { row<decltype(t)>(p); });
}

}  // namespace

extern const GemmKernels gemm_kernels_table;
const GemmKernels gemm_kernels_table = {kRows,         kVectors * kVectorBytes,
                                        kBlocks,       any_pack_b,
                                        any_pack_a,    any_multiply,
                                        any_inner,     any_row,
                                        any_dot,       any_split,
                                        any_turn,      any_put<false>,
                                        any_put<true>, any_dot_pairs,
                                        any_finish};

}  // namespace weft::WEFT_ISA
