// Conversion of contiguous elements, for inclusion in *.isa.cpp files.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "loops/isa.h"
#include "loops/modular.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace weft::WEFT_ISA {

template <class R>
struct Complex {
  R re, im;
};
template <class T>
constexpr bool is_complex_type = false;
template <class R>
constexpr bool is_complex_type<Complex<R>> = true;

// How a type lies in memory; bool is read as a byte, since foreign memory may hold more than 0 and 1.
template <class T>
struct Stored {
  using type = T;
};
template <>
struct Stored<bool> {
  using type = uint8_t;
};
template <>
struct Stored<c64> {
  using type = Complex<float>;
};
template <>
struct Stored<c128> {
  using type = Complex<double>;
};

using modular::truncate;

template <class To, class From>
inline To cast(From x) {
  if constexpr (is_complex_type<From> && is_complex_type<To>) {
    return To{decltype(To::re)(x.re), decltype(To::re)(x.im)};
  } else if constexpr (is_complex_type<From>) {
    return cast<To>(x.re);
  } else if constexpr (is_complex_type<To>) {
    return To{cast<decltype(To::re)>(x), 0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncate<To>(x);
  } else {
    return To(x);
  }
}

template <class From>
inline uint8_t is_nonzero(From x) {
  if constexpr (is_complex_type<From>)
    return uint8_t((x.re != 0) | (x.im != 0));
  else
    return x != From(0);
}

template <class To, class From>
inline void convert_loop(const void* src, void* dst, int64_t n) {
  auto* __restrict in = static_cast<const typename Stored<From>::type*>(src);
  auto* __restrict out = static_cast<typename Stored<To>::type*>(dst);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<To, bool>)
      out[i] = is_nonzero(in[i]);
    else if constexpr (std::is_same_v<From, bool>)
      out[i] = cast<typename Stored<To>::type>(uint8_t(uint8_t(in[i] | -in[i]) >> 7));  // != 0, which is not vectorised
    else
      out[i] = cast<typename Stored<To>::type>(in[i]);
  }
}

// The last elements fewer than a vector are taken by a mask, so that rows of odd length need no loop of their own.
inline void widen(const Half* src, float* dst, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512BW__)
#pragma GCC unroll 4
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(dst + i, _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256((const __m256i*)(src + i))));
  if (i < n) {
    const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps(dst + i, rest, _mm512_maskz_cvtph_ps(0xffff, _mm256_maskz_loadu_epi16(rest, src + i)));
  }
  return;
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(src + i))));
#endif
  for (; i < n; ++i) dst[i] = float(src[i]);
}

inline void narrow(const float* src, Half* dst, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512BW__)
#pragma GCC unroll 4
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256((__m256i*)(dst + i), _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(src + i), 0));
  if (i < n) {
    const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
    _mm256_mask_storeu_epi16(dst + i, rest, _mm512_maskz_cvtps_ph(0xffff, _mm512_maskz_loadu_ps(rest, src + i), 0));
  }
  return;
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i*)(dst + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
#endif
  for (; i < n; ++i) dst[i] = Half(src[i]);
}

inline void widen(const BFloat16* __restrict src, float* __restrict dst, int64_t n) {
#if defined(__AVX512BW__)
  auto wide = [](__m256i bits) __attribute__((always_inline)) {
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, bits), 16));
  };
  int64_t i = 0;
#pragma GCC unroll 4
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(dst + i, wide(_mm256_loadu_si256((const __m256i*)(src + i))));
  if (i < n) {
    const __mmask16 rest = __mmask16((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps(dst + i, rest, wide(_mm256_maskz_loadu_epi16(rest, src + i)));
  }
#else
  for (int64_t i = 0; i < n; ++i) dst[i] = float(src[i]);
#endif
}

#if defined(__AVX512BW__)
// BFloat16(float) of each lane, in the upper half of its 32 bits.
inline __m512i rounded_high(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, u, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
  return _mm512_mask_mov_epi32(sum, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc00000));
}
#endif

inline void narrow(const float* __restrict src, BFloat16* __restrict dst, int64_t n) {
#if defined(__AVX512BW__)
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i upper = _mm512_load_si512(kUpper);
  int64_t i = 0;
#pragma GCC unroll 2
  for (; i + 32 <= n; i += 32) {
    __m512i low = rounded_high(_mm512_loadu_ps(src + i)), high = rounded_high(_mm512_loadu_ps(src + i + 16));
    _mm512_storeu_si512(dst + i, _mm512_permutex2var_epi16(low, upper, high));
  }
  for (; i < n; i += 16) {
    const __mmask16 some = n - i < 16 ? __mmask16((1u << (n - i)) - 1) : __mmask16(0xffff);
    __m512i bits = _mm512_maskz_srli_epi32(0xffff, rounded_high(_mm512_maskz_loadu_ps(some, src + i)), 16);
    _mm256_mask_storeu_epi16(dst + i, some, _mm512_maskz_cvtepi32_epi16(0xffff, bits));
  }
#else
  for (int64_t i = 0; i < n; ++i) dst[i] = BFloat16(src[i]);
#endif
}

}  // namespace weft::WEFT_ISA
