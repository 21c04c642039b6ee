// Activation functions as pointwise rows. weft.nn.functional gives them their public names.
#include "ops/rows.h"

namespace weft::WEFT_ISA::rows {

// log(1 + exp(x)) without overflow, on numbers and tensors. Inlined, since a loop with a call is not vectorised.
template <class X>
[[gnu::always_inline]] inline auto soft_plus(const X& x) {
  return where(x > lit(x, 0.0), x, lit(x, 0.0)) + log1p(exp(-abs(x)));
}
template <class T>
constexpr T between(T x, double lo, double hi) {
  return x < T(lo) ? T(lo) : x > T(hi) ? T(hi) : x;
}

constexpr double kRootHalf = 0.70710678118654752, kDensity = 0.39894228040143268, kRootTwoOverPi = 0.79788456080286536,
                 kCubic = 0.044715;

// exp(-x^2 / 2) and, from it, the normal distribution's share below x.
using math::bell, math::normal_share;
template <class X>
X bell(const X& x) {
  return exp(x * x * lit(x, -0.5));
}
template <class X>
X normal_share(const X& x, const X&) {
  return (erf(x * lit(x, kRootHalf)) + lit(x, 1.0)) * lit(x, 0.5);
}

}  // namespace weft::WEFT_ISA::rows

