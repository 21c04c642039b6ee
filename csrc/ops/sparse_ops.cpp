// What ops do when one of their inputs is sparse: one row per op, at the end. An op that has none refuses.
#include <unordered_map>
#include <vector>

#include "ops/api.h"
#include "ops/pointwise.h"
#include "ops/recording.h"
#include "ops/sparse.h"

namespace weft {
namespace {

const OpRef cat{"cat"}, index_op{"index"}, index_put{"index_put"}, sparse_make{"sparse_make"},
    sparse_take{"sparse_take"}, sparse_clone{"sparse_clone"};

// Lets a sparse tensor have the entries of another. Memory that others may look at stays as it is.
void become(const Tensor& self, Tensor result, const char* op) {
  if (!result.sparse()) refuse_sparse(op, "the first argument, changed in place,");
  if (!(result.sizes() == self.sizes()))
    fail(op, ": output with shape ", self.sizes(), " doesn't match the result's shape ", result.sizes());
  if (!can_cast(result.dtype(), self.dtype()))
    fail(op, ": result type ", name_of(result.dtype()), " can't be cast to the desired output type ",
         name_of(self.dtype()));
  result = in_layout(to_dtype(result, self.dtype()), self->layout);
  Entries &to = entries_of(self), &from = entries_of(result);
  to.indices = from.indices;
  to.values = from.values;
  to.coalesced = from.coalesced;
  if (self->untracked)
    ++self->storage->changes;
  else
    self->storage->touch();
  if (t_modes.grad) self->set_history(result->grad_fn, result->slot);
}

void finish(Call& c, Tensor result) {
  if (!c.inplace) return c.give(0, std::move(result));
  Tensor self = c.tensor(0);
  if (self.sparse())
    become(self, std::move(result), c.name());
  else if (result.sparse())
    refuse_sparse(c.name(), "the result, for a first argument changed in place,");
  else if (!result.is(self))
    copy_.into(self, result);
  c.give(0, self);
}

Tensor nothing_like(const Tensor& t, DType dtype) {
  int k = sparse_dims(t);
  Dims sizes{0};
  for (int d = k; d < t.dim(); ++d) sizes.push(t.size(d));
  return sparse_of(t.sizes(), empty({k, 0}, DType::Int64), empty(sizes, dtype), true);
}

void check_same_size(Call& c, const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes()))
    fail(c.name(), ": expected sparse and other operands of the same size, got ", a.sizes(), " and ", b.sizes());
}

// What a dense tensor has at the places of the entries.
Tensor at_entries(const Tensor& dense, const Parts& p) {
  return p.indices.size(0) ? index_op(dense, rows_of(p.indices)) : unsqueeze(dense, 0);
}

// ---- sums

DType common_of(const Tensor& a, const Tensor& b) {
  Value x(a), y(b);
  return common_dtype(Operands{2, {&x, &y}});
}

Tensor add_sparse(Call& c, const Tensor& a, const Tensor& b) {
  if (sparse_dims(a) != sparse_dims(b))
    fail(c.name(), ": expected the same number of sparse dimensions, got ", sparse_dims(a), " and ", sparse_dims(b));
  DType common = common_of(a, b);
  Parts p(a), q(b);
  Tensor sum = sparse_make(cat(TensorList{p.indices, q.indices}, 1),
                           cat(TensorList{to_dtype(p.values, common), to_dtype(q.values, common)}, 0), a.sizes(),
                           false);
  return p.coalesced && q.coalesced ? coalesced(sum) : sum;
}

Tensor add_to_dense(Call& c, const Tensor& a, const Tensor& b) {
  DType common = common_of(a, b);
  if (c.inplace && !can_cast(common, a.dtype()))
    fail(c.name(), ": result type ", name_of(common), " can't be cast to the desired output type ", name_of(a.dtype()));
  if (c.inplace) common = a.dtype();
  Parts q(b);
  Tensor values = to_dtype(q.values, common), x = to_dtype(a, common);
  if (q.indices.size(0) == 0) {
    Tensor all = sum_dim(values, Dims{0}, false, common);
    return c.inplace ? add.into(x, all) : add(x, all);
  }
  if (common == DType::Bool) return logical_or(x, dense_of(b));
  return c.inplace ? index_put.into(x, rows_of(q.indices), values, true)
                   : index_put(x, rows_of(q.indices), values, true);
}

