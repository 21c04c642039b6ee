// Losses between scores and classes without a softmax: negative log likelihood, margins.
#include <cstring>

#include "loops/losses.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef nll_backward{"nll_backward"}, multi_margin_backward{"multi_margin_backward"},
    multilabel_margin_backward{"multilabel_margin_backward"};

enum Reduction : int64_t { kNone, kMean, kSum };

void need_floating(const Tensor& x, const char* op) {
  if (!is_floating(x.dtype())) fail_missing(op, ": not implemented for '", name_of(x.dtype()), "'");
}
void refuse_weight(Grad& d, const char* op) {
  if (d.needs(2)) fail(op, ": the derivative for 'weight' is not implemented");
}
int64_t class_of(int64_t y, int64_t classes, const char* op) {
  if (y < 0 || y >= classes) fail_index(op, ": Target ", y, " is out of bounds.");
  return y;
}
// Kernels of floats.
template <class F>
void in_type(DType type, const F& f) {
  if (type == DType::Float)
    f(float());
  else
    f(double());
}

// ---- negative log likelihood: input (N, C, ...) or (C), target the same without C

int class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

Dims nll_check(Call& c, int at) {
  const char* op = "nll_loss";
  const Tensor &x = c.tensor(at), &y = c.tensor(at + 1);
  if (x.dim() == 0) fail(op, ": Expected 1 or more dimensions (got 0)");
  if (x.dim() != 1 && (y.dim() == 0 || x.size(0) != y.size(0)))
    fail_value(op, ": Expected input batch_size (", x.size(0), ") to match target batch_size (",
               y.dim() ? int64_t(y.size(0)) : 0, ").");
  int d = class_dim(x);
  Dims expected;
  for (int i = 0; i < x.dim(); ++i)
    if (i != d) expected.push(x.size(i));
  if (!(y.sizes() == expected) && !(d == 0 && y.numel() == 1))
    fail(op, ": Expected target size ", expected, ", got ", y.sizes());
  if (y.dtype() != DType::Int64 && y.dtype() != DType::UInt8)
    fail(op, ": expected scalar type Long for target but found ", name_of(y.dtype()));
  if (c.has(at + 2) && !(c.tensor(at + 2).sizes() == Dims{x.size(d)}))
    fail(op, ": weight tensor should be defined either for all ", x.size(d),
         " classes or no classes but got weight tensor of shape: ", c.tensor(at + 2).sizes());
  need_floating(x, op);
  expect_range(c, at + 4, kNone, kSum);
  return c.integer(at + 4) == kNone ? y.sizes() : Dims{};
}

// Calls f(i, place, share) for every target: its place in the scores, or -1 where it is ignored.
template <class T, class F>
void each_target(const Tensor& x, const int64_t* y, const T* weight, int64_t ignored, const F& f) {
  int d = class_dim(x);
  int64_t classes = x.size(d), rows = d ? int64_t(x.size(0)) : 1, inner = 1;
  for (int i = d + 1; i < x.dim(); ++i) inner = inner * int64_t(x.size(i));
  for (int64_t n = 0, i = 0; n < rows; ++n)
    for (int64_t k = 0; k < inner; ++k, ++i) {
      if (y[i] == ignored) {
        f(i, int64_t(-1), T(0));
        continue;
      }
      int64_t at = class_of(y[i], classes, "nll_loss");
      f(i, (n * classes + at) * inner + k, weight ? weight[at] : T(1));
    }
}

