// Elementary functions of one and two operands: hyperbolic inverses, signs, logarithms of sums, whole
// numbers.
#include "ops/rows.h"

namespace weft::WEFT_ISA::rows {

using math::acosh;  // for complex numbers, those of std are found beside them
using math::asinh;
using math::atanh;
using math::copysign;
using math::hypot;

// sin and cos of pi x: whole turns are taken off first, which is exact.
template <class T>
  requires scalar_v<T>
T sin_pi(T x) {
  if constexpr (complex_v<T>)
    return sin(x * T(math::pi<double>));
  else
    return sin(math::pi<T> * (x - 2 * math::round(x * T(0.5))));
}
template <class T>
  requires scalar_v<T>
T cos_pi(T x) {
  if constexpr (complex_v<T>)
    return cos(x * T(math::pi<double>));
  else
    return cos(math::pi<T> * (x - 2 * math::round(x * T(0.5))));
}
template <class T>
T cardinal_sine(T x) {
  return x == T(0) ? T(1) : sin_pi(x) / (x * T(math::pi<double>));
}
template <class T>
constexpr bool negative_sign(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return math::bits(x) >> (8 * sizeof(T) - 1);
  else
    return x < T(0);
}
template <class T>
auto argument(T x) {
  if constexpr (complex_v<T>)
    return std::arg(x);
  else
    return isnan(x) ? x : x < 0 ? math::pi<T> : T(0);
}
// The next number: floats of one sign are ordered like their bits.
template <class T>
T after(T x, T towards) {
  using Bits = math::BitsOf<T>;
  Bits b = math::bits(x), step = (towards > x) == (x > 0) ? Bits(1) : Bits(-1);
  T y = x == 0 ? math::copysign(math::from_bits(Bits(1)), towards) : math::from_bits(Bits(b + step));
  y = x == towards ? towards : y;
  return isnan(x) || isnan(towards) ? x + towards : y;
}
template <class T>
constexpr T step_at_zero(T x, T at_zero) {
  return x == T(0) ? at_zero : T(x > T(0));
}
// The logarithm of a sum of powers; equal infinities have no difference.
template <class T, class Log1p, class Exp>
T log_of_sum(T a, T b, Log1p log1p_, Exp exp_) {
  if constexpr (complex_v<T>) {
    bool first = a.real() > b.real();
    return (first ? a : b) + log(T(1) + exp_(first ? b - a : a - b));
  } else {
    T high = a > b ? a : b, low = a > b ? b : a;
    T y = high + log1p_(exp_(low - high));
    y = a == b && abs(a) == math::inf<T> ? a : y;
    return a != a ? a : y;
  }
}
template <class T>
constexpr T zero_or_product(T x, T log_y, T y) {
  return isnan(y) ? y : x == 0 ? T(0) : x * log_y;
}
template <class T>
constexpr T largest_number(T a, T b) {
  return isnan(a) ? b : isnan(b) ? a : a > b ? a : b;
}
template <class T>
constexpr T smallest_number(T a, T b) {
  return isnan(a) ? b : isnan(b) ? a : a < b ? a : b;
}

template <class T>
constexpr T common_divisor(T a, T b) {
  using U = std::make_unsigned_t<T>;
  U x = a < T(0) ? U(0) - U(a) : U(a), y = b < T(0) ? U(0) - U(b) : U(b);
  while (y) {
    U rest = U(x % y);
    x = y;
    y = rest;
  }
  return T(x);
}
template <class T>
constexpr T common_multiple(T a, T b) {
  using U = std::make_unsigned_t<T>;
  T g = common_divisor(a, b);
  if (g == T(0)) return T(0);
  T m = T(U(a / g) * U(b));
  return m < T(0) ? T(U(0) - U(m)) : m;
}
template <class T>
constexpr T shift_left(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return b < T(0) || b >= T(8 * sizeof(T)) ? T(0) : T(uint64_t(U(a)) << int(b));
}
template <class T>
constexpr T shift_right(T a, T b) {
  constexpr T last = T(8 * sizeof(T) - (std::is_signed_v<T> ? 1 : 0));
  bool beyond = b < T(0) || b >= last;
  if (std::is_unsigned_v<T> && beyond) return T(0);
  return T(a >> int(beyond ? last : b));
}

#if WEFT_BASE
inline Tensor sin_pi(const Tensor& x) { return sin(x * math::pi<double>); }
inline Tensor cos_pi(const Tensor& x) { return cos(x * math::pi<double>); }
// The angle turns by i z / |z|^2.
inline Tensor angle_derivative(const Tensor& g, const Tensor& z) {
  if (!is_complex(z.dtype())) return g * 0;
  Tensor size = abs(z), turn = weft::ref::mul(z, Value(std::complex<double>(0, 1)));
  return where(size == 0, 0.0, g * turn / (size * size));
}
#endif

}  // namespace weft::WEFT_ISA::rows

