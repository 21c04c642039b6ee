// The few vector operations that the matrix kernels need, for inclusion in *.isa.cpp files.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "loops/isa.h"

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

template <class T>
struct Simd {
  static constexpr int W = kVectorBytes / sizeof(T);
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));

  static Vec splat(T x) { return x - Vec{}; }
  static Vec load(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  static void store(T* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }

  static Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    if constexpr (std::is_same_v<T, double>) return (Vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<T, float>) return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    if constexpr (std::is_same_v<T, double>) return (Vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
    return a * b + c;
  }

  // The first `count` lanes only; the others read as zero and are not written.
  static Vec load(const T* p, int64_t count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
      return (Vec)_mm512_maskz_loadu_epi32(__mmask16((1u << count) - 1), p);
    else
      return (Vec)_mm512_maskz_loadu_epi64(__mmask8((1u << count) - 1), p);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
      return (Vec)_mm256_maskload_epi32((const int*)p, lanes(count));
    else
      return (Vec)_mm256_maskload_epi64((const long long*)p, lanes(count));
#else
    Vec v{};
    for (int i = 0; i < count; ++i) v[i] = p[i];
    return v;
#endif
  }
  static void store(T* p, Vec v, int64_t count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_epi32(p, __mmask16((1u << count) - 1), (__m512i)v);
    else
      _mm512_mask_storeu_epi64(p, __mmask8((1u << count) - 1), (__m512i)v);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
      _mm256_maskstore_epi32((int*)p, lanes(count), (__m256i)v);
    else
      _mm256_maskstore_epi64((long long*)p, lanes(count), (__m256i)v);
#else
    for (int i = 0; i < count; ++i) p[i] = v[i];
#endif
  }

  // What is beyond the bounds becomes them; NaN stays.
  static Vec within(Vec v, T low, T high) {
    Vec least = splat(low), most = splat(high);
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) {
      // The instructions return their second operand where both are equal or one is NaN. Adding zero lets a negative
      // zero become the bound zero; adding a negative zero changes nothing.
      Vec sign = splat(low == 0 ? 0.0f : -0.0f);
      Vec high_enough = (Vec)_mm512_max_ps((__m512)least, (__m512)v) + sign;
      return (Vec)_mm512_min_ps((__m512)most, (__m512)high_enough);
    }
#endif
    v = v <= least ? least : v;
    return v > most ? most : v;
  }

  template <class Bounds>
  static Vec within(Vec v, const Bounds& b) {
    return b ? within(v, T(b.low), T(b.high)) : v;
  }

  static T sum(Vec v) { return fold<W>(v, std::make_index_sequence<W / 2>()); }

  // The sums of four vectors, each by the same tree as sum().
  static void sum4(const Vec* v, T* sums) {
    if constexpr (W < 4) {
      for (int i = 0; i < 4; ++i) sums[i] = sum(v[i]);
    } else {
      constexpr auto all = std::make_index_sequence<W>();
      Vec quarters = add_halves<2>(add_halves<1>(v[0], v[1], all), add_halves<1>(v[2], v[3], all), all);
      fold4<W>(quarters, sums, std::make_index_sequence<W / 2>());
    }
  }

 private:
  // The lower half of each vector plus its upper half, the two results interleaved in groups of G.
  template <int G, size_t... I>
  static Vec add_halves(Vec a, Vec b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (I / G % 2 * W + I / G / 2 * G + I % G)...) +
           __builtin_shufflevector(a, b, (I / G % 2 * W + I / G / 2 * G + I % G + W / 2)...);
  }
  template <int N, class V, size_t... I>
  static void fold4(V v, T* sums, std::index_sequence<I...>) {
    if constexpr (N == 4) {
      std::memcpy(sums, &v, sizeof v);
    } else {
      auto half = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + N / 2)...);
      fold4<N / 2>(half, sums, std::make_index_sequence<N / 4>());
    }
  }
  // The upper half is added to the lower one until one lane is left: the same tree on every call.
  template <int N, class V, size_t... I>
  static T fold(V v, std::index_sequence<I...>) {
    if constexpr (N == 2) {
      return v[0] + v[1];
    } else {
      auto half = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + N / 2)...);
      return fold<N / 2>(half, std::make_index_sequence<N / 4>());
    }
  }

#if defined(__AVX2__) && !defined(__AVX512F__)
  static __m256i lanes(int64_t count) {
    if constexpr (sizeof(T) == 4)
      return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    else
      return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
#endif
};

#if defined(__AVX512F__)
// Vectors of floats half as wide: where the machine computes a whole one in two steps, these take one.
struct HalfFloats {
  static constexpr int W = Simd<float>::W / 2;
  typedef float Vec __attribute__((vector_size(kVectorBytes / 2)));
  static Vec load(const float* p, int64_t count) { return (Vec)_mm256_maskz_loadu_ps(__mmask8((1u << count) - 1), p); }
  static Vec fma(Vec a, Vec b, Vec c) { return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
  static Vec lower(Simd<float>::Vec v) { return (Vec)_mm512_castps512_ps256((__m512)v); }
  static Simd<float>::Vec whole(Vec v) { return (Simd<float>::Vec)_mm512_zextps256_ps512((__m256)v); }
};
#endif

// Finishes n numbers that lie side by side (gemm_kernels.h).
template <class Finish>
inline void finish_part(const Finish& how, float* y, int64_t n) {
  using S = Simd<float>;
  if (how.loop) {
    char* p[2] = {reinterpret_cast<char*>(y), reinterpret_cast<char*>(y)};
    how.loop(p, n);
  }
  if (!how.adds) return;
  const float* plus = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(y) + uintptr_t(how.apart));
  int64_t i = 0;
  for (; i + S::W <= n; i += S::W) S::store(y + i, S::within(S::load(y + i) + S::load(plus + i), how.bounds));
  if (i < n) S::store(y + i, S::within(S::load(y + i, n - i) + S::load(plus + i, n - i), how.bounds), n - i);
}

}  // namespace weft::WEFT_ISA