WEFT_ROWS(activation) {
  r.unary({"silu(Tensor input) -> Tensor", "input times its sigmoid.", Rule::promote, kInplace | kHidden},
          types::floating, WEFT_BY_HAND(Silu, [](auto x) { return x * sigmoid(x); }),
          d(keep::x0, [](auto g, auto x, auto) {
            auto s = sigmoid(x);
            return g * (s * (x * (lit(x, 1.0) - s) + lit(x, 1.0)));
          }));
  r.unary(
      {"mish(Tensor input) -> Tensor", "input times the tanh of its softplus.", Rule::promote, kInplace | kHidden},
      types::floating, [](auto x) { return x * tanh(soft_plus(x)); }, d(keep::x0, [](auto g, auto x, auto) {
        auto t = tanh(soft_plus(x));
        return g * (t + x * sigmoid(x) * (lit(x, 1.0) - t * t));
      }));
  r.unary(
      {"gelu_erf(Tensor input) -> Tensor", "input times the normal distribution's share below it.", Rule::promote,
       kInplace | kHidden},
      types::floating, [](auto x) { return x * normal_share(x, bell(x)); }, d(keep::x0, [](auto g, auto x, auto) {
        auto b = bell(x);
        return g * (normal_share(x, b) + x * b * lit(x, kDensity));
      }));
  r.unary(
      {"gelu_tanh(Tensor input) -> Tensor", "gelu by a formula with tanh.", Rule::promote, kInplace | kHidden},
      types::floating,
      [](auto x) {
        return x * lit(x, 0.5) * (lit(x, 1.0) + tanh((x + x * x * x * lit(x, kCubic)) * lit(x, kRootTwoOverPi)));
      },
      d(keep::x0, [](auto g, auto x, auto) {
        auto t = tanh((x + x * x * x * lit(x, kCubic)) * lit(x, kRootTwoOverPi));
        auto slope = (x * x * lit(x, 3 * kCubic) + lit(x, 1.0)) * lit(x, kRootTwoOverPi);
        return g * lit(x, 0.5) * (t + lit(x, 1.0) + x * (lit(x, 1.0) - t * t) * slope);
      }));
  r.unary(
      {"logsigmoid(Tensor input) -> Tensor", "The logarithm of the sigmoid.", Rule::promote, kHidden}, types::floating,
      [](auto x) { return -soft_plus(-x); }, d(keep::x0, [](auto g, auto x, auto) { return g * sigmoid(-x); }));
  r.unary(
      {"softsign(Tensor input) -> Tensor", "input over one more than its magnitude.", Rule::promote, kHidden},
      types::floating, [](auto x) { return x / (abs(x) + lit(x, 1.0)); }, d(keep::x0, [](auto g, auto x, auto) {
        auto a = abs(x) + lit(x, 1.0);
        return g / (a * a);
      }));
  r.unary({"hardswish(Tensor input) -> Tensor", "input times its hardsigmoid.", Rule::promote, kInplace | kHidden},
          types::floating, cheap([](auto x) { return x * between(x + 3, 0, 6) / 6; }),
          d(keep::x0, [](auto g, auto x, auto) {
            return where(x <= lit(x, -3.0), lit(g, 0.0),
                         where(x < lit(x, 3.0), g * (x / lit(x, 3.0) + lit(x, 0.5)), g));
          }));
  r.unary(
      {"hardsigmoid(Tensor input) -> Tensor", "A sigmoid of three straight lines.", Rule::promote, kInplace | kHidden},
      types::floating, cheap([](auto x) { return between(x + 3, 0, 6) / 6; }), d(keep::x0, [](auto g, auto x, auto) {
        return where(x > lit(x, -3.0) && x < lit(x, 3.0), g / lit(x, 6.0), lit(g, 0.0));
      }));
  r.binary(
      {"pass_positive(Tensor input, Tensor result) -> Tensor", "input where result is positive, else zero.",
       Rule::promote, kHidden},
      types::floating, [](auto x, auto y) { return y <= lit(y, 0.0) ? decltype(x)(0) : x; },
      d(keep::x1, [](auto g, auto, auto y, auto) { return where(y <= lit(y, 0.0), lit(g, 0.0), g); }),
      d(keep::nothing, [](auto g, auto, auto, auto) { return g * 0; }));
  r.binary(
      {"leaky_relu(Tensor input, Tensor|Scalar negative_slope) -> Tensor", "input, times the slope where negative.",
       Rule::promote, kInplace | kHidden},
      types::floating, [](auto x, auto slope) { return x > lit(x, 0.0) ? x : x * slope; },
      d(keep::x0 | keep::x1, [](auto g, auto x, auto slope, auto) { return where(x > lit(x, 0.0), g, g * slope); }),
      d(keep::x0, [](auto g, auto x, auto, auto) { return where(x > lit(x, 0.0), lit(g, 0.0), g * x); }));
  r.quaternary(
      {"elu(Tensor input, Tensor|Scalar alpha, Tensor|Scalar scale=1, Tensor|Scalar input_scale=1) -> Tensor",
       "scale * input, or scale * alpha * (exp(input_scale * input) - 1) where negative.", Rule::scaled,
       kInplace | kHidden},
      types::floating,
      [](auto x, auto alpha, auto scale, auto rate) {
        return x > lit(x, 0.0) ? scale * x : scale * alpha * math::expm1(rate * x);
      },
      d(keep::x0 | keep::x1 | keep::x2 | keep::x3, [](auto g, auto x, auto alpha, auto scale, auto rate, auto) {
        return g * scale * where(x > lit(x, 0.0), lit(x, 1.0), alpha * rate * exp(rate * x));
      }));
  r.binary(
      {"hardshrink(Tensor input, Tensor|Scalar lambd) -> Tensor", "input, or zero where it is within lambd of it.",
       Rule::promote, kHidden},
      types::floating, [](auto x, auto l) { return abs(x) <= l ? decltype(x)(0) : x; },
      d(keep::x0 | keep::x1, [](auto g, auto x, auto l, auto) { return where(x >= -l && x <= l, lit(g, 0.0), g); }));
  r.binary(
      {"softshrink(Tensor input, Tensor|Scalar lambd) -> Tensor", "input drawn towards zero by lambd.", Rule::promote,
       kHidden},
      types::floating, [](auto x, auto l) { return x > l    ? x - l
                                                   : x < -l ? x + l
                                                            : x * 0; },
      d(keep::x0 | keep::x1, [](auto g, auto x, auto l, auto) { return where(x >= -l && x <= l, lit(g, 0.0), g); }));
  r.ternary(
      {"softplus(Tensor input, Tensor|Scalar beta, Tensor|Scalar threshold) -> Tensor",
       "log(1 + exp(beta * input)) / beta; input itself where beta * input is above threshold.", Rule::promote,
       kHidden},
      types::floating, [](auto x, auto beta, auto top) { return x * beta > top ? x : soft_plus(x * beta) / beta; },
      d(keep::x0 | keep::x1 | keep::x2,
        [](auto g, auto x, auto beta, auto top, auto) { return where(x * beta > top, g, g * sigmoid(x * beta)); }));
  r.ternary(
      {"threshold(Tensor input, Tensor|Scalar threshold, Tensor|Scalar value) -> Tensor",
       "input where above threshold, else value.", Rule::promote, kInplace | kHidden},
      types::number, [](auto x, auto limit, auto value) { return x <= limit ? value : x; },
      d(keep::x0 | keep::x1, [](auto g, auto x, auto limit, auto, auto) { return where(x <= limit, lit(g, 0.0), g); }));
  r.ternary({"hardtanh(Tensor input, Tensor|Scalar min_val, Tensor|Scalar max_val) -> Tensor",
             "input kept between two values; the gradient is zero at both.", Rule::promote, kInplace | kHidden},
            types::number, bounded([](auto x, auto lo, auto hi) { return x <= lo  ? lo
                                                                         : x > hi ? hi
                                                                                  : x; }),
            d(keep::x0 | keep::x1 | keep::x2,
              [](auto g, auto x, auto lo, auto hi, auto) { return where(x > lo && x < hi, g, lit(g, 0.0)); }));
}