void sum_of(Call& c, const Value& factor) {
  if (!c.arg(0).is_tensor() || !c.arg(1).is_tensor())
    fail_missing(c.name(), ": not implemented for a number and a tensor of a sparse layout: use to_dense() first");
  Tensor a = c.tensor(0), b = c.tensor(1);
  bool one = factor.tag() == Tag::Int && factor.integer() == 1;
  if (is_integral(a.dtype()) && is_integral(b.dtype()) && factor.tag() != Tag::Int && factor.tag() != Tag::Bool)
    fail(c.name(), ": For integral input tensors, argument alpha must not be a floating point number.");
  if (c.op.base == "sub" && (a.dtype() == DType::Bool || b.dtype() == DType::Bool))
    fail("sub: not supported for bool tensors: use ^ or logical_not() instead");
  check_same_size(c, a, b);
  bool truth = a.dtype() == DType::Bool && b.dtype() == DType::Bool;
  if (!one) b = truth ? mul(b, factor.flag()) : mul(b, factor);
  if (a.sparse() && b.sparse()) return finish(c, add_sparse(c, a, b));
  if (b.sparse()) return finish(c, add_to_dense(c, a, b));
  if (c.inplace) refuse_sparse(c.name(), "the first argument, with a dense second one,");
  finish(c, add(b, a));
}

Value opposite(const Value& v) {
  if (v.tag() == Tag::Int || v.tag() == Tag::Bool) return Value(-v.integer());
  return v.tag() == Tag::Complex ? Value(-v.complex()) : Value(-v.real());
}

// ---- products

bool is_single(const Value& v) { return !v.is_tensor() || (v.tensor().dim() == 0 && !v.tensor().sparse()); }

Tensor mul_sparse(const Tensor& a, const Tensor& b) {
  Parts p(a, true);
  Tensor joined = coalesced(b);
  Tensor found;  // 1 where b has an entry
  {
    GradMode off(false);
    Parts q(joined);
    Tensor ones = full({q.indices.size(1)}, Value(1), DType::Int8);
    Dims places = Dims(a.sizes());
    while (places.size() > p.indices.size(0)) places.erase(places.size() - 1);
    static const OpRef nonzero{"nonzero.columns"};
    found = rows_of(nonzero(sparse_take(sparse_of(places, q.indices, ones, true), p.indices)))[0];
  }
  Tensor indices = index_select(p.indices, 1, found);
  Tensor values = mul(index_select(p.values, 0, found), sparse_take(joined, indices));
  return sparse_make(indices, values, a.sizes(), true);
}

void product_of(Call& c) {
  bool swapped = !c.arg(0).is_tensor() || !c.tensor(0).sparse();
  const Value &sparse = c.arg(swapped ? 1 : 0), &other = c.arg(swapped ? 0 : 1);
  const Tensor& x = sparse.tensor();
  if (is_single(other)) {
    Parts p(x);
    return finish(c, p.with(mul(p.values, other)));
  }
  check_same_size(c, x, other.tensor());
  if (other.tensor().sparse()) {
    if (sparse_dims(x) != sparse_dims(other.tensor()))
      fail(c.name(), ": expected the same number of sparse dimensions, got ", sparse_dims(x), " and ",
           sparse_dims(other.tensor()));
    return finish(c, mul_sparse(x, other.tensor()));
  }
  Parts p(x);
  finish(c, p.with(mul(p.values, at_entries(other.tensor(), p))));
}

void quotient_of(Call& c) {
  if (!c.arg(0).is_tensor() || !c.tensor(0).sparse() || !is_single(c.arg(1)))
    fail_missing(c.name(),
                 ": of a sparse layout only the first argument may be, and the second one must be a "
                 "number or a dense tensor without dimensions");
  Parts p(c.tensor(0));
  finish(c, p.with(div(p.values, c.arg(1))));
}