WEFT_OP{
  .signature = "nll_classes(Tensor input, Tensor target, Tensor? weight, int ignore_index, int reduction) -> Tensor",
  .doc = "Minus the input at each target, times its weight; reduction 0: all, 1: mean, 2: sum.",
  .traits = kHidden,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), nll_check(c, 0))); },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(0).dtype());
        LaidOut scores(c.tensor(0), type), target(c.tensor(1), DType::Int64);
        Given weight(c, 2, type);
        Written loss(c.out[0], type);
        in_type(type, [&](auto zero) {
          using T = decltype(zero);
          auto* x = reinterpret_cast<const T*>(scores.data());
          T* out = static_cast<T*>(loss.data());
          Size reduction = c.integer(4);
          double sum = 0, total = 0;
          each_target(c.tensor(0), reinterpret_cast<const int64_t*>(target.data()),
                      reinterpret_cast<const T*>(weight.data()), c.integer(3), [&](int64_t i, int64_t place, T share) {
                        T one = place < 0 ? T(0) : -x[place] * share;
                        if (reduction == kNone) out[i] = one;
                        sum += double(one);
                        total += double(share);
                      });
          if (reduction != kNone) *out = T(reduction == kMean ? sum / total : sum);
        });
      },
  .keeps = keep::x0 | keep::x1 | keep::x2,
  .back =
      [](Grad& d) {
        refuse_weight(d, "nll_loss");
        Tensor x = d.x(0), y = d.x(1), g = d.g();
        auto slope = [&](const Tensor& g) { return nll_backward(g, x, y, d.arg(2), d.arg(3), d.arg(4)); };
        if (!d.create_graph) return d.give(0, slope(g));
        Tensor constant = slope(ones_like(g));  // the loss is linear
        if (d.arg(4).integer() == kNone) g = x.dim() == 1 ? reshape(g, Dims{1}) : unsqueeze(g, int64_t(1));
        d.give(0, constant * g);
      },
};

WEFT_OP{
  .signature =
      "nll_backward(Tensor grad, Tensor input, Tensor target, Tensor? weight, int ignore_index, int "
      "reduction) -> Tensor",
  .doc = "The derivative of nll_classes.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_shape(c, 0, nll_check(c, 1));
        expect_floating(c, 0);
        c.give(0, meta(c.tensor(1).dtype(), c.tensor(1).sizes()));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(1).dtype());
        LaidOut grad(c.tensor(0), type), target(c.tensor(2), DType::Int64);
        Given weight(c, 3, type);
        Written dx(c.out[0], type);
        std::memset(dx.data(), 0, size_t(c.out[0].numel()) * size_t(item_size(type)));
        in_type(type, [&](auto zero) {
          using T = decltype(zero);
          auto* g = reinterpret_cast<const T*>(grad.data());
          auto* y = reinterpret_cast<const int64_t*>(target.data());
          auto* w = reinterpret_cast<const T*>(weight.data());
          T* out = static_cast<T*>(dx.data());
          Size reduction = c.integer(5);
          double total = 1;
          if (reduction == kMean) {
            total = 0;
            each_target(c.tensor(1), y, w, c.integer(4), [&](int64_t, int64_t, T share) { total += double(share); });
          }
          each_target(c.tensor(1), y, w, c.integer(4), [&](int64_t i, int64_t place, T share) {
            if (place >= 0) out[place] = -(reduction == kNone ? g[i] : *g) * T(share / total);
          });
        });
      },
  .no_derivative = "derivatives of higher order are made of other ops: see nll_classes",
};

// ---- margins: input (N, C), (C) or ()

struct Rows {
  int64_t rows, classes;
};
Rows rows_of(const Tensor& x) {
  return {x.dim() == 2 ? int64_t(x.size(0)) : 1, x.dim() ? int64_t(x.size(x.dim() - 1)) : 1};
}
Dims loss_shape(const Tensor& x, int64_t reduction) {
  return reduction == kNone && x.dim() == 2 ? Dims{x.size(0)} : Dims{};
}
// What a row's loss counts in the result, times the gradient.
template <class T>
double share_of(const T* g, int64_t row, Rows r, int64_t reduction) {
  double one = double(reduction == kNone ? g[row] : *g) / double(r.classes);
  return reduction == kMean ? one / double(r.rows) : one;
}
template <class T>
void reduce_into(T* out, double sum, int64_t rows, int64_t reduction) {
  if (reduction != kNone) *out = T(reduction == kMean ? sum / double(rows) : sum);
}

