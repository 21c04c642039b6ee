// The operations of simd/simd.h in AVX-512 (F, DQ, BW, VL).
#pragma once

// GCC warns of values that the header leaves undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#define WEFT_VECTOR_BYTES 64
#include "simd/types.h"
#include "simd/x86.h"

#define WEFT_SIMD_HALF_VECTORS 1
#define WEFT_SIMD_PACKS 1
#define WEFT_SIMD_GATHERS 1
#define WEFT_SIMD_MASKED_VECTORS 1
#define WEFT_SIMD_BFLOAT_PAIRS 1

namespace weft::WEFT_ISA {

// ---- arithmetic

template <class V>
inline V multiply_add(V a, V b, V c) {
  if constexpr (std::is_same_v<V, Vec<float>>)
    return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else if constexpr (std::is_same_v<V, Vec<double>>)
    return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  else
    return a * b + c;
}
template <class T>
inline Vec<T> within_bounds(Vec<T> v, T low, T high) {
  Vec<T> least = splat(low), most = splat(high);
  if constexpr (std::is_same_v<T, float>) {
    // The instructions return their second operand where both are equal or one is NaN. Adding zero lets a negative zero
    // become the bound zero; adding a negative zero changes nothing.
    Vec<T> sign = splat(low == 0 ? 0.0f : -0.0f);
    Vec<T> high_enough = (Vec<T>)_mm512_max_ps((__m512)least, (__m512)v) + sign;
    return (Vec<T>)_mm512_min_ps((__m512)most, (__m512)high_enough);
  } else {
    v = v <= least ? least : v;
    return v > most ? most : v;
  }
}
template <class V>
inline bool any_lane(V mask) {
  return _mm512_test_epi64_mask(std::bit_cast<__m512i>(mask), std::bit_cast<__m512i>(mask));
}
[[gnu::always_inline]] inline Vec<uint64_t> low_times(Vec<uint64_t> a, uint32_t b) {
  return Vec<uint64_t>(_mm512_maskz_mul_epu32(0xff, __m512i(a), _mm512_set1_epi64(b)));
}

// ---- parts of a vector

template <class T, int lanes = kLanes<T>>
inline Vec<T, lanes> load_some(const T* p, int64_t n, T fill) {
  if constexpr (lanes == 1) {
    return *p;
  } else if constexpr (lanes * sizeof(T) == 64) {
    __m512i v = std::bit_cast<__m512i>(splat(fill));
    if constexpr (sizeof(T) == 1) v = _mm512_mask_loadu_epi8(v, (uint64_t(1) << n) - 1, p);
    if constexpr (sizeof(T) == 2) v = _mm512_mask_loadu_epi16(v, (uint32_t(1) << n) - 1, p);
    if constexpr (sizeof(T) == 4) v = _mm512_mask_loadu_epi32(v, (1u << n) - 1, p);
    if constexpr (sizeof(T) == 8) v = _mm512_mask_loadu_epi64(v, (1u << n) - 1, p);
    return std::bit_cast<Vec<T>>(v);
  } else {
    static_assert(lanes == 8 && sizeof(T) == 4);
    __m256i v = std::bit_cast<__m256i>(fill - Vec<T, 8>{});
    return std::bit_cast<Vec<T, 8>>(_mm256_mask_loadu_epi32(v, (1u << n) - 1, p));
  }
}
template <class T>
inline void store_some(T* p, int64_t n, Vec<T> v) {
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_epi32(p, (1u << n) - 1, std::bit_cast<__m512i>(v));
  else if constexpr (sizeof(T) == 8)
    _mm512_mask_storeu_epi64(p, (1u << n) - 1, std::bit_cast<__m512i>(v));
  else
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}
template <class T>
inline Vec<T> load_first(const T* p, int64_t count) {
  if constexpr (sizeof(T) == 4)
    return (Vec<T>)_mm512_maskz_loadu_epi32(__mmask16((1u << count) - 1), p);
  else
    return (Vec<T>)_mm512_maskz_loadu_epi64(__mmask8((1u << count) - 1), p);
}
template <class T>
inline void store_first(T* p, Vec<T> v, int64_t count) {
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_epi32(p, __mmask16((1u << count) - 1), (__m512i)v);
  else
    _mm512_mask_storeu_epi64(p, __mmask8((1u << count) - 1), (__m512i)v);
}
inline HalfBits load_first_halves(const void* p, int64_t n) {
  return std::bit_cast<HalfBits>(_mm256_maskz_loadu_epi16((1u << n) - 1, p));
}
inline void store_first_halves(void* p, HalfBits bits, int64_t n) {
  _mm256_mask_storeu_epi16(p, (1u << n) - 1, std::bit_cast<__m256i>(bits));
}
// Writes lanes 8 to 8 + n.
inline void store_first_upper(uint32_t* p, Vec<uint32_t> v, int64_t n) {
  __mmask16 lower = __mmask16((1u << n) - 1);
  _mm512_mask_storeu_epi32(p - 8, __mmask16(lower << 8), (__m512i)v);
}

// Vectors of floats half as wide: where the machine computes a whole one in two steps, these take one.
struct HalfFloats {
  static constexpr int W = kLanes<float> / 2;
  typedef float Vec __attribute__((vector_size(kVectorBytes / 2)));
  static Vec load(const float* p, int64_t count) { return (Vec)_mm256_maskz_loadu_ps(__mmask8((1u << count) - 1), p); }
  static Vec fma(Vec a, Vec b, Vec c) { return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
  static Vec lower(weft::WEFT_ISA::Vec<float> v) { return (Vec)_mm512_castps512_ps256((__m512)v); }
  static weft::WEFT_ISA::Vec<float> whole(Vec v) {
    return (weft::WEFT_ISA::Vec<float>)_mm512_zextps256_ps512((__m256)v);
  }
};

// ---- lanes that are kept, or come from anywhere

// Which of as many bytes as a vector has elements of type T are not zero.
template <class T>
inline uint32_t nonzero_bytes(const uint8_t* p) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  __m128i bytes = sizeof(T) == 4 ? _mm_loadu_si128((const __m128i*)p)
                                 : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm_test_epi8_mask(bytes, bytes);
}
// Which lanes of a are below those of b.
inline uint32_t lanes_below(Vec<uint64_t> a, Vec<uint64_t> b) {
  return _mm512_cmplt_epu64_mask((__m512i)a, (__m512i)b);
}
// Writes the lanes of v that `kept` names side by side, and anything behind them; returns how many.
template <class T>
inline int store_packed(T* p, Vec<T> v, uint32_t kept) {
  if constexpr (sizeof(T) == 4)
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(__mmask16(kept), std::bit_cast<__m512i>(v)));
  else
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi64(__mmask8(kept), std::bit_cast<__m512i>(v)));
  return __builtin_popcount(kept);
}
// x[at[i]] for the first n lanes whose at is not negative, else zero; all of `at` is read.
inline Vec<float> gather_some(const float* x, const int32_t* at, int64_t n) {
  __m512i i = _mm512_loadu_si512(at);
  __mmask16 some = n < 16 ? __mmask16((1u << n) - 1) : __mmask16(0xffff);
  __mmask16 inside = _mm512_mask_cmpge_epi32_mask(some, i, _mm512_setzero_si512());
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, i, x, 4);
}

