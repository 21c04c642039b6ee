// Arithmetic of two and three operands.
#include <concepts>

#include "ops/rows.h"

namespace weft::WEFT_ISA::rows {

// Where a power of zero is no pole.
template <class T>
constexpr auto not_negative(T x) {
  return x >= 0;
}
#if WEFT_BASE
inline Tensor not_negative(const Tensor& x) { return real_part(x) >= 0; }
#endif

// Whole-number division and remainder that round down, as Python does. The caller has refused integer zeros.
template <class T>
constexpr T whole_div(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == 0) return a / b;
    T mod = math::fmod(a, b), q = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) q -= 1;
    if (q == 0)
      return sizeof(T) == 4 ? T(__builtin_copysignf(0.f, float(a / b))) : T(__builtin_copysign(0.0, double(a / b)));
    T down = floor(q);
    return q - down > T(0.5) ? down + 1 : down;
  } else {
    if (b == T(0)) return T(0);
    if (b == T(-1)) return modular::neg(a);
    T q = T(a / b);
    return T(a % b) != T(0) && (a < T(0)) != (b < T(0)) ? T(q - 1) : q;
  }
}
template <class T>
constexpr T whole_mod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    T mod = math::fmod(a, b);
    return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
  } else {
    if (b == T(0) || b == T(-1)) return T(0);
    T mod = T(a % b);
    return mod != T(0) && (b < T(0)) != (mod < T(0)) ? T(mod + b) : mod;
  }
}
template <class T>
constexpr T trunc_div(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return trunc(a / b);
  else if (b == T(0))
    return T(0);
  else
    return b == T(-1) ? modular::neg(a) : T(a / b);
}
template <class T>
constexpr T trunc_mod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return math::fmod(a, b);
  else
    return b == T(0) || b == T(-1) ? T(0) : T(a % b);
}
template <class T>
T integer_power(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) return a || !b;
  if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
  T r = 1;
  for (auto e = uint64_t(b); e; e >>= 1, a = modular::mul(a, a))
    if (e & 1) r = modular::mul(r, a);
  return r;
}
template <class T>
[[gnu::always_inline]] inline T power(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return integer_power(a, b);
  else if constexpr (complex_v<T>)  // the usual powers without a logarithm: exact, and faster
    return b == T(2)    ? a * a
           : b == T(3)  ? a * a * a
           : a == T(0)  ? T(b == T(0))
           : b == T(-1) ? T(1) / a
                        : std::pow(a, b);
  else
    return pow(a, b);
}
// Where none of a block's exponents is a usual one, what math::pow makes of those is left out.
struct PowerLoop {
  template <std::floating_point T>
  static void run(T* out, int64_t n, const T* x, const T* y) {
    constexpr int64_t kBlock = 64;
    for (int64_t i = 0; i < n; i += kBlock) {
      int64_t m = n - i < kBlock ? n - i : kBlock;
      uint32_t usual = 0;
      for (int64_t k = i; k < i + m; ++k) usual |= math::abs(y[k]) <= 3 && math::round(2 * y[k]) == 2 * y[k];
      (usual ? each<true, T> : each<false, T>)(out + i, m, x + i, y + i);
    }
  }
  template <bool usual, class T>
  [[gnu::noinline]] static void each(T* out, int64_t n, const T* x, const T* y) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = usual ? math::pow(x[i], y[i]) : math::general_pow(x[i], y[i]);
  }
};
template <class T>
constexpr T larger(T a, T b) {  // NaN wins: a comparison with it is false
  return b >= a ? b : isnan(b) ? b : a;
}
template <class T>
constexpr T smaller(T a, T b) {
  return b <= a ? b : isnan(b) ? b : a;
}
template <class T>
constexpr T without_nan(T x, T nan, T high, T low) {
  return isnan(x) ? nan : x == math::inf<T> ? high : x == -math::inf<T> ? low : x;
}
#if WEFT_BASE
inline Tensor whole_div(const Tensor& a, const Tensor& b) { return floor(a / b); }
inline Tensor trunc_div(const Tensor& a, const Tensor& b) { return trunc(a / b); }
#endif

}  // namespace weft::WEFT_ISA::rows

