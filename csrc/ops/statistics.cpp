// Variance, norms and log-sum-exp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "loops/reduce.h"
#include "loops/softmax.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef amax{"amax"}, var_of{"var"}, std_of{"std"}, mean_of{"mean.dim"};

double correction_of(const Value& v) { return v.none() ? 1.0 : v.real(); }

void infer_spread(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!is_inexact(x.dtype()))
    fail(c.name(), ": only support floating point and complex dtypes, got ", name_of(x.dtype()));
  c.give(0, meta(real_of(x.dtype()), kept_sizes(x.sizes(), reduced_dims(c.arg(1), x.dim(), c.name()), c.flag(3))));
}

// The variance of complex numbers is that of their real parts and that of their imaginary parts together.
template <class R>
void run_complex_spread(Call& c, const Dims& dims, bool root) {
  const Tensor &x = c.tensor(0), &y = c.out[0];
  Scratch second(y.numel() * int64_t(sizeof(R)));
  Dims strides = x.strides();
  for (int64_t& s : strides) s *= 2;
  for (int i = 0; i < 2; ++i)
    reduce_box(Reduce::var, dtype_of<R>, x.data() + i * int64_t(sizeof(R)), x.sizes(), strides, dims,
               i ? second.as<char>() : y.data(), nullptr, correction_of(c.arg(2)));
  for (int64_t i = 0; i < y.numel(); ++i) {
    R sum = y.data<R>()[i] + second.as<R>()[i];
    y.data<R>()[i] = root ? std::sqrt(sum) : sum;
  }
}

template <Reduce op>
void run_spread(Call& c) {
  const Tensor& x = c.tensor(0);
  Dims dims = reduced_dims(c.arg(1), x.dim(), c.name());
  if (x.dtype() == DType::ComplexFloat) return run_complex_spread<float>(c, dims, op == Reduce::std);
  if (x.dtype() == DType::ComplexDouble) return run_complex_spread<double>(c, dims, op == Reduce::std);
  run_reduce(op, x, x.dtype(), dims, c.out[0].data(), nullptr, correction_of(c.arg(2)));
}

Tensor variance_gradient(const Tensor& x, const Tensor& g, const Dims& dims, double correction) {
  double n = double(count_of(x.sizes(), dims));
  Tensor centred = x - (dims.empty() ? x : mean_of(x, dims, true));
  return g * centred * (2.0 / (n - correction));
}

WEFT_OP{
  .signature = "var(Tensor input, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
  .doc = R"(The variance over dim: squared distances from the mean, divided by their number less correction (1).

>>> weft.tensor([1.0, 3.0]).var()
tensor(2.))",
  .traits = kCastsOut,
  .infer = infer_spread,
  .run = run_spread<Reduce::var>,
  .keeps = keep::x0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0);
        Dims dims = reduced_dims(d.arg(1), x.dim(), "var");
        d.give(0,
               variance_gradient(x, with_dims(d.g(), x.sizes(), dims, d.arg(3).flag()), dims, correction_of(d.arg(2))));
      },
};

WEFT_OP{
  .signature = "std(Tensor input, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
  .doc = R"(The standard deviation over dim: the root of the variance.

>>> weft.tensor([1.0, 3.0]).std(correction=0)
tensor(1.))",
  .traits = kCastsOut,
  .infer = infer_spread,
  .run = run_spread<Reduce::std>,
  .keeps = keep::x0 | keep::y0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0);
        Dims dims = reduced_dims(d.arg(1), x.dim(), "std");
        Tensor y = with_dims(d.y(), x.sizes(), dims, d.arg(3).flag()),
               g = with_dims(d.g(), x.sizes(), dims, d.arg(3).flag());
        Tensor half = where(y == 0.0, 0.0, g / (y * 2.0));  // no direction is preferred where all are equal
        d.give(0, variance_gradient(x, half, dims, correction_of(d.arg(2))));
      },
};