Dims multi_check(Call& c, int at) {
  const char* op = "multi_margin_loss";
  const Tensor &x = c.tensor(at), &y = c.tensor(at + 1);
  if (x.dim() > 2 || (x.dim() && x.size(x.dim() - 1) == 0))
    fail(op, ": Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", x.sizes());
  Rows r = rows_of(x);
  if (y.dim() > 1 || y.numel() != r.rows)
    fail(op, ": inconsistent target size, expected ", r.rows, " but got ", y.sizes());
  if (y.dtype() != DType::Int64) fail(op, ": expected scalar type Long for target but found ", name_of(y.dtype()));
  if (c.has(at + 2) && !(c.tensor(at + 2).sizes() == Dims{r.classes}))
    fail(op, ": inconsistent weight size, expected ", r.classes, " but got ", c.tensor(at + 2).sizes());
  need_floating(x, op);
  expect_range(c, at + 3, 1, 2);
  expect_range(c, at + 5, kNone, kSum);
  return loss_shape(x, c.integer(at + 5));
}

WEFT_OP{
  .signature =
      "multi_margin_rows(Tensor input, Tensor target, Tensor? weight, int p, float margin, int reduction) -> "
      "Tensor",
  .doc =
      "The mean of max(0, margin - x[y] + x[i])^p over the classes i other than y; reduction 0: all, 1: mean, 2: sum.",
  .traits = kHidden,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), multi_check(c, 0))); },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(0).dtype());
        LaidOut scores(c.tensor(0), type), target(c.tensor(1), DType::Int64);
        Given weight(c, 2, type);
        Written loss(c.out[0], type);
        Rows r = rows_of(c.tensor(0));
        in_type(type, [&](auto zero) {
          using T = decltype(zero);
          auto* y = reinterpret_cast<const int64_t*>(target.data());
          auto* w = reinterpret_cast<const T*>(weight.data());
          T* out = static_cast<T*>(loss.data());
          double sum = 0;
          for (int64_t i = 0; i < r.rows; ++i) {
            if (i % 1024 == 1023) leave_if_interrupted();
            const T* x = reinterpret_cast<const T*>(scores.data()) + i * r.classes;
            int64_t at = class_of(y[i], r.classes, "multi_margin_loss");
            double offset = double(T(T(c.real(4)) - x[at]));
            auto part = [&](int64_t from, int64_t to) {
              return loss_kernels().margin_sum(type, x + from, to - from, offset, c.integer(3) == 2);
            };
            double one = (part(0, at) + part(at + 1, r.classes)) * (w ? double(w[at]) : 1) / double(r.classes);
            if (c.integer(5) == kNone) out[i] = T(one);
            sum += one;
          }
          reduce_into(out, sum, r.rows, c.integer(5));
        });
      },
  .keeps = keep::x0 | keep::x1 | keep::x2,
  .back =
      [](Grad& d) {
        refuse_weight(d, "multi_margin_loss");
        Tensor x = d.x(0), y = d.x(1), g = d.g();
        int64_t p = d.arg(3).integer(), reduction = d.arg(5).integer();
        auto slope = [&](const Tensor& g, const Value& p) {
          return multi_margin_backward(g, x, y, d.arg(2), p, d.arg(4), d.arg(5));
        };
        if (!d.create_graph) return d.give(0, slope(g, d.arg(3)));
        // The slopes of p = 1 are constant: +share where a class counts, -their sum at the target. For p = 2 a class
        // counts with twice its margin.
        Tensor constant = slope(ones_like(g), Value(int64_t(1)));
        bool each = reduction == kNone && x.dim() == 2;
        if (each) g = unsqueeze(g, int64_t(1));
        if (p == 1) return d.give(0, constant * g);
        int64_t last = x.dim() - 1;
        Tensor hit = arange(x.dim() ? int64_t(x.size(int(last))) : 1) ==
                     (x.dim() == 2 ? unsqueeze(y, int64_t(1)) : reshape(y, Dims{}));
        if (x.dim() == 0) hit = reshape(hit, Dims{});
        Tensor own = where(hit, x, 0.0), others = where(hit, 0.0, constant);
        auto along = [&](const Tensor& t) { return x.dim() ? sum_dim(t, Dims{last}, true) : t; };
        Tensor slopes = others * g * (2.0 * (x - along(own) + d.arg(4).real()));
        d.give(0, where(hit, 0.0 - along(slopes), slopes));
      },
};

