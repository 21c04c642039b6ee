// Vectors as wide as the machine's, in the compiler's own vector types, and the few moves the row loops need.
// Only for *.isa.cpp files.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "loops/convert.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace weft::WEFT_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Loops keep this many bytes of partial results in registers whatever the machine, so that sums are made in
// the same order on all of them.
constexpr int kPackBytes = 256;
constexpr int kPackVectors = kPackBytes / kVectorBytes;

template <class T, int lanes>
struct VectorOf {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};
template <class T>
constexpr bool is_vectorizable = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// A vector of T; for complex numbers a single one.
template <class T, int lanes = kVectorBytes / int(sizeof(T))>
using Vec = typename std::conditional_t<is_vectorizable<T>, VectorOf<T, lanes>, std::type_identity<T>>::type;
template <class T>
constexpr int kLanes = is_vectorizable<T> ? kVectorBytes / int(sizeof(T)) : 1;

template <class V, class T>
inline V load(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T, class V>
inline void store(T* p, V v) {
  std::memcpy(static_cast<void*>(p), &v, sizeof v);
}

template <class T>
inline Vec<T> splat(T x) {
  if constexpr (is_vectorizable<T>)
    return x - Vec<T>{};  // minus zero keeps the sign of -0.0
  else
    return x;
}

// The first n lanes from memory, the others are fill; reads no byte past the n-th.
#if defined(__AVX512BW__)
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
#else
template <class T, int lanes = kLanes<T>>
[[gnu::noinline]] Vec<T, lanes> load_some(const T* p, int64_t n, T fill) {
  T some[lanes];
  for (int64_t i = 0; i < lanes; ++i) some[i] = i < n ? p[i] : fill;
  return load<Vec<T, lanes>>(some);
}
#endif

// Writes the first n lanes.
template <class T>
inline void store_some(T* p, int64_t n, Vec<T> v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_epi32(p, (1u << n) - 1, std::bit_cast<__m512i>(v));
  if constexpr (sizeof(T) == 8) return _mm512_mask_storeu_epi64(p, (1u << n) - 1, std::bit_cast<__m512i>(v));
#endif
  for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}

template <int first, class V, int... I>
inline auto lanes_from(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (first + I)...);
}

// Joins all lanes into one, halving again and again.
template <class T, int lanes = kLanes<T>, class V, class F>
inline T join_lanes(V v, const F& join) {
  if constexpr (!is_vectorizable<T>) {
    return v;
  } else if constexpr (lanes == 2) {
    return join(T(v[0]), T(v[1]));
  } else {
    constexpr auto half = std::make_integer_sequence<int, lanes / 2>{};
    return join_lanes<T, lanes / 2>(join(lanes_from<0>(v, half), lanes_from<lanes / 2>(v, half)), join);
  }
}

// Whether some lane of a mask is set.
template <class V>
inline bool any_lane(V mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(std::bit_cast<__m512i>(mask), std::bit_cast<__m512i>(mask));
#elif defined(__AVX2__)
  return !_mm256_testz_si256(std::bit_cast<__m256i>(mask), std::bit_cast<__m256i>(mask));
#else
  auto pair = std::bit_cast<Vec<uint64_t>>(mask);
  return (pair[0] | pair[1]) != 0;
#endif
}

// Half types as a vector of floats; of fewer than all, the others are fill.
template <class T>
inline Vec<float> floats_of(Vec<uint16_t, kLanes<float>> bits) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return std::bit_cast<Vec<float>>(__builtin_convertvector(bits, Vec<uint32_t>) << 16);
  } else {
#if defined(__AVX512F__)
    return _mm512_maskz_cvtph_ps(0xffff, std::bit_cast<__m256i>(bits));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(std::bit_cast<__m128i>(bits));
#else
    Vec<float> v;
    for (int i = 0; i < kLanes<float>; ++i) v[i] = float(std::bit_cast<T>(uint16_t(bits[i])));
    return v;
#endif
  }
}
template <class T>
inline Vec<float> load_floats(const T* p) {
  return floats_of<T>(load<Vec<uint16_t, kLanes<float>>>(p));
}
template <class T>
inline Vec<float> load_some_floats(const T* p, int64_t n, float fill) {
  constexpr int L = kLanes<float>;
  Vec<uint16_t, L> bits = {};
  Vec<int32_t> lane;
  for (int i = 0; i < L; ++i) lane[i] = i;
#if defined(__AVX512BW__)
  bits = std::bit_cast<Vec<uint16_t, L>>(_mm256_maskz_loadu_epi16((1u << n) - 1, p));
#else
  for (int i = 0; i < n; ++i) bits[i] = p[i].bits;
#endif
  return lane < int32_t(n) ? floats_of<T>(bits) : splat(fill);
}

// Floats rounded to a half type.
template <class T>
inline Vec<uint16_t, kLanes<float>> halves_of(Vec<float> v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    auto u = std::bit_cast<Vec<uint32_t>>(v);
    auto rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return __builtin_convertvector(v == v ? rounded : 0x7fc0u - Vec<uint32_t>{}, Vec<uint16_t, kLanes<float>>);
  } else {
    Vec<uint16_t, kLanes<float>> bits;
#if defined(__AVX512F__)
    bits = std::bit_cast<decltype(bits)>(_mm512_maskz_cvtps_ph(0xffff, v, 0));
#elif defined(__F16C__)
    bits = std::bit_cast<decltype(bits)>(_mm256_cvtps_ph(v, 0));
#else
    for (int i = 0; i < kLanes<float>; ++i) bits[i] = T(v[i]).bits;
#endif
    return bits;
  }
}
template <class T>
inline void store_halves(T* p, int64_t n, Vec<float> v) {
  auto bits = halves_of<T>(v);
  if (n >= kLanes<float>) return store(p, bits);
#if defined(__AVX512BW__)
  _mm256_mask_storeu_epi16(p, (1u << n) - 1, std::bit_cast<__m256i>(bits));
#else
  for (int64_t i = 0; i < n; ++i) p[i].bits = bits[i];
#endif
}

// Widens or narrows each lane, in steps that the compiler has an instruction for.
template <class To, class From, int lanes, class V>
inline Vec<To, lanes> convert_lanes(V v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (std::is_integral_v<From> && sizeof(To) > 2 * sizeof(From)) {
    using Wider = std::conditional_t<sizeof(From) == 1, int16_t, int32_t>;
    return convert_lanes<To, Wider, lanes>(__builtin_convertvector(v, Vec<Wider, lanes>));
  } else {
    return __builtin_convertvector(v, Vec<To, lanes>);
  }
}

template <class R>
inline Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
inline Complex<R> operator/(Complex<R> a, double n) {
  return {R(a.re / n), R(a.im / n)};
}

}  // namespace weft::WEFT_ISA
