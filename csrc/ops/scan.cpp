// Scans and softmax: running sums, products and extremes, and exponentials along one axis.
#include "loops/scan.h"

#include <limits>

#include "loops/softmax.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef cumsum_of{"cumsum"}, cumprod_of{"cumprod"}, logcumsumexp_of{"logcumsumexp"},
    softmax_back{"softmax_backward"}, log_softmax_back{"log_softmax_backward"};

int axis_of(Call& c, int at = 1) { return wrap_dim(c.integer(at), c.tensor(0).dim(), c.name()); }

DType scan_type(Call& c, int at) {
  DType t = c.tensor(0).dtype();
  return c.dtype_or(at, is_integral(t) ? DType::Int64 : t);
}

void infer_scan(Call& c) {
  axis_of(c);
  c.give(0, meta(scan_type(c, 2), c.tensor(0).sizes()));
}

template <auto kernel>
void run_scan(Call& c) {
  const Tensor& y = c.out[0];
  if (!y.numel()) return;
  (scan_kernels().*kernel)(y.dtype(), LaidOut(c.tensor(0), y.dtype()).data(), y.data(),
                           lines_of(y.sizes(), axis_of(c)));
}

WEFT_OP{
  .signature = "cumsum(Tensor input, int dim, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The running sum along dim.

>>> weft.tensor([1, 2, 3]).cumsum(0)
tensor([1, 3, 6]))",
  .traits = kInplace | kOutSetsType,
  .infer = infer_scan,
  .run = run_scan<&ScanKernels::cumsum>,
  .back =
      [](Grad& d) {
        Dims dim{d.arg(1).integer()};
        if (d.shape(0).empty()) return d.give(0, d.g());
        d.give(0, flip(cumsum_of(flip(d.g(), dim), d.arg(1).integer()), dim));
      },
};

// d y_j / d x_i = prod of the first j elements without x_i. Without zeros that is y_j / x_i; with them, the sum over j
// is taken of products in which x_i is left out.
Tensor cumprod_gradient(const Tensor& x, const Tensor& y, const Tensor& g, int64_t dim, bool record) {
  static const OpRef any{"any"}, eye{"eye"};
  Tensor w = g * conj(y);
  if (!record && (x.numel() == 0 || !decide(any(x == 0.0)))) {
    Dims at{dim};
    return flip(cumsum_of(flip(w, at), dim), at) / conj(x);
  }
  // rows[i][k]: x_k, but 1 where k == i; its running product at j >= i is d y_j / d x_i.
  Tensor last = transpose(x, dim, int64_t(-1));
  int64_t n = last.size(-1);
  Dims square = last.sizes();
  square.push(n);
  Tensor rows = where(eye(n, DType::Bool), 1.0, expand(unsqueeze(last, int64_t(-2)), square));
  Tensor partial = triu(cumprod_of(rows, int64_t(-1)));
  Tensor total = sum_dim(conj(partial) * unsqueeze(transpose(g, dim, int64_t(-1)), int64_t(-2)), Dims{-1}, false);
  return transpose(total, dim, int64_t(-1));
}

WEFT_OP{
  .signature = "cumprod(Tensor input, int dim, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The running product along dim.

>>> weft.tensor([1, 2, 3]).cumprod(0)
tensor([1, 2, 6]))",
  .traits = kInplace | kOutSetsType,
  .infer = infer_scan,
  .run = run_scan<&ScanKernels::cumprod>,
  .keeps = keep::x0 | keep::y0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0);
        if (x.dim() == 0) return d.give(0, d.g());
        d.give(0, cumprod_gradient(to_dtype(x, d.g().dtype()), d.y(), d.g(), d.arg(1).integer(), d.create_graph));
      },
};

WEFT_OP{
  .signature = "logcumsumexp(Tensor input, int dim) -> Tensor",
  .doc = R"(log(cumsum(exp(input))) along dim, without overflow.

>>> weft.zeros(2).logcumsumexp(0)
tensor([0.0000, 0.6931]))",
  .infer =
      [](Call& c) {
        axis_of(c);
        if (!is_inexact(c.tensor(0).dtype()))
          fail_missing("\"logcumsumexp\" not implemented for '", name_of(c.tensor(0).dtype()), "'");
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run = run_scan<&ScanKernels::logcumsumexp>,
  .keeps = keep::x0 | keep::y0,
  .back =
      [](Grad& d) {  // the sum over j >= i of g_j exp(x_i - y_j), split by the sign of g to stay in logs
        Tensor x = d.x(0), y = d.y(), g = d.g();
        if (x.dim() == 0) return d.give(0, g);
        int64_t dim = d.arg(1).integer();
        Dims at{dim};
        bool wide = g.dtype() == DType::Double || g.dtype() == DType::ComplexDouble;
        double lowest = wide ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
        if (is_complex(x.dtype())) {
          Tensor nothing = g == 0.0, logs = where(nothing, lowest, log(where(nothing, 1.0, conj(g))));
          return d.give(0, conj(exp(flip(logcumsumexp_of(flip(logs - y, at), dim), at) + x)));
        }
        auto part = [&](const Tensor& t) {  // lowest in place of log(0): its differences are numbers
          Tensor positive = t > 0.0, logs = where(positive, log(where(positive, t, 1.0)), lowest);
          return exp(flip(logcumsumexp_of(flip(logs - y, at), dim), at) + x);
        };
        d.give(0, part(g) - part(-g));
      },
};

void infer_extreme_scan(Call& c) {
  axis_of(c);
  if (is_complex(c.tensor(0).dtype()))
    fail_missing("\"", c.name(), "\" not implemented for '", name_of(c.tensor(0).dtype()), "'");
  c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
  c.give(1, meta(DType::Int64, c.tensor(0).sizes()));
}

