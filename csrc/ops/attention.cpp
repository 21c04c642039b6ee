// Attention without its matrix of scores in memory. weft.nn.functional names it.
#include "loops/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef attend_back{"attend_backward"}, softmax{"softmax"}, amax{"amax"}, sum_dim{"sum.dim"};

// Where the matrices of a tensor (…, rows, columns) begin, one for each of the `batch` sizes.
class Matrices {
 public:
  Matrices(const Tensor& t, const Dims& batch) : dims_(batch.size()), step_(t.size(-2) == 1 ? 0 : t.stride(-2)) {
    int64_t n = 1;
    for (int64_t b : batch) n *= b;
    at_.reserve(size_t(n));
    for (int64_t k = 0; k < n; ++k) {
      Size rest = k, offset = 0;
      for (int d = dims_ - 1; d >= 0; --d) {
        int own = d - (dims_ - (t.dim() - 2));  // a mask may have fewer dimensions, or ones
        if (own >= 0 && t.size(own) != 1) offset += rest % batch[d] * t.stride(own);
        rest /= batch[d];
      }
      at_.push_back(t.data() + offset * item_size(t.dtype()));
    }
  }
  Heads mask() const { return {at_.data(), step_}; }
  Heads heads(int64_t columns) const { return {at_.data(), std::max(step_, columns)}; }  // one row: any step will do

 private:
  int dims_;
  int64_t step_;
  std::vector<char*> at_;
};

Dims batch_of(const Tensor& q) {
  Dims batch;
  for (int i = 0; i + 2 < q.dim(); ++i) batch.push(q.size(i));
  return batch;
}

Dims rows_of(const Tensor& q) {
  Dims rows = batch_of(q);
  rows.push(q.size(-2));
  return rows;
}

// Sizes of `like` with the given last two; in memory, heads lie side by side in each row if they do in `like`.
Tensor result_like(const Tensor& like, int64_t rows, int64_t columns) {
  Dims sizes = like.sizes();
  sizes[like.dim() - 2] = rows, sizes[like.dim() - 1] = columns;
  bool beside = like.dim() == 4 && like.size(1) > 1 && like.size(2) > 1 && like.stride(1) < like.stride(2);
  if (!beside) return meta(like.dtype(), sizes);
  return meta_strided(like.dtype(), sizes, Dims{sizes[1] * rows * columns, columns, sizes[1] * columns, 1});
}

// The arguments that both ops have: query, key, value, mask at `at`, causal and scale at `numbers`.
struct AttentionOperands {
  Matrices q, k, v;
  std::vector<Matrices> mask;
  Attention a;
  AttentionOperands(Call& c, int at, int numbers)
      : q(c.tensor(at), batch_of(c.tensor(at))),
        k(c.tensor(at + 1), batch_of(c.tensor(at))),
        v(c.tensor(at + 2), batch_of(c.tensor(at))) {
    const Tensor &query = c.tensor(at), &key = c.tensor(at + 1), &value = c.tensor(at + 2);
    a.queries = query.size(-2), a.keys = key.size(-2), a.size = query.size(-1), a.value_size = value.size(-1);
    a.heads = query.numel() ? query.numel() / (a.queries * a.size) : 0;
    a.causal = c.flag(numbers), a.scale = c.real(numbers + 1);
    a.query = q.heads(a.size), a.key = k.heads(a.size), a.value = v.heads(a.value_size);
    if (!c.has(at + 3)) return;
    mask.emplace_back(c.tensor(at + 3), batch_of(query));
    a.mask = mask[0].mask();
    a.mask_column = c.tensor(at + 3).size(-1) == 1 ? 0 : c.tensor(at + 3).stride(-1);
  }
};

// Rows that are contiguous and do not overlap.
bool has_rows(const Tensor& t) {
  return (t.stride(-1) == 1 || t.size(-1) == 1) && (t.stride(-2) >= t.size(-1) || t.size(-2) == 1);
}

// Query, key, value and mask, which begin at `at`.
void check(Call& c, int at) {
  const Tensor &q = c.tensor(at), &k = c.tensor(at + 1), &v = c.tensor(at + 2);
  bool fits = q.dim() >= 3 && k.dim() == q.dim() && v.dim() == q.dim() && batch_of(q) == batch_of(k) &&
              batch_of(q) == batch_of(v) && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  bool types = (q.dtype() == DType::Float || q.dtype() == DType::Double) && k.dtype() == q.dtype() &&
               v.dtype() == q.dtype();
  if (!fits || !types || !has_rows(q) || !has_rows(k) || !has_rows(v))
    fail(c.name(), ": query ", q.sizes(), ", key ", k.sizes(), " and value ", v.sizes(),
         " must have the same batch, dtype float32 or float64, and contiguous rows");
  if (!c.has(at + 3)) return;
  expect_dtype(c, at + 3, q.dtype());
  expect_dim(c, at + 3, 2, q.dim());
  const Dims scores = result_like(q, q.size(-2), k.size(-2)).sizes(), &mask = c.tensor(at + 3).sizes();
  for (int i = 1; i <= mask.size(); ++i)
    if (int64_t n = mask[mask.size() - i]; n != 1 && n != scores[scores.size() - i])
      refuse(c, at + 3, "broadcast to the scores, ", scores);
}

