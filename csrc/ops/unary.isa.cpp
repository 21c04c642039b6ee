// Functions of one operand.
#include "ops/rows.h"

namespace weft::WEFT_ISA::rows {

template <class T>
  requires scalar_v<T>
T square_root(T x) {
  if constexpr (complex_v<T>)
    return sqrt(x);
  else
    return sizeof(T) == 4 ? T(__builtin_sqrtf(float(x))) : T(__builtin_sqrt(double(x)));
}
template <class T>
  requires scalar_v<T>
T one_over(T x) {
  if constexpr (complex_v<T>) {
    using R = typename T::value_type;
    const double a = double(x.real()), b = double(x.imag()), size = a * a + b * b;
    // else the C library decides
    if (sizeof(R) == 4 ? size > 0 && size <= std::numeric_limits<double>::max() : size > 1e-280 && size < 1e280)
      return {R(a / size), R(-b / size)};
  }
  return T(1) / x;
}
template <class T>
constexpr T round_even(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 4 ? T(__builtin_rintf(float(x))) : T(__builtin_rint(double(x)));
  else
    return x;
}
template <class T>
constexpr bool finite(T x) {
  if constexpr (complex_v<T>)
    return finite(x.real()) && finite(x.imag());
  else if constexpr (std::is_floating_point_v<T>)
    return abs(x) <= std::numeric_limits<T>::max();
  else
    return true;
}
template <class T>
constexpr bool infinite(T x) {
  if constexpr (complex_v<T>)
    return infinite(x.real()) || infinite(x.imag());
  else if constexpr (std::is_floating_point_v<T>)
    return abs(x) == std::numeric_limits<T>::infinity();
  else
    return false;
}
template <class T>
constexpr bool not_a_number(T x) {
  return x != x;
}
template <class T>
constexpr auto magnitude(T x) {
  if constexpr (complex_v<T>)
    return std::abs(x);
  else
    return abs(x);
}
template <class T, class F>
constexpr T whole(T x, F f) {
  if constexpr (std::is_floating_point_v<T>)
    return f(x);
  else
    return x;
}
#if WEFT_BASE
// Only the turning of a complex direction has a derivative; the sign of a real number has none.
inline Tensor sgn_derivative(const Tensor& g, const Tensor& x) {
  if (!is_complex(x.dtype())) return g * 0.0;
  Tensor s = sgn(x), r = weft::ref::abs(x);
  return where(r == 0.0, 0.0, (g - s * real_part(conj(s) * g)) / r);
}
template <class R>
std::complex<R> sigmoid(std::complex<R> x) {
  return one_over(R(1) + std::exp(-x));
}
template <class R>
std::complex<R> log2(std::complex<R> x) {
  return std::log(x) / std::log(R(2));
}
template <class R>
std::complex<R> log1p(std::complex<R> x) {
  return std::log(R(1) + x);
}
template <class R>
std::complex<R> expm1(std::complex<R> x) {
  return std::exp(x) - R(1);
}
#endif

}  // namespace weft::WEFT_ISA::rows

