// Conversion of contiguous elements, for inclusion in *.isa.cpp files.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "loops/modular.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {

template <class R>
struct Complex {
  R re, im;
};
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

// Half types to floats and back, as many at a time as a vector holds.
template <class H>
inline void widen(const H* __restrict src, float* __restrict dst, int64_t n) {
  for (int64_t i = widen_most(src, dst, n); i < n; ++i) dst[i] = float(src[i]);
}
template <class H>
inline void narrow(const float* __restrict src, H* __restrict dst, int64_t n) {
  for (int64_t i = narrow_most(src, dst, n); i < n; ++i) dst[i] = H(src[i]);
}

}  // namespace weft::WEFT_ISA