// The derivative made of other ops, for derivatives of higher order.
void back_by_parts(Grad& d) {
  Tensor q = d.x(0), k = d.x(1), v = d.x(2), g = d.g();
  double scale = d.arg(5).real();
  Tensor scores = matmul(q, transpose(k, -2, -1)) * scale;
  if (!d.arg(3).none()) scores = scores + d.x(3);
  if (d.arg(4).flag()) {
    Tensor later = ne(triu(zeros(Dims{q.size(-2), k.size(-2)}, q.dtype()) + 1.0, 1), 0.0);
    scores = masked_fill(scores, later, -INFINITY);
  }
  Tensor blind = eq(amax(detach(scores), Dims{-1}, true), -INFINITY);  // queries that see nothing
  Tensor weights = masked_fill(softmax(masked_fill(scores, blind, 0.0), -1), blind, 0.0);
  Tensor dp = matmul(g, transpose(v, -2, -1));
  Tensor ds = weights * (dp - sum_dim(weights * dp, Dims{-1}, true)) * scale;
  if (d.needs(0)) d.give(0, matmul(ds, k));
  if (d.needs(1)) d.give(1, matmul(transpose(ds, -2, -1), q));
  if (d.needs(2)) d.give(2, matmul(transpose(weights, -2, -1), g));
}

WEFT_OP{
  .signature =
      "attend(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale) -> (Tensor result, "
      "Tensor log_sums)",
  .doc = "softmax(query key^T scale + mask) value, and the logarithms of the sums that the softmax divides by.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        check(c, 0);
        const Tensor &q = c.tensor(0), &v = c.tensor(2);
        c.give(0, result_like(q, q.size(-2), v.size(-1)));
        c.give(1, meta(q.dtype(), rows_of(q)));
      },
  .run =
      [](Call& c) {
        AttentionOperands o(c, 0, 4);
        if (c.out[0].numel() == 0 || o.a.keys == 0 || o.a.size == 0) {  // nothing to look at, or to give
          fill_data(c.out[0], Value(0.0));
          return fill_data(c.out[1], Value(0.0));
        }
        Matrices result(c.out[0], batch_of(c.out[0]));
        attention_kernels().forward(c.out[0].dtype(), o.a, result.heads(o.a.value_size), c.out[1].data());
      },
  .keeps = keep::x0 | keep::x1 | keep::x2 | keep::x3 | keep::y0 | keep::y1,
  .back =
      [](Grad& d) {
        if (d.create_graph) return back_by_parts(d);
        TensorList parts = attend_back.list(d.g(), d.x(0), d.x(1), d.x(2), d.arg(3).none() ? Value() : Value(d.x(3)),
                                            d.y(0), d.y(1), d.arg(4), d.arg(5));
        for (int i = 0; i < 3; ++i) d.give(i, parts[size_t(i)]);
      },
};

WEFT_OP{
  .signature =
      "attend_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor result, Tensor "
      "log_sums, bool causal, float scale) -> (Tensor query_grad, Tensor key_grad, Tensor value_grad)",
  .doc = "The derivative of attend.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        check(c, 1);
        const Tensor& q = c.tensor(1);
        Dims result = rows_of(q);
        expect_plain(c, 6, q.dtype(), result);
        result.push(c.tensor(3).size(-1));
        for (int i : {0, 5}) expect_shape(c, i, result), expect_dtype(c, i, q.dtype());
        if (!has_rows(c.tensor(5))) refuse(c, 5, "have contiguous rows");
        for (int i = 0; i < 3; ++i) {
          const Tensor& t = c.tensor(i + 1);
          c.give(i, result_like(t, t.size(-2), t.size(-1)));
        }
      },
  .run =
      [](Call& c) {
        AttentionOperands o(c, 1, 7);
        Tensor grad = c.tensor(0);
        if (c.tensor(5).numel() == 0 || o.a.keys == 0 || o.a.size == 0) {
          for (int i = 0; i < 3; ++i)
            if (c.out[i].numel()) fill_data(c.out[i], Value(0.0));
          return;
        }
        Dims batch = batch_of(grad);
        int64_t n = o.a.value_size;
        Matrices result(c.tensor(5), batch), dq(c.out[0], batch), dk(c.out[1], batch), dv(c.out[2], batch);
        auto back = [&](const Heads& g) {
          attention_kernels().backward(grad.dtype(), o.a, result.heads(n), c.tensor(6).data(), g, dq.heads(o.a.size),
                                       dk.heads(o.a.size), dv.heads(n));
        };
        if (has_rows(grad)) {
          Matrices g(grad, batch);
          return back(g.heads(n));
        }
        LaidOut copy(grad, grad.dtype());
        std::vector<char*> at;
        int64_t each = o.a.queries * n * item_size(grad.dtype());
        for (int64_t i = 0; i < o.a.heads; ++i) at.push_back(const_cast<char*>(copy.data()) + i * each);
        back(Heads{at.data(), n});
      },
  .no_derivative = "derivatives of higher order are made of other ops: see attend",
};

}  // namespace
}  // namespace weft