WEFT_OP{
  .signature =
      "multi_margin_backward(Tensor grad, Tensor input, Tensor target, Tensor? weight, int p, float margin, "
      "int reduction) -> Tensor",
  .doc = "The derivative of multi_margin_rows.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_shape(c, 0, multi_check(c, 1));
        expect_floating(c, 0);
        c.give(0, meta(c.tensor(1).dtype(), c.tensor(1).sizes()));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(1).dtype());
        LaidOut grad(c.tensor(0), type), scores(c.tensor(1), type), target(c.tensor(2), DType::Int64);
        Given weight(c, 3, type);
        Written dx(c.out[0], type);
        Rows r = rows_of(c.tensor(1));
        in_type(type, [&](auto zero) {
          using T = decltype(zero);
          auto* g = reinterpret_cast<const T*>(grad.data());
          auto* y = reinterpret_cast<const int64_t*>(target.data());
          auto* w = reinterpret_cast<const T*>(weight.data());
          for (int64_t i = 0; i < r.rows; ++i) {
            if (i % 1024 == 1023) leave_if_interrupted();
            const T* x = reinterpret_cast<const T*>(scores.data()) + i * r.classes;
            T* out = static_cast<T*>(dx.data()) + i * r.classes;
            int64_t at = class_of(y[i], r.classes, "multi_margin_loss");
            double offset = double(T(T(c.real(5)) - x[at]));
            double scale = share_of(g, i, r, c.integer(6)) * (w ? double(w[at]) : 1);
            auto part = [&](int64_t from, int64_t to) {
              return loss_kernels().margin_slope(type, x + from, to - from, offset, c.integer(4) == 2, scale,
                                                 out + from);
            };
            double sum = part(0, at) + part(at + 1, r.classes);
            out[at] = T(-sum);
          }
        });
      },
  .no_derivative = "derivatives of higher order are made of other ops: see multi_margin_rows",
};

// The targets of an example end at the first -1. Its other classes are laid side by side.
template <class T>
struct Labels {
  int64_t count = 0, others = 0;
  T* other;        // scores of the classes that are no targets
  int64_t* place;  // and which they are
};
template <class T>
Labels<T> labels_of(const T* x, const int64_t* y, int64_t classes, T* other, int64_t* place) {
  Labels<T> found{0, 0, other, place};
  for (int64_t j = 0; j < classes; ++j) place[j] = 0;
  for (; found.count < classes && y[found.count] >= 0; ++found.count)
    place[class_of(y[found.count], classes, "multilabel_margin_loss")] = 1;
  for (int64_t j = 0; j < classes; ++j) {
    bool target = place[j];
    other[found.others] = x[j];
    place[found.others] = j;
    found.others += !target;
  }
  return found;
}

Dims multilabel_check(Call& c, int at) {
  const char* op = "multilabel_margin_loss";
  const Tensor &x = c.tensor(at), &y = c.tensor(at + 1);
  if (x.dim() > 2 || (x.dim() && x.size(x.dim() - 1) == 0) || !(x.sizes() == y.sizes()))
    fail(op, ": Expected non-empty vectors or matrices of equal size, but got ", x.sizes(), " and ", y.sizes());
  if (y.dtype() != DType::Int64) fail(op, ": expected scalar type Long for target but found ", name_of(y.dtype()));
  need_floating(x, op);
  expect_range(c, at + 2, kNone, kSum);
  return loss_shape(x, c.integer(at + 2));
}

