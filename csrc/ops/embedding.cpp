// Embedding as one op: rows of a table by indices of any shape; and its derivative, rows added to those of a table.
#include <algorithm>
#include <cstring>

#include "loops/bags.h"
#include "ops/index_plan.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef look_up{"embedding"}, add_up{"embedding_rows"};
constexpr int64_t kNone = -1;  // as padding_idx

// Every index chooses a row of table; dense holds the rows in the shape of indices.
Planner plan_rows(const Tensor& dense, const Tensor& table, const Tensor& indices) {
  Planner p;
  int last = indices.dim();
  Dims strides(last + 1);
  for (int d = 0; d < last; ++d) {
    p.dimension(indices.size(d), dense.stride(d), 0);
    strides[d] = indices.stride(d);
  }
  p.dimension(table.size(1), dense.stride(last), table.stride(1));
  p.input(indices, strides, table, 0);
  return p;
}

void check_indices(const Tensor& indices) { check_index_dtype(indices, "embedding"); }

// The order of dimensions in which the rows of g lie below each other, if g has no holes; else that of its shape.
Dims order_of_rows(const Tensor& g) {
  Dims order;
  for (int d = 0; d < g.dim(); ++d) order.push(d);
  int last = g.dim() - 1;
  if (!is_dense(g.sizes(), g.strides()) || g.stride(last) != 1) return order;
  std::stable_sort(order.begin(), order.begin() + last,
                   [&](int64_t a, int64_t b) { return g.stride(int(a)) > g.stride(int(b)); });
  return order;
}

// One over how often each index occurs, with a last dimension of one.
Tensor shares(const Tensor& indices, int64_t count, DType type) {
  Dims sizes = indices.sizes();
  sizes.push(1);
  Tensor counts = add_up(full(sizes, 1.0, type), indices, count, kNone);
  return reciprocal(look_up(indices, counts, kNone, false));
}

WEFT_OP{
  .signature = "embedding(Tensor indices, Tensor weight, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor",
  .doc =
      "The row of weight for each index. No gradient comes to the row padding_idx; with scale_grad_by_freq each is "
      "divided by how often its index occurs.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor &indices = c.tensor(0), &weight = c.tensor(1);
        check_indices(indices);
        if (weight.dim() != 2) fail("embedding: 'weight' must be 2-D, got shape ", weight.sizes());
        Dims sizes = indices.sizes();
        sizes.push(weight.size(1));
        c.give(0, meta(weight.dtype(), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &weight = c.tensor(1), &y = c.out[0];
        Planner p = plan_rows(y, weight, c.tensor(0));
        if (!index_kernels().gather(item_size(y.dtype()), y.data(), weight.data(), p.plan()))
          p.fail_range(ErrorKind::Index, "embedding");
      },
  .keeps = keep::x0,
  .back =
      [](Grad& d) {
        if (!d.needs(1)) return;
        Tensor g = d.g(), indices = d.x(0);
        int64_t padding = d.arg(2).integer();
        if (d.arg(3).flag()) g = g * shares(indices, d.shape(1)[0], g.dtype());
        if (padding == kNone && !d.create_graph && g.numel()) {
          if (!g.contiguous()) {  // of a transposed batch, as recurrent layers give it, no row is copied
            Dims order = order_of_rows(g);
            g = permute(g, order);
            order.pop();
            indices = permute(indices, order);
          }
          return d.give_rows(1, reshape(indices, Dims{-1}), reshape(g, Dims{-1, g.size(-1)}));
        }
        d.give(1, add_up(g, indices, d.shape(1)[0], padding));
      },
};

WEFT_OP{
  .signature = "embedding_rows(Tensor rows, Tensor indices, int count, int padding_idx) -> Tensor",
  .doc = "A table of count rows: the sums of those rows whose index is theirs, but zeros at padding_idx.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor &rows = c.tensor(0), &indices = c.tensor(1);
        check_indices(indices);
        expect_dim(c, 0, 1);
        Dims sizes = indices.sizes();
        sizes.push(rows.size(-1));
        expect_shape(c, 0, sizes);
        expect_range(c, 3, kNone, c.integer(2) - 1);
        c.give(0, meta(rows.dtype(), Dims{c.integer(2), rows.size(-1)}));
      },
  .run =
      [](Call& c) {
        const Tensor &rows = c.tensor(0), &table = c.out[0];
        int64_t row_bytes = table.size(1) * item_size(table.dtype()), padding = c.integer(3);
        fill_data(table, Value(0));
        if (rows.numel() == 0) return;
        Planner p = plan_rows(rows, table, c.tensor(1));
        scatter_planned(Scatter::add, table, rows, p, ErrorKind::Index, "embedding_rows");
        if (padding != kNone) std::memset(table.data() + padding * row_bytes, 0, size_t(row_bytes));
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        Tensor indices = d.x(1);
        int64_t padding = d.arg(3).integer();
        Tensor y = look_up(indices, d.g(), kNone, false);
        if (padding != kNone) y = where(unsqueeze(ne(indices, padding), -1), y, 0.0);
        d.give(0, y);
      },
};

