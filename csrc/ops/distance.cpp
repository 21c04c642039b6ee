// Distances between the rows of matrices.
#include "loops/distance.h"

#include <cmath>

#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef distances_back{"distances_backward"};
constexpr int64_t kFewRows = 25;  // for more, derivatives are products, as distances are in PyTorch

// Matrices of one type with the same number of columns, and as many of them.
void expect_rows(Call& c, int i, int j) {
  const Tensor &x = c.tensor(i), &y = c.tensor(j);
  if (x.dim() != 3) refuse(c, i, "be a batch of matrices");
  if (x.dtype() != DType::Float && x.dtype() != DType::Double) refuse(c, i, "be float32 or float64");
  expect_dtype(c, j, x.dtype());
  if (y.dim() != 3 || y.size(0) != x.size(0) || y.size(2) != x.size(2))
    refuse(c, j, "be as many matrices of as many columns as '", c.op.params[size_t(i)].name, "'");
}
double expect_norm(Call& c, int i) {
  if (!(c.real(i) >= 0)) refuse(c, i, "be a norm from 0 to inf");
  return c.real(i);
}

// The derivative by x as recorded ops.
Tensor recorded_gradient(const Tensor& g, const Tensor& difference, const Tensor& y, double p) {
  Tensor factor = g, slope = sign(difference);
  if (p == 0) return slope * 0.0;
  if (std::isinf(p)) {
    slope = where(abs(difference) == unsqueeze(y, int64_t(-1)), slope, 0.0);
  } else if (p != 1) {
    factor = where(y == 0.0, 0.0, g / pow(where(y == 0.0, 1.0, y), p - 1));
    Tensor size = where(difference == 0.0, 1.0, abs(difference));
    slope = p == 2 ? difference : slope * pow(size, p - 1);
  }
  return unsqueeze(factor, int64_t(-1)) * slope;
}

WEFT_OP{
  .signature = "distances(Tensor x1, Tensor x2, float p) -> Tensor",
  .doc = "The p-norms of the differences of all rows of x1 (b, m, k) and all rows of x2 (b, n, k): (b, m, n).",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_rows(c, 0, 1);
        expect_norm(c, 2);
        const Tensor& x = c.tensor(0);
        c.give(0, meta(x.dtype(), Dims{x.size(0), x.size(1), c.tensor(1).size(1)}));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.tensor(1);
        if (c.out[0].numel())
          distance_kernels().between(x.dtype(), x.size(0), x.size(1), y.size(1), x.size(2), c.real(2),
                                     LaidOut(x, x.dtype()).data(), LaidOut(y, x.dtype()).data(), c.out[0].data());
      },
  .keeps = keep::x0 | keep::x1 | keep::y0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0), y = d.x(1), g = d.g();
        double p = d.arg(2).real();
        if (d.create_graph) {
          Tensor each = recorded_gradient(g, unsqueeze(x, int64_t(-2)) - unsqueeze(y, int64_t(-3)), d.y(), p);
          if (d.needs(0)) d.give(0, sum_dim(each, Dims{-2}, false));
          if (d.needs(1)) d.give(1, -sum_dim(each, Dims{-3}, false));
          return;
        }
        auto flipped = [](const Tensor& t) { return transpose(t, int64_t(-1), int64_t(-2)); };
        if (p == 2 && std::max(x.size(1), y.size(1)) > kFewRows) {
          Tensor factor = where(d.y() == 0.0, 0.0, g / d.y());
          if (d.needs(0)) d.give(0, x * sum_dim(factor, Dims{-1}, true) - bmm(factor, y));
          if (d.needs(1)) d.give(1, y * flipped(sum_dim(factor, Dims{-2}, true)) - bmm(flipped(factor), x));
          return;
        }
        if (d.needs(0)) d.give(0, distances_back(g, x, y, d.y(), p));
        if (d.needs(1)) d.give(1, distances_back(flipped(g), y, x, flipped(d.y()), p));
      },
};

WEFT_OP{
  .signature = "distances_backward(Tensor g, Tensor x1, Tensor x2, Tensor distances, float p) -> Tensor",
  .doc = "The derivative of distances by x1.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_rows(c, 1, 2);
        expect_norm(c, 4);
        const Tensor& x = c.tensor(1);
        Dims sizes{x.size(0), x.size(1), c.tensor(2).size(1)};
        for (int i : {0, 3}) {
          expect_dtype(c, i, x.dtype());
          expect_shape(c, i, sizes);
        }
        c.give(0, meta(x.dtype(), x.sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(1), &y = c.tensor(2);
        DType type = x.dtype();
        if (c.out[0].numel())
          distance_kernels().back(type, x.size(0), x.size(1), y.size(1), x.size(2), c.real(4),
                                  LaidOut(c.tensor(0), type).data(), LaidOut(x, type).data(), LaidOut(y, type).data(),
                                  LaidOut(c.tensor(3), type).data(), c.out[0].data());
      },
  .no_derivative = "it stands for a derivative that was computed without a graph",
};

// Entries above the diagonal of a matrix, row after row.

const OpRef upper_entries{"upper_entries"}, upper_matrix{"upper_matrix"};

// Calls f(place in the matrix, place in the list, count) for the entries of each row.
template <class F>
void each_tail(int64_t n, const F& f) {
  for (int64_t i = 0, at = 0; i + 1 < n; at += n - 1 - i++) f(i * n + i + 1, at, n - 1 - i);
}

WEFT_OP{
  .signature = "upper_entries(Tensor input) -> Tensor",
  .doc = "The entries above the diagonal of a square matrix, row after row.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        expect_dim(c, 0, 2, 2);
        if (x.size(0) != x.size(1)) refuse(c, 0, "be square");
        c.give(0, meta(x.dtype(), Dims{Size(x.size(0)) * (std::max<int64_t>(x.size(0), 1) - 1) / 2}));
      },
  .run =
      [](Call& c) {
        const Tensor& y = c.out[0];
        const LaidOut x(c.tensor(0), y.dtype());
        const int64_t item = item_size(y.dtype());
        each_tail(c.tensor(0).size(0), [&](int64_t from, int64_t to, int64_t count) {
          std::memcpy(y.data() + to * item, x.data() + from * item, size_t(count * item));
        });
      },
  .back = [](Grad& d) { d.give(0, upper_matrix(d.g(), int64_t(d.shape(0)[0]))); },
};

WEFT_OP{
  .signature = "upper_matrix(Tensor input, int n) -> Tensor",
  .doc = "The n by n matrix with these entries above its diagonal, row after row, and zeros elsewhere.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Size n = c.integer(1);
        if (n < 0) refuse(c, 1, "not be negative");
        expect_dim(c, 0, 1, 1);
        expect_numel(c, 0, n * (std::max<int64_t>(n, 1) - 1) / 2);
        c.give(0, meta(c.tensor(0).dtype(), Dims{n, n}));
      },
  .run =
      [](Call& c) {
        const Tensor& y = c.out[0];
        const LaidOut x(c.tensor(0), y.dtype());
        const int64_t item = item_size(y.dtype());
        std::memset(y.data(), 0, size_t(y.numel() * item));
        each_tail(y.size(0), [&](int64_t to, int64_t from, int64_t count) {
          std::memcpy(y.data() + to * item, x.data() + from * item, size_t(count * item));
        });
      },
  .back = [](Grad& d) { d.give(0, upper_entries(d.g())); },
};

}  // namespace
}  // namespace weft
