// Arithmetic: scaled sums, rounding modes, bounds that may be missing; made of the rows.
#include <cmath>
#include <limits>

#include "ops/api.h"

namespace weft {
namespace {

const OpRef clamp_both{"clamp.both"}, clamp_min{"clamp_min"}, clamp_max{"clamp_max"}, floor_divide{"floor_divide"},
    trunc_divide{"trunc_divide"}, round_plain{"round"}, nan_to_num{"nan_to_num.values"}, view_as_real{"view_as_real"},
    view_as_complex{"view_as_complex"};

Value scaled(Call& c, int at, const Value& factor, const char* op) {
  const Value& other = c.arg(at);
  if (factor.tag() == Tag::Int && factor.integer() == 1) return other;
  bool integral = other.is_tensor() ? is_integral(other.tensor().dtype())
                                    : other.tag() == Tag::Int || other.tag() == Tag::Bool;
  bool both = integral && (!c.arg(0).is_tensor() || is_integral(c.tensor(0).dtype()));
  if (both && (factor.tag() == Tag::Float || factor.tag() == Tag::Complex))
    fail(op, ": For integral input tensors, argument alpha must not be a floating point number.");
  if (factor.tag() == Tag::Bool && !(c.arg(0).is_tensor() && c.tensor(0).dtype() == DType::Bool))
    fail(op, ": Boolean alpha only supported for Boolean results.");
  if (other.is_tensor() && other.tensor().dtype() == DType::Bool && c.arg(0).is_tensor() &&
      c.tensor(0).dtype() == DType::Bool)
    return Value(mul(other.tensor(), factor.flag()));
  if (other.is_tensor()) return Value(mul(other.tensor(), factor));
  return other.tag() == Tag::Float || factor.tag() == Tag::Float ? Value(other.real() * factor.real())
                                                                 : Value(other.integer() * factor.integer());
}

WEFT_OP{
  .signature = "add.alpha(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha) -> Tensor",
  .doc = "input + alpha * other.",
  .traits = kInplace,
  .compose = [](Call& c) { c.give(0, add(c.arg(0), scaled(c, 1, c.arg(2), "add"))); },
};

WEFT_OP{
  .signature = "sub.alpha(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha) -> Tensor",
  .doc = "input - alpha * other.",
  .traits = kInplace,
  .compose = [](Call& c) { c.give(0, sub(c.arg(0), scaled(c, 1, c.arg(2), "sub"))); },
  .aliases = "subtract",
};

WEFT_OP{
  .signature = "rsub(Tensor input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
  .doc = R"(other - alpha * input.

>>> weft.rsub(weft.ones(2), 3)
tensor([2., 2.]))",
  .traits = kNoMethod | kNoOut,
  .compose =
      [](Call& c) {
        Value x = c.arg(2).tag() == Tag::Int && c.integer(2) == 1 ? c.arg(0) : Value(mul(c.tensor(0), c.arg(2)));
        c.give(0, sub(c.arg(1), x));
      },
};

WEFT_OP{
  .signature = "div.mode(Tensor|Scalar input, Tensor|Scalar other, *, str? rounding_mode) -> Tensor",
  .doc = "input / other, rounded as asked: None, 'floor' or 'trunc'.",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        if (!c.has(2)) return c.give(0, div(c.arg(0), c.arg(1)));
        if (c.text(2) == "floor") return c.give(0, floor_divide(c.arg(0), c.arg(1)));
        if (c.text(2) == "trunc") return c.give(0, trunc_divide(c.arg(0), c.arg(1)));
        fail("div: expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", c.text(2), "'");
      },
  .aliases = "divide",
};

WEFT_OP{
  .signature = "clamp(Tensor input, Tensor|Scalar? min=None, Tensor|Scalar? max=None) -> Tensor",
  .doc = R"(input kept between min and max; either may be missing.

>>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
tensor([0.0000, 0.5000, 1.0000]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (is_complex(x.dtype())) fail_missing("clamp: complex numbers have no order, got ", name_of(x.dtype()));
        for (int i = 1; i < 3; ++i)
          if (is_integral(x.dtype()) && c.arg(i).tag() == Tag::Int) check_fits(c.arg(i), x.dtype(), "clamp");
        if (c.has(1) && c.has(2)) return c.give(0, clamp_both(x, c.arg(1), c.arg(2)));
        if (c.has(1)) return c.give(0, clamp_min(x, c.arg(1)));
        if (c.has(2)) return c.give(0, clamp_max(x, c.arg(2)));
        fail("clamp: At least one of 'min' or 'max' must not be None");
      },
  .aliases = "clip",
};

WEFT_OP{
  .signature = "round.decimals(Tensor input, *, int decimals) -> Tensor",
  .doc = "Rounds to the given number of decimals.",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (!is_floating(x.dtype())) {
          if (c.integer(1) == 0) return c.give(0, round_plain(x));
          fail("round: round(decimals) is not implemented for integer inputs");
        }
        double power = std::pow(10.0, double(std::abs(c.integer(1))));
        if (c.integer(1) == 0) return c.give(0, round_plain(x));
        c.give(0, c.integer(1) > 0 ? round_plain(x * power) / power : round_plain(x / power) * power);
      },
};

WEFT_OP{
  .signature = "nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
  .doc = R"(NaN and infinities replaced: by nan (0), and by the largest and smallest finite numbers unless given.

>>> weft.nan_to_num(weft.tensor([float("nan"), 1.0]))
tensor([0., 1.]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (is_integral(x.dtype())) return c.give(0, clone_of(x));
        double top = x.dtype() == DType::Double     ? std::numeric_limits<double>::max()
                     : x.dtype() == DType::Half     ? 65504.0
                     : x.dtype() == DType::BFloat16 ? 3.3895313892515355e38
                                                    : double(std::numeric_limits<float>::max());
        double nan = c.has(1) ? c.real(1) : 0, high = c.has(2) ? c.real(2) : top, low = c.has(3) ? c.real(3) : -top;
        if (!is_complex(x.dtype())) return c.give(0, nan_to_num(x, nan, high, low));
        c.give(0, view_as_complex(nan_to_num(view_as_real(x), nan, high, low)));
      },
};

}  // namespace
}  // namespace weft
