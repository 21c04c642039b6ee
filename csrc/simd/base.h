// The operations of simd/simd.h where nothing is known of the CPU but its kind: in plain C++, which compilers turn into
// SSE2 or NEON, and in SSE2 where they do not.
#pragma once

#define WEFT_VECTOR_BYTES 16
#include "simd/plain.h"
#include "simd/types.h"
#include "simd/x86.h"

namespace weft::WEFT_ISA {

// ---- arithmetic

template <class V>
inline V multiply_add(V a, V b, V c) {
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
  auto pair = std::bit_cast<Vec<uint64_t>>(mask);
  return (pair[0] | pair[1]) != 0;
}
[[gnu::always_inline]] inline Vec<uint64_t> low_times(Vec<uint64_t> a, uint32_t b) {
#if defined(__SSE2__)
  return Vec<uint64_t>(_mm_mul_epu32(__m128i(a), _mm_set1_epi64x(b)));
#else
  return (a & 0xffffffffu) * b;
#endif
}

// ---- parts of a vector

template <class T>
inline Vec<T> load_first(const T* p, int64_t n) {
  Vec<T> v{};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
template <class T>
inline void store_first(T* p, Vec<T> v, int64_t n) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}
// ---- half types

inline Vec<float> widen_halves(HalfBits bits) {
  Vec<float> v;
  for (int i = 0; i < kLanes<float>; ++i) v[i] = float(std::bit_cast<Half>(uint16_t(bits[i])));
  return v;
}
inline HalfBits narrow_to_halves(Vec<float> v) {
  HalfBits bits;
  for (int i = 0; i < kLanes<float>; ++i) bits[i] = Half(v[i]).bits;
  return bits;
}
inline int64_t widen_most(const Half*, float*, int64_t) { return 0; }
inline int64_t narrow_most(const float*, Half*, int64_t) { return 0; }
inline int64_t widen_most(const BFloat16*, float*, int64_t) { return 0; }
inline int64_t narrow_most(const float*, BFloat16*, int64_t) { return 0; }

// ---- bytes

inline Vec<int32_t> add_pairs(Vec<int16_t> a, Vec<int16_t> b) {
#if defined(__SSE2__)
  return (Vec<int32_t>)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  Vec<int32_t> sum;
  for (int i = 0; i < kLanes<int32_t>; ++i) sum[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
  return sum;
#endif
}
inline Vec<int16_t> widen_bytes(const uint8_t* p) {
  return __builtin_convertvector((load<Vec<uint8_t, kLanes<int16_t>>>(p)), Vec<int16_t>);
}

#if defined(__SSE2__)
struct WidenedBytes {
  using Item = int16_t;
  static constexpr int rows = 2, partial = 2, vectors = 2;
  static Vec<int32_t> load(const int8_t* w) {
    __m128i v = _mm_loadl_epi64((const __m128i*)w);
    return (Vec<int32_t>)_mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8);
  }
  static Vec<int32_t> spread(const Item* a) { return (Vec<int32_t>)_mm_set1_epi64x(*reinterpret_cast<const Word*>(a)); }
  static void add(Vec<int32_t>& sum, Vec<int32_t> a, Vec<int32_t> w) {
    sum += add_pairs((Vec<int16_t>)a, (Vec<int16_t>)w);
  }
  typedef long long Word __attribute__((aligned(2), may_alias));
};
#else
struct WidenedBytes {
  using Item = int16_t;
  static constexpr int rows = 1, partial = 4, vectors = 4;
  static Vec<int32_t> load(const int8_t* w) { return Vec<int32_t>{w[0], w[1], w[2], w[3]}; }
  static Vec<int32_t> spread(const Item* a) { return Vec<int32_t>{a[0], a[1], a[2], a[3]}; }
  static void add(Vec<int32_t>& sum, Vec<int32_t> a, Vec<int32_t> w) { sum += a * w; }
};
#endif
using NarrowBytes = WidenedBytes;
using FastBytes = WidenedBytes;  // no set of its own has an instruction for four products of bytes

}  // namespace weft::WEFT_ISA
