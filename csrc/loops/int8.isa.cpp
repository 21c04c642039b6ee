#include "loops/int8.h"

#include "loops/gemm_simd.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace weft::WEFT_ISA {
namespace {

using Floats = Simd<float>;
using Ints = Simd<int32_t>;

void range(const float* x, int64_t n, float* low, float* high) {
  using Vec = Floats::Vec;
  Vec least{}, most{}, wrong{};  // zero is always within
  auto take = [&](Vec v) {
    least = v < least ? v : least;
    most = v > most ? v : most;
    wrong += v * 0.0f;
  };
  int64_t i = 0;
  for (; i + Floats::W <= n; i += Floats::W) take(Floats::load(x + i));
  if (i < n) take(Floats::load(x + i, n - i));
  float a = 0, b = 0;
  for (int j = 0; j < Floats::W; ++j) {
    a = least[j] < a ? least[j] : a;
    b = most[j] > b ? most[j] : b;
  }
  float bad = Floats::sum(wrong);
  *low = a + bad, *high = b + bad;
}

// Adding and taking away this number rounds to the nearest whole one, to the even one of two.
constexpr float kRounder = 12582912.0f;

// The byte of x, as a float; of NaN the first.
inline float byte_of(float x, float inverse, float zero) {
  float v = x * inverse;
  v = v > -512.0f ? v : -512.0f;
  v = v < 512.0f ? v : 512.0f;
  v = (v + kRounder) - kRounder + zero;
  v = v > 0.0f ? v : 0.0f;
  return v < 255.0f ? v : 255.0f;
}

void quantize(const float* __restrict x, int64_t n, ByteGrid grid, uint8_t* __restrict bytes) {
  const float inverse = 1.0f / grid.scale, zero = float(grid.zero);
  for (int64_t i = 0; i < n; ++i) bytes[i] = uint8_t(int32_t(byte_of(x[i], inverse, zero)));
}

void round(const float* x, int64_t n, ByteGrid grid, float* y) {
  const float inverse = 1.0f / grid.scale, zero = float(grid.zero), scale = grid.scale;
  for (int64_t i = 0; i < n; ++i) y[i] = (byte_of(x[i], inverse, zero) - zero) * scale;
}

// ---- one tile: the products of R rows of a with C rows of w ----

using Tile = void (*)(const uint8_t* a, const int8_t* w, int64_t k, int32_t* sums, int64_t ld);
#if defined(__AVX512BW__)
constexpr int kRows = 4, kColumns = 4;  // of a tile: its sums stay in registers
#else
constexpr int kRows = 2, kColumns = 4;
#endif

template <int C>
inline void put(const Ints::Vec* v, int32_t* sums) {
  if constexpr (C == 4)
    Ints::sum4(v, sums);
  else
    for (int j = 0; j < C; ++j) sums[j] = Ints::sum(v[j]);
}

#if defined(__AVX512BW__)
// Bytes are widened to 16 bits: the older instruction that multiplies bytes themselves saturates.
struct Widened {
  static constexpr int64_t step = 32;  // bytes
  static Ints::Vec load(const uint8_t* p) {
    return (Ints::Vec)_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i*)p));
  }
  static Ints::Vec load(const int8_t* p) {
    return (Ints::Vec)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)p));
  }
  static void add(Ints::Vec& sum, Ints::Vec a, Ints::Vec w) {
    sum += (Ints::Vec)_mm512_madd_epi16((__m512i)a, (__m512i)w);
  }
};
// The instruction that adds four products of bytes to an int32. Not every machine with AVX-512 has it, so the file is
// compiled without; and by hand, because the compiler moves each sum to another register and back.
struct Vnni {
  static constexpr int64_t step = 64;
  static Ints::Vec load(const uint8_t* p) { return (Ints::Vec)_mm512_loadu_si512(p); }
  static Ints::Vec load(const int8_t* p) { return (Ints::Vec)_mm512_loadu_si512(p); }
  static void add(Ints::Vec& sum, Ints::Vec a, Ints::Vec w) { asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(w)); }
};
#elif defined(__AVX2__)
struct Widened {
  static constexpr int64_t step = 16;
  static Ints::Vec load(const uint8_t* p) {
    return (Ints::Vec)_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)p));
  }
  static Ints::Vec load(const int8_t* p) { return (Ints::Vec)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)p)); }
  static void add(Ints::Vec& sum, Ints::Vec a, Ints::Vec w) {
    sum += (Ints::Vec)_mm256_madd_epi16((__m256i)a, (__m256i)w);
  }
};
#elif defined(__SSE2__)
struct Widened {
  static constexpr int64_t step = 8;
  static Ints::Vec load(const uint8_t* p) {
    return (Ints::Vec)_mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i*)p), _mm_setzero_si128());
  }
  static Ints::Vec load(const int8_t* p) {
    __m128i v = _mm_loadl_epi64((const __m128i*)p);
    return (Ints::Vec)_mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8);
  }
  static void add(Ints::Vec& sum, Ints::Vec a, Ints::Vec w) {
    sum += (Ints::Vec)_mm_madd_epi16((__m128i)a, (__m128i)w);
  }
};
#else
struct Widened {
  static constexpr int64_t step = 4;
  template <class T>
  static Ints::Vec load(const T* p) {
    return Ints::Vec{p[0], p[1], p[2], p[3]};
  }
  static void add(Ints::Vec& sum, Ints::Vec a, Ints::Vec w) { sum += a * w; }
};
#endif