WEFT_ROWS(unary) {
  auto nowhere = "the result is piecewise constant: its gradient is zero";
  auto zero = d(keep::nothing, [](auto g, auto, auto) { return g * 0; });

  r.unary({"abs(Tensor input) -> Tensor", "The absolute value.", Rule::promote, kInplace, {}, "absolute"},
          types::arithmetic,
          on_bits([](auto x) { return magnitude(x); }, [](uint16_t x) { return uint16_t(x & 0x7fff); }),
          d(keep::x0, [](auto g, auto x, auto) { return g * sgn(x); }));
  r.unary({"neg(Tensor input) -> Tensor", "The negative.", Rule::promote, kInplace | kRefusesBool, {}, "negative"},
          types::arithmetic,
          by_part(on_bits([](auto x) { return modular::neg(x); }, [](uint16_t x) { return uint16_t(x ^ 0x8000); })),
          d(keep::nothing, [](auto g, auto, auto) { return -g; }));
  r.unary({"exp(Tensor input) -> Tensor", "e to the power of input.", Rule::floating, kInplace}, types::inexact,
          WEFT_BY_HAND(Exp, [](auto x) { return exp(x); }),
          d(keep::y0, [](auto g, auto, auto y) { return g * conj(y); }));
  r.unary(
      {"exp2(Tensor input) -> Tensor", "2 to the power of input.", Rule::floating, kInplace}, types::inexact,
      [](auto x) { return exp2(x); },
      d(keep::y0, [](auto g, auto, auto y) { return g * conj(y) * lit(g, 0.6931471805599453); }));
  r.unary(
      {"expm1(Tensor input) -> Tensor", "exp(input) - 1, exact near zero.", Rule::floating, kInplace}, types::inexact,
      [](auto x) { return expm1(x); }, d(keep::y0, [](auto g, auto, auto y) { return g * conj(y + 1); }));
  r.unary({"log(Tensor input) -> Tensor", "The natural logarithm.", Rule::floating, kInplace}, types::inexact,
          WEFT_BY_HAND(Log, [](auto x) { return log(x); }),
          d(keep::x0, [](auto g, auto x, auto) { return g / conj(x); }));
  r.unary(
      {"log2(Tensor input) -> Tensor", "The logarithm to base 2.", Rule::floating, kInplace}, types::inexact,
      [](auto x) { return log2(x); },
      d(keep::x0, [](auto g, auto x, auto) { return g / (conj(x) * lit(x, 0.6931471805599453)); }));
  r.unary(
      {"log10(Tensor input) -> Tensor", "The logarithm to base 10.", Rule::floating, kInplace}, types::inexact,
      [](auto x) { return log10(x); },
      d(keep::x0, [](auto g, auto x, auto) { return g / (conj(x) * lit(x, 2.302585092994046)); }));
  r.unary(
      {"log1p(Tensor input) -> Tensor", "log(1 + input), exact near zero.", Rule::floating, kInplace}, types::inexact,
      [](auto x) { return log1p(x); }, d(keep::x0, [](auto g, auto x, auto) { return g / conj(x + 1); }));
  r.unary({"sqrt(Tensor input) -> Tensor", "The square root.", Rule::floating, kInplace}, types::inexact,
          cheap(WEFT_BY_HAND(Sqrt, [](auto x) { return square_root(x); })),
          d(keep::y0, [](auto g, auto, auto y) { return g / conj(y + y); }));
  r.unary({"rsqrt(Tensor input) -> Tensor", "One over the square root.", Rule::floating, kInplace}, types::inexact,
          cheap([](auto x) {
            if constexpr (complex_v<decltype(x)>)
              return one_over(square_root(x));
            else
              return lit(x, 1) / square_root(x);
          }),
          d(keep::y0, [](auto g, auto, auto y) { return g * conj(y * y * y) * lit(y, -0.5); }));
  r.unary({"square(Tensor input) -> Tensor", "input times itself.", Rule::counting, kInplace}, types::arithmetic,
          cheap(on_pairs<pairs::Square>([](auto x) { return modular::mul(x, x); })),
          d(keep::x0, [](auto g, auto x, auto) { return g * conj(x + x); }));
  r.unary({"reciprocal(Tensor input) -> Tensor", "One over input.", Rule::floating, kInplace}, types::inexact,
          cheap(on_pairs<pairs::Reciprocal>([](auto x) { return lit(x, 1) / x; })),
          d(keep::y0, [](auto g, auto, auto y) { return -g * conj(y * y); }));
  r.unary({"sin(Tensor input) -> Tensor", "The sine.", Rule::floating, kInplace}, types::inexact,
          careful(FarAngle(), [](auto x) { return sin(x); }),
          d(keep::x0, careful(FarAngle(), [](auto g, auto x, auto) { return g * conj(cos(x)); })));
  r.unary({"cos(Tensor input) -> Tensor", "The cosine.", Rule::floating, kInplace}, types::inexact,
          careful(FarAngle(), [](auto x) { return cos(x); }),
          d(keep::x0, careful(FarAngle(), [](auto g, auto x, auto) { return -g * conj(sin(x)); })));
  r.unary({"tan(Tensor input) -> Tensor", "The tangent.", Rule::floating, kInplace}, types::inexact,
          careful(FarAngle(), [](auto x) { return tan(x); }),
          d(keep::y0, [](auto g, auto, auto y) { return g * conj(y * y + 1); }));
  r.unary(
      {"sinh(Tensor input) -> Tensor", "The hyperbolic sine.", Rule::floating, kInplace}, types::inexact,
      [](auto x) { return sinh(x); }, d(keep::x0, [](auto g, auto x, auto) { return g * conj(cosh(x)); }));
  r.unary(
      {"cosh(Tensor input) -> Tensor", "The hyperbolic cosine.", Rule::floating, kInplace}, types::inexact,
      [](auto x) { return cosh(x); }, d(keep::x0, [](auto g, auto x, auto) { return g * conj(sinh(x)); }));
  r.unary({"tanh(Tensor input) -> Tensor", "The hyperbolic tangent.", Rule::floating, kInplace}, types::inexact,
          WEFT_BY_HAND(Tanh, [](auto x) { return tanh(x); }),
          d(keep::y0, [](auto g, auto, auto y) { return g * conj(1 - y * y); }));
  r.unary(
      {"asin(Tensor input) -> Tensor", "The angle whose sine is input.", Rule::floating, kInplace, {}, "arcsin"},
      types::inexact, [](auto x) { return asin(x); },
      d(keep::x0, [](auto g, auto x, auto) { return g * conj(pow(1 - x * x, lit(x, -0.5))); }));
  r.unary(
      {"acos(Tensor input) -> Tensor", "The angle whose cosine is input.", Rule::floating, kInplace, {}, "arccos"},
      types::inexact, [](auto x) { return acos(x); },
      d(keep::x0, [](auto g, auto x, auto) { return -g * conj(pow(1 - x * x, lit(x, -0.5))); }));
  r.unary(
      {"atan(Tensor input) -> Tensor", "The angle whose tangent is input.", Rule::floating, kInplace, {}, "arctan"},
      types::inexact, [](auto x) { return atan(x); },
      d(keep::x0, [](auto g, auto x, auto) { return g / conj(x * x + 1); }));
  r.unary({"sigmoid(Tensor input) -> Tensor", "1 / (1 + exp(-input)).", Rule::floating, kInplace, {}, "expit"},
          types::inexact, WEFT_BY_HAND(Sigmoid, [](auto x) { return sigmoid(x); }),
          d(keep::y0, [](auto g, auto, auto y) { return g * conj((1 - y) * y); }));
  r.unary(
      {"erf(Tensor input) -> Tensor", "The error function.", Rule::floating, kInplace}, types::floating,
      [](auto x) { return erf(x); },
      d(keep::x0, [](auto g, auto x, auto) { return g * exp(-(x * x)) * lit(x, 1.1283791670955126); }));
  r.unary({"relu(Tensor input) -> Tensor", "input where positive, else zero.", Rule::promote, kInplace}, types::number,
          cheap([](auto x) { return isnan(x)             ? x
                                    : x > decltype(x)(0) ? x
                                                         : decltype(x)(0); }),
          d(keep::y0, [](auto g, auto, auto y) { return where(y <= 0, lit(g, 0.0), g); }));

  r.unary({"floor(Tensor input) -> Tensor", "Rounds down.", Rule::promote, kInplace}, types::number,
          cheap([](auto x) { return whole(x, [](auto v) { return floor(v); }); }), zero);
  r.unary({"ceil(Tensor input) -> Tensor", "Rounds up.", Rule::promote, kInplace}, types::number,
          cheap([](auto x) { return whole(x, [](auto v) { return ceil(v); }); }), zero);
  r.unary({"trunc(Tensor input) -> Tensor", "Rounds towards zero.", Rule::promote, kInplace, {}, "fix"}, types::number,
          cheap([](auto x) { return whole(x, [](auto v) { return trunc(v); }); }), zero);
  r.unary({"round(Tensor input) -> Tensor", "Rounds to the nearest integer, halves to the even one.", Rule::promote,
           kInplace},
          types::number, cheap([](auto x) { return round_even(x); }), zero);
  r.unary(
      {"frac(Tensor input) -> Tensor", "What is left of input after trunc.", Rule::promote, kInplace}, types::floating,
      [](auto x) { return x - trunc(x); }, d(keep::nothing, Passed()));
  r.unary(
      {"sign(Tensor input) -> Tensor", "-1, 0 or 1.", Rule::promote, kInplace}, types::real,
      [](auto x) { return sign(x); }, zero);
  r.unary({"sgn(Tensor input) -> Tensor", "-1, 0 or 1; of a complex number, its direction.", Rule::promote, kInplace},
          types::all, on_pairs<pairs::Sgn>([](auto x) { return sgn(x); }), d(keep::x0, [](auto g, auto x, auto) {
            if constexpr (scalar_v<decltype(x)>)
              return g * 0;
            else
              return sgn_derivative(g, x);
          }));
  r.unary({"isnan(Tensor input) -> Tensor", "Whether an element is not a number.", Rule::compare, kNoOut, nowhere},
          types::all, [](auto x) { return not_a_number(x); });
  r.unary({"isinf(Tensor input) -> Tensor", "Whether an element is infinite.", Rule::compare, kNoOut, nowhere},
          types::all, [](auto x) { return infinite(x); });
  r.unary({"isfinite(Tensor input) -> Tensor", "Whether an element is neither infinite nor NaN.", Rule::compare, kNoOut,
           nowhere},
          types::all, [](auto x) { return finite(x); });
  r.unary({"logical_not(Tensor input) -> Tensor", "Whether an element is zero.", Rule::truth, kInplace, nowhere},
          types::List<bool>(), [](auto x) { return !x; });
  r.unary({"bitwise_not(Tensor input) -> Tensor", "Every bit turned over.", Rule::promote, kInplace,
           "bits have no derivative"},
          types::bits, [](auto x) {
            if constexpr (std::is_same_v<decltype(x), bool>)
              return !x;
            else
              return ~x;
          });
}
