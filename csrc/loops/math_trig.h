// Sine, cosine, tangent and their inverses; remainders.
//
// sin, cos and tan hold for |x| up to Trig<T>::far, fmod and remainder up to the quotient
// Trig<T>::far_quotient: a branch for the others would keep their loops from becoming vector code.
// The loop looks for such far elements afterwards, with far_angle or far_quotient, and repeats them
// in long double, where libm does the work.
#pragma once

#include "loops/math_base.h"
#include "loops/numbers.h"

namespace weft::WEFT_ISA::math {

template <class T>
struct Trig;  // minimax coefficients, in powers of the square: loops/numbers.inc
template <>
struct Trig<float> {
  static constexpr const auto& sin = numbers::sin_f32;
  static constexpr const auto& sin_quarter = numbers::sin_quarter_f32;
  static constexpr const auto& cos_quarter = numbers::cos_quarter_f32;
  static constexpr const auto& atan = numbers::atan_f32;
  static constexpr const auto& asin = numbers::asin_f32;
  static constexpr float far = numbers::far_angle_f32[0], far_quotient = 0x1p22f;
};
template <>
struct Trig<double> {
  static constexpr const auto& sin = numbers::sin_f64;
  static constexpr const auto& sin_quarter = numbers::sin_quarter_f64;
  static constexpr const auto& cos_quarter = numbers::cos_quarter_f64;
  static constexpr const auto& atan = numbers::atan_f64;
  static constexpr const auto& asin = numbers::asin_f64;
  static constexpr double far = numbers::far_angle_f64[0], far_quotient = 0x1p51;
};
template <class T>
constexpr T pi = T(3.14159265358979323846);
template <class T>
constexpr T half_pi = T(1.57079632679489661923);
template <class T>
constexpr T half_pi_rest = T(numbers::half_pi_rest_f64[0]);  // half_pi + this = pi/2
template <>
inline constexpr float half_pi_rest<float> = numbers::half_pi_rest_f32[0];

// x - n pi for half-integers n. Pi comes in parts, all positive so that -0 stays -0; products with
// the leading ones are exact, either fused or because they have few enough bits.
WEFT_MATH double minus_n_pi(double x, double n) {
  constexpr auto& parts = has_fma ? numbers::pi_fused_f64 : numbers::pi_plain_f64;
  constexpr double a = parts[0], b = parts[1], c = parts[2];
  return fma(n, -c, fma(n, -b, fma(n, -a, x)));
}
WEFT_MATH float minus_n_pi(float x, float n) {
  if constexpr (has_fma) {
    constexpr float a = numbers::pi_fused_f32[0], b = numbers::pi_fused_f32[1], c = numbers::pi_fused_f32[2];
    return fma(n, -c, fma(n, -b, fma(n, -a, x)));
  } else {
    constexpr double a = numbers::pi_plain_f32[0], b = numbers::pi_plain_f32[1];
    return float((double(x) - n * a) - n * b);
  }
}

// sin(r) for |r| <= pi/2, of the sign of r also when that is -0
template <class T>
WEFT_MATH T sin_half_turn(T r) {
  T z = r * r;
  return copysign(fma(polynomial(z, Trig<T>::sin), r * z, r), r);
}
template <class T>
WEFT_MATH T negated_if_odd(T y, BitsOf<T> n) {
  return from_bits(bits(y) ^ (n << (8 * sizeof(T) - 1)));
}

// sin(x) = (-1)^n sin(x - n pi). ulp:
template <class T>
WEFT_MATH T sin(T x) {
  T shifted = fma(x, 1 / pi<T>, round_shift<T>), n = shifted - round_shift<T>;
  return negated_if_odd(sin_half_turn(minus_n_pi(x, n)), bits(shifted));
}

// cos(x) = (-1)^n sin(|x| + pi/2 - n pi). ulp:
template <class T>
WEFT_MATH T cos(T x) {
  T a = abs(x);
  T shifted = fma(a, 1 / pi<T>, T(0.5)) + round_shift<T>, n = shifted - round_shift<T>;
  return negated_if_odd(sin_half_turn(minus_n_pi(a, n - T(0.5))), bits(shifted));
}

// ulp:
template <class T>
WEFT_MATH T tan(T x) {
  T shifted = fma(x, 2 / pi<T>, round_shift<T>), n = shifted - round_shift<T>;
  T r = minus_n_pi(x, T(0.5) * n), z = r * r;
  T s = copysign(fma(polynomial(z, Trig<T>::sin_quarter), r * z, r), r);
  T c = fma(fma(polynomial(z, Trig<T>::cos_quarter), z, T(-0.5)), z, T(1));
  bool odd = bits(shifted) & 1;
  return (odd ? -c : s) / (odd ? s : c);
}

template <class T>
WEFT_MATH bool far_angle(T x) {
  return abs(x) > Trig<T>::far;
}
inline long double sin(long double x) { return __builtin_sinl(x); }
inline long double cos(long double x) { return __builtin_cosl(x); }
inline long double tan(long double x) { return __builtin_tanl(x); }

// atan(z) for |z| <= 1
template <class T>
WEFT_MATH T atan_of_ratio(T z) {
  return fma(polynomial(z * z, Trig<T>::atan), z * z * z, z);
}

// ulp:
template <class T>
WEFT_MATH T atan(T x) {
  T a = abs(x);
  bool steep = a > 1;
  T p = atan_of_ratio((steep ? T(-1) : a) / (steep ? a : T(1)));
  return copysign(steep ? half_pi<T> + (p + half_pi_rest<T>) : p, x);
}

// ulp:
template <class T>
WEFT_MATH T atan2(T y, T x) {
  T ax = abs(x), ay = abs(y);
  bool steep = ay > ax;
  T low = steep ? ax : ay, high = steep ? ay : ax;
  T z = low / high;
  z = low == high ? (high == 0 ? T(0) : T(1)) : z;  // 0 / 0 and inf / inf
  T p = atan_of_ratio(z);
  p = steep ? half_pi<T> - (p - half_pi_rest<T>) : p;
  bool left = bits(x) >> (8 * sizeof(T) - 1);
  p = left ? pi<T> - (p - 2 * half_pi_rest<T>) : p;
  return copysign(p, y);
}

// asin(s) with z = s^2 <= 1/4
template <class T>
WEFT_MATH T asin_small(T s, T z) {
  return fma(polynomial(z, Trig<T>::asin), s * z, s);
}

// Beyond 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). ulp:
template <class T>
WEFT_MATH T asin(T x) {
  T a = abs(x);
  bool large = a > T(0.5);
  T z = large ? fma(T(-0.5), a, T(0.5)) : a * a;
  T p = asin_small(large ? sqrt(z) : a, z);
  return copysign(large ? half_pi<T> - (2 * p - half_pi_rest<T>) : p, x);
}

// ulp:
template <class T>
WEFT_MATH T acos(T x) {
  T a = abs(x);
  bool large = a > T(0.5);
  T z = large ? fma(T(-0.5), a, T(0.5)) : a * a;
  T p = asin_small(large ? sqrt(z) : x, z);
  T tail = x < 0 ? pi<T> - (2 * p - 2 * half_pi_rest<T>) : 2 * p;
  return large ? tail : half_pi<T> - (p - half_pi_rest<T>);
}

// The remainder of x / y with the sign of x, exact: the quotient is exact or one too large, and the
// fused product loses nothing.
template <class T>
WEFT_MATH T fmod(T x, T y) {
  T a = abs(x), b = abs(y), r;
  if constexpr (has_fma)
    r = fma(-trunc(a / b), b, a);
  else if constexpr (sizeof(T) == 4)
    r = T(a - trunc(double(a) / b) * double(b));
  else
    return __builtin_fmod(x, y);
  r = r < 0 ? r + b : r;
  r = b == inf<T> && a < b ? a : r;
  return copysign(r, x);
}
template <class T>
WEFT_MATH bool far_quotient(T x, T y) {
  return abs(x) > abs(y) * Trig<T>::far_quotient;
}
inline long double fmod(long double x, long double y) { return __builtin_fmodl(x, y); }

// The remainder with the sign of y, as Python's %.
template <class T>
WEFT_MATH T remainder(T x, T y) {
  T r = fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

}  // namespace weft::WEFT_ISA::math