template <class Way, int R, int C>
void tile(const uint8_t* a, const int8_t* w, int64_t k, int32_t* sums, int64_t ld) {
  Ints::Vec sum[R][C] = {};
  for (int64_t q = 0; q < k; q += Way::step) {
    Ints::Vec weights[C];
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) weights[j] = Way::load(w + j * k + q);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      Ints::Vec row = Way::load(a + i * k + q);
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) Way::add(sum[i][j], row, weights[j]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) put<C>(sum[i], sums + i * ld);
}

template <class Way>
struct Tiles {
  static constexpr Tile of[kRows][2] = {
    // by rows of a less one, and whether there are four rows of w or one
    {tile<Way, 1, 1>, tile<Way, 1, kColumns>},
    {tile<Way, 2, 1>, tile<Way, 2, kColumns>},
#if defined(__AVX512BW__)
    {tile<Way, 3, 1>, tile<Way, 3, kColumns>},
    {tile<Way, 4, 1>, tile<Way, 4, kColumns>},
#endif
  };
};

using TileTable = const Tile (*)[2];
TileTable tiles() {
#if defined(__AVX512BW__)
  static const bool has = __builtin_cpu_supports("avx512vnni");
  if (has) return Tiles<Vnni>::of;
#endif
  return Tiles<Widened>::of;
}

// ---- the product ----

// From sums to numbers, for columns [j, j + n) of one row.
void finish(const Int8Product& p, const int32_t* __restrict sums, int64_t j, int64_t n, float* __restrict y) {
  const float* __restrict scale = p.scale + j;
  const int32_t* __restrict shift = p.shift + j;
  for (int64_t i = 0; i < n; ++i) y[i] = float(sums[i] - shift[i]) * scale[i];
  if (p.bias)
    for (int64_t i = 0; i < n; ++i) y[i] = y[i] + p.bias[j + i];
  if (p.relu)
    for (int64_t i = 0; i < n; ++i) y[i] = y[i] <= 0.0f ? 0.0f : y[i];
  if (p.rounded.scale != 0.0f) round(y, n, p.rounded, y);
}

// A few rows of w stay in the L1 cache while all rows of a pass by, a tile at a time.
void multiply(const Int8Product& p) {
  constexpr int64_t kNear = 16 * 1024, kWidest = 256;
  const TileTable by = tiles();
  int64_t fit = p.k ? kNear / p.k / kColumns * kColumns : kWidest;
  int64_t width = p.m <= kRows ? kWidest : fit < kColumns ? kColumns : fit > kWidest ? kWidest : fit;
  int32_t sums[kRows][kWidest];
  for (int64_t j = 0; j < p.n; j += width) {
    int64_t n = p.n - j < width ? p.n - j : width;
    for (int64_t i = 0; i < p.m; i += kRows) {
      int64_t rows = p.m - i < kRows ? p.m - i : kRows;
      const uint8_t* a = p.a + i * p.k;
      for (int64_t c = 0; c < n;) {
        bool whole = n - c >= kColumns;
        by[rows - 1][whole](a, p.w + (j + c) * p.k, p.k, sums[0] + c, kWidest);
        c += whole ? kColumns : 1;
      }
      for (int64_t r = 0; r < rows; ++r) finish(p, sums[r], j, n, p.y + (i + r) * p.ldy + j);
    }
  }
}

}  // namespace

extern const Int8Kernels int8_kernels_table;
const Int8Kernels int8_kernels_table = {range, quantize, round, multiply};

}  // namespace weft::WEFT_ISA
