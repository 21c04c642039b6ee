// The operations of simd/simd.h in AVX2, FMA, F16C and BMI2.
#pragma once

#include <immintrin.h>

#define WEFT_VECTOR_BYTES 32
#include "simd/plain.h"
#include "simd/types.h"
#include "simd/x86.h"

namespace weft::WEFT_ISA {

// ---- arithmetic

template <class V>
inline V multiply_add(V a, V b, V c) {
  if constexpr (std::is_same_v<V, Vec<float>>)
    return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else if constexpr (std::is_same_v<V, Vec<double>>)
    return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  else
    return a * b + c;
}
template <class T>
inline Vec<T> within_bounds(Vec<T> v, T low, T high) {
  Vec<T> least = splat(low), most = splat(high);
  v = v <= least ? least : v;
  return v > most ? most : v;
}
template <class V>
inline bool any_lane(V mask) {
  return !_mm256_testz_si256(std::bit_cast<__m256i>(mask), std::bit_cast<__m256i>(mask));
}
[[gnu::always_inline]] inline Vec<uint64_t> low_times(Vec<uint64_t> a, uint32_t b) {
  return Vec<uint64_t>(_mm256_mul_epu32(__m256i(a), _mm256_set1_epi64x(b)));
}

// ---- parts of a vector

template <class T>
inline __m256i first_lanes(int64_t count) {
  if constexpr (sizeof(T) == 4)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
template <class T>
inline Vec<T> load_first(const T* p, int64_t count) {
  if constexpr (sizeof(T) == 4)
    return (Vec<T>)_mm256_maskload_epi32((const int*)p, first_lanes<T>(count));
  else
    return (Vec<T>)_mm256_maskload_epi64((const long long*)p, first_lanes<T>(count));
}
template <class T>
inline void store_first(T* p, Vec<T> v, int64_t count) {
  if constexpr (sizeof(T) == 4)
    _mm256_maskstore_epi32((int*)p, first_lanes<T>(count), (__m256i)v);
  else
    _mm256_maskstore_epi64((long long*)p, first_lanes<T>(count), (__m256i)v);
}

// ---- half types

inline Vec<float> widen_halves(HalfBits bits) { return _mm256_cvtph_ps(std::bit_cast<__m128i>(bits)); }
inline HalfBits narrow_to_halves(Vec<float> v) { return std::bit_cast<HalfBits>(_mm256_cvtps_ph(v, 0)); }
inline int64_t widen_most(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + i))));
  return i;
}
inline int64_t narrow_most(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i*)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
  return i;
}
inline int64_t widen_most(const BFloat16*, float*, int64_t) { return 0; }
inline int64_t narrow_most(const float*, BFloat16*, int64_t) { return 0; }

// ---- bytes

inline Vec<int32_t> add_pairs(Vec<int16_t> a, Vec<int16_t> b) {
  return (Vec<int32_t>)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
inline Vec<int16_t> widen_bytes(const uint8_t* p) {
  return (Vec<int16_t>)_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)p));
}

struct WidenedBytes {
  using Item = int16_t;
  static constexpr int rows = 4, partial = 2, vectors = 2;
  static Vec<int32_t> load(const int8_t* w) {
    return (Vec<int32_t>)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)w));
  }
  static Vec<int32_t> spread(const Item* a) {
    return (Vec<int32_t>)_mm256_set1_epi64x(*reinterpret_cast<const Word*>(a));
  }
  static void add(Vec<int32_t>& sum, Vec<int32_t> a, Vec<int32_t> w) {
    sum += add_pairs((Vec<int16_t>)a, (Vec<int16_t>)w);
  }
  typedef long long Word __attribute__((aligned(2), may_alias));
};
// In the encoding of CPUs that have the instruction but not AVX-512.
struct FastBytes {
  using Item = uint8_t;
  static constexpr int rows = 8, partial = 1, vectors = 2;
  static Vec<int32_t> load(const int8_t* w) { return (Vec<int32_t>)_mm256_loadu_si256((const __m256i*)w); }
  static Vec<int32_t> spread(const Item* a) { return splat<int32_t>(*reinterpret_cast<const Word*>(a)); }
  static void add(Vec<int32_t>& sum, Vec<int32_t> a, Vec<int32_t> w) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(w));
  }
  typedef int32_t Word __attribute__((aligned(1), may_alias));
};
// Two products of 127 and -128 are within 16 bits.
struct NarrowBytes {
  using Item = uint8_t;
  static constexpr int rows = 8, partial = 1, vectors = 2;
  static Vec<int32_t> load(const int8_t* w) { return (Vec<int32_t>)_mm256_loadu_si256((const __m256i*)w); }
  static Vec<int32_t> spread(const Item* a) { return splat<int32_t>(*reinterpret_cast<const Word*>(a)); }
  static void add(Vec<int32_t>& sum, Vec<int32_t> a, Vec<int32_t> w) {
    __m256i pairs = _mm256_maddubs_epi16((__m256i)a, (__m256i)w);
    sum += (Vec<int32_t>)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  typedef int32_t Word __attribute__((aligned(1), may_alias));
};

}  // namespace weft::WEFT_ISA