// The older calls with unbiased=.
#define WEFT_UNBIASED(name)                                                                                         \
  WEFT_OP{                                                                                                          \
    .signature = #name ".unbiased(Tensor input, bool unbiased) -> Tensor",                                          \
    .doc = "With unbiased in place of correction.",                                                                 \
    .compose = [](Call& c) { c.give(0, name##_of(c.tensor(0), Value(), double(c.flag(1)), false)); },               \
  };                                                                                                                \
  WEFT_OP{                                                                                                          \
    .signature = #name ".dim_unbiased(Tensor input, int[]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", \
    .doc = "With unbiased in place of correction.",                                                                 \
    .compose = [](Call& c) { c.give(0, name##_of(c.tensor(0), c.arg(1), double(c.flag(2)), c.flag(3))); },          \
  };
WEFT_UNBIASED(var)
WEFT_UNBIASED(std)

Tensor mean_over(Call& c, bool keepdim) {
  const Tensor& x = c.tensor(0);
  Dims dims = reduced_dims(c.arg(1), x.dim(), c.name());
  return dims.empty() ? clone_of(x) : mean_of(x, dims, keepdim);
}

#define WEFT_WITH_MEAN(name)                                                                                       \
  WEFT_OP{                                                                                                         \
    .signature = #name                                                                                             \
    "_mean(Tensor input, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",    \
    .doc = "Both " #name " and mean over dim.\n\n>>> weft." #name "_mean(weft.tensor([1.0, 3.0]))[1]\ntensor(2.)", \
    .compose =                                                                                                     \
        [](Call& c) {                                                                                              \
          c.give(0, name##_of(c.tensor(0), c.arg(1), c.arg(2), c.flag(3)));                                        \
          c.give(1, mean_over(c, c.flag(3)));                                                                      \
        },                                                                                                         \
  };                                                                                                               \
  WEFT_OP{                                                                                                         \
    .signature = #name "_mean.unbiased(Tensor input, bool unbiased) -> (Tensor, Tensor)",                          \
    .doc = "With unbiased in place of correction.",                                                                \
    .compose =                                                                                                     \
        [](Call& c) {                                                                                              \
          c.give(0, name##_of(c.tensor(0), Value(), double(c.flag(1)), false));                                    \
          Dims dims = reduced_dims(Value(), c.tensor(0).dim(), #name "_mean");                                     \
          c.give(1, dims.empty() ? clone_of(c.tensor(0)) : mean_of(c.tensor(0), dims, false));                     \
        },                                                                                                         \
  };                                                                                                               \
  WEFT_OP{                                                                                                         \
    .signature = #name                                                                                             \
    "_mean.dim_unbiased(Tensor input, int[]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",    \
    .doc = "With unbiased in place of correction.",                                                                \
    .compose =                                                                                                     \
        [](Call& c) {                                                                                              \
          c.give(0, name##_of(c.tensor(0), c.arg(1), double(c.flag(2)), c.flag(3)));                               \
          c.give(1, mean_over(c, c.flag(3)));                                                                      \
        },                                                                                                         \
  };
WEFT_WITH_MEAN(var)
WEFT_WITH_MEAN(std)

// ---- norms

Reduce norm_kind(double p) {
  if (p == 0) return Reduce::l0;
  if (p == 1) return Reduce::l1;
  if (p == 2) return Reduce::l2;
  if (p == std::numeric_limits<double>::infinity()) return Reduce::linf;
  return p == -std::numeric_limits<double>::infinity() ? Reduce::lneginf : Reduce::lp;
}

WEFT_OP{
  .signature =
      "linalg_vector_norm(Tensor input, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
      "Tensor",
  .doc = R"(The ord-norm of the elements over dim.

>>> weft.linalg.vector_norm(weft.tensor([3.0, 4.0]))
tensor(5.))",
  .traits = kNoMethod,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (c.arg(1).tag() == Tag::Complex) fail("linalg.vector_norm: Expected a non-complex ord, got ", c.arg(1));
        if (!is_inexact(x.dtype()))
          fail("linalg.vector_norm: Expected a floating point or complex tensor as input. Got ", name_of(x.dtype()));
        DType t = c.dtype_or(4, x.dtype());
        if (!is_inexact(t) || (is_complex(x.dtype()) && !is_complex(t)) || !(promote(x.dtype(), t) == t))
          fail("linalg.vector_norm: the dtype of the input (", name_of(x.dtype()),
               ") should be convertible without narrowing to the specified dtype (", name_of(t), ")");
        Dims dims = reduced_dims(c.arg(2), x.dim(), "linalg.vector_norm");
        double p = c.real(1);
        if (p < 0 || std::isinf(p))
          for (int64_t d : dims)
            if (x.size(int(d)) == 0)
              fail("linalg.vector_norm: cannot compute the ", p,
                   " norm on an empty tensor because the operation does not have an identity");
        c.give(0, meta(real_of(t), kept_sizes(x.sizes(), dims, c.flag(3))));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        DType t = c.dtype_or(4, x.dtype());
        run_reduce(norm_kind(c.real(1)), x, t, reduced_dims(c.arg(2), x.dim(), "norm"), c.out[0].data(), nullptr,
                   c.real(1));
      },
  .keeps = keep::x0 | keep::y0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0);
        double p = d.arg(1).real();
        Dims dims = reduced_dims(d.arg(2), x.dim(), "norm");
        Tensor y = with_dims(d.y(), x.sizes(), dims, d.arg(3).flag()),
               g = with_dims(d.g(), x.sizes(), dims, d.arg(3).flag());
        if (p == 0) return d.give(0, x * 0.0);
        if (p == 1) return d.give(0, sgn(x) * g);
        if (p == 2) return d.give(0, g * where(y == 0.0, 0.0, x / y));  // at 0 the subgradient 0
        if (std::isinf(p)) {
          Tensor mask = to_dtype(ref::abs(x) == y, g.dtype());
          return d.give(0, sgn(x) * (g * mask / (dims.empty() ? mask : sum_dim(mask, dims, true))));
        }
        Tensor a = ref::abs(x);
        if (p < 1) return d.give(0, where(x == 0.0, 0.0, sgn(x) * pow(a, p - 1)) * (pow(y, 1 - p) * g));
        if (p < 2) return d.give(0, sgn(x) * pow(a, p - 1) * where(y == 0.0, 0.0, pow(y, 1 - p) * g));
        d.give(0, x * pow(a, p - 2) * where(y == 0.0, 0.0, g / pow(y, p - 1)));
      },
};

// ---- log-sum-exp

// The lines that dims make of x: as they lie if they are one axis, else behind the others.
Lines lines_along(const Tensor& x, const Dims& dims, Dims* order) {
  for (int i = 0; i < x.dim(); ++i)
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) order->push(i);
  int64_t kept = 1;
  for (int64_t d : *order) kept *= x.size(int(d));
  if (dims.size() == 1) {
    order->clear();
    for (int i = 0; i < x.dim(); ++i) order->push(i);
    return lines_of(x.sizes(), int(dims[0]));
  }
  for (int64_t d : dims) order->push(d);
  return {kept, count_of(x.sizes(), dims), 1};
}

WEFT_OP{
  .signature = "renorm(Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor",
  .doc = R"(Scales the slices along dim whose p-norm is above maxnorm down to it.

>>> weft.renorm(weft.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
tensor([[0.6000, 0.8000],
        [0.3000, 0.4000]]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        static const OpRef vector_norm{"linalg_vector_norm"};
        const Tensor& input = c.tensor(0);
        const double largest = c.real(3);
        if (c.arg(1).tag() == Tag::Complex || c.real(1) <= 0)
          fail("renorm: non-positive-norm not supported, got p=", c.arg(1));
        if (largest < 0) fail("renorm: expected maxnorm to be >= 0 but got ", c.arg(3));
        if (input.dim() < 2) fail("renorm: input needs at least 2 dimensions, got ", input.dim(), " dimensions");
        const int own = wrap_dim(c.integer(2), input.dim(), "renorm");
        Dims others;
        for (int d = 0; d < input.dim(); ++d)
          if (d != own) others.push(d);
        const Tensor x = is_half(input.dtype()) ? to_dtype(input, DType::Float) : input;
        const Tensor norm = vector_norm(x, c.arg(1), others, true);
        const Tensor scale = where(norm > largest, largest / (norm + 1e-7), 1.0);
        c.give(0, to_dtype(x * scale, input.dtype()));
      },
};

WEFT_OP{
  .signature = "real_logsumexp(Tensor input, int[] dim, bool keepdim) -> Tensor",
  .doc = "logsumexp of real numbers.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        expect_floating(c, 0);
        Dims dims;
        if (!c.ints(1).empty()) dims = reduced_dims(c.arg(1), x.dim(), c.name());
        if (!(dims == c.ints(1))) refuse(c, 1, "name dimensions of ", x.sizes(), " from the front");
        c.give(0, meta(x.dtype(), kept_sizes(x.sizes(), dims, c.flag(2))));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.numel() == 0) return fill_data(c.out[0], Value(-std::numeric_limits<double>::infinity()));
        Dims order;
        Lines lines = lines_along(x, c.ints(1), &order);
        softmax_kernels().logsumexp(x.dtype(), LaidOut(x, x.dtype(), order).data(), c.out[0].data(), lines);
      },
  .keeps = keep::x0 | keep::y0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0);
        const Dims& dims = d.arg(1).ints();
        Tensor y = with_dims(d.y(), x.sizes(), dims, d.arg(2).flag()),
               g = with_dims(d.g(), x.sizes(), dims, d.arg(2).flag());
        Tensor empty = y == -std::numeric_limits<double>::infinity();
        d.give(0, g * exp(x - where(empty, 0.0, y)));
      },
};
const OpRef real_logsumexp{"real_logsumexp"};

