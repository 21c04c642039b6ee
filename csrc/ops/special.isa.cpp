// Error, gamma and Bessel functions, and polynomials that are orthogonal.
#include "loops/special.h"

#include "ops/rows.h"

namespace weft::WEFT_ISA::rows {

using math::digamma;
using math::erfc;
using math::erfinv;
using math::lgamma;
using math::trigamma;

// What special functions compute in: double, and long double as it is, which stands for what needs another way.
template <class T>
WEFT_MATH auto wide(T x) {
  return std::conditional_t<std::is_same_v<T, long double>, long double, double>(x);
}
// Computed in double, whatever the element type.
#define WEFT_IN_DOUBLE(name, expression) \
  template <class T>                     \
    requires std::is_floating_point_v<T> \
  WEFT_MATH T name(T value) {            \
    double x = double(value);            \
    return T(expression);                \
  }
WEFT_IN_DOUBLE(i0, special::i0(x))
WEFT_IN_DOUBLE(special_i0e, special::i0e(x))
WEFT_IN_DOUBLE(special_i1, special::i1(x))
WEFT_IN_DOUBLE(special_i1e, special::i1e(x))
WEFT_IN_DOUBLE(special_erfcx, special::erfcx(x))
#undef WEFT_IN_DOUBLE
template <class T>
  requires std::is_floating_point_v<T>
WEFT_MATH T special_zeta(T s, T q) {
  return T(special::zeta(wide(s), wide(q)));
}
struct NotPositive {  // start of zeta's sum, an operand of its derivative
  template <class T>
  bool operator()(T, T, T q, T) const {
    return q <= 0;
  }
};
// I0 and I1 overflow long before this, and their scaled forms are zero at infinity only.
WEFT_MATH double not_too_far(double x) { return math::abs(x) < 1e6 ? math::abs(x) : 1e6; }
template <class T>
WEFT_MATH T spherical_j0(T x) {
  T y = math::sin(x) / x;
  y = x == 0 ? 1 : y;
  return x == math::inf<double> || x == -math::inf<double> ? 0 : y;
}
template <class T>
T entropy(T x) {
  return isnan(x) ? x : x > 0 ? -x * log(x) : x == 0 ? T(0) : -math::inf<T>;
}

#if WEFT_BASE
#define X(f)                         \
  inline Tensor f(const Tensor& x) { \
    static const OpRef op{#f};       \
    return op(x);                    \
  }
// clang-format off
X(digamma) X(lgamma) X(i0) X(special_i0e) X(special_i1) X(special_i1e) X(special_erfcx)
// clang-format on
#undef X
    inline Tensor special_zeta(double s, const Tensor& q) {
  static const OpRef op{"special_zeta"};
  return op(s, q);
}
inline Tensor special_zeta(const Tensor& s, const Tensor& q) {
  static const OpRef op{"special_zeta"};
  return op(s, q);
}
inline Tensor trigamma(const Tensor& x) { return special_zeta(2, x); }
#endif

}  // namespace weft::WEFT_ISA::rows

// clang-format off: a table
WEFT_ROWS(special) {
  auto not_given = "its derivative is not built";
  constexpr auto to_1 = [](auto x) { return x <= 1; };
  constexpr auto to_5 = [](auto x) { return math::abs(x) <= 5; };
  constexpr auto to_8 = [](auto x) { return math::abs(x) <= 8; };
  constexpr auto up_to_5 = [](auto x) { return x <= 5; };
  constexpr auto far = [](auto x) { return math::abs(x) > 1e6f; };  // for sin and cos
  constexpr auto far_right = [](auto x) { return x > 1e6f; };
#define IN_DOUBLE(expression) \
  [](auto value) WEFT_INLINE { [[maybe_unused]] auto x = wide(value); return decltype(value)(expression); }

  r.unary({"erfc(Tensor input) -> Tensor", "1 - erf(input), exact where that is small.", Rule::floating, kInplace},
          types::floating, [](auto x) { return erfc(x); },
          d(keep::x0, [](auto g, auto x, auto) { return g * exp(-(x * x)) * lit(x, -1.1283791670955126); }));
  r.unary({"erfinv(Tensor input) -> Tensor", "The number whose erf is input.", Rule::floating, kInplace},
          types::floating, [](auto x) { return erfinv(x); },
          d(keep::y0, [](auto g, auto, auto y) { return g * exp(y * y) * lit(y, 0.88622692545275801); }));
  r.unary({"lgamma(Tensor input) -> Tensor", "The logarithm of the gamma function's size.", Rule::floating, kInplace},
          types::floating, [](auto x) { return lgamma(x); },
          d(keep::x0, [](auto g, auto x, auto) { return g * digamma(x); }));
  r.unary({"digamma(Tensor input) -> Tensor", "The derivative of lgamma.", Rule::floating, kInplace}, types::floating,
          [](auto x) { return digamma(x); },
          d(keep::x0, [](auto g, auto x, auto) WEFT_INLINE { return g * trigamma(x); }));
  r.unary({"i0(Tensor input) -> Tensor", "The modified Bessel function of order 0.", Rule::floating, kInplace},
          types::floating, parts(to_8, IN_DOUBLE(math::i0_near(x)),
                IN_DOUBLE(math::exp_times(math::abs(x), math::i0_far(not_too_far(x))))),
          d(keep::x0, [](auto g, auto x, auto) WEFT_INLINE { return g * special_i1(x); }));
  r.unary({"special_i0e(Tensor input) -> Tensor", "exp(-|input|) times the modified Bessel function of order 0.",
           Rule::floating, kNoMethod}, types::floating, parts(to_8, IN_DOUBLE(math::i0_near(x) * math::exp_in_range(-math::abs(x))),
                IN_DOUBLE(math::i0_far(math::abs(x)))),
          d(keep::x0 | keep::y0, [](auto g, auto x, auto y) WEFT_INLINE { return g * (special_i1e(x) - sgn(x) * y); }));
  r.unary({"special_i1(Tensor input) -> Tensor", "The modified Bessel function of order 1.", Rule::floating, kNoMethod},
          types::floating, parts(to_8, IN_DOUBLE(math::i1_near(x)),
                IN_DOUBLE(math::exp_times(math::abs(x), math::copysign(math::i1_far(not_too_far(x)), x)))),
          d(keep::x0 | keep::y0, [](auto g, auto x, auto y) WEFT_INLINE {
            return g * where(x == 0, lit(x, 0.5), i0(x) - y / where(x == 0, lit(x, 1), x));
          }));
  r.unary({"special_i1e(Tensor input) -> Tensor", "exp(-|input|) times the modified Bessel function of order 1.",
           Rule::floating, kNoMethod}, types::floating, parts(to_8, IN_DOUBLE(math::i1_near(x) * math::exp_in_range(-math::abs(x))),
                IN_DOUBLE(math::copysign(math::i1_far(math::abs(x)), x))),
          d(keep::x0 | keep::y0, [](auto g, auto x, auto y) WEFT_INLINE {
            return g * where(x == 0, lit(x, 0.5), special_i0e(x) - y * (sgn(x) + 1 / where(x == 0, lit(x, 1), x)));
          }));
  r.unary({"special_entr(Tensor input) -> Tensor", "-input * log(input), the term of an entropy.", Rule::floating,
           kNoMethod}, types::floating, [](auto x) { return entropy(x); },
          d(keep::x0, [](auto g, auto x, auto) { return g * (-log(x) - 1); }));
  r.unary({"special_erfcx(Tensor input) -> Tensor", "exp(input ** 2) * erfc(input).", Rule::floating, kNoMethod},
          types::floating, [](auto x) WEFT_INLINE { return special_erfcx(x); },
          d(keep::x0 | keep::y0, [](auto g, auto x, auto y) { return g * (2 * x * y - lit(x, 1.1283791670955126)); }));
  r.unary({"special_ndtr(Tensor input) -> Tensor", "The share of the normal distribution below input.", Rule::floating,
           kNoMethod}, types::floating, [](auto x) { return erfc(x * lit(x, -0.70710678118654752)) * lit(x, 0.5); },
          d(keep::x0, [](auto g, auto x, auto) { return g * exp(x * x * lit(x, -0.5)) * lit(x, 0.39894228040143268); }));
  r.unary({"special_log_ndtr(Tensor input) -> Tensor", "The logarithm of the share of the normal distribution below "
           "input.", Rule::floating, kNoMethod}, types::floating,
          [](auto x) WEFT_INLINE { return decltype(x)(special::log_ndtr(double(x))); },
          d(keep::x0, [](auto g, auto x, auto) WEFT_INLINE {
            return g * lit(x, 0.79788456080286536) / special_erfcx(x * lit(x, -0.70710678118654752));
          }));
  r.unary({"special_ndtri(Tensor input) -> Tensor", "Where the normal distribution has the share input below it.",
           Rule::floating, kNoMethod}, types::floating,
          parts([](auto p) { return math::abs(p - lit(p, 0.5)) <= lit(p, 0.425); }, IN_DOUBLE(math::ndtri_near(x)),
                IN_DOUBLE(math::ndtri_far(x))),
          d(keep::y0, [](auto g, auto, auto y) { return g * exp(y * y * lit(y, 0.5)) * lit(y, 2.5066282746310005); }));
#define ROW(name, text, lambda) \
  r.unary({#name "(Tensor input) -> Tensor", text, Rule::floating, kNoMethod, not_given}, types::floating, lambda);
#define PARTS(test, near, away) parts(test, IN_DOUBLE(near), IN_DOUBLE(away))
  ROW(special_bessel_j0, "The Bessel function of the first kind, order 0.",
      careful(far, PARTS(to_5, math::j0_near(x), special::j0_away(x))))
  ROW(special_bessel_j1, "The Bessel function of the first kind, order 1.",
      careful(far, PARTS(to_5, math::j1_near(x), special::j1_away(x))))
  ROW(special_bessel_y0, "The Bessel function of the second kind, order 0.",
      careful(far_right, PARTS(up_to_5, math::y0_near(x), special::y0_away(x))))
  ROW(special_bessel_y1, "The Bessel function of the second kind, order 1.",
      careful(far_right, PARTS(up_to_5, math::y1_near(x), special::y1_away(x))))
  ROW(special_modified_bessel_i0, "The modified Bessel function of the first kind, order 0.",
      PARTS(to_8, math::i0_near(x), math::exp_times(math::abs(x), math::i0_far(not_too_far(x)))))
  ROW(special_modified_bessel_i1, "The modified Bessel function of the first kind, order 1.",
      PARTS(to_8, math::i1_near(x), math::exp_times(math::abs(x), math::copysign(math::i1_far(not_too_far(x)), x))))
  ROW(special_modified_bessel_k0, "The modified Bessel function of the second kind, order 0.",
      PARTS(to_1, math::k0_near(x), math::exp_times(-x, math::k0_far(x))))
  ROW(special_modified_bessel_k1, "The modified Bessel function of the second kind, order 1.",
      PARTS(to_1, math::k1_near(x), math::exp_times(-x, math::k1_far(x))))
  ROW(special_scaled_modified_bessel_k0, "exp(input) times the modified Bessel function of the second kind, order 0.",
      PARTS(to_1, math::k0_near(x) * math::exp_in_range(x), math::k0_far(x)))
  ROW(special_scaled_modified_bessel_k1, "exp(input) times the modified Bessel function of the second kind, order 1.",
      PARTS(to_1, math::k1_near(x) * math::exp_in_range(x), math::k1_far(x)))
  ROW(special_spherical_bessel_j0, "sin(input) / input.", careful(far, IN_DOUBLE(spherical_j0(x))))
  ROW(special_airy_ai, "The Airy function Ai.",
      careful([](auto x) { return x < -1e4f; }, PARTS([](auto x) { return x >= -3 && x <= 1; }, math::airy_near(x),
                                                      special::airy_away(x))))
#undef PARTS
#undef ROW

  r.binary({"igamma(Tensor input, Tensor other) -> Tensor", "The lower incomplete gamma function of order input, over "
            "gamma(input).", Rule::promote, kInplace}, types::floating,
           by_loop<special::IncompleteGamma<false>>(
               [](auto a, auto x) { return decltype(x)(special::igamma(double(a), double(x))); }), NoDerivative(),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto x, auto) {
             return g * exp((a - 1) * log(x) - x - lgamma(a));
           }));
  r.binary({"igammac(Tensor input, Tensor other) -> Tensor", "The upper incomplete gamma function of order input, over "
            "gamma(input).", Rule::promote, kInplace}, types::floating,
           by_loop<special::IncompleteGamma<true>>(
               [](auto a, auto x) { return decltype(x)(special::igammac(double(a), double(x))); }), NoDerivative(),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto x, auto) {
             return -g * exp((a - 1) * log(x) - x - lgamma(a));
           }));
  r.binary({"special_zeta(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "The sum of (other + k) ** -input over "
            "all k >= 0 (Hurwitz).", Rule::floating, kNoMethod}, types::floating,
           careful([](auto s, auto q) { return q <= 0 && s != 2; },
                   parts([](auto s, auto) { return s == 2; }, [](auto, auto q) WEFT_INLINE { return trigamma(q); },
                         [](auto s, auto q) WEFT_INLINE { return special_zeta(s, q); })), NoDerivative(),
           d(keep::x0 | keep::x1, careful(NotPositive(), [](auto g, auto s, auto q, auto) WEFT_INLINE {
             return g * (-s * special_zeta(s + 1, q));
           })));
