// Special functions of one number at a time, in double: series, continued fractions and integrals
// rather than tables.
#pragma once

#include "loops/math.h"
#include "loops/parallel.h"

namespace weft::WEFT_ISA::special {

using math::abs;
using math::inf;
using math::nan;
using math::pi;
constexpr double kTiny = 1e-17;          // a term this small beside the sum no longer counts
constexpr int64_t kManySteps = 1 << 16;  // of a loop whose length a number decides: then it asks for Ctrl-C

// ---- gamma functions

inline double lgamma(double x) { return math::lgamma(x); }

// The sum of (q + k)^-s over k >= 0 (Hurwitz): the first terms as they are, the rest by Euler and
// Maclaurin.
inline double zeta(double s, double q) {
  if (s == 1) return inf<double>;
  if (!(s > 1)) return nan<double>;
  if (q <= 0) {
    if (q == math::floor(q)) return inf<double>;
    if (s != math::floor(s)) return nan<double>;  // a negative number to a broken power
  }
  double sum = 0, a = q;
  int64_t steps = 0;
  do {
    if (++steps % kManySteps == 0) leave_if_interrupted();
    double term = __builtin_pow(a, -s);
    sum += term;
    if (abs(term) < kTiny * abs(sum)) return sum;
    a += 1;
  } while (a < 12);
  sum += __builtin_pow(a, 1 - s) / (s - 1) + 0.5 * __builtin_pow(a, -s);
  constexpr double bernoulli_over_factorial[] = {
    1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600};
  double term = s * __builtin_pow(a, -s - 1), k = s;
  for (double c : bernoulli_over_factorial) {
    sum += c * term;
    term *= (k + 1) * (k + 2) / (a * a);
    k += 2;
  }
  return sum;
}

// The n-th derivative of digamma. For negative x the reflection is left to zeta's own terms.
inline double polygamma(int64_t n, double x) {
  if (n == 0) return math::digamma(x);
  if (n == 1 && x < 0) {  // trigamma by reflection
    double s = __builtin_sin(math::turn_of(x));
    return pi<double> * pi<double> / (s * s) - zeta(2, 1 - x);
  }
  double sign = n % 2 ? 1 : -1;
  return sign * __builtin_tgamma(double(n) + 1) * zeta(double(n) + 1, x);
}

// x^a e^-x / gamma(a), by logarithms of what is close to its maximum
inline double gamma_density(double a, double x) {
  if (a < 20) return __builtin_exp(a * __builtin_log(x) - x - lgamma(a));
  double u = (x - a) / a;
  double exponent = a * (math::log1p(u) - u);
  double stirling = 1 / (12 * a) - 1 / (360 * a * a * a);
  return math::sqrt(a / (2 * pi<double>)) * __builtin_exp(exponent - stirling);
}

// The lower incomplete gamma function over gamma(a) by its power series: x < a + 1
inline double igamma_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < 10000 && term > kTiny * sum; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * gamma_density(a, x);
}
// The upper one by its continued fraction (Lentz): x >= a + 1
inline double igammac_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int k = 1; k < 10000; ++k) {
    double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    d = 1 / (d == 0 ? 1e-300 : d);
    h *= c * d;
    if (abs(c * d - 1) < 1e-16) break;
  }
  return h * gamma_density(a, x);
}
inline double igamma(double a, double x) {
  if (!(a >= 0 && x >= 0)) return nan<double>;
  if (a == 0) return x > 0 ? 1 : nan<double>;
  if (x == 0) return 0;
  if (a == inf<double>) return x == inf<double> ? nan<double> : 0;
  if (x == inf<double>) return 1;
  return x < a + 1 ? igamma_series(a, x) : 1 - igammac_fraction(a, x);
}
inline double igammac(double a, double x) {
  if (!(a >= 0 && x >= 0)) return nan<double>;
  if (a == 0) return x > 0 ? 0 : nan<double>;
  if (x == 0) return 1;
  if (a == inf<double>) return x == inf<double> ? nan<double> : 1;
  if (x == inf<double>) return 0;
  return x < a + 1 ? 1 - igamma_series(a, x) : igammac_fraction(a, x);
}

// ---- the normal distribution

// exp(x^2) erfc(x)
inline double erfcx(double x) {
  if (x < 0.75) return __builtin_exp(x * x) * (x < -0.75 ? 2 : math::erfc(x)) - (x < -0.75 ? erfcx(-x) : 0);
  if (x < 25) return math::erfcx(x);
  double z = 1 / (2 * x * x);
  double series = 1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z * (1 - 9 * z * (1 - 11 * z)))));
  return series / (x * math::sqrt(pi<double>));
}
inline double log_ndtr(double x) {
  double t = x * 0.70710678118654752440;
  return x < -1 ? __builtin_log(0.5 * erfcx(-t)) - t * t : math::log1p(-0.5 * math::erfc(t));
}
// Where the normal distribution reaches p: Newton's method on its logarithm, from the tail's first
// term.
inline double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return nan<double>;
  if (p == 0 || p == 1) return p == 0 ? -inf<double> : inf<double>;
  double q = p < 0.5 ? p : 1 - p;
  if (q > 0.02) return 1.41421356237309504880 * math::erfinv(2 * p - 1);
  double target = __builtin_log(q), w = -2 * target;
  double x = -math::sqrt(w - __builtin_log(2 * pi<double> * w));
  for (int k = 0; k < 6; ++k) {
    double slope = 0.79788456080286535588 / erfcx(-x * 0.70710678118654752440);
    double step = (log_ndtr(x) - target) / slope;
    x -= step;
    if (abs(step) < 1e-16 * abs(x)) break;
  }
  return p < 0.5 ? x : -x;
}

