// Special functions in double. Those marked WEFT_MATH have no branches, so that loops over them become vector code; the
// others take one number at a time.
#pragma once

#include <iterator>
#include <utility>

#include "loops/convert.h"
#include "loops/math.h"
#include "loops/math_bessel.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA::special {

using math::abs;
using math::inf;
using math::nan;
using math::pi;
constexpr double kTiny = 1e-17;          // a term this small beside the sum no longer counts
constexpr int64_t kManySteps = 1 << 16;  // of a loop whose length a number decides: then it asks for Ctrl-C

// ---- gamma functions

inline double lgamma(double x) { return math::lgamma(x); }

// The tail of zeta from a on, by Euler and Maclaurin; power is a^-s. No loops, since these would not become vectors.
template <size_t K = 0>
WEFT_MATH double zeta_terms(double s, double square) {
  constexpr double over_factorial[] = {
    1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600};
  if constexpr (K + 1 == std::size(over_factorial))
    return over_factorial[K];
  else
    return over_factorial[K] + (s + (2 * K + 1)) * (s + (2 * K + 2)) * square * zeta_terms<K + 1>(s, square);
}
template <size_t... K>
WEFT_MATH double zeta_head(double s, double q, std::index_sequence<K...>) {
  return (math::magnitude_of_power(q + double(K), -s) + ...);
}
// The sum of (q + k)^-s over k >= 0 (Hurwitz) for q > 0
WEFT_MATH double zeta(double s, double q) {
  constexpr int head = 10;
  double a = q + head, power = math::magnitude_of_power(a, -s);
  double tail = power * (0.5 + s / a * zeta_terms(s, 1 / (a * a)));
  double sum = zeta_head(s, q, std::make_index_sequence<head>()) + math::magnitude_of_power(a, 1 - s) / (s - 1);
  sum += power > 0 ? tail : 0;
  double y = s == 1 ? inf<double> : sum;
  return s < 1 ? nan<double> : y;
}
// The same for q <= 0: the terms below zero one by one, which can be many.
inline double zeta(long double order, long double start) {
  double s = double(order), q = double(start), sum = 0;
  if (s == 1) return inf<double>;
  if (!(s > 1)) return nan<double>;
  if (q == math::floor(q)) return inf<double>;
  if (s != math::floor(s)) return nan<double>;  // a negative number to a broken power
  int64_t steps = 0;
  for (; q <= 0; q += 1) {
    if (++steps % kManySteps == 0) leave_if_interrupted();
    double term = __builtin_pow(q, -s);
    sum += term;
    if (abs(term) < kTiny * abs(sum)) return sum;
  }
  return sum + zeta(s, q);
}

