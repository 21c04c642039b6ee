// Cross entropy between rows of scores and classes as one op, with a fused derivative.
#include "loops/parallel.h"
#include "loops/softmax.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef backward{"cross_entropy_backward"}, softmax{"softmax"}, arange{"arange"};

enum Reduction : int64_t { kNone, kMean, kSum };

// How many rows have a class; refuses classes that do not exist.
int64_t counted(const int64_t* target, int64_t rows, int64_t classes, int64_t ignored) {
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) {
    if (target[i] == ignored) continue;
    if (target[i] < 0 || target[i] >= classes) fail_index("cross_entropy: Target ", target[i], " is out of bounds.");
    ++count;
  }
  return count;
}

// Scores, classes and the reduction, which is argument `at` + 3; the shape of the loss.
Dims check(Call& c, int at) {
  const Tensor &x = c.tensor(at), &target = c.tensor(at + 1);
  if (x.dim() != 2 || target.dim() != 1 || x.size(0) != target.size(0) || target.dtype() != DType::Int64)
    fail("cross_entropy: expected scores (N, C) and classes (N), got shapes ", x.sizes(), " and ", target.sizes());
  if (!is_floating(x.dtype())) fail_missing("cross_entropy: not implemented for '", name_of(x.dtype()), "'");
  expect_range(c, at + 3, kNone, kSum);
  return c.integer(at + 3) == kNone ? Dims{x.size(0)} : Dims{};
}

WEFT_OP{
  .signature =
      "cross_entropy_rows(Tensor input, Tensor target, int ignore_index, int reduction) -> (Tensor loss, Tensor "
      "logsumexp)",
  .doc = "Minus the logarithm of the softmax of each row of input at its target; reduction 0: all, 1: mean, 2: sum.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        c.give(0, meta(x.dtype(), check(c, 0)));
        c.give(1, meta(work_type(x.dtype()), Dims{x.size(0)}));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(0).dtype());
        int64_t rows = c.tensor(0).size(0), classes = c.tensor(0).size(1), ignored = c.integer(2);
        LaidOut scores(c.tensor(0), type), classes_of(c.tensor(1), DType::Int64);
        auto* target = reinterpret_cast<const int64_t*>(classes_of.data());
        int64_t count = counted(target, rows, classes, ignored);
        Written loss(c.out[0], type);
        if (classes) softmax_kernels().logsumexp(type, scores.data(), c.out[1].data(), Lines{rows, classes, 1});
        visit(type, [&](auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_floating_point_v<T>) {
            auto* x = reinterpret_cast<const T*>(scores.data());
            const T* whole = c.out[1].data<T>();
            T* out = static_cast<T*>(loss.data());
            double sum = 0;
            for (int64_t i = 0; i < rows; ++i) {
              T one = target[i] == ignored ? T(0) : whole[i] - x[i * classes + target[i]];
              if (c.integer(3) == kNone)
                out[i] = one;
              else
                sum += double(one);
            }
            if (c.integer(3) != kNone) *out = T(c.integer(3) == kMean ? sum / double(count) : sum);
          }
        });
      },
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0), target = d.x(1), g = d.g();
        int64_t ignored = d.arg(2).integer(), reduction = d.arg(3).integer();
        if (!d.create_graph) return d.give(0, backward(g, x, target, d.arg(2), d.arg(3)));
        Tensor kept = to_dtype(target != double(ignored), x.dtype());
        if (reduction == kMean) g = g / sum_all(kept);
        Tensor classes = arange(x.size(1)), hit = to_dtype(unsqueeze(target, int64_t(1)) == classes, x.dtype());
        d.give(0, (softmax(x, int64_t(1)) - hit) * unsqueeze(kept * g, int64_t(1)));
      },
};

WEFT_OP{
  .signature =
      "cross_entropy_backward(Tensor grad, Tensor input, Tensor target, int ignore_index, int reduction) -> Tensor",
  .doc = "The derivative of cross_entropy_rows.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_shape(c, 0, check(c, 1));
        expect_floating(c, 0);
        c.give(0, meta(c.tensor(1).dtype(), c.tensor(1).sizes()));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        DType type = work_type(c.tensor(1).dtype());
        int64_t rows = c.tensor(1).size(0), classes = c.tensor(1).size(1), ignored = c.integer(3);
        LaidOut g(c.tensor(0), type), scores(c.tensor(1), type), classes_of(c.tensor(2), DType::Int64);
        auto* target = reinterpret_cast<const int64_t*>(classes_of.data());
        int64_t count = counted(target, rows, classes, ignored);
        Written dx(c.out[0], type);
        softmax_kernels().softmax(type, scores.data(), dx.data(), Lines{rows, classes, 1});
        visit(type, [&](auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_floating_point_v<T>) {
            auto* grad = reinterpret_cast<const T*>(g.data());
            T* out = static_cast<T*>(dx.data());
            parallel_chunks(rows, 1 + kGrain / classes, [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                T scale = c.integer(4) == kNone ? grad[i] : c.integer(4) == kMean ? *grad / T(count) : *grad;
                T* row = out + i * classes;
                if (target[i] == ignored) {
                  for (int64_t j = 0; j < classes; ++j) row[j] = T(0);
                  continue;
                }
                row[target[i]] -= T(1);
                for (int64_t j = 0; j < classes; ++j) row[j] *= scale;
              }
            });
          }
        });
      },
  .no_derivative = "derivatives of higher order are made of other ops: see cross_entropy_rows",
};

}  // namespace
}  // namespace weft