// ---- half types

inline Vec<float> widen_halves(HalfBits bits) { return _mm512_maskz_cvtph_ps(0xffff, std::bit_cast<__m256i>(bits)); }
inline HalfBits narrow_to_halves(Vec<float> v) { return std::bit_cast<HalfBits>(_mm512_maskz_cvtps_ph(0xffff, v, 0)); }

// The last elements fewer than a vector are taken by a mask, so that rows of odd length need no loop of their own.
inline int64_t widen_most(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256((const __m256i*)(from + i))));
  if (i < n) {
    const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps(to + i, rest, _mm512_maskz_cvtph_ps(0xffff, _mm256_maskz_loadu_epi16(rest, from + i)));
  }
  return n;
}
inline int64_t narrow_most(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256((__m256i*)(to + i), _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i), 0));
  if (i < n) {
    const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
    _mm256_mask_storeu_epi16(to + i, rest, _mm512_maskz_cvtps_ph(0xffff, _mm512_maskz_loadu_ps(rest, from + i), 0));
  }
  return n;
}
inline int64_t widen_most(const BFloat16* __restrict from, float* __restrict to, int64_t n) {
  auto wide = [](__m256i bits) __attribute__((always_inline)) {
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, bits), 16));
  };
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(to + i, wide(_mm256_loadu_si256((const __m256i*)(from + i))));
  if (i < n) {
    const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps(to + i, rest, wide(_mm256_maskz_loadu_epi16(rest, from + i)));
  }
  return n;
}
// BFloat16(float) of each lane, in the upper half of its 32 bits.
inline __m512i rounded_high(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, u, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
  return _mm512_mask_mov_epi32(sum, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc00000));
}
inline int64_t narrow_most(const float* __restrict from, BFloat16* __restrict to, int64_t n) {
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i upper = _mm512_load_si512(kUpper);
  int64_t i = 0;
#pragma GCC unroll 2
  for (; i + 32 <= n; i += 32) {
    __m512i low = rounded_high(_mm512_loadu_ps(from + i)), high = rounded_high(_mm512_loadu_ps(from + i + 16));
    _mm512_storeu_si512(to + i, _mm512_permutex2var_epi16(low, upper, high));
  }
  for (; i < n; i += 16) {
    const __mmask16 some = n - i < 16 ? __mmask16((1u << (n - i)) - 1) : __mmask16(0xffff);
    __m512i bits = _mm512_maskz_srli_epi32(0xffff, rounded_high(_mm512_maskz_loadu_ps(some, from + i)), 16);
    _mm256_mask_storeu_epi16(to + i, some, _mm512_maskz_cvtepi32_epi16(0xffff, bits));
  }
  return n;
}