WEFT_OP{
  .signature = "logsumexp(Tensor input, int[] dim, bool keepdim=False) -> Tensor",
  .doc = R"(log(sum(exp(input))) over dim, without overflow.

>>> weft.logsumexp(weft.zeros(2), 0)
tensor(0.6931))",
  .traits = kCastsOut,
  .compose =
      [](Call& c) {
        Tensor x = c.tensor(0);
        if (is_integral(x.dtype())) x = to_dtype(x, default_dtype());
        Dims dims = reduced_dims(c.arg(1), x.dim(), "logsumexp");
        if (!is_complex(x.dtype())) return c.give(0, real_logsumexp(x, dims, c.flag(2)));
        if (x.numel() == 0) return c.give(0, log(sum_dim(exp(x), dims, c.flag(2))));
        constexpr double inf = std::numeric_limits<double>::infinity();
        Tensor top = detach(real_part(x));
        if (!dims.empty()) top = amax(top, dims, true);
        top = where(ref::abs(top) == inf, 0.0, top);
        Tensor scaled = exp(x - top);
        Tensor y = log(dims.empty() ? scaled : sum_dim(scaled, dims, true)) + top;
        c.give(0, c.flag(2) ? y : view(contiguous_of(y), kept_sizes(x.sizes(), dims, false)));
      },
};

