// Exponentials, logarithms and what is made of them. Each line "ulp" gives the largest error found
// over all floats (avx512, avx2, base) and over random doubles.
#pragma once

#include "loops/math_base.h"
#include "loops/numbers.h"

namespace weft::WEFT_ISA::math {

template <class T>
struct ExpLog;  // minimax coefficients: loops/numbers.inc
template <>
struct ExpLog<float> {
  static constexpr const auto& exp = numbers::exp_f32;
  static constexpr const auto& log = numbers::log_f32;
  static constexpr float ln2_hi = numbers::ln2_f32[0], ln2_lo = numbers::ln2_f32[1];
  static constexpr float log10_2_hi = numbers::log10_2_f32[0], log10_2_lo = numbers::log10_2_f32[1];
  static constexpr float exp_to_zero = numbers::exp_to_zero_f32[0], exp2_to_zero = numbers::exp2_to_zero_f32[0];
};
template <>
struct ExpLog<double> {
  static constexpr const auto& exp = numbers::exp_f64;
  static constexpr const auto& log = numbers::log_f64;
  static constexpr double ln2_hi = numbers::ln2_f64[0], ln2_lo = numbers::ln2_f64[1];
  static constexpr double log10_2_hi = numbers::log10_2_f64[0], log10_2_lo = numbers::log10_2_f64[1];
  static constexpr double exp_to_zero = numbers::exp_to_zero_f64[0], exp2_to_zero = numbers::exp2_to_zero_f64[0];
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
  static constexpr float large = numbers::hypot_f32[0], down = numbers::hypot_f32[1];
  static constexpr float small = numbers::hypot_f32[2], up = numbers::hypot_f32[3];
};
template <>
struct Hypot<double> {
  static constexpr double large = numbers::hypot_f64[0], down = numbers::hypot_f64[1];
  static constexpr double small = numbers::hypot_f64[2], up = numbers::hypot_f64[3];
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