template <auto kernel>
void run_extreme_scan(Call& c) {
  const Tensor& y = c.out[0];
  if (!y.numel()) return;
  (scan_kernels().*kernel)(y.dtype(), LaidOut(c.tensor(0), y.dtype()).data(), y.data(), c.out[1].data<int64_t>(),
                           lines_of(y.sizes(), axis_of(c)));
}

void extreme_scan_back(Grad& d) {
  if (d.shape(0).empty()) return d.give(0, d.g());
  d.give(0, scatter_add.into(zeros(d.shape(0), d.g().dtype()), d.arg(1).integer(), d.y(1), d.g()));
}

WEFT_OP{
  .signature = "cummax(Tensor input, int dim) -> (Tensor values, Tensor indices)",
  .doc = R"(The running maximum along dim, and where it was met.

>>> weft.tensor([1, 3, 2]).cummax(0).values
tensor([1, 3, 3]))",
  .infer = infer_extreme_scan,
  .run = run_extreme_scan<&ScanKernels::cummax>,
  .keeps = keep::y1,
  .back = extreme_scan_back,
};

WEFT_OP{
  .signature = "cummin(Tensor input, int dim) -> (Tensor values, Tensor indices)",
  .doc = R"(The running minimum along dim, and where it was met.

>>> weft.tensor([3, 1, 2]).cummin(0).values
tensor([3, 1, 1]))",
  .infer = infer_extreme_scan,
  .run = run_extreme_scan<&ScanKernels::cummin>,
  .keeps = keep::y1,
  .back = extreme_scan_back,
};

// ---- softmax

void infer_softmax(Call& c) {
  axis_of(c);
  DType t = c.dtype_or(2, c.tensor(0).dtype());
  if (!is_floating(t))
    fail_missing("\"", c.name(), "\" not implemented for '", name_of(t), "': give a floating dtype=");
  c.give(0, meta(t, c.tensor(0).sizes()));
}

template <auto kernel>
void run_softmax(Call& c) {
  const Tensor& y = c.out[0];
  if (!y.numel()) return;
  (softmax_kernels().*kernel)(y.dtype(), LaidOut(c.tensor(0), y.dtype()).data(), y.data(),
                              lines_of(y.sizes(), axis_of(c)));
}

WEFT_OP{
  .signature = "softmax(Tensor input, int dim, *, dtype? dtype=None) -> Tensor",
  .doc = R"(Exponentials along dim, scaled to sum to one.

>>> weft.softmax(weft.tensor([1.0, 1.0]), 0)
tensor([0.5000, 0.5000]))",
  .infer = infer_softmax,
  .run = run_softmax<&SoftmaxKernels::softmax>,
  .keeps = keep::y0,
  .back = [](Grad& d) { d.give(0, softmax_back(d.g(), d.y(), d.arg(1).integer())); },
};

WEFT_OP{
  .signature = "log_softmax(Tensor input, int dim, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The logarithm of softmax, without overflow.

>>> weft.log_softmax(weft.tensor([1.0, 1.0]), 0)
tensor([-0.6931, -0.6931]))",
  .infer = infer_softmax,
  .run = run_softmax<&SoftmaxKernels::log_softmax>,
  .keeps = keep::y0,
  .back = [](Grad& d) { d.give(0, log_softmax_back(d.g(), d.y(), d.arg(1).integer())); },
};

void infer_back(Call& c) {
  axis_of(c, 2);
  for (int i : {0, 1}) expect_floating(c, i);
  expect_shape(c, 1, c.tensor(0).sizes());
  c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
}

template <auto kernel>
void run_back(Call& c) {
  const Tensor& dx = c.out[0];
  if (!dx.numel()) return;
  (softmax_kernels().*kernel)(dx.dtype(), LaidOut(c.tensor(0), dx.dtype()).data(),
                              LaidOut(c.tensor(1), dx.dtype()).data(), dx.data(), lines_of(dx.sizes(), axis_of(c, 2)));
}

// dx = y (g - sum(g y))
WEFT_OP{
  .signature = "softmax_backward(Tensor grad, Tensor result, int dim) -> Tensor",
  .doc = "The derivative of softmax.",
  .traits = kHidden,
  .infer = infer_back,
  .run = run_back<&SoftmaxKernels::softmax_backward>,
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        Tensor g = d.x(0), y = d.x(1), v = d.g();
        Dims dim{d.arg(2).integer()};
        auto total = [&](const Tensor& t) { return t.dim() ? sum_dim(t, dim, true) : t; };
        if (d.needs(0)) d.give(0, softmax_back(v, y, d.arg(2).integer()));
        if (d.needs(1)) d.give(1, v * (g - total(g * y)) - g * total(v * y));
      },
};

// dx = g - exp(y) sum(g)
WEFT_OP{
  .signature = "log_softmax_backward(Tensor grad, Tensor result, int dim) -> Tensor",
  .doc = "The derivative of log_softmax.",
  .traits = kHidden,
  .infer = infer_back,
  .run = run_back<&SoftmaxKernels::log_softmax_backward>,
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        Tensor g = d.x(0), p = exp(d.x(1)), v = d.g();
        Dims dim{d.arg(2).integer()};
        auto total = [&](const Tensor& t) { return t.dim() ? sum_dim(t, dim, true) : t; };
        if (d.needs(0)) d.give(0, v - total(v * p));
        if (d.needs(1)) d.give(1, -(v * p) * total(g));
      },
};

}  // namespace
}  // namespace weft