WEFT_OP{
  .signature = "nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The sum of the elements that are numbers.

>>> weft.nansum(weft.tensor([1.0, float("nan")]))
tensor(1.))",
  .traits = kOutSetsType,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        static const OpRef without_nan{"without_nan"}, sum_of_numbers{"sum_of_numbers"};
        if (is_floating(x.dtype()) && (!c.has(3) || c.arg(3).dtype() == x.dtype()))
          return c.give(0, sum_of_numbers(x, c.arg(1), c.flag(2)));
        Tensor clean = is_inexact(x.dtype()) ? without_nan(x) : x;
        Dims dims = reduced_dims(c.arg(1), x.dim(), "nansum");
        c.give(0, c.has(3) ? sum_dim(clean, dims, c.flag(2), c.arg(3)) : sum_dim(clean, dims, c.flag(2)));
      },
};

WEFT_OP{
  .signature = "nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The mean of the elements that are numbers.

>>> weft.nanmean(weft.tensor([1.0, float("nan")]))
tensor(1.))",
  .traits = kOutSetsType,
  .compose =
      [](Call& c) {
        Tensor x = c.has(3) ? to_dtype(c.tensor(0), c.arg(3).dtype()) : c.tensor(0);
        if (!is_inexact(x.dtype()))
          fail("nanmean(): expected input to have floating point or complex dtype but got ", name_of(x.dtype()));
        Dims dims = reduced_dims(c.arg(1), x.dim(), "nanmean");
        Tensor bad = isnan(x);
        Tensor count = sum_dim(logical_not(bad), dims, c.flag(2));
        c.give(0, sum_dim(where(bad, 0.0, x), dims, c.flag(2)) / count);
      },
};

}  // namespace
}  // namespace weft