// ---- bags

const OpRef bag_of{"embedding_bag_of"};

bool inside(const int64_t* at, int64_t n, int64_t rows) {
  uint64_t signs = 0, last = uint64_t(rows) - 1;  // the sign bit is set where one is negative or beyond the last
  for (int64_t i = 0; i < n; ++i) signs |= uint64_t(at[i]) | (last - uint64_t(at[i]));
  return int64_t(signs) >= 0;
}

void check_starts(const BagPlan& p) {
  if (!p.starts) return;
  for (int64_t b = 0; b < p.bags; ++b)
    if ((b == 0 && p.start(0) != 0) || p.start(b) > p.start(b + 1))
      fail("embedding_bag: offsets must begin with 0 and not decrease, nor leave the ", p.count, " indices");
}

// The number of bags of so many indices; starts and length are arguments by their place.
int64_t count_bags(Call& c, int starts, int length, int64_t indices) {
  if (!c.has(starts)) {
    expect_range(c, length, 1, kMaxExtent);
    if (indices % c.integer(length)) refuse(c, length, "divide the number of indices");
    return indices / c.integer(length);
  }
  expect_dim(c, starts, 1, 1), expect_dtype(c, starts, DType::Int64);
  if (c.tensor(starts).size(0) == 0 && indices) refuse(c, starts, "have a bag for all indices");
  return c.tensor(starts).size(0);
}

WEFT_OP{
  .signature = "embedding_bag_of(Tensor? starts, int count, int length) -> Tensor",
  .doc = "The bag of each of count indices.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_range(c, 1, 0, kMaxExtent);
        count_bags(c, 0, 2, c.integer(1));
        c.give(0, meta(DType::Int64, Dims{c.integer(1)}));
      },
  .run =
      [](Call& c) {
        Given starts(c, 0, DType::Int64);
        BagPlan p;
        p.count = c.integer(1), p.length = c.integer(2);
        p.bags = c.has(0) ? c.tensor(0).size(0) : p.count / p.length;
        p.starts = reinterpret_cast<const int64_t*>(starts.data());
        check_starts(p);
        int64_t* bag = c.out[0].data<int64_t>();
        for (int64_t b = 0; b < p.bags; ++b)
          for (int64_t i = p.start(b), end = p.start(b + 1); i < end; ++i) bag[i] = b;
      },
  .no_derivative = "the result is a whole number",
};

