// Exponentials, logarithms and what is made of them. Each line "ulp" gives the largest error found
// over all floats (avx512, avx2, base) and over random doubles.
#pragma once

#include "loops/math_base.h"

namespace weft::WEFT_ISA::math {

template <class T>
struct ExpLog;  // minimax coefficients
template <>
struct ExpLog<float> {
  // (e^r - 1 - r) / r^2 on |r| <= ln2 / 2
  static constexpr float exp[] = {0.49999997f, 0.16666539f, 0.0416677557f, 0.00836713519f, 0.00138356211f};
  // (log(1 + f) - f) / f^2 on sqrt(1/2) <= 1 + f <= sqrt(2)
  static constexpr float log[] = {-0.499999881f, 0.333333224f,  -0.250016093f, 0.200021163f,  -0.166085869f,
                                  0.141780138f,  -0.132423833f, 0.129368439f,  -0.0767209753f};
  // constants in two parts: the first has few enough bits to be multiplied by an exponent without
  // rounding
  static constexpr float ln2_hi = 0x1.62e4p-1f, ln2_lo = 1.42860682e-06f;
  static constexpr float log10_2_hi = 0x1.344p-2f, log10_2_lo = 0x1.3509f79fep-18f;
  static constexpr float exp_to_zero = -104.0f, exp2_to_zero = -151.0f;
};
template <>
struct ExpLog<double> {
  static constexpr double exp[] = {0.5,
                                   0.16666666666666677,
                                   0.041666666666666685,
                                   0.008333333333321806,
                                   0.0013888888888893749,
                                   0.00019841269885304344,
                                   2.4801587278758889e-05,
                                   2.7557245197365623e-06,
                                   2.7557329794739589e-07,
                                   2.5108669689948606e-08,
                                   2.0893818643981661e-09};
  // (2 atanh(s) - 2 s) / s^3 in powers of s^2: a division is cheaper here than twenty terms
  static constexpr double log[] = {0.6666666666666734,  0.3999999999941653,  0.28571428742069471, 0.22222198599499796,
                                   0.18183563196767422, 0.15314074746042858, 0.14795745546374228};
  static constexpr double ln2_hi = 0x1.62e42fefa3p-1, ln2_lo = 0x1.3de6af278ece6p-42;
  static constexpr double log10_2_hi = 0x1.34413509f8p-2, log10_2_lo = -0x1.80433b83b532ap-44;
  static constexpr double exp_to_zero = -746.0, exp2_to_zero = -1076.0;
};
template <class T>
constexpr T log2_e = T(1.4426950408889634074);
template <class T>
constexpr T ln_2 = T(0.69314718055994530942);

// x = n ln2 + r with |r| <= ln2 / 2: gives e^r - 1, and n + offset in the low bits.
template <class T>
struct Powers {
  T expm1_r;
  BitsOf<T> n_plus_offset;
};

template <class T>
WEFT_MATH T expm1_near_zero(T r) {
  return fma(polynomial(r, ExpLog<T>::exp), r * r, r);
}

template <class T>
WEFT_MATH Powers<T> split_exp(T x, T offset, T largest_n) {
  T shift = round_shift<T> + offset;
  T shifted = at_most(fma(x, log2_e<T>, shift), shift + largest_n);
  T n = shifted - shift;
  T r = fma(n, -ExpLog<T>::ln2_lo, fma(n, -ExpLog<T>::ln2_hi, x));
  return {expm1_near_zero(r), bits(shifted)};
}

// 2^(n + bias offset): the exponent field is all that is left after the shift.
template <class T>
WEFT_MATH T power_of_two(BitsOf<T> biased) {
  return from_bits(BitsOf<T>(biased << Layout<T>::mantissa));
}

// m 2^n (1 + p): the power is applied in two halves, so that a subnormal result is rounded once.
template <class T>
WEFT_MATH T scale_by_power(Powers<T> e, T m) {
  BitsOf<T> half = e.n_plus_offset >> 1;
  T first = power_of_two<T>(half), second = power_of_two<T>(e.n_plus_offset - half);
  return fma(e.expm1_r, first, first) * m * second;
}

// m e^x
template <class T>
WEFT_MATH T exp_times(T x, T m) {
  constexpr T two_biases = 2 * Layout<T>::bias;
  T y = scale_by_power(split_exp(x, two_biases, T(Layout<T>::bias + 1)), m);
  return x < ExpLog<T>::exp_to_zero ? T(0) : y;
}

// ulp:
template <class T>
WEFT_MATH T exp(T x) {
  return exp_times(x, T(1));
}

// e^x for -80 <= x <= 0 or so: neither overflow nor subnormal results
template <class T>
WEFT_MATH T exp_in_range(T x) {
  Powers<T> e = split_exp(x, T(Layout<T>::bias), T(1));
  T power = power_of_two<T>(e.n_plus_offset);
  return fma(e.expm1_r, power, power);
}

// ulp:
template <class T>
WEFT_MATH T exp2(T x) {
  constexpr T shift = round_shift<T> + 2 * Layout<T>::bias;
  T shifted = at_most(x + shift, shift + Layout<T>::bias + 1);
  T r = (x - (shifted - shift)) * ln_2<T>;
  T y = scale_by_power(Powers<T>{expm1_near_zero(r), bits(shifted)}, T(1));
  return x < ExpLog<T>::exp2_to_zero ? T(0) : y;
}

// (e^x - 1) / 4: the quarter keeps sinh and cosh finite as long as they are.
template <class T>
WEFT_MATH T quarter_expm1(T x) {
  Powers<T> e = split_exp(x, T(Layout<T>::bias - 2), T(Layout<T>::bias + 2));
  T power = power_of_two<T>(e.n_plus_offset);
  return fma(power, e.expm1_r, power - T(0.25));
}
template <class T>
constexpr T tiny = T(1) / T(BitsOf<T>(1) << (Layout<T>::mantissa / 2 + 2));

// ulp:
template <class T>
WEFT_MATH T expm1(T x) {
  T y = 4 * quarter_expm1(x);
  y = x < T(-40) ? T(-1) : y;
  return abs(x) < tiny<T> * tiny<T> ? x : y;
}

// ulp:
template <class T>
WEFT_MATH T sinh(T x) {
  T a = abs(x), q = quarter_expm1(a);
  T rest = a > T(40) ? T(0) : q / fma(T(4), q, T(1));
  T y = a < tiny<T> ? a : 2 * (q + rest);
  return copysign(y, x);
}

// ulp:
template <class T>
WEFT_MATH T cosh(T x) {
  Powers<T> e = split_exp(abs(x), T(Layout<T>::bias - 2), T(Layout<T>::bias + 2));
  T power = power_of_two<T>(e.n_plus_offset), q = fma(power, e.expm1_r, power);
  return 2 * (q + T(0.0625) / q);
}

// ulp:
template <class T>
WEFT_MATH T tanh(T x) {
  T a = abs(x);
  Powers<T> e = split_exp(2 * a, T(Layout<T>::bias), T(Layout<T>::bias));
  T power = power_of_two<T>(e.n_plus_offset), t = fma(power, e.expm1_r, power - 1);
  T y = a > T(20) ? T(1) : t / (t + 2);
  return copysign(y, x);
}

// ulp:
template <class T>
WEFT_MATH T sigmoid(T x) {
  T e = exp(-abs(x));
  return (x < 0 ? e : T(1)) / (1 + e);
}

// x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for positive normal x
template <class T>
struct Split {
  T k, f;
};
template <class T>
constexpr T half_root = T(0.70710678118654752440);

// k + bias in the exponent field, and below it the mantissa of (1 + f) / sqrt(1/2)
template <class T>
WEFT_MATH BitsOf<T> log_fields(T x) {
  return bits(x) - bits(half_root<T>) + (BitsOf<T>(Layout<T>::bias) << Layout<T>::mantissa);
}
// The number k, less `extra`: an integer below the last place of 2^mantissa is a mantissa.
template <class T>
WEFT_MATH T exponent_of(BitsOf<T> fields, BitsOf<T> extra) {
  constexpr T big = T(BitsOf<T>(1) << Layout<T>::mantissa);
  return from_bits(BitsOf<T>((fields >> Layout<T>::mantissa) | bits(big))) -
         from_bits(BitsOf<T>(bits(big + Layout<T>::bias) + extra));
}

// Subnormals are scaled up first. Masks, because a conditional expression would make the compiler
// keep two copies of all that follows.
template <class T>
WEFT_MATH Split<T> split_log(T x) {
  using Bits = BitsOf<T>;
  constexpr int m = Layout<T>::mantissa;
  Bits subnormal = -Bits(x < smallest_normal<T>);
  T y = x * from_bits(Bits(bits(T(1)) + (subnormal & (Bits(m) << m))));
  Bits fields = log_fields(y);
  T one_f = from_bits(Bits((fields & ((Bits(1) << m) - 1)) + bits(half_root<T>)));
  return {exponent_of<T>(fields, subnormal & Bits(m)), one_f - 1};
}

// log(1 + f) on the range above
WEFT_MATH float log_near_one(float f) { return fma(horner(f, ExpLog<float>::log), f * f, f); }
WEFT_MATH double log_near_one(double f) {
  double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  return f - (half - s * fma(z, horner(z, ExpLog<double>::log), half));
}

// y where log is ordinary; -inf at 0, NaN below, inf at inf
template <class T>
WEFT_MATH T log_edges(T x, T y) {
  T edge = x == 0 ? -inf<T> : nan<T>;
  y = x > 0 ? y : edge;
  return x == inf<T> ? x : y;
}

// ulp:
template <class T>
WEFT_MATH T log(T x) {
  Split<T> s = split_log(x);
  T y = fma(s.k, ExpLog<T>::ln2_hi, fma(s.k, ExpLog<T>::ln2_lo, log_near_one(s.f)));
  return log_edges(x, y);
}

// ulp:
template <class T>
WEFT_MATH T log2(T x) {
  Split<T> s = split_log(x);
  return log_edges(x, fma(log_near_one(s.f), log2_e<T>, s.k));
}

// ulp:
template <class T>
WEFT_MATH T log10(T x) {
  constexpr T log10_e = T(0.43429448190325182765);
  Split<T> s = split_log(x);
  T rest = fma(s.k, ExpLog<T>::log10_2_lo, log_near_one(s.f) * log10_e);
  return log_edges(x, fma(s.k, ExpLog<T>::log10_2_hi, rest));
}

// The exponent k comes from 1 + x, but f from x itself, so that nothing of x is lost.
// ulp:
template <class T>
WEFT_MATH T log1p(T x) {
  T u = 1 + x;
  BitsOf<T> fields = log_fields(u);
  T k = exponent_of<T>(fields, 0);
  T four_power = power_of_two<T>(2 * Layout<T>::bias + 2 - (fields >> Layout<T>::mantissa));  // 4 * 2^-k
  T f = fma(x * T(0.25), four_power, fma(T(0.25), four_power, T(-1)));
  T y = fma(k, ExpLog<T>::ln2_hi, fma(k, ExpLog<T>::ln2_lo, log_near_one(f)));
  y = log_edges(u, y);
  return abs(x) < tiny<T> * tiny<T> ? x : y;
}

// asinh and acosh of what is too large to be squared: log(2 x)
template <class T>
constexpr T too_large_to_square = T(1) / (tiny<T> * tiny<T>);

// ulp:
template <class T>
WEFT_MATH T asinh(T x) {
  T a = abs(x);
  bool large = a > too_large_to_square<T>;
  T u = large ? a : a + a * a / (1 + sqrt(fma(a, a, T(1))));
  return copysign(log1p(u) + (large ? ln_2<T> : T(0)), x);
}

// ulp:
template <class T>
WEFT_MATH T acosh(T x) {
  T t = x - 1;
  bool large = x > too_large_to_square<T>;
  T u = large ? x : t + sqrt(t * (x + 1));
  T y = log1p(u) + (large ? ln_2<T> : T(0));
  return x < 1 ? nan<T> : y;
}

// ulp:
template <class T>
WEFT_MATH T atanh(T x) {
  T a = abs(x);
  return copysign(T(0.5) * log1p(2 * a / (1 - a)), x);
}

template <class T>
struct Hypot;  // where squares are safe, and the powers of two that bring others there
template <>
struct Hypot<float> {
  static constexpr float large = 0x1p40f, down = 0x1p-70f, small = 0x1p-40f, up = 0x1p100f;
};
template <>
struct Hypot<double> {
  static constexpr double large = 0x1p400, down = 0x1p-600, small = 0x1p-400, up = 0x1p700;
};

// ulp:
template <class T>
WEFT_MATH T hypot(T x, T y) {
  using H = Hypot<T>;
  T a = abs(x), b = abs(y), m = a > b ? a : b;
  T there = m > H::large ? H::down : m < H::small ? H::up : T(1);
  T back = m > H::large ? 1 / H::down : m < H::small ? 1 / H::up : T(1);
  T u = a * there, v = b * there;
  T r = sqrt(fma(u, u, v * v)) * back;
  return a == inf<T> || b == inf<T> ? inf<T> : r;
}

}  // namespace weft::WEFT_ISA::math
