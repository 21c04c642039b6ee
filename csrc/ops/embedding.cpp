// Embedding as one op: rows of a table by indices of any shape; and its derivative, rows added to those of a table.
#include <algorithm>
#include <cstring>

#include "ops/index_plan.h"
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

}  // namespace
}  // namespace weft