#define ROW(name, text, ...)                                                                                       \
  r.binary({"special_" #name "(Tensor|Scalar input, Tensor|Scalar n) -> Tensor", text, Rule::floating, kNoMethod,  \
            not_given}, types::floating, by_loop<special::Polynomial<__VA_ARGS__>>([](auto x, auto n) {            \
              special::Polynomial<__VA_ARGS__>::run(&x, 1, &x, &n);                                                \
              return x;                                                                                            \
            }));
  ROW(chebyshev_polynomial_t, "The Chebyshev polynomial of the first kind of degree n.", special::ChebyshevT)
  ROW(chebyshev_polynomial_u, "The Chebyshev polynomial of the second kind of degree n.", special::ChebyshevU)
  ROW(chebyshev_polynomial_v, "The Chebyshev polynomial of the third kind of degree n.", special::ChebyshevV)
  ROW(chebyshev_polynomial_w, "The Chebyshev polynomial of the fourth kind of degree n.", special::ChebyshevW)
  ROW(shifted_chebyshev_polynomial_t, "The same of 2 * input - 1, first kind.", special::ChebyshevT, true)
  ROW(shifted_chebyshev_polynomial_u, "The same of 2 * input - 1, second kind.", special::ChebyshevU, true)
  ROW(shifted_chebyshev_polynomial_v, "The same of 2 * input - 1, third kind.", special::ChebyshevV, true)
  ROW(shifted_chebyshev_polynomial_w, "The same of 2 * input - 1, fourth kind.", special::ChebyshevW, true)
  ROW(hermite_polynomial_h, "The physicists' Hermite polynomial of degree n.", special::HermiteH)
  ROW(hermite_polynomial_he, "The probabilists' Hermite polynomial of degree n.", special::HermiteHe)
  ROW(laguerre_polynomial_l, "The Laguerre polynomial of degree n.", special::LaguerreL)
  ROW(legendre_polynomial_p, "The Legendre polynomial of degree n.", special::LegendreP)
#undef ROW
#undef IN_DOUBLE
}
// clang-format on