// Products of pairs of BFloat16, added to floats. Not every machine with AVX-512 has the instruction, so the file is
// compiled without.
struct BFloatPairs {
  using V = Vec<uint16_t>;
  static constexpr int64_t step = 2 * kLanes<float>;
  static bool on_this_machine() { return __builtin_cpu_supports("avx512bf16"); }
  static V load(const BFloat16* p) { return weft::WEFT_ISA::load<V>(p); }
  static V load(const BFloat16* p, int64_t n) { return (V)_mm512_maskz_loadu_epi16((uint32_t(1) << n) - 1, p); }
  static V spread(uint32_t pair) { return (V)_mm512_set1_epi32(int(pair)); }
  static void add(Vec<float>& sum, V a, V b) { asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b)); }
  // Two rows of n numbers, at most 32 are taken, interleaved: 32 pairs. Without y, its numbers are zeros.
  static void interleave(const uint16_t* x, const uint16_t* y, int64_t n, V* low, V* high) {
    alignas(64) static constexpr uint16_t kLow[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                      8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __mmask32 some = n >= 32 ? ~__mmask32(0) : (__mmask32(1) << n) - 1;
    const __m512i a = _mm512_maskz_loadu_epi16(some, x);
    const __m512i b = y ? _mm512_maskz_loadu_epi16(some, y) : _mm512_setzero_si512();
    const __m512i first = _mm512_load_si512(kLow), second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
    *low = (V)_mm512_permutex2var_epi16(a, first, b);
    *high = (V)_mm512_permutex2var_epi16(a, second, b);
  }
};

// ---- bytes

inline Vec<int32_t> add_pairs(Vec<int16_t> a, Vec<int16_t> b) {
  return (Vec<int32_t>)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}
inline Vec<int16_t> widen_bytes(const uint8_t* p) {
  return (Vec<int16_t>)_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i*)p));
}

// The instruction that adds four products of bytes to an int32. Not every machine with AVX-512 has it, so the file is
// compiled without; and by hand, because the compiler moves each sum to another register and back.
struct FastBytes {
  using Item = uint8_t;
  static constexpr int rows = 16, partial = 1, vectors = 4;
  static Vec<int32_t> load(const int8_t* w) { return (Vec<int32_t>)_mm512_loadu_si512(w); }
  static Vec<int32_t> spread(const Item* a) { return splat<int32_t>(*reinterpret_cast<const Word*>(a)); }
  static void add(Vec<int32_t>& sum, Vec<int32_t> a, Vec<int32_t> w) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(w));
  }
  typedef int32_t Word __attribute__((aligned(1), may_alias));
};
// Bytes are widened to 16 bits: the older instruction that multiplies bytes themselves saturates.
struct WidenedBytes {
  using Item = int16_t;
  static constexpr int rows = 8, partial = 2, vectors = 4;
  static Vec<int32_t> load(const int8_t* w) {
    return (Vec<int32_t>)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)w));
  }
  static Vec<int32_t> spread(const Item* a) {
    return (Vec<int32_t>)_mm512_set1_epi64(*reinterpret_cast<const Word*>(a));
  }
  static void add(Vec<int32_t>& sum, Vec<int32_t> a, Vec<int32_t> w) {
    sum += add_pairs((Vec<int16_t>)a, (Vec<int16_t>)w);
  }
  typedef int64_t Word __attribute__((aligned(2), may_alias));
};
using NarrowBytes = WidenedBytes;

