// The ground under math.h: bits of a float, fused multiply-add, polynomials, rounding to an
// integer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "simd/isa.h"

// These functions only turn into vector code inside the loop that calls them.
#define WEFT_MATH [[gnu::always_inline]] inline

namespace weft::WEFT_ISA::math {

template <class T>
struct Layout;  // how a T is made of sign, exponent and mantissa
template <>
struct Layout<float> {
  using Bits = uint32_t;
  using Signed = int32_t;
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct Layout<double> {
  using Bits = uint64_t;
  using Signed = int64_t;
  static constexpr int mantissa = 52, bias = 1023;
};
template <class T>
using BitsOf = typename Layout<T>::Bits;

template <class T>
constexpr T inf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T nan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T smallest_normal = std::numeric_limits<T>::min();
template <class T>
constexpr BitsOf<T> sign_bit = BitsOf<T>(1) << (8 * sizeof(T) - 1);

// Adding 1.5 * 2^mantissa to a small number rounds it to an integer, found in the low bits of the
// sum.
template <class T>
constexpr T round_shift = T(BitsOf<T>(3) << (Layout<T>::mantissa - 1));

WEFT_MATH constexpr uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
WEFT_MATH constexpr uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }
WEFT_MATH constexpr float from_bits(uint32_t u) { return __builtin_bit_cast(float, u); }
WEFT_MATH constexpr double from_bits(uint64_t u) { return __builtin_bit_cast(double, u); }

#ifdef __FMA__
constexpr bool has_fma = true;
WEFT_MATH float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WEFT_MATH double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
constexpr bool has_fma = false;  // then fma only saves writing, not rounding
template <class T>
WEFT_MATH T fma(T a, T b, T c) {
  return a * b + c;
}
#endif

WEFT_MATH float abs(float x) { return __builtin_fabsf(x); }
WEFT_MATH double abs(double x) { return __builtin_fabs(x); }
WEFT_MATH float sqrt(float x) { return __builtin_sqrtf(x); }
WEFT_MATH double sqrt(double x) { return __builtin_sqrt(x); }
template <class T>
WEFT_MATH T rsqrt(T x) {
  return T(1) / sqrt(x);
}
WEFT_MATH float copysign(float x, float y) { return __builtin_copysignf(x, y); }
WEFT_MATH double copysign(double x, double y) { return __builtin_copysign(x, y); }
template <class T>
WEFT_MATH T sign(T x) {
  return T(x > 0) - T(x < 0);
}

// c[0] + c[1] x + c[2] x^2 + ...
template <class T, size_t N, size_t First = 0, size_t Step = 1>
WEFT_MATH T horner(T x, const T (&c)[N]) {
  if constexpr (First + Step >= N)
    return c[First];
  else
    return fma(horner<T, N, First + Step, Step>(x, c), x, c[First]);
}
// The same; long ones as two or four parts that do not wait for each other.
template <class T, size_t N>
WEFT_MATH T polynomial(T x, const T (&c)[N]) {
  T z = x * x;
  if constexpr (N < 10) {
    return horner(x, c);
  } else if constexpr (N < 16) {
    return fma(horner<T, N, 1, 2>(z, c), x, horner<T, N, 0, 2>(z, c));
  } else {
    T w = z * z, low = fma(horner<T, N, 1, 4>(w, c), x, horner<T, N, 0, 4>(w, c));
    return fma(fma(horner<T, N, 3, 4>(w, c), x, horner<T, N, 2, 4>(w, c)), z, low);
  }
}

// The lesser of t and top; NaN may become anything.
template <class T>
WEFT_MATH T at_most(T t, T top) {
#ifdef __AVX512F__  // one instruction instead of two, since positive floats are ordered like their
                    // bits
  using Signed = typename Layout<T>::Signed;
  Signed a = Signed(bits(t)), b = Signed(bits(top));
  return from_bits(BitsOf<T>(a < b ? a : b));
#else
  return t > top ? top : t;
#endif
}

#ifdef __SSE4_1__
WEFT_MATH float floor(float x) { return __builtin_floorf(x); }
WEFT_MATH double floor(double x) { return __builtin_floor(x); }
WEFT_MATH float ceil(float x) { return __builtin_ceilf(x); }
WEFT_MATH double ceil(double x) { return __builtin_ceil(x); }
WEFT_MATH float trunc(float x) { return __builtin_truncf(x); }
WEFT_MATH double trunc(double x) { return __builtin_trunc(x); }
WEFT_MATH float round(float x) { return __builtin_rintf(x); }
WEFT_MATH double round(double x) { return __builtin_rint(x); }
#else
// To the nearest integer, ties to even: 2^mantissa has no room for a fraction.
template <class T>
WEFT_MATH T round(T x) {
  constexpr T big = T(BitsOf<T>(1) << Layout<T>::mantissa);
  T r = copysign((abs(x) + big) - big, x);
  return abs(x) < big ? r : x;
}
template <class T>
WEFT_MATH T floor(T x) {
  T r = round(x);
  return copysign(r - (r > x ? T(1) : T(0)), x);
}
template <class T>
WEFT_MATH T ceil(T x) {
  T r = round(x);
  return copysign(r + (r < x ? T(1) : T(0)), x);
}
template <class T>
WEFT_MATH T trunc(T x) {
  T r = round(abs(x));
  return copysign(r - (r > abs(x) ? T(1) : T(0)), x);
}
#endif

inline long double floor(long double x) { return __builtin_floorl(x); }
inline long double trunc(long double x) { return __builtin_truncl(x); }

}  // namespace weft::WEFT_ISA::math