// [m, k] sparse @ [k, n] sparse: each entry of the first with every entry of the row that its column names.
Tensor sparse_product(const Tensor& a, const Tensor& b) {
  Parts p(a), q(b, true);
  int64_t n = p.indices.size(1), m = q.indices.size(1), count = 0;
  const int64_t *row = p.indices.data<int64_t>(), *column = row + n, *other = q.indices.data<int64_t>();
  std::vector<int64_t> starts(size_t(b.size(0)) + 1);
  for (int64_t i = 0; i < m; ++i) ++starts[size_t(other[i]) + 1];
  for (size_t k = 1; k < starts.size(); ++k) starts[k] += starts[k - 1];
  auto length = [&](int64_t i) { return starts[size_t(column[i]) + 1] - starts[size_t(column[i])]; };
  for (int64_t i = 0; i < n; ++i) count += length(i);
  Tensor left = empty({count}, DType::Int64), right = empty({count}, DType::Int64);
  Tensor indices = empty({2, count}, DType::Int64);
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < length(i); ++k, ++at) {
      int64_t j = starts[size_t(column[i])] + k;
      left.data<int64_t>()[at] = i;
      right.data<int64_t>()[at] = j;
      indices.data<int64_t>()[at] = row[i];
      indices.data<int64_t>()[count + at] = other[m + j];
    }
  Tensor values = index_select(p.values, 0, left) * index_select(q.values, 0, right);
  return coalesced(sparse_make(indices, values, Dims{a.size(0), b.size(1)}, false));
}

// [m, k] sparse @ [k, n] dense.
Tensor matrix_product(Call& c, const Tensor& a, const Tensor& b) {
  if (b.dim() == 1 && a.dim() == 2) return select(matrix_product(c, a, unsqueeze(b, 1)), 1, 0);
  if (a.dim() != 2 || b.dim() != 2)
    fail_missing(c.name(), ": with an argument of a sparse layout both must be matrices, got ", a.sizes(), " and ",
                 b.sizes());
  if (a.size(1) != b.size(0))
    fail(c.name(), ": mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1), " and ", b.size(0), "x",
         b.size(1), ")");
  if (a.dtype() != b.dtype())
    fail(c.name(), ": expected both matrices to have the same dtype, got ", name_of(a.dtype()), " and ",
         name_of(b.dtype()));
  if (a.sparse() && b.sparse()) {
    if (sparse_dims(a) != 2 || sparse_dims(b) != 2) refuse_sparse(c.name(), "hybrid arguments");
    return sparse_product(a, b);
  }
  if (b.sparse()) return transpose(matrix_product(c, transpose(b, 0, 1), transpose(a, 0, 1)), 0, 1);
  if (sparse_dims(a) != 2)
    fail_missing(c.name(), ": a sparse matrix must have two sparse dimensions, got ", sparse_dims(a), " and ",
                 2 - sparse_dims(a), " dense ones");
  Parts p(a);
  TensorList at = rows_of(p.indices);
  Tensor terms = unsqueeze(p.values, 1) * index_select(b, 0, at[1]);
  return index_add(zeros({a.size(0), b.size(1)}, terms.dtype()), 0, at[0], terms);
}

void scaled_product(Call& c) {
  if (c.tensor(0).sparse()) refuse_sparse(c.name(), "the first argument");
  const Tensor& x = c.tensor(0);
  Tensor product = matrix_product(c, c.tensor(1), c.tensor(2));
  if (x.dtype() != product.dtype())
    fail(c.name(), ": expected all arguments to have the same dtype, got ", name_of(x.dtype()), " and ",
         name_of(product.dtype()));
  if (!(broadcast(x.sizes(), product.sizes(), c.name()) == product.sizes()))
    fail(c.name(), ": an input of shape ", x.sizes(), " does not fit the product's shape ", product.sizes());
  auto times = [](const Tensor& t, const Value& f) { return f.tag() == Tag::Int && f.integer() == 1 ? t : mul(t, f); };
  Tensor scaled = times(product, c.arg(4));
  bool ignored = c.arg(3).is_number() && c.arg(3).complex() == 0.0;  // even if x is not finite
  finish(c, to_dtype(ignored ? scaled : times(x, c.arg(3)) + scaled, product.dtype()));
}

// ---- one tensor

// The op on the values, which must keep zero zero. `join`: it is not linear, so equal indices are joined first.
void on_values(Call& c, bool join) {
  Parts p(c.tensor(0), join);
  Call inner(c.op);
  inner.push(Value(p.values));
  for (int i = 1; i < c.count; ++i) inner.push(c.arg(i));
  run_call(inner);
  finish(c, p.with(inner.out[0]));
}

void power_of(Call& c) {
  bool fits = c.arg(0).is_tensor() && c.arg(1).is_number() && c.arg(1).tag() != Tag::Complex && c.real(1) > 0;
  if (!fits) fail_missing(c.name(), ": of a tensor of a sparse layout the exponent must be a positive number");
  on_values(c, true);
}