WEFT_OP{
  .signature = "multilabel_margin_rows(Tensor input, Tensor target, int reduction) -> Tensor",
  .doc =
      "The sum of max(0, 1 - x[y] + x[i]) over targets y and other classes i, per class; reduction 0: all, 1: mean, "
      "2: sum.",
  .traits = kHidden,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), multilabel_check(c, 0))); },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(0).dtype());
        LaidOut scores(c.tensor(0), type), target(c.tensor(1), DType::Int64);
        Written loss(c.out[0], type);
        Rows r = rows_of(c.tensor(0));
        Scratch room(r.classes * (item_size(type) + 8));
        in_type(type, [&](auto zero) {
          using T = decltype(zero);
          auto* place = room.as<int64_t>();
          T *other = reinterpret_cast<T*>(place + r.classes), *out = static_cast<T*>(loss.data());
          double sum = 0;
          for (int64_t i = 0; i < r.rows; ++i) {
            const T* x = reinterpret_cast<const T*>(scores.data()) + i * r.classes;
            const int64_t* y = reinterpret_cast<const int64_t*>(target.data()) + i * r.classes;
            Labels<T> l = labels_of(x, y, r.classes, other, place);
            double one = 0;
            for (int64_t k = 0; k < l.count; ++k) {
              if (k % 1024 == 0) leave_if_interrupted();
              one += loss_kernels().margin_sum(type, other, l.others, double(T(1 - x[y[k]])), false);
            }
            one /= double(r.classes);
            if (c.integer(2) == kNone) out[i] = T(one);
            sum += one;
          }
          reduce_into(out, sum, r.rows, c.integer(2));
        });
      },
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0), y = d.x(1), g = d.g();
        if (!d.create_graph) return d.give(0, multilabel_margin_backward(g, x, y, d.arg(2)));
        Tensor constant = multilabel_margin_backward(ones_like(g), x, y, d.arg(2));  // the loss is linear in pieces
        if (d.arg(2).integer() == kNone && x.dim() == 2) g = unsqueeze(g, int64_t(1));
        d.give(0, constant * g);
      },
};

WEFT_OP{
  .signature = "multilabel_margin_backward(Tensor grad, Tensor input, Tensor target, int reduction) -> Tensor",
  .doc = "The derivative of multilabel_margin_rows.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_shape(c, 0, multilabel_check(c, 1));
        expect_floating(c, 0);
        c.give(0, meta(c.tensor(1).dtype(), c.tensor(1).sizes()));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(1).dtype());
        LaidOut grad(c.tensor(0), type), scores(c.tensor(1), type), target(c.tensor(2), DType::Int64);
        Written dx(c.out[0], type);
        Rows r = rows_of(c.tensor(1));
        Scratch room(r.classes * (item_size(type) + 12));
        in_type(type, [&](auto zero) {
          using T = decltype(zero);
          auto* place = room.as<int64_t>();
          T* other = reinterpret_cast<T*>(place + r.classes);
          auto* counts = reinterpret_cast<int32_t*>(other + r.classes);
          for (int64_t i = 0; i < r.rows; ++i) {
            const T* x = reinterpret_cast<const T*>(scores.data()) + i * r.classes;
            const int64_t* y = reinterpret_cast<const int64_t*>(target.data()) + i * r.classes;
            T* out = static_cast<T*>(dx.data()) + i * r.classes;
            Labels<T> l = labels_of(x, y, r.classes, other, place);
            double scale = share_of(reinterpret_cast<const T*>(grad.data()), i, r, c.integer(3));
            for (int64_t j = 0; j < r.classes; ++j) out[j] = 0, counts[j] = 0;
            for (int64_t k = 0; k < l.count; ++k) {
              if (k % 1024 == 0) leave_if_interrupted();
              int64_t above = loss_kernels().margin_count(type, other, l.others, double(T(1 - x[y[k]])), counts);
              out[y[k]] -= T(scale * double(above));
            }
            for (int64_t j = 0; j < l.others; ++j) out[place[j]] = T(scale * counts[j]);
          }
        });
      },
  .no_derivative = "derivatives of higher order are made of other ops: see multilabel_margin_rows",
};

}  // namespace
}  // namespace weft