WEFT_OP{
  .signature =
      "embedding_bags(Tensor indices, Tensor? starts, Tensor weight, Tensor? sample_weights, int length, int "
      "padding_idx, bool mean) -> (Tensor rows, Tensor counts)",
  .doc =
      "The sum or mean of the rows of each bag, and how many rows each bag has, at least one. "
      "starts has the first index of each bag; without, all have `length`.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor &indices = c.tensor(0), &weight = c.tensor(2);
        check_index_dtype(indices, "embedding_bag");
        expect_dim(c, 0, 1, 1), expect_dim(c, 2, 2, 2);
        if (weight.dtype() != DType::Float && weight.dtype() != DType::Double) refuse(c, 2, "be of float32 or float64");
        expect_dtype(c, 3, weight.dtype()), expect_shape(c, 3, indices.sizes());
        expect_range(c, 5, kNone, weight.size(0) - 1);
        int64_t bags = count_bags(c, 1, 4, indices.numel());
        c.give(0, meta(weight.dtype(), Dims{bags, weight.size(1)}));
        c.give(1, meta(DType::Int64, Dims{bags}));
      },
  .run =
      [](Call& c) {
        const Tensor &indices = c.tensor(0), &weight = c.tensor(2);
        LaidOut at(indices, DType::Int64), table(weight, weight.dtype());
        Given starts(c, 1, DType::Int64), shares(c, 3, weight.dtype());
        BagPlan p;
        p.bags = c.out[0].size(0), p.count = indices.numel(), p.width = weight.size(1);
        p.length = c.integer(4), p.padding = c.integer(5), p.mean = c.flag(6);
        p.starts = reinterpret_cast<const int64_t*>(starts.data());
        p.indices = reinterpret_cast<const int64_t*>(at.data());
        if (!inside(p.indices, p.count, weight.size(0)))
          fail_index("embedding_bag: indices must name rows of a table of ", weight.size(0));
        check_starts(p);
        bag_kernels().sum(weight.dtype(), p, table.data(), shares.data(), c.out[0].data(), c.out[1].data<int64_t>());
      },
  .keeps = keep::x0 | keep::x1 | keep::x2 | keep::x3 | keep::y1,
  .back =
      [](Grad& d) {
        Tensor g = d.g(), indices = d.x(0);
        int64_t padding = d.arg(5).integer();
        bool weighted = !d.arg(3).none();
        if (d.arg(6).flag()) g = g / unsqueeze(to_dtype(d.y(1), g.dtype()), -1);
        Value starts = d.arg(1).none() ? Value() : Value(d.x(1));
        Tensor rows = look_up(bag_of(starts, indices.size(0), d.arg(4)), g, kNone, false);
        if (d.needs(3)) {
          Tensor each = sum_dim(rows * look_up(indices, d.x(2), kNone, false), Dims{-1}, false);
          d.give(3, padding == kNone ? each : where(ne(indices, padding), each, 0.0));
        }
        if (!d.needs(2)) return;
        if (weighted) rows = rows * unsqueeze(d.x(3), -1);
        if (padding == kNone && !d.create_graph && rows.numel()) return d.give_rows(2, indices, rows);
        d.give(2, add_up(rows, indices, d.shape(2)[0], padding));
      },
};

WEFT_OP{
  .signature = "equal_elements(Tensor input, Tensor other) -> Tensor",
  .doc = "Whether shapes and all elements agree.",
  .traits = kHidden,
  .infer = [](Call& c) { c.give(0, meta(DType::Bool, Dims{})); },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &other = c.tensor(1);
        bool& same = *c.out[0].data<bool>();
        same = x.sizes() == other.sizes();
        if (!same) return;
        DType type = promote(x.dtype(), other.dtype());
        LaidOut a(x, type), b(other, type);
        int64_t n = x.numel();
        if (is_complex(type)) type = type == DType::ComplexFloat ? DType::Float : DType::Double, n *= 2;
        same = is_floating(type) ? bag_kernels().equal(type, a.data(), b.data(), n)
                                 : !std::memcmp(a.data(), b.data(), size_t(n * item_size(type)));
      },
  .no_derivative = "the result is bool",
};

}  // namespace
}  // namespace weft
