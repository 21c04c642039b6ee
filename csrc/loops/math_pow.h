// Powers: 2^(y log2(x)), with a logarithm that is more exact than its type, since the exponent
// multiplies its error.
#pragma once

#include "loops/math_exp.h"

namespace weft::WEFT_ISA::math {

// |x|^y for floats, by doubles
WEFT_MATH float magnitude_of_power(float x, float y) {
  Split<float> s = split_log(abs(x));
  double f = s.f, l = fma(f, polynomial(f, numbers::pow_log2), double(s.k));
  double z = double(y) * log_edges(double(abs(x)), l);
  z = z > 200 ? 200 : z;
  z = z < -200 ? -200 : z;
  double shifted = z + (round_shift<double> + 1023), r = z - (shifted - (round_shift<double> + 1023));
  return float(horner(r, numbers::pow_exp2) * power_of_two<double>(bits(shifted)));
}

// The same for doubles: numbers as unevaluated sums of two, h + l.
struct Pair {
  double h, l;
};
WEFT_MATH Pair times(Pair a, Pair b) {
  double p = a.h * b.h;
  return {p, fma(a.h, b.h, -p) + fma(a.h, b.l, a.l * b.h)};
}
WEFT_MATH Pair plus(double larger, Pair b) {
  double s = larger + b.h;
  return {s, ((larger - s) + b.h) + b.l};
}
// log2(1 + f) = 2 log2(e) (s + s^3/3 + ...), s = f / (2 + f)
WEFT_MATH Pair log2_near_one(double f) {
  double d = 2 + f, inverse = 1 / d, d_rest = f - (d - 2), s = f * inverse;
  Pair root = {s, (fma(-s, d, f) - s * d_rest) * inverse};
  Pair z = times(root, root);
  Pair series = times(z, plus(0x1.5555555555555p-1, {z.h * horner(z.h, numbers::log2_tail), 0x1.5555555555555p-55}));
  Pair log = times(root, plus(2, series));
  return times(log, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
}
WEFT_MATH double magnitude_of_power(double x, double y) {
  if constexpr (!has_fma) return __builtin_pow(abs(x), y);
  Split<double> s = split_log(abs(x));
  Pair log = plus(s.k, log2_near_one(s.f));
  Pair z = {y * log_edges(abs(x), log.h), 0};
  z.l = abs(z.h) < 1e4 ? fma(y, log.h, -z.h) + y * log.l : 0;
  constexpr double shift = round_shift<double> + 2 * 1023;
  double shifted = at_most(z.h + shift, shift + 1024);
  double r = ((z.h - (shifted - shift)) + z.l) * ln_2<double>;
  double p = scale_by_power(Powers<double>{expm1_near_zero(r), bits(shifted)}, 1.0);
  return z.h < ExpLog<double>::exp2_to_zero ? 0 : p;
}

template <class T>
WEFT_MATH T general_pow(T x, T y) {
  T p = magnitude_of_power(x, y);
  bool integer = round(y) == y, odd = integer && round(T(0.5) * y) != T(0.5) * y;
  p = from_bits(BitsOf<T>(bits(p) | (odd ? bits(x) & sign_bit<T> : BitsOf<T>(0))));
  p = x < 0 && x > -inf<T> && !integer ? nan<T> : p;
  bool one = x == 1 || y == 0 || (x == -1 && abs(y) == inf<T>);
  return one ? T(1) : p;
}

// x^y. The exponents that programs use most are products, quotients and roots: x^2 is x x, to the bit. Where y is a
// constant, nothing of the general way is left (rows.h, by_value).
// ulp:
template <class T>
WEFT_MATH T pow(T x, T y) {
  T inverse = 1 / x, root = x == -inf<T> ? inf<T> : sqrt(x + 0), p = general_pow(x, y);  // + 0: the root of -0 is 0
  p = y == 1 ? x : p;
  p = y == 2 ? x * x : p;
  p = y == 3 ? x * x * x : p;
  p = y == -1 ? inverse : p;
  p = y == -2 ? inverse * inverse : p;
  p = y == -3 ? inverse * inverse * inverse : p;
  p = y == T(0.5) ? root : p;
  p = y == T(1.5) ? abs(x) * root : p;
  p = y == T(-0.5) ? 1 / root : p;
  return y == T(-1.5) ? 1 / root / abs(x) : p;
}

}  // namespace weft::WEFT_ISA::math