// x^a e^-x / gamma(a), by logarithms of what is close to its maximum
inline double gamma_density(double a, double x) {
  if (a < 20) return __builtin_exp(a * __builtin_log(x) - x - lgamma(a));
  double u = (x - a) / a;
  double exponent = a * (math::log1p(u) - u);
  double r = 1 / a, stirling = r * math::horner(r * r, math::coefficients::stirling);
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
// The same for floats: the two kinds are collected from a block, and computed a vector at a time.
template <bool upper>
struct IncompleteGamma {
  using V = Vec<double>;
  static constexpr int kBlock = 128, kWide = kLanes<double>;
  static constexpr double kEnough = 1e-9;  // for floats
  struct Some {
    double a[kBlock], x[kBlock], y[kBlock];
    int64_t at[kBlock], count = 0;
  };
  static void run(float* out, int64_t n, const float* a, const float* x);

 private:
  static V at(const double* p) { return load<V>(p); }
  // The last vector is filled up with its first element.
  template <class F>
  static void each_vector(Some& s, const F& f) {
    for (int64_t i = s.count; i % kWide; ++i) s.a[i] = s.a[i / kWide * kWide], s.x[i] = s.x[i / kWide * kWide];
    for (int64_t i = 0; i < s.count; i += kWide) store(s.y + i, f(at(s.a + i), at(s.x + i)));
  }
  static V series(V a, V x) {
    V term = 1 / a, sum = term;
    for (int k = 1; k < 10000 && any_lane(term > kEnough * sum); k += 4)
      for (int j = 0; j < 4; ++j) {
        term *= x / (a + double(k + j));
        sum += term;
      }
    return sum;
  }
  // Wallis' recurrence for the fraction's numerators and denominators, which are scaled down every fourth step.
  static V fraction(V a, V x) {
    V top = splat(1.0), bottom = x + 1 - a, top_before = V{}, bottom_before = top, h = top / bottom, before;
    int k = 1;
    do {
      before = h;
      for (int j = 0; j < 4; ++j, ++k) {
        V c = double(k) * (a - double(k)), b = x + double(2 * k + 1) - a;
        V t = b * top + c * top_before, u = b * bottom + c * bottom_before;
        top_before = top, bottom_before = bottom, top = t, bottom = u;
      }
      V scale = 1 / bottom;
      top *= scale, top_before *= scale, bottom_before *= scale;
      bottom = splat(1.0);
      h = top;
    } while (k < 10000 && any_lane((h - before) * (h - before) > (kEnough * kEnough) * h * h));
    return h;
  }
  // gamma_density of all of them
  [[gnu::noinline]] static void scale(Some& s) {
#pragma GCC ivdep
    for (int64_t i = 0; i < s.count; ++i) {
      double a = s.a[i], x = s.x[i], u = (x - a) / a;
      double near = a * (math::log1p(u) - u) - 1 / (12 * a) + 1 / (360 * a * a * a);  // enough for floats
      double factor = a < 20 ? 1 : math::sqrt(a / (2 * pi<double>));
      double exponent = a < 20 ? a * math::log(x) - x - math::log_gamma(a) : near;
      s.y[i] *= factor * math::exp(exponent);
    }
  }
};

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
template <bool upper>
void IncompleteGamma<upper>::run(float* out, int64_t n, const float* a, const float* x) {
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    Some low, high;
    for (int64_t i = begin; i < n && i < begin + kBlock; ++i) {
      if (!(a[i] > 0 && x[i] > 0 && a[i] < inf<float> && x[i] < inf<float>)) {
        out[i] = float(upper ? igammac(a[i], x[i]) : igamma(a[i], x[i]));
        continue;
      }
      Some& s = double(x[i]) < double(a[i]) + 1 ? low : high;
      s.a[s.count] = a[i], s.x[s.count] = x[i], s.at[s.count++] = i;
    }
    each_vector(low, series);
    each_vector(high, fraction);
    scale(low);
    scale(high);
    for (int64_t k = 0; k < low.count; ++k) out[low.at[k]] = float(upper ? 1 - low.y[k] : low.y[k]);
    for (int64_t k = 0; k < high.count; ++k) out[high.at[k]] = float(upper ? high.y[k] : 1 - high.y[k]);
  }
}

// ---- the normal distribution

// exp(x^2) erfc(x)
WEFT_MATH double erfcx(double x) {
  double a = abs(x), e = math::exp(x * x), z = 1 / (2 * x * x);
  double series = 1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z * (1 - 9 * z * (1 - 11 * z)))));
  double right = a < 25 ? math::erfcx(a) : series / (a * 1.77245385090551602730);
  double tail = x < 0 ? 2 * e - right : right;
  return a < 0.75 ? e * (1 - math::erf_centre(x)) : tail;
}
WEFT_MATH double log_ndtr(double x) {
  double t = x * 0.70710678118654752440;
  double left = math::log(0.5 * erfcx(-t)) - t * t, right = math::log1p(-0.5 * math::erfc(t));
  return x < -1 ? left : right;
}

// ---- Bessel functions: both parts of loops/math_bessel.h, for loops that do not tell them apart

WEFT_MATH double i0(double x) { return abs(x) <= 8 ? math::i0_near(x) : math::i0_far(abs(x)) * math::exp(abs(x)); }
WEFT_MATH double i1(double x) {
  return abs(x) <= 8 ? math::i1_near(x) : math::copysign(math::i1_far(abs(x)), x) * math::exp(abs(x));
}
WEFT_MATH double i0e(double x) {
  return abs(x) <= 8 ? math::i0_near(x) * math::exp_in_range(-abs(x)) : math::i0_far(abs(x));
}
WEFT_MATH double i1e(double x) {
  return abs(x) <= 8 ? math::i1_near(x) * math::exp_in_range(-abs(x)) : math::copysign(math::i1_far(abs(x)), x);
}

