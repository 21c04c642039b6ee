// Sine, cosine, tangent and their inverses; remainders.
//
// sin, cos and tan hold for |x| up to Trig<T>::far, fmod and remainder up to the quotient
// Trig<T>::far_quotient: a branch for the others would keep their loops from becoming vector code.
// The loop looks for such far elements afterwards, with far_angle or far_quotient, and repeats them
// in long double, where libm does the work.
#pragma once

#include "loops/math_base.h"

namespace weft::WEFT_ISA::math {

template <class T>
struct Trig;  // minimax coefficients, in powers of the square
template <>
struct Trig<float> {
  // (sin r - r) / r^3 on |r| <= pi/2
  static constexpr float sin[] = {-0.166666597f, 0.00833306462f, -0.00019809221f, 2.60452657e-06f};
  // the same and (cos r - 1 + r^2/2) / r^4 on |r| <= pi/4
  static constexpr float sin_quarter[] = {-0.166666538f, 0.00833210628f, -0.000195078886f};
  static constexpr float cos_quarter[] = {0.0416666456f, -0.00138873036f, 2.44312014e-05f};
  // (atan z - z) / z^3 on |z| <= 1
  static constexpr float atan[] = {-0.333331525f,  0.199937671f,  -0.14211002f,   0.106657691f,
                                   -0.0755165964f, 0.0432047024f, -0.0163631532f, 0.00291940593f};
  // (asin z - z) / z^3 on |z| <= 1/2
  static constexpr float asin[] = {0.166667521f, 0.0749530941f, 0.0454691499f, 0.0241847821f, 0.0421582907f};
  static constexpr float far = 1e5f, far_quotient = 0x1p22f;
};
template <>
struct Trig<double> {
  static constexpr double sin[] = {-0.16666666666666666,    0.0083333333333332014,   -0.0001984126984120953,
                                   2.755731921094203e-06,   -2.5052106838782617e-08, 1.605893738318295e-10,
                                   -7.6429184742720528e-13, 2.7202984914909817e-15};
  static constexpr double sin_quarter[] = {-0.16666666666666627,   0.0083333333333211277,   -0.00019841269828772218,
                                           2.7557313330319181e-06, -2.5050701115386432e-08, 1.5893469042540683e-10};
  static constexpr double cos_quarter[] = {0.041666666666666588,    -0.0013888888888872167, 2.4801587288274773e-05,
                                           -2.7557314007365791e-07, 2.0875676840695211e-09, -1.1357264420181783e-11};
  static constexpr double atan[] = {
    -0.3333333333333186,    0.19999999999755055,    -0.14285714271336658,   0.11111110678795955,
    -0.090909012361156047,  0.076922129379022861,   -0.066658604159586951,  0.058773080477948117,
    -0.052392340832190742,  0.046739528162832784,   -0.040926455004389135,  0.034067937750075133,
    -0.025826966301347485,  0.016978208122367836,   -0.0091846898457133407, 0.0038560464567013912,
    -0.0011640984824753944, 0.00022302848755293756, -2.0259191018616293e-05};
  static constexpr double asin[] = {0.16666666666665408,  0.075000000003370135,  0.044642856828325667,
                                    0.030381959137066563, 0.022371758048979298,  0.01735970477009675,
                                    0.013885235540888243, 0.01216921031239053,   0.0065279841018033961,
                                    0.019528234048052796, -0.016224194830164275, 0.031912224831187434};
  static constexpr double far = 1e6, far_quotient = 0x1p51;
};
template <class T>
constexpr T pi = T(3.14159265358979323846);
template <class T>
constexpr T half_pi = T(1.57079632679489661923);
template <class T>
constexpr T half_pi_rest = T(6.12323399573676588613e-17);  // half_pi + this = pi/2
template <>
inline constexpr float half_pi_rest<float> = -4.37113883e-08f;

// x - n pi for half-integers n. Pi comes in parts, all positive so that -0 stays -0; products with
// the leading ones are exact, either fused or because they have few enough bits.
WEFT_MATH double minus_n_pi(double x, double n) {
  constexpr double a = has_fma ? 0x1.921fb54442d18p+1 : 0x1.921fb544p+1;
  constexpr double b = has_fma ? 0x1.1a62633145c06p-53 : 0x1.0b4611a6p-33;
  constexpr double c = has_fma ? 0x1.c1cd129024e08p-106 : 0x1.3198a2e037073p-68;
  return fma(n, -c, fma(n, -b, fma(n, -a, x)));
}
WEFT_MATH float minus_n_pi(float x, float n) {
  if constexpr (has_fma) {
    constexpr float a = 0x1.921fb4p+1f, b = 0x1.4442dp-23f, c = 0x1.846988p-47f;
    return fma(n, -c, fma(n, -b, fma(n, -a, x)));
  } else {
    constexpr double a = 0x1.921fb544p+1, b = 0x1.0b4611a626331p-33;
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