// ---- maths: instructions that split, scale and repair floats, on as many
// lanes as a mask names

template <class T>
struct MaskedVector;
template <>
struct MaskedVector<float> {
  using V = __m512;
  using Mask = __mmask16;
  static constexpr int count = 16, kMantissa = 23;
  static V load(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(float* p, Mask m, V v) { _mm512_mask_storeu_ps(p, m, v); }
  static V all(float x) { return _mm512_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V within(V x, V low, V high) { return _mm512_maskz_max_ps(0xffff, low, _mm512_maskz_min_ps(0xffff, high, x)); }
  static V times_power_of_two(V x, V n) { return _mm512_maskz_scalef_ps(0xffff, x, n); }
  static V exponent(V x) { return _mm512_maskz_getexp_ps(0xffff, x); }
  static V mantissa(V x) { return _mm512_maskz_getmant_ps(0xffff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src); }
  static Mask at_least(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
  static bool any_outside(V x, float low, float high) {
    return _mm512_mask_cmp_ps_mask(at_least(x, all(low)), x, all(high), _CMP_LE_OQ) != 0xffff;
  }
  static V add_where(Mask m, V a, V b) { return _mm512_mask_add_ps(a, m, a, b); }
  static V times_where(Mask m, V a, V b) { return _mm512_mask_mul_ps(a, m, a, b); }
  static V negative(V x) { return _mm512_or_ps(x, all(-0.0f)); }
  static Mask not_below(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
  static V times_power_of_two_where(Mask m, V x, V n) { return _mm512_maskz_scalef_ps(m, x, n); }  // else zero
  static V where_negative(V x, V yes, V no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, all(0), _CMP_LT_OQ), no, yes);
  }
  static V root(V x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
  static V rough_rsqrt(V x) { return _mm512_maskz_rsqrt14_ps(0xffff, x); }
  static V power_of_two(V n) {  // its low bits are the exponent
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, _mm512_castps_si512(n), kMantissa));
  }
  static V abs(V x) { return _mm512_abs_ps(x); }
  static V least(V a, V b) { return _mm512_maskz_min_ps(0xffff, a, b); }  // NaN if b is
  static V copysign(V x, V y) {                                           // the bits of y where x has its sign
    constexpr int choose = 0xe4;
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(x), _mm512_castps_si512(y),
                                                         _mm512_set1_epi32(0x7fffffff), choose));
  }
  static V repair(V y, V x, int table) { return _mm512_fixupimm_ps(y, x, _mm512_set1_epi32(table), 0); }
};
template <>
struct MaskedVector<double> {
  using V = __m512d;
  using Mask = __mmask8;
  static constexpr int count = 8;
  static V load(const double* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(double* p, Mask m, V v) { _mm512_mask_storeu_pd(p, m, v); }
  static V all(double x) { return _mm512_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V within(V x, V low, V high) { return _mm512_maskz_max_pd(0xff, low, _mm512_maskz_min_pd(0xff, high, x)); }
  static V times_power_of_two(V x, V n) { return _mm512_maskz_scalef_pd(0xff, x, n); }
  static V exponent(V x) { return _mm512_maskz_getexp_pd(0xff, x); }
  static V mantissa(V x) { return _mm512_maskz_getmant_pd(0xff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src); }
  static Mask at_least(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
  static bool any_outside(V x, double low, double high) {
    return _mm512_mask_cmp_pd_mask(at_least(x, all(low)), x, all(high), _CMP_LE_OQ) != 0xff;
  }
  static V add_where(Mask m, V a, V b) { return _mm512_mask_add_pd(a, m, a, b); }
  static V times_where(Mask m, V a, V b) { return _mm512_mask_mul_pd(a, m, a, b); }
  static V root(V x) { return _mm512_maskz_sqrt_pd(0xff, x); }
  static V rough_rsqrt(V x) { return _mm512_maskz_rsqrt14_pd(0xff, x); }
  // The entries of a table at the low four bits of each lane.
  static V look_up(const double (&table)[16], V place) {
    return _mm512_permutex2var_pd(_mm512_load_pd(table), _mm512_castpd_si512(place), _mm512_load_pd(table + 8));
  }
  static V repair(V y, V x, int table) { return _mm512_fixupimm_pd(y, x, _mm512_set1_epi64(table), 0); }
};

}  // namespace weft::WEFT_ISA