Tensor permuted(const Tensor& x, const Dims& dims, const char* op) {
  int k = sparse_dims(x);
  Parts p(x);
  Tensor order = empty({k}, DType::Int64);
  Dims sizes, dense{0};
  bool moved = false;
  for (int d = 0; d < x.dim(); ++d) {
    int from = wrap_dim(dims[d], x.dim(), op);
    if ((from < k) != (d < k))
      fail(op, ": sparse and dense dimensions cannot change places: ", k, " are sparse, of ", dims);
    sizes.push(x.size(from));
    moved = moved || (d < k && from != d);
    if (d < k)
      order.data<int64_t>()[d] = from;
    else
      dense.push(from - k + 1);
  }
  return sparse_make(index_select(p.indices, 0, order), permute(p.values, dense), sizes, p.coalesced && !moved);
}

void transposed(Call& c) {
  const Tensor& x = c.tensor(0);
  Dims dims;
  for (int d = 0; d < x.dim(); ++d) dims.push(d);
  if (c.op.base == "t") {
    if (x.dim() > 2) fail("t() expects a tensor with <= 2 dimensions, but self is ", x.dim(), "D");
    if (x.dim() == 2) std::swap(dims[0], dims[1]);
  } else if (x.dim()) {
    std::swap(dims[wrap_dim(c.integer(1), x.dim(), c.name())], dims[wrap_dim(c.integer(2), x.dim(), c.name())]);
  }
  c.give(0, permuted(x, dims, c.name()));
}

void permute_all(Call& c) {
  Dims dims = c.ints(1);
  uint64_t seen = 0;
  for (int64_t d : dims) seen |= uint64_t(1) << wrap_dim(d, c.tensor(0).dim(), "permute");
  if (dims.size() != c.tensor(0).dim() || __builtin_popcountll(seen) != dims.size())
    fail("permute: ", dims, " does not name each of ", c.tensor(0).dim(), " dimensions once");
  c.give(0, permuted(c.tensor(0), dims, "permute"));
}

// Sums over sparse dimensions join entries; what is left of a tensor without sparse dimensions is dense.
void sum_along(Call& c) {
  const Tensor& x = c.tensor(0);
  if (c.flag(2)) refuse_sparse("sum(keepdim=True)");
  uint64_t summed = 0;
  if (c.has(1))
    for (int64_t d : c.ints(1)) {
      uint64_t bit = uint64_t(1) << wrap_dim(d, x.dim(), "sum");
      if (summed & bit) fail("sum: dim ", d, " appears multiple times in ", c.ints(1));
      summed |= bit;
    }
  if (!summed) summed = ~uint64_t(0);
  int k = sparse_dims(x);
  Parts p(x, true);
  Dims dense, kept, sizes;
  for (int d = 0; d < x.dim(); ++d) {
    bool gone = summed >> d & 1;
    if (!gone) sizes.push(x.size(d));
    if (!gone && d < k) kept.push(d);
    if (gone && d >= k) dense.push(d - k + 1);
  }
  if (kept.empty()) dense.push(0);
  Tensor values = dense.empty() ? p.values : sum_dim(p.values, dense, false, c.arg(3));
  if (c.has(3)) values = to_dtype(values, c.arg(3).dtype());
  if (kept.empty()) return c.give(0, values);
  if (kept.size() == k) return c.give(0, sparse_make(p.indices, values, sizes, p.coalesced));
  if (!is_inexact(values.dtype())) values = to_dtype(values, c.dtype_or(3, DType::Int64));
  Tensor rows = empty({kept.size()}, DType::Int64);
  for (int i = 0; i < kept.size(); ++i) rows.data<int64_t>()[i] = kept[i];
  c.give(0, coalesced(sparse_make(index_select(p.indices, 0, rows), values, sizes, false)));
}

void norm_of(Call& c) {
  if (c.has(2) || c.flag(3)) refuse_sparse(c.name(), "dim= or keepdim= and an argument");
  if (c.arg(1).is_number() && c.real(1) < 0) refuse_sparse(c.name(), "a negative ord and an argument");
  Parts p(c.tensor(0), true);
  c.give(0, OpRef("linalg_vector_norm")(p.values, c.arg(1), Value(), false, c.arg(4)));
}

void copy_into(Call& c) {
  if (!c.tensor(0).sparse() || !c.arg(1).is_tensor() || !c.tensor(1).sparse())
    fail_missing("copy_: not implemented between a tensor of a sparse layout and a dense one or a number");
  finish(c, sparse_clone(c.tensor(1)));
}

