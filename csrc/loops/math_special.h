// The error function and related functions, and the logarithm of the gamma function.
#pragma once

#include <cmath>

#include "loops/math_exp.h"
#include "loops/math_trig.h"

namespace weft::WEFT_ISA::math {

namespace coefficients {
// loops/numbers.inc has those that weft/jit shares
inline constexpr auto& erf_f = numbers::erf_centre_f32;
inline constexpr auto& erf_d = numbers::erf_centre_f64;
inline constexpr auto& log_erfc = numbers::log_erfc;
inline constexpr auto& erfcx_f = numbers::erfcx_f32;
inline constexpr auto& erfcx_d = numbers::erfcx_f64;
inline constexpr auto& normal_tail = numbers::normal_tail;
inline constexpr float normal_middle = numbers::normal_range[0], normal_far = numbers::normal_range[1];
// erfinv(x) / x in powers of w - 2.5 and sqrt(w) - 3, where w = -log(1 - x^2), on w <= 5 and above
inline constexpr float erfinv_centre[] = {1.50140941f,     0.246640638f,     -0.00417765696f,  -0.00125352875f,
                                          0.000218562476f, -4.49758272e-06f, -3.51883955e-06f, 3.65004809e-07f,
                                          2.77411925e-08f, -1.50381307e-09f};
inline constexpr float erfinv_tail[] = {2.83297682f,     1.00167155f,     0.00944356248f,
                                        -0.00758762145f, 0.00570024829f,  -0.00378980977f,
                                        0.00146267493f,  0.000211215796f, -0.000305022229f};
// the same, rough, but up to w = 36.1 and in powers of sqrt(w) - 4: a start for doubles
inline constexpr float erfinv_centre_d[] = {1.50140918f,     0.246641421f,     -0.00417625883f,  -0.00125463123f,
                                            0.000217336077f, -4.09432997e-06f, -3.18589204e-06f, 3.15647355e-07f};
inline constexpr float erfinv_tail_d[] = {3.83978225f,      1.0095092f,       0.00128381879f,
                                          -0.000938656851f, 0.000271316387f,  -2.91082763e-05f,
                                          8.29680157e-05f,  -7.88035544e-05f, 1.89734384e-05f};
// B_2k / (2k (2k - 1)) and B_2k / 2k, the terms of Stirling's series and of its derivative
inline constexpr double stirling[] = {1 / 12.0,   -1 / 360.0,      1 / 1260.0, -1 / 1680.0,
                                      1 / 1188.0, -691 / 360360.0, 1 / 156.0,  -3617 / 122400.0};
inline constexpr double digamma[] = {1 / 12.0,  -1 / 120.0,     1 / 252.0, -1 / 240.0,
                                     1 / 132.0, -691 / 32760.0, 1 / 12.0,  -3617 / 8160.0};
// ndtri(p): x / (p - 1/2) as a ratio of polynomials of 0.425^2 - (p - 1/2)^2 on |p - 1/2| <= 0.425
inline constexpr double ndtri_centre_top[] = {3.3871328727963665, 148.75654077063152, 2548.2248573022625,
                                              21627.48116049056,  95692.73551269759,  213550.16248438213,
                                              214247.3801984238,  74060.81462563902,  3907.007639023816};
inline constexpr double ndtri_centre_bottom[] = {1.0,
                                                 46.92338689522055,
                                                 871.2838940641986,
                                                 8176.878340636071,
                                                 41169.98166790856,
                                                 109244.70555458817,
                                                 140376.82723612545,
                                                 72342.69749284587,
                                                 9398.46451720659};
// -x as a ratio of polynomials of r = sqrt(-log p) on p <= 0.075, r <= 6, and beyond
inline constexpr double ndtri_tail_top[] = {
  -3.6089134134421843, -42.43407598228823, -77.91536040266769, 15.183736244831046,  91.62104371138507,
  71.77973831567627,   29.209467559547672, 5.81855597710365,   0.46602014887451465, 0.010861059078713048};
inline constexpr double ndtri_tail_bottom[] = {1.0,
                                               18.954969784646956,
                                               71.24311594971186,
                                               92.40854323200172,
                                               57.62645435441522,
                                               21.36758074086628,
                                               4.136923650743853,
                                               0.32957629181653186,
                                               0.0076795896231771086,
                                               1.8133560055804609e-09};
inline constexpr double ndtri_far_top[] = {-3.2946817138470137, -13.572434988381207,   3.3946007548084416,
                                           15.379704166150196,  6.257860943962773,     0.855501118149131,
                                           0.04521247848564192, 0.0008888394960333297, 5.0011138826492105e-06};
inline constexpr double ndtri_far_bottom[] = {1.0,
                                              8.718440341741378,
                                              12.011938550460695,
                                              4.4998685731488335,
                                              0.6067360091931647,
                                              0.03198296469520842,
                                              0.000628510025660948,
                                              3.5363124037015314e-06,
                                              1.1887517150887662e-14};
// the Bernoulli numbers B_2k, terms of the series of trigamma
inline constexpr double bernoulli[] = {1 / 6.0,  -1 / 30.0,     1 / 42.0, -1 / 30.0,
                                       5 / 66.0, -691 / 2730.0, 7 / 6.0,  -3617 / 510.0};
// z (z + 1) ... (z + 7), its derivative, and its square times the sum of the 1 / (z + i)^2
inline constexpr double rising[] = {0, 5040, 13068, 13132, 6769, 1960, 322, 28, 1};
inline constexpr double rising_slope[] = {5040, 26136, 39396, 27076, 9800, 1932, 196, 8};
inline constexpr double rising_squares[] = {25401600,  131725440, 341545248, 549972864, 595478856,
                                            452904648, 248617796, 100081856, 29739764,  6506416,
                                            1034068,   116032,    8708,      392,       8};
}  // namespace coefficients

WEFT_MATH float erf_centre(float x) { return fma(horner(x * x, coefficients::erf_f), x, x); }
WEFT_MATH double erf_centre(double x) { return fma(polynomial(x * x, coefficients::erf_d), x, x); }

// x^2 - fl(x^2)
WEFT_MATH float square_rest(float x, float square) { return float(double(x) * x - square); }
WEFT_MATH double square_rest(double x, double square) {
  if constexpr (has_fma) return fma(x, x, -square);
  double hi = from_bits(bits(x) & ~uint64_t(0x7ffffff)), lo = x - hi;
  return ((hi * hi - square) + 2 * hi * lo) + lo * lo;
}

// exp(a^2) erfc(a) for a >= 3/4
WEFT_MATH float erfcx(float a) { return horner((a - 3) / (a + 3), coefficients::erfcx_f) / (a + 3); }
WEFT_MATH double erfcx(double a) {
  double q = 1 / (a + 3);
  return q * polynomial((a - 3) * q, coefficients::erfcx_d);
}

// ulp:
template <class T>
WEFT_MATH T erfc(T x) {
  T a = abs(x), square = a * a, g = erfcx(a);
  T tail = exp_times(-square, fma(-g, square_rest(a, square), g));
  tail = x < 0 ? 2 - tail : tail;
  return a < T(0.75) ? 1 - erf_centre(x) : tail;
}

// ulp:
WEFT_MATH double erf(double x) {
  double a = abs(x), square = a * a, g = erfcx(a);
  double tail = 1 - exp_in_range(-square) * fma(-g, square_rest(a, square), g);
  tail = a > 6 ? 1 : tail;
  return a < 0.75 ? erf_centre(x) : copysign(tail, x);
}

// ulp:
WEFT_MATH float erf(float x) {
  float a = abs(x);
  float tail = 1 - exp_in_range(horner(a, coefficients::log_erfc));
  tail = a > 4 ? 1.0f : tail;
  return a < 1 ? erf_centre(x) : copysign(tail, x);
}

// exp(-x^2 / 2); of floats, 0 below 1e-34.
WEFT_MATH float bell(float x) {
  float z = at_most(abs(x), coefficients::normal_far), y = exp_in_range(z * z * -0.5f);
  return abs(x) > coefficients::normal_far ? 0.0f : y;
}
WEFT_MATH double bell(double x) { return exp(x * x * -0.5); }

// The normal distribution's share below x, whose bell(x) is given.
WEFT_MATH float normal_share(float x, float b) {
  constexpr float c = coefficients::normal_middle;
  float z = at_most(abs(x), coefficients::normal_far), q = 1 / (z + c);
  float tail = b * (q * horner((z - c) * q, coefficients::normal_tail));
  return x < 0 ? tail : 1 - tail;
}
WEFT_MATH double normal_share(double x, double) { return (erf(x * 0.70710678118654752) + 1) * 0.5; }

// ulp:
WEFT_MATH float erfinv(float x) {
  float w = -log((1 - x) * (1 + x));
  float centre = horner(w - 2.5f, coefficients::erfinv_centre);
  float tail = horner(sqrt(w) - 3, coefficients::erfinv_tail);
  float y = x * (w < 5 ? centre : tail);
  return abs(x) == 1 ? copysign(inf<float>, x) : y;
}

// A start in float, made exact by a step of Halley's method on erf or, near 1, on erfc. ulp:
WEFT_MATH double erfinv(double x) {
  constexpr double two_over_root_pi = 1.12837916709551257390;
  double a = abs(x), rest = 1 - a;
  float w = -log(float(rest * (1 + a)));
  float ratio = w < 5 ? horner(w - 2.5f, coefficients::erfinv_centre_d)
                      : horner(sqrt(w) - 4, coefficients::erfinv_tail_d);
  double y = a * double(ratio), square = y * y;
  double e = exp_in_range(-square);
  e = fma(-e, square_rest(y, square), e);
  double error = a < 0.7 ? erf_centre(y) - a : rest - e * erfcx(y);
  y -= error / fma(two_over_root_pi, e, y * error);
  return copysign(a == 1 ? inf<double> : y, x);
}

// Stirling's series needs z >= 8; lesser ones are moved up by z (z + 1) ... (z + 7). Below 1/2 the
// reflection formula gives gamma(x) from gamma(1 - x).
struct GammaParts {
  bool reflected;
  double w, product, slope;  // slope / product is the sum of the 1 / (z + i)
};
WEFT_MATH GammaParts gamma_parts(double x) {
  bool reflected = x < 0.5;
  double z = reflected ? 1 - x : x;
  bool moved = z < 8;
  return {reflected, moved ? z + 8 : z, moved ? polynomial(z, coefficients::rising) : 1.0,
          moved ? polynomial(z, coefficients::rising_slope) : 0.0};
}
// x less the nearest integer, times pi
WEFT_MATH double turn_of(double x) { return pi<double> * (x - round(x)); }

// The logarithm of |gamma(x)|, to about 1e-14.
WEFT_MATH double log_gamma(double x) {
  GammaParts g = gamma_parts(x);
  double r = 1 / g.w;
  double s = (g.w - 0.5) * log(g.w) - g.w + 0.91893853320467274178 + r * horner(r * r, coefficients::stirling);
  double num = g.reflected ? g.product * pi<double> : 1.0;
  double den = g.reflected ? abs(sin_half_turn(turn_of(x))) : g.product;
  double y = (g.reflected ? -s : s) + log(num / den);
  y = abs(x) == inf<double> ? inf<double> : y;
  return x == 1 || x == 2 ? 0 : y;
}
// ulp:
WEFT_MATH float lgamma(float x) { return float(log_gamma(double(x))); }
inline double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// ulp:
WEFT_MATH double digamma(double x) {
  GammaParts g = gamma_parts(x);
  double r = 1 / g.w, z = r * r;
  double s = log(g.w) - 0.5 * r - z * horner(z, coefficients::digamma) - g.slope / g.product;
  double t = turn_of(x);
  double y = g.reflected ? s - pi<double> * cos(t) / sin_half_turn(t) : s;
  y = x < 0 && x == round(x) ? nan<double> : y;
  y = x == inf<double> ? x : y;
  return x == 0 ? copysign(inf<double>, -x) : y;
}
WEFT_MATH float digamma(float x) { return float(digamma(double(x))); }

// The derivative of digamma, by the same steps; beyond 10 the series needs no move.
// ulp:
WEFT_MATH double trigamma(double x) {
  bool reflected = x < 0.5;
  double z = reflected ? 1 - x : x, p = polynomial(z, coefficients::rising);
  bool moved = z < 10;
  double r = 1 / (moved ? z + 8 : z), square = r * r;
  double s = r + square * (0.5 + r * horner(square, coefficients::bernoulli));
  s = moved ? s + polynomial(z, coefficients::rising_squares) / (p * p) : s;
  double sine = sin_half_turn(turn_of(x));
  return reflected ? pi<double> * pi<double> / (sine * sine) - s : s;
}
WEFT_MATH float trigamma(float x) { return float(trigamma(double(x))); }

// Where the normal distribution has the share p below it (the form of Wichura's AS 241): near is |p - 1/2| <= 0.425.
WEFT_MATH double ndtri_near(double p) {
  double u = p - 0.5, v = fma(-u, u, 0.425 * 0.425);
  return u * (polynomial(v, coefficients::ndtri_centre_top) / polynomial(v, coefficients::ndtri_centre_bottom));
}
WEFT_MATH double ndtri_far(double p) {
  namespace c = coefficients;
  double q = p < 0.5 ? p : 1 - p, r = sqrt(-log(q));
  double tail = polynomial(r, c::ndtri_tail_top) / polynomial(r, c::ndtri_tail_bottom);
  double far = polynomial(r, c::ndtri_far_top) / polynomial(r, c::ndtri_far_bottom);
  double y = q == 0 ? inf<double> : r < 6 ? tail : far;
  return p < 0.5 ? -y : y;  // of p outside of [0, 1], the logarithm is NaN already
}

}  // namespace weft::WEFT_ISA::math