// Away from zero; very far, the C library reduces the angle.
#define WEFT_AWAY(name)                                                  \
  WEFT_MATH double name##_away(double x) { return math::name##_far(x); } \
  inline double name##_away(long double x) { return __builtin_##name(double(x)); }
WEFT_AWAY(j0)
WEFT_AWAY(j1)
WEFT_AWAY(y0)
WEFT_AWAY(y1)
#undef WEFT_AWAY
WEFT_MATH double airy_away(double x) { return math::airy_far(x); }
inline double airy_away(long double far) {
  double a = double(-far), z = a * math::sqrt(a) * 2 / 3, phase = z + 0.25 * pi<double>;
  return (__builtin_sin(phase) - 5 / (72 * z) * __builtin_cos(phase)) /
         (math::sqrt(pi<double>) * math::sqrt(math::sqrt(a)));
}

// ---- orthogonal polynomials: p(0) = 1, p(1) = second, p(k + 1) = step

struct ChebyshevT {
  static auto second(auto x) { return x; }
  static auto step(auto x, double, auto p, auto q) { return 2.0 * x * p - q; }
};
struct ChebyshevU : ChebyshevT {
  static auto second(auto x) { return 2.0 * x; }
};
struct ChebyshevV : ChebyshevT {
  static auto second(auto x) { return 2.0 * x - 1.0; }
};
struct ChebyshevW : ChebyshevT {
  static auto second(auto x) { return 2.0 * x + 1.0; }
};
struct HermiteH {
  static auto second(auto x) { return 2.0 * x; }
  static auto step(auto x, double k, auto p, auto q) { return 2.0 * x * p - 2.0 * k * q; }
};
struct HermiteHe {
  static auto second(auto x) { return x; }
  static auto step(auto x, double k, auto p, auto q) { return x * p - k * q; }
};
struct LaguerreL {
  static auto second(auto x) { return 1.0 - x; }
  static auto step(auto x, double k, auto p, auto q) { return ((2.0 * k + 1.0 - x) * p - k * q) / (k + 1.0); }
};
struct LegendreP {
  static auto second(auto x) { return x; }
  static auto step(auto x, double k, auto p, auto q) { return ((2.0 * k + 1.0) * x * p - k * q) / (k + 1.0); }
};

// A vector of polynomials at a time, each of a degree of its own.
template <class Poly, bool shifted = false>
struct Polynomial {
  using V = Vec<double>;
  template <class T>
  static void run(T* out, int64_t n, const T* x, const T* degree) {
    constexpr int lanes = kLanes<double>;
    for (int64_t i = 0; i < n; i += lanes) {
      V at = {}, last = {}, y;
      int m = int(n - i < lanes ? n - i : lanes);
      double most = 0;
      for (int k = 0; k < m; ++k) {
        at[k] = shifted ? 2 * double(x[i + k]) - 1 : double(x[i + k]);
        last[k] = double(degree[i + k]);
        most = most < last[k] ? last[k] : most;
      }
      y = values(at, last, most);
      for (int k = 0; k < m; ++k) out[i + k] = T(y[k]);
    }
  }

 private:
  static V values(V x, V last, double most) {
    V one = splat(1.0), before = one, now = Poly::second(x), y = last < 1 ? one : now;
    int64_t steps = most < 0x1p62 ? int64_t(most) : int64_t(1) << 62;
    for (int64_t i = 1; i < steps; ++i) {
      if (i % kManySteps == 0) {
        if (!any_lane((now == now) & (last > double(i)))) break;  // NaN stays
        leave_if_interrupted();
      }
      V next = Poly::step(x, double(i), now, before);
      before = now;
      now = next;
      y = last >= double(i + 1) ? now : y;
    }
    V none = {};
    y = last > -1 ? y : none;
    return last == last ? y : last;
  }
};

}  // namespace weft::WEFT_ISA::special