// clang-format off: a table
WEFT_ROWS(elementary) {
  auto steps = "the result is piecewise constant";
  auto whole = "whole numbers have no derivative";
  auto truth = "the result is bool";

  r.unary({"asinh(Tensor input) -> Tensor", "The number whose hyperbolic sine is input.", Rule::floating, kInplace, {},
           "arcsinh"}, types::inexact, [](auto x) { return asinh(x); },
          d(keep::x0, [](auto g, auto x, auto) { return g / conj(sqrt(x * x + 1)); }));
  r.unary({"acosh(Tensor input) -> Tensor", "The number whose hyperbolic cosine is input.", Rule::floating, kInplace, {},
           "arccosh"}, types::inexact, [](auto x) { return acosh(x); },
          d(keep::x0, [](auto g, auto x, auto) { return g / conj(sqrt(x - 1) * sqrt(x + 1)); }));
  r.unary({"atanh(Tensor input) -> Tensor", "The number whose hyperbolic tangent is input.", Rule::floating, kInplace, {},
           "arctanh"}, types::inexact, [](auto x) { return atanh(x); },
          d(keep::x0, [](auto g, auto x, auto) { return g / conj(1 - x * x); }));
  r.unary({"sinc(Tensor input) -> Tensor", "sin(pi input) / (pi input), 1 at zero.", Rule::floating, kInplace},
          types::inexact, [](auto x) { return cardinal_sine(x); },
          d(keep::x0, [](auto g, auto x, auto) {
            auto px = x * lit(x, 3.14159265358979323846);
            return where(x == 0, lit(g, 0.0), g * conj((cos_pi(x) * px - sin_pi(x)) / (px * x)));
          }));
  r.unary({"logit(Tensor input) -> Tensor", "log(input / (1 - input)), the inverse of sigmoid; with eps, input is first "
           "kept between eps and 1 - eps.", Rule::floating, kInplace}, types::floating,
          [](auto x) { return log(x / (1 - x)); },
          d(keep::x0, [](auto g, auto x, auto) {
            return where(x >= 0 && x <= 1, g / (x * (1 - x)), lit(g, __builtin_nan("")));
          }));
  r.unary({"deg2rad(Tensor input) -> Tensor", "Degrees to radians.", Rule::floating, kInplace}, types::floating,
          [](auto x) { return x * lit(x, 0.017453292519943295); },
          d(keep::nothing, [](auto g, auto, auto) { return g * lit(g, 0.017453292519943295); }));
  r.unary({"rad2deg(Tensor input) -> Tensor", "Radians to degrees.", Rule::floating, kInplace}, types::floating,
          [](auto x) { return x * lit(x, 57.295779513082321); },
          d(keep::nothing, [](auto g, auto, auto) { return g * lit(g, 57.295779513082321); }));
  r.unary({"angle(Tensor input) -> Tensor", "The angle of a complex number; of a real one, 0 or pi.", Rule::floating},
          types::inexact, on_pairs<pairs::Angle>([](auto x) { return argument(x); }),
          d(keep::x0, [](auto g, auto x, auto) {
            if constexpr (scalar_v<decltype(x)>) return g * 0;
            else return angle_derivative(g, x);
          }));
  r.unary({"signbit(Tensor input) -> Tensor", "Whether an element is negative, or -0.", Rule::compare, kPlain, truth},
          types::real, [](auto x) { return negative_sign(x); });
  r.unary({"isposinf(Tensor input) -> Tensor", "Whether an element is infinite and positive.", Rule::compare, kPlain,
           truth}, types::real, [](auto x) {
            if constexpr (std::is_floating_point_v<decltype(x)>) return x == math::inf<decltype(x)>;
            else return false;
          });
  r.unary({"isneginf(Tensor input) -> Tensor", "Whether an element is infinite and negative.", Rule::compare, kPlain,
           truth}, types::real, [](auto x) {
            if constexpr (std::is_floating_point_v<decltype(x)>) return x == -math::inf<decltype(x)>;
            else return false;
          });
  r.unary({"isreal(Tensor input) -> Tensor", "Whether an element has no imaginary part.", Rule::compare, kNoOut, truth},
          types::all, [](auto x) {
            if constexpr (complex_v<decltype(x)>) return x.imag() == 0;
            else return true;
          });

  r.binary({"hypot(Tensor input, Tensor other) -> Tensor", "The long side of a right triangle with these two.",
            Rule::promote, kInplace}, types::floating, [](auto a, auto b) { return hypot(a, b); },
           d(keep::x0 | keep::y0, [](auto g, auto a, auto, auto y) { return g * (a / y); }),
           d(keep::x1 | keep::y0, [](auto g, auto, auto b, auto y) { return g * (b / y); }));
  r.binary({"copysign(Tensor input, Tensor|Scalar other) -> Tensor", "The size of input with the sign of other.",
            Rule::floating, kInplace}, types::floating,
           on_bits([](auto a, auto b) { return copysign(a, b); },
                   [](uint16_t a, uint16_t b) { return uint16_t((a & 0x7fff) | (b & 0x8000)); }),
           d(keep::x0 | keep::y0, [](auto g, auto a, auto, auto y) { return where(a == 0, lit(g, 0.0), g * (y / a)); }),
           d(keep::nothing, [](auto g, auto, auto, auto) { return g * 0; }));
  r.binary({"nextafter(Tensor input, Tensor other) -> Tensor", "The next number that the type can hold, towards other.",
            Rule::promote, kInplace}, types::floating, [](auto a, auto b) { return after(a, b); },
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return where(a == b, lit(g, 0.0), g); }),
           d(keep::nothing, [](auto g, auto, auto, auto) { return g * 0; }));
  r.binary({"heaviside(Tensor input, Tensor values) -> Tensor", "0 below zero, 1 above, values at zero.", Rule::alike,
            kInplace, steps}, types::real, [](auto x, auto v) { return step_at_zero(x, v); });
  r.binary({"logaddexp(Tensor input, Tensor other) -> Tensor", "log(exp(input) + exp(other)), without overflow.",
            Rule::promote}, types::inexact, [](auto a, auto b) {
             return log_of_sum(a, b, [](auto v) { return log1p(v); }, [](auto v) { return exp(v); });
           },
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return g / conj(1 + exp(b - a)); }),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return g / conj(1 + exp(a - b)); }));
  r.binary({"logaddexp2(Tensor input, Tensor other) -> Tensor", "log2(2 ** input + 2 ** other), without overflow.",
            Rule::promote}, types::floating, [](auto a, auto b) {
             return log_of_sum(a, b, [](auto v) { return log1p(v) * lit(v, 1.4426950408889634); },
                               [](auto v) { return exp2(v); });
           },
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return g / (1 + exp2(b - a)); }),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return g / (1 + exp2(a - b)); }));
  r.binary({"xlogy(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "input * log(other), zero where input is zero.",
            Rule::floating, kInplace}, types::floating, [](auto x, auto y) { return zero_or_product(x, log(y), y); },
           d(keep::x0 | keep::x1, [](auto g, auto x, auto y, auto) {
             return where(x == 0 && y <= 0, lit(g, 0.0), g * log(y));
           }),
           d(keep::x0 | keep::x1, [](auto g, auto x, auto y, auto) { return g * x / y; }));
  r.binary({"special_xlog1py(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
            "input * log1p(other), zero where input is zero.", Rule::floating, kNoMethod}, types::floating,
           [](auto x, auto y) { return zero_or_product(x, log1p(y), y); },
           d(keep::x0 | keep::x1, [](auto g, auto x, auto y, auto) {
             return where(x == 0 && y <= -1, lit(g, 0.0), g * log1p(y));
           }),
           d(keep::x0 | keep::x1, [](auto g, auto x, auto y, auto) { return g * x / (y + 1); }));
  r.binary({"fmax(Tensor input, Tensor other) -> Tensor", "The larger of the two; a number wins over NaN.",
            Rule::promote}, types::real, [](auto a, auto b) { return largest_number(a, b); },
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return where(a >= b || isnan(b), g, lit(g, 0.0)); }),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return where(a >= b || isnan(b), lit(g, 0.0), g); }));
  r.binary({"fmin(Tensor input, Tensor other) -> Tensor", "The smaller of the two; a number wins over NaN.",
            Rule::promote}, types::real, [](auto a, auto b) { return smallest_number(a, b); },
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return where(a <= b || isnan(b), g, lit(g, 0.0)); }),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return where(a <= b || isnan(b), lit(g, 0.0), g); }));
  r.binary({"ldexp(Tensor input, Tensor other) -> Tensor", "input * 2 ** other.", Rule::floating, kInplace},
           types::inexact, [](auto a, auto b) { return a * exp2(b); },
           d(keep::x1, [](auto g, auto, auto b, auto) { return g * conj(exp2(b)); }),
           d(keep::y0, [](auto g, auto, auto, auto y) { return g * conj(y) * lit(g, 0.69314718055994531); }));
  r.binary({"gcd(Tensor input, Tensor other) -> Tensor",
            "The greatest common divisor.\n\n>>> weft.gcd(weft.tensor([4]), weft.tensor([6]))\ntensor([2])",
            Rule::promote, kInplace, whole},
           types::integers, [](auto a, auto b) { return common_divisor(a, b); });
  r.binary({"lcm(Tensor input, Tensor other) -> Tensor",
            "The least common multiple.\n\n>>> weft.lcm(weft.tensor([4]), weft.tensor([6]))\ntensor([12])",
            Rule::promote, kInplace, whole},
           types::integers, [](auto a, auto b) { return common_multiple(a, b); });
  r.binary({"bitwise_left_shift(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "Bits moved up by other places.",
            Rule::promote, kInplace, whole}, types::integers, [](auto a, auto b) { return shift_left(a, b); });
  r.binary({"bitwise_right_shift(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "Bits moved down by other places.",
            Rule::promote, kInplace, whole}, types::integers, [](auto a, auto b) { return shift_right(a, b); });
}
// clang-format on