WEFT_ROWS(arithmetic) {
  auto zero = d(keep::nothing, [](auto g, auto, auto, auto) { return g * 0; });
  auto pass = d(keep::nothing, Passed());

  r.binary({"add(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "Adds other to input, element by element.",
            Rule::promote, kInplace},
           types::all, by_part(light([](auto a, auto b) { return modular::add(a, b); })), pass, pass);
  r.binary({"sub(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
            "Subtracts other from input, element by element.",
            Rule::promote,
            kInplace | kRefusesBool,
            {},
            "subtract"},
           types::arithmetic, by_part(light([](auto a, auto b) { return modular::sub(a, b); })), pass,
           d(keep::nothing, [](auto g, auto, auto, auto) { return -g; }));
  r.binary({"mul(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
            "Multiplies input by other, element by element.",
            Rule::promote,
            kInplace,
            {},
            "multiply"},
           types::all, on_pairs<pairs::Mul>(light([](auto a, auto b) { return modular::mul(a, b); })),
           d(keep::x1, [](auto g, auto, auto b, auto) { return g * conj(b); }),
           d(keep::x0, [](auto g, auto a, auto, auto) { return g * conj(a); }));
  r.binary({"div(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
            "Divides input by other, element by element.",
            Rule::floating,
            kInplace,
            {},
            "divide, true_divide"},
           types::inexact, on_pairs<pairs::Div>(light([](auto a, auto b) { return a / b; })),
           d(keep::x1, [](auto g, auto, auto b, auto) { return g / conj(b); }),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return -g * conj((a / b) / b); }));
  r.binary({"floor_divide(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
            "Divides and rounds down, element by element; the result is piecewise constant, so its gradient is zero.",
            Rule::promote, kInplace | kRefusesZero},
           types::number, careful(FarQuotient(), [](auto a, auto b) { return whole_div(a, b); }), zero, zero);
  r.binary(
      {"trunc_divide(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
       "Divides and rounds towards zero, element by element.", Rule::promote, kInplace | kRefusesZero | kHidden},
      types::number, [](auto a, auto b) { return trunc_div(a, b); }, zero, zero);
  r.binary({"remainder(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
            "The remainder with the sign of other, as Python's % gives.", Rule::promote, kInplace | kRefusesZero},
           types::number, careful(FarQuotient(), [](auto a, auto b) { return whole_mod(a, b); }), pass,
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return -g * whole_div(a, b); }));
  r.binary({"fmod(Tensor input, Tensor|Scalar other) -> Tensor",
            "The remainder with the sign of input, as C's fmod gives.", Rule::promote, kInplace | kRefusesZero},
           types::number, careful(FarQuotient(), [](auto a, auto b) { return trunc_mod(a, b); }), pass,
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) { return -g * trunc_div(a, b); }));
  r.binary({"pow(Tensor|Scalar input, Tensor|Scalar exponent) -> Tensor", "input to the power of exponent.",
            Rule::promote, kInplace | kRefusesNegative},
           types::all, by_value<1>(by_loop<PowerLoop>([](auto a, auto b) WEFT_INLINE { return power(a, b); })),
           d(keep::x0 | keep::x1, by_value<2>([](auto g, auto a, auto b, auto) WEFT_INLINE {
               return g * where(b == 0, lit(a, 0.0), conj(b * pow(a, b - 1)));
             })),
           d(keep::x0 | keep::x1 | keep::y0, [](auto g, auto a, auto b, auto y) {
             return g * where(a == 0 && not_negative(b), lit(a, 0.0), conj(y * log(a)));
           }));
  r.binary({"maximum(Tensor input, Tensor other) -> Tensor", "The larger of the two, element by element; NaN wins.",
            Rule::promote},
           types::real, cheap([](auto a, auto b) { return larger(a, b); }),
           d(keep::x0 | keep::x1,
             [](auto g, auto a, auto b, auto) { return where(a == b, g * lit(g, 0.5), where(a < b, lit(g, 0.0), g)); }),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) {
             return where(a == b, g * lit(g, 0.5), where(b < a, lit(g, 0.0), g));
           }));
  r.binary({"minimum(Tensor input, Tensor other) -> Tensor", "The smaller of the two, element by element; NaN wins.",
            Rule::promote},
           types::real, cheap([](auto a, auto b) { return smaller(a, b); }),
           d(keep::x0 | keep::x1,
             [](auto g, auto a, auto b, auto) { return where(a == b, g * lit(g, 0.5), where(a > b, lit(g, 0.0), g)); }),
           d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto) {
             return where(a == b, g * lit(g, 0.5), where(b > a, lit(g, 0.0), g));
           }));
  r.binary(
      {"atan2(Tensor input, Tensor other) -> Tensor",
       "The angle of the point (other, input).",
       Rule::floating,
       kInplace,
       {},
       "arctan2"},
      types::floating, [](auto a, auto b) { return atan2(a, b); },
      d(keep::x0 | keep::x1,
        [](auto g, auto a, auto b, auto) { return where(a * a + b * b == 0, lit(g, 0.0), g * b / (a * a + b * b)); }),
      d(keep::x0 | keep::x1,
        [](auto g, auto a, auto b, auto) { return where(a * a + b * b == 0, lit(g, 0.0), -g * a / (a * a + b * b)); }));
  r.binary({"clamp_min(Tensor input, Tensor|Scalar min) -> Tensor", "input, or min where that is larger.",
            Rule::promote, kInplace},
           types::real, bounded([](auto x, auto lo) { return larger(x, lo); }),
           d(keep::x0 | keep::x1, [](auto g, auto x, auto lo, auto) { return where(x >= lo, g, lit(g, 0.0)); }),
           d(keep::x0 | keep::x1, [](auto g, auto x, auto lo, auto) { return where(x < lo, g, lit(g, 0.0)); }));
  r.binary({"clamp_max(Tensor input, Tensor|Scalar max) -> Tensor", "input, or max where that is smaller.",
            Rule::promote, kInplace},
           types::real, bounded([](auto x, auto hi) { return smaller(x, hi); }),
           d(keep::x0 | keep::x1, [](auto g, auto x, auto hi, auto) { return where(x <= hi, g, lit(g, 0.0)); }),
           d(keep::x0 | keep::x1, [](auto g, auto x, auto hi, auto) { return where(x > hi, g, lit(g, 0.0)); }));
  r.ternary({"clamp.both(Tensor input, Tensor|Scalar min, Tensor|Scalar max) -> Tensor",
             "input kept between min and max.",
             Rule::promote,
             kInplace,
             {},
             "clip"},
            types::number, bounded([](auto x, auto lo, auto hi) { return smaller(larger(x, lo), hi); }),
            d(keep::x0 | keep::x1 | keep::x2,
              [](auto g, auto x, auto lo, auto hi, auto) { return where(x >= lo && x <= hi, g, lit(g, 0.0)); }),
            d(keep::x0 | keep::x1 | keep::x2,
              [](auto g, auto x, auto lo, auto hi, auto) { return where(x < lo && lo < hi, g, lit(g, 0.0)); }),
            d(keep::x0 | keep::x1 | keep::x2,
              [](auto g, auto x, auto lo, auto hi, auto) { return where(x > hi || hi < lo, g, lit(g, 0.0)); }));
  r.ternary({"lerp(Tensor input, Tensor end, Tensor|Scalar weight) -> Tensor",
             "input + weight * (end - input), exact at both ends.", Rule::alike, kInplace},
            types::inexact, on_pairs<pairs::Lerp>([](auto a, auto b, auto w) {
              if constexpr (complex_v<decltype(w)>)
                return std::abs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (lit(w, 1) - w);
              else
                return abs(w) < lit(w, 0.5) ? a + w * (b - a) : b - (b - a) * (1 - w);
            }),
            d(keep::x2, [](auto g, auto, auto, auto w, auto) { return g * conj(1 - w); }),
            d(keep::x2, [](auto g, auto, auto, auto w, auto) { return g * conj(w); }),
            d(keep::x0 | keep::x1, [](auto g, auto a, auto b, auto, auto) { return g * conj(b - a); }));
  r.ternary({"where(Tensor condition, Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
             "input where condition holds, else other.", Rule::choose, kNoMethod},
            types::all, on_pairs<pairs::Where>([](auto c, auto a, auto b) { return c != decltype(c)(0) ? a : b; }),
            NoDerivative(), d(keep::x0, [](auto g, auto c, auto, auto, auto) { return where(c != 0, g, lit(g, 0.0)); }),
            d(keep::x0, [](auto g, auto c, auto, auto, auto) { return where(c != 0, lit(g, 0.0), g); }));

  auto plain = d(keep::nothing, Passed());
  r.quaternary({R"(addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Tensor|Scalar value=1) -> Tensor)",
                R"(input + value * tensor1 * tensor2.

>>> weft.addcmul(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
tensor([3.]))",
                Rule::scaled, kInplace},
               types::arithmetic, cheap(on_pairs<pairs::Addcmul>([](auto x, auto a, auto b, auto value) {
                 return modular::add(x, modular::mul(modular::mul(a, b), value));
               })),
               plain,
               d(keep::x2 | keep::x3, [](auto g, auto, auto, auto b, auto value, auto) { return g * conj(b * value); }),
               d(keep::x1 | keep::x3, [](auto g, auto, auto a, auto, auto value, auto) { return g * conj(a * value); }),
               d(keep::x1 | keep::x2, [](auto g, auto, auto a, auto b, auto, auto) { return g * conj(a * b); }));
  r.quaternary({R"(addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Tensor|Scalar value=1) -> Tensor)",
                R"(input + value * tensor1 / tensor2.

>>> weft.addcdiv(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
tensor([3.]))",
                Rule::scaled, kInplace},
               types::inexact,
               cheap(on_pairs<pairs::Addcdiv>([](auto x, auto a, auto b, auto value) { return x + a / b * value; })),
               plain,
               d(keep::x2 | keep::x3, [](auto g, auto, auto, auto b, auto value, auto) { return g * conj(value / b); }),
               d(keep::x1 | keep::x2 | keep::x3,
                 [](auto g, auto, auto a, auto b, auto value, auto) { return -g * conj(value * a / (b * b)); }),
               d(keep::x1 | keep::x2, [](auto g, auto, auto a, auto b, auto, auto) { return g * conj(a / b); }));
  r.unary({"without_nan(Tensor input) -> Tensor", "input, zero where it is NaN.", Rule::promote, kHidden},
          types::inexact, cheap([](auto x) { return x == x ? x : decltype(x)(0); }),
          d(keep::x0, [](auto g, auto x, auto) { return where(x == x, g, lit(g, 0.0)); }));
  r.quaternary(
      {"nan_to_num.values(Tensor input, Tensor|Scalar nan, Tensor|Scalar posinf, Tensor|Scalar neginf) -> Tensor",
       "input with NaN and the infinities replaced by these numbers.", Rule::promote, kInplace | kHidden},
      types::floating, bounded([](auto x, auto nan, auto high, auto low) { return without_nan(x, nan, high, low); }),
      d(keep::x0, [](auto g, auto x, auto...) { return where(x - x == 0, g, lit(g, 0.0)); }));
}