// ---- Bessel functions

// exp(-|x|) I_n(x), n = 0 or 1: the power series while its terms are few, then the asymptotic one
inline double scaled_bessel_i(int n, double x) {
  double a = abs(x), y;
  if (a < 20) {
    double z = 0.25 * a * a, term = n ? 0.5 * a : 1, sum = term;
    for (int k = 1; k < 100 && term > kTiny * sum; ++k) {
      term *= z / (double(k) * (k + n));
      sum += term;
    }
    y = sum * __builtin_exp(-a);
  } else {
    double term = 1, sum = 1, mu = 4 * n * n;
    for (int k = 1; k < 30 && abs(term) > kTiny; ++k) {
      double odd = 2 * k - 1, next = -term * (mu - odd * odd) / (8 * a * k);
      if (abs(next) > abs(term)) break;
      term = next;
      sum += term;
    }
    y = sum / math::sqrt(2 * pi<double> * a);
  }
  y = a == inf<double> ? 0 : y;
  return n && x < 0 ? -y : y;
}

// exp(x) K_v(x): the integral of exp(-x (cosh t - 1)) cosh(v t), which the trapezoidal rule meets
// exactly; near 0, where that gets long, the first terms of the series.
inline double scaled_bessel_k(double v, double x) {
  if (!(x >= 0)) return nan<double>;
  if (x == 0) return inf<double>;
  if (x == inf<double>) return 0;
  if (x < 1e-3 && v <= 1) {
    double half = 0.5 * x, log_half = __builtin_log(half) + 0.57721566490153286061, z = half * half;
    double k = v == 0 ? -log_half * (1 + z) + z : 1 / x + half * (log_half - 0.5 + 0.5 * z * (log_half - 1.25));
    return k * __builtin_exp(x);
  }
  constexpr double h = 1.0 / 16;
  double sum = 0.5;
  for (double t = h;; t += h) {
    double term = __builtin_exp(-x * (__builtin_cosh(t) - 1)) * __builtin_cosh(v * t);
    sum += term;
    if (term < 1e-18 * sum) return h * sum;
  }
}

// Ai(x): the power series in the middle, K_1/3 to the right, the asymptotic waves to the left
inline double airy_ai(double x) {
  if (x > 2) {
    double z = x * math::sqrt(x) * 2 / 3;
    return z > 745 ? 0 : math::sqrt(x / 3) / pi<double> * scaled_bessel_k(1.0 / 3, z) * __builtin_exp(-z);
  }
  if (x > -8) {
    long double f = 1, g = x, u = 1, w = x, cube = g * g * g;  // large terms cancel
    for (int k = 1; k < 80; ++k) {
      u *= cube / ((3.0L * k - 1) * (3 * k));
      w *= cube / ((3.0L * k + 1) * (3 * k));
      f += u;
      g += w;
    }
    return double(0.355028053887817239260L * f - 0.258819403792806798405L * g);
  }
  double a = -x, z = a * math::sqrt(a) * 2 / 3, term = 1, even = 1, odd = 0;
  for (int k = 1; k < 20; ++k) {
    double next = term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1) * z);
    if (abs(next) > abs(term) || abs(next) < kTiny) break;
    term = next;
    double sign = (k / 2) % 2 ? -1 : 1;
    (k % 2 ? odd : even) += sign * term;
  }
  double phase = z + 0.25 * pi<double>;
  return (even * __builtin_sin(phase) - odd * __builtin_cos(phase)) /
         (math::sqrt(pi<double>) * math::sqrt(math::sqrt(a)));
}

// ---- orthogonal polynomials: p(k + 1) = (a x + b) p(k) - c p(k - 1)

template <class Step>
inline double recurrence(double n, double first, double second, Step step) {
  if (!(n > -1)) return n != n ? n : 0;
  int64_t last = n < 0x1p62 ? int64_t(n) : int64_t(1) << 62;
  if (last == 0) return first;
  double before = first, now = second;
  for (int64_t k = 1; k < last; ++k) {
    if (k % kManySteps == 0) {
      if (now != now) break;
      leave_if_interrupted();
    }
    double next = step(double(k), now, before);
    before = now;
    now = next;
  }
  return now;
}
inline double chebyshev(double x, double n, double second) {
  return recurrence(n, 1, second, [=](double, double p, double q) { return 2 * x * p - q; });
}
inline double hermite_h(double x, double n) {
  return recurrence(n, 1, 2 * x, [=](double k, double p, double q) { return 2 * x * p - 2 * k * q; });
}
inline double hermite_he(double x, double n) {
  return recurrence(n, 1, x, [=](double k, double p, double q) { return x * p - k * q; });
}
inline double laguerre_l(double x, double n) {
  return recurrence(n, 1, 1 - x, [=](double k, double p, double q) { return ((2 * k + 1 - x) * p - k * q) / (k + 1); });
}
inline double legendre_p(double x, double n) {
  return recurrence(n, 1, x, [=](double k, double p, double q) { return ((2 * k + 1) * x * p - k * q) / (k + 1); });
}

}  // namespace weft::WEFT_ISA::special
