// The losses of single elements, which weft.nn.functional sums up.
#include "ops/rows.h"

namespace weft::WEFT_ISA::rows {

// log(x) for cross entropies: at least -100, so that a share of zero has a finite loss.
template <class X>
[[gnu::always_inline]] inline X log_share(const X& x) {
  auto log_x = log(x);
  return where(log_x > lit(x, -100.0), log_x, lit(x, -100.0));
}

}  // namespace weft::WEFT_ISA::rows

WEFT_ROWS(loss) {
  r.binary(
      {"squared_error(Tensor input, Tensor target) -> Tensor", "(input - target)^2.", Rule::promote, kHidden},
      types::inexact, [](auto x, auto y) { return (x - y) * (x - y); },
      d(keep::x0 | keep::x1, [](auto g, auto x, auto y, auto) { return g * conj((x - y) * lit(x, 2.0)); }),
      d(keep::x0 | keep::x1, [](auto g, auto x, auto y, auto) { return g * conj((y - x) * lit(x, 2.0)); }));
  r.ternary(
      {"smooth_l1(Tensor input, Tensor target, Tensor|Scalar beta) -> Tensor",
       "|input - target| - beta / 2, and half the square over beta where that difference is less than beta.",
       Rule::scaled, kHidden},
      types::floating,
      [](auto x, auto y, auto beta) {
        auto z = abs(x - y);
        return z < beta ? z * z * (lit(x, 0.5) / beta) : z - lit(x, 0.5) * beta;
      },
      d(keep::x0 | keep::x1 | keep::x2,
        [](auto g, auto x, auto y, auto beta, auto) {
          auto z = x - y;
          return g * where(abs(z) < beta, z / beta, sign(z));
        }),
      d(keep::x0 | keep::x1 | keep::x2, [](auto g, auto x, auto y, auto beta, auto) {
        auto z = y - x;
        return g * where(abs(z) < beta, z / beta, sign(z));
      }));
  r.ternary(
      {"huber(Tensor input, Tensor target, Tensor|Scalar delta) -> Tensor",
       "Half the square of input - target, but a straight line where that is more than delta.", Rule::scaled, kHidden},
      types::floating,
      [](auto x, auto y, auto delta) {
        auto z = abs(x - y);
        return z <= delta ? lit(x, 0.5) * z * z : delta * (z - lit(x, 0.5) * delta);
      },
      d(keep::x0 | keep::x1 | keep::x2,
        [](auto g, auto x, auto y, auto delta, auto) {
          auto z = x - y;
          return g * where(abs(z) <= delta, z, delta * sign(z));
        }),
      d(keep::x0 | keep::x1 | keep::x2, [](auto g, auto x, auto y, auto delta, auto) {
        auto z = y - x;
        return g * where(abs(z) <= delta, z, delta * sign(z));
      }));
  r.binary(
      {"logistic_loss(Tensor input, Tensor target) -> Tensor",
       "The binary cross entropy of target with the sigmoid of input.", Rule::promote, kHidden},
      types::floating,
      [](auto x, auto y) {
        auto most = x > 0 ? x : lit(x, 0.0);
        return most - x * y + log1p(exp(-abs(x)));
      },
      d(keep::x0 | keep::x1, [](auto g, auto x, auto y, auto) { return g * (sigmoid(x) - y); }),
      d(keep::x0, [](auto g, auto x, auto, auto) { return -g * x; }));
  r.binary(
      {"log_loss(Tensor input, Tensor target) -> Tensor", "The binary cross entropy of target with input.",
       Rule::promote, kHidden},
      types::floating, [](auto x, auto y) { return (y - lit(x, 1.0)) * log_share(lit(x, 1.0) - x) - y * log_share(x); },
      d(keep::x0 | keep::x1,
        [](auto g, auto x, auto y, auto) {
          auto spread = (lit(x, 1.0) - x) * x;
          return g * (x - y) / where(spread > lit(x, 1e-12), spread, lit(x, 1e-12));
        }),
      d(keep::x0, [](auto g, auto x, auto, auto) { return g * (log_share(lit(x, 1.0) - x) - log_share(x)); }));
}