void cast_to(Call& c) {
  DType to = c.arg(1).dtype();
  Parts p(c.tensor(0), !is_inexact(to));  // which rounds
  c.give(0, p.with(to_dtype(p.values, to)));
}

using Run = void (*)(Call&);

const std::pair<const char*, Run> kRows[] = {
  {"add", [](Call& c) { sum_of(c, Value(1)); }},
  {"add.alpha", [](Call& c) { sum_of(c, c.arg(2)); }},
  {"sub", [](Call& c) { sum_of(c, Value(-1)); }},
  {"sub.alpha", [](Call& c) { sum_of(c, opposite(c.arg(2))); }},
  {"mul", product_of},
  {"div", quotient_of},
  {"pow", power_of},
  {"neg", [](Call& c) { on_values(c, false); }},
  {"mm", [](Call& c) { c.give(0, matrix_product(c, c.tensor(0), c.tensor(1))); }},
  {"mv", [](Call& c) { c.give(0, matrix_product(c, c.tensor(0), c.tensor(1))); }},
  {"matmul", [](Call& c) { c.give(0, matrix_product(c, c.tensor(0), c.tensor(1))); }},
  {"addmm", scaled_product},
  {"sum", [](Call& c) { c.give(0, sum_all(Parts(c.tensor(0)).values, c.arg(1))); }},
  {"sum.dim", sum_along},
  {"linalg_vector_norm", norm_of},
  {"cast", cast_to},
  {"clone", [](Call& c) { c.give(0, sparse_clone(c.tensor(0))); }},
  {"detach", [](Call& c) { c.give(0, alias(c.tensor(0))); }},
  {"copy_", copy_into},
  {"zero_", [](Call& c) { finish(c, nothing_like(c.tensor(0), c.tensor(0).dtype())); }},
  {"zeros_like", [](Call& c) { c.give(0, nothing_like(c.tensor(0), c.dtype_or(1, c.tensor(0).dtype()))); }},
  {"t", transposed},
  {"transpose", transposed},
  {"permute", permute_all},
};

// Zero stays zero: they work on the values.
const char* const kKeepZero[] = {"abs",  "sgn",   "sign",  "square", "sqrt",  "sin",     "tan",    "asin",  "atan",
                                 "sinh", "tanh",  "asinh", "atanh",  "expm1", "erf",     "log1p",  "floor", "trunc",
                                 "ceil", "round", "relu",  "isnan",  "isinf", "deg2rad", "rad2deg"};

Run row_of(const Op& op) {
  static const std::unordered_map<const Op*, Run> rows = [] {
    std::unordered_map<const Op*, Run> made;
    for (auto& [name, run] : kRows) made[&OpRef(name).op()] = run;
    for (const char* name : kKeepZero) made[&OpRef(name).op()] = [](Call& c) { on_values(c, true); };
    return made;
  }();
  auto at = rows.find(&op);
  return at == rows.end() ? nullptr : at->second;
}

// That of the first sparse input; a matrix turned on its side changes rows for columns.
Layout layout_of_result(Call& c, const Tensor& out) {
  Layout layout = Layout::SparseCoo;
  for (int i = c.count - 1; i >= 0; --i)
    if (c.arg(i).is_tensor() && c.tensor(i).sparse()) layout = c.tensor(i)->layout;
  if (layout == Layout::SparseCoo || out.dim() < 2 || sparse_dims(out) != 2) return Layout::SparseCoo;
  bool turned = c.op.base == "t" || c.op.base == "transpose" || c.op.base == "permute";
  if (!turned) return layout;
  return layout == Layout::SparseCsr ? Layout::SparseCsc : Layout::SparseCsr;
}

}  // namespace

void run_sparse(Call& c) {
  Run run = row_of(c.op);
  if (!run) refuse_sparse(c.name());
  if (c.given_out) refuse_sparse(c.name(), "out= and an argument");
  if (c.inplace) check_inplace(c.tensor(0), c.name());
  if (t_recorder) t_recorder->lost((c.op.base + " of a sparse tensor").c_str());
  run(c);
  if (c.inplace) return;
  Tensor& out = c.out[0];
  bool detached = c.op.base == "detach";
  if (out.sparse() && !detached) out = in_layout(out, layout_of_result(c, out));
  out->inference = detached ? c.tensor(0)->inference : t_modes.inference;
  if (detached && c.tensor(0).wants_grad()) {
    out->cut = Ref<Cut>(new Cut);
    out->cut->what = "detach()";
    out->cut->origin = Origin::here();
  }
}

}  // namespace weft
