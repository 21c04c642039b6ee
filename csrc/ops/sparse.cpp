// Sparse tensors: made of entries, read, joined, and turned into dense ones.
//
// `sparse_make`, `sparse_values`, `sparse_take` and `sparse_join` are what the tape knows of sparse tensors. The first
// two are each other's derivative, and so are the first and the third. All other ops on sparse tensors are made of
// these and of dense ops on indices and values.
#include "ops/sparse.h"

#include <algorithm>
#include <cstring>

#include "ops/api.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef sparse_make{"sparse_make"}, sparse_values{"sparse_values"}, sparse_take{"sparse_take"},
    sparse_join{"sparse_join"}, index_op{"index"}, index_put{"index_put"}, nonzero_columns{"nonzero.columns"},
    any_dim{"any.dim"}, sparse_as{"sparse_as"};

// What is done inside is no part of the program.
struct Aside {
  GradMode off{false};
  Recorder* tracing = std::exchange(t_recorder, nullptr);
  ~Aside() { t_recorder = tracing; }
};

Tensor in_order(const Tensor& t) {
  if (t.contiguous()) return t;
  Tensor out = empty(t.sizes(), t.dtype());
  copy_data(out, t);
  return out;
}

Dims entry_sizes(int64_t count, const Dims& sizes, int sparse) {
  Dims out{count};
  for (int d = sparse; d < sizes.size(); ++d) out.push(sizes[d]);
  return out;
}

int64_t bytes_of_entry(const Tensor& values) {
  int64_t n = item_size(values.dtype());
  for (int d = 1; d < values.dim(); ++d) n *= values.size(d);
  return n;
}

bool strictly_rising(const int64_t* at, int64_t n) {
  for (int64_t i = 1; i < n; ++i)
    if (at[i] <= at[i - 1]) return false;
  return true;
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return a->storage.get() == b->storage.get() && a->offset == b->offset && a.sizes() == b.sizes();
}

// Each row of a dense tensor that indices name, by the kernel of index_select.
void take_dense(const Tensor& out, const Tensor& x, const Tensor& indices) {
  static const OpRef index_select_op{"index_select"};
  int k = int(indices.size(0));
  Tensor whole = in_order(x);
  int64_t places = 1;
  for (int d = 0; d < k; ++d) places *= x.size(d);
  Dims sizes = entry_sizes(places, x.sizes(), k);
  Call inner(index_select_op.op());
  inner.push(Value(view_of(whole, sizes, contiguous_strides(sizes), whole->offset)));
  inner.push(Value(0));
  inner.push(Value(places_of(indices, x.sizes())));
  inner.give(0, out);
  inner.op.form.run(inner);
}

void take_sparse(const Tensor& out, const Tensor& x, const Tensor& indices) {
  Tensor joined = coalesced_data(x);
  const Entries e = entries_of(joined);
  if (same_memory(e.indices, indices)) return copy_data(out, e.values);
  Tensor keys = places_of(e.indices, x.sizes()), wanted = places_of(indices, x.sizes()), values = in_order(e.values);
  const int64_t *first = keys.data<int64_t>(), *last = first + keys.numel();
  int64_t bytes = bytes_of_entry(values);
  for (int64_t i = 0; i < wanted.numel(); ++i) {
    const int64_t* at = std::lower_bound(first, last, wanted.data<int64_t>()[i]);
    if (at != last && *at == wanted.data<int64_t>()[i])
      std::memcpy(out.data() + i * bytes, values.data() + (at - first) * bytes, size_t(bytes));
    else
      std::memset(out.data() + i * bytes, 0, size_t(bytes));
  }
}

void check_entries(const Tensor& indices, const Tensor& values, const Dims& sizes) {
  const char* op = "sparse_coo_tensor";
  if (indices.sparse() || values.sparse()) refuse_sparse(op);
  if (is_inexact(indices.dtype()) || indices.dtype() == DType::Bool)
    fail(op, ": indices must be integers, got ", name_of(indices.dtype()));
  if (indices.dim() != 2) fail(op, ": indices must be a matrix [sparse_dim, nnz], got shape ", indices.sizes());
  if (values.dim() == 0) fail(op, ": values must have at least one dimension, of length nnz");
  int sparse = int(indices.size(0)), dense = values.dim() - 1;
  if (sizes.size() != sparse + dense)
    fail(op, ": 'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", sizes.size(),
         ", sparse_dim = ", sparse, ", dense_dim = ", dense);
  if (indices.size(1) != values.size(0))
    fail(op, ": indices and values must have same nnz, but got nnz from indices: ", indices.size(1),
         ", nnz from values: ", values.size(0));
  for (int64_t n : sizes)
    if (n < 0) fail(op, ": negative size in ", sizes);
  Dims expected = entry_sizes(values.size(0), sizes, sparse);
  if (!(values.sizes() == expected))
    fail(op, ": values has incorrect size, expected ", expected, ", got ", values.sizes());
}

void check_range(const Tensor& indices, const Dims& sizes, ErrorKind kind, const char* op) {
  int64_t n = indices.size(1);
  const int64_t* at = indices.data<int64_t>();
  for (int d = 0; d < int(indices.size(0)); ++d)
    for (int64_t i = 0; i < n; ++i)
      if (int64_t v = at[d * n + i]; v < 0 || v >= sizes[d])
        fail(kind, op, ": index ", v, " of entry ", i, " is out of range for dimension ", d, " with size ", sizes[d]);
}

WEFT_OP{
  .signature = "sparse_make(Tensor indices, Tensor values, int[] size, bool coalesced) -> Tensor",
  .doc = "The sparse tensor that has these values at these indices.",
  .traits = kHidden | kNoOut | kDynamic,
  .infer =
      [](Call& c) {
        expect_dtype(c, 0, DType::Int64);
        check_entries(c.tensor(0), c.tensor(1), c.ints(2));
        Tensor indices = in_order(c.tensor(0));
        check_range(indices, c.ints(2), ErrorKind::Runtime, c.name());
        c.give(0, sparse_of(c.ints(2), indices, c.tensor(1), c.flag(3)));
      },
  .keeps = keep::x0,
  .back = [](Grad& d) { d.give(1, sparse_take(d.g(), d.x(0))); },
};

WEFT_OP{
  .signature = "sparse_values(Tensor input, Tensor indices, int layout) -> Tensor",
  .doc = "The values of a coalesced tensor, whose indices are given again for backward.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .infer =
      [](Call& c) {
        const Tensor& values = entries_of(c.tensor(0)).values;
        expect_range(c, 2, int64_t(Layout::SparseCoo), int64_t(Layout::SparseCsc));
        expect_plain(c, 1, DType::Int64, entries_of(c.tensor(0)).indices.sizes());
        bool recorded = t_modes.grad && c.tensor(0).wants_grad();  // then they are not changed behind its back
        c.give(0, recorded ? clone_data(values) : alias(values));
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        Tensor g = sparse_make(d.x(1), d.g(), d.shape(0), true);
        d.give(0, in_layout(g, Layout(d.arg(2).integer())));
      },
};

WEFT_OP{
  .signature = "sparse_take(Tensor input, Tensor indices) -> Tensor",
  .doc = "What input, dense or sparse, has at indices of shape [dimensions, count]. Its gradient is sparse.",
  .traits = kHidden | kNoOut | kTakesSparse | kKeepsLock,
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &indices = c.tensor(1);
        if (indices.sparse()) refuse_sparse(c.name());
        expect_dim(c, 1, 2, 2), expect_dtype(c, 1, DType::Int64);
        int64_t most = x.sparse() ? entries_of(x).indices.size(0) : x.dim();
        if (x.sparse() ? indices.size(0) != most : indices.size(0) > most)
          refuse(c, 1, "have a row for each sparse dimension of ", x.sizes());
        check_range(in_order(indices), x.sizes(), ErrorKind::Index, c.name());
        c.give(0, meta(x.dtype(), entry_sizes(indices.size(1), x.sizes(), int(indices.size(0)))));
      },
  .run =
      [](Call& c) {
        Aside aside;
        const Tensor &x = c.tensor(0), indices = in_order(c.tensor(1));
        x.sparse() ? take_sparse(c.out[0], x, indices) : take_dense(c.out[0], x, indices);
      },
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, sparse_make(d.x(1), d.g(), d.shape(0), false)); },
};

WEFT_OP{
  .signature = "sparse_join(Tensor input) -> Tensor",
  .doc = "The same tensor with its indices in order, each there once.",
  .traits = kHidden | kNoOut | kTakesSparse | kDynamic,
  .infer = [](Call& c) { c.give(0, coalesced_data(c.tensor(0))); },
  .back = [](Grad& d) { d.give(0, d.g()); },
};

WEFT_OP{
  .signature = "sparse_clone(Tensor input) -> Tensor",
  .doc = "A copy of all entries.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .infer =
      [](Call& c) {
        const Entries& e = entries_of(c.tensor(0));
        Tensor copy = sparse_of(c.tensor(0).sizes(), clone_data(e.indices), clone_data(e.values), e.coalesced);
        copy->layout = c.tensor(0)->layout;
        c.give(0, copy);
      },
  .back = [](Grad& d) { d.give(0, d.g()); },
};

WEFT_OP{
  .signature = "sparse_as(Tensor input, int layout, int source) -> Tensor",
  .doc = "The same tensor in another sparse layout.",
  .traits = kHidden | kNoOut | kTakesSparse | kDynamic,
  .infer =
      [](Call& c) {
        for (int i : {1, 2}) expect_range(c, i, int64_t(Layout::SparseCoo), int64_t(Layout::SparseCsc));
        Size wanted = c.integer(1);
        auto layout = Layout(int64_t(wanted));
        if (layout != Layout::SparseCoo && entries_of(c.tensor(0)).indices.size(0) != 2)
          refuse(c, 0, "have two sparse dimensions");
        Tensor t = layout == Layout::SparseCoo ? alias(c.tensor(0)) : coalesced_data(c.tensor(0));
        entries_of(t);  // refuses a dense one
        t->layout = layout;
        c.give(0, t);
      },
  .back = [](Grad& d) { d.give(0, d.g().sparse() ? in_layout(d.g(), Layout(d.arg(2).integer())) : d.g()); },
};

// ---- what users call, by the methods in weft/sparse

WEFT_OP{
  .signature = "sparse_coo_tensor(Tensor indices, Tensor values, int[] size, bool coalesced) -> Tensor",
  .doc = "The same as sparse_make, after checks of everything.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .compose =
      [](Call& c) {
        const Dims& sizes = c.ints(2);
        check_entries(c.tensor(0), c.tensor(1), sizes);
        Tensor indices;
        {
          Aside aside;
          indices = in_order(to_dtype(alias(c.tensor(0)), DType::Int64));
          check_range(indices, sizes, ErrorKind::Runtime, c.name());
        }
        Tensor places = places_of(indices, sizes);
        if (c.flag(3) && !strictly_rising(places.data<int64_t>(), places.numel()))
          fail("sparse_coo_tensor: is_coalesced=True, but the indices are not in order or some are there twice");
        if (t_recorder) t_recorder->lost("sparse_coo_tensor()");
        c.give(0, sparse_make(indices, c.tensor(1), sizes, c.flag(3)));
      },
};

WEFT_OP{
  .signature = "to_dense(Tensor input) -> Tensor",
  .doc = "The dense tensor with the same elements; a dense one itself.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .compose = [](Call& c) { c.give(0, c.tensor(0).sparse() ? dense_of(c.tensor(0)) : c.tensor(0)); },
};

// Coordinates along the first `sparse` dimensions of what is not all zero.
Tensor coordinates_of(const Tensor& x, int sparse) {
  Aside aside;
  Tensor flags = alias(x);
  for (int d = x.dim(); d > sparse; --d) flags = any_dim(flags, d - 1, false);
  return nonzero_columns(flags);
}

WEFT_OP{
  .signature = "to_sparse(Tensor input, int sparse_dim) -> Tensor",
  .doc = "The sparse tensor with the same elements, zeros left out.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Size k = c.integer(1);
        if (k < 0 || k > x.dim())
          fail("to_sparse: sparse_dim must be between 0 and ", x.dim(), " for shape ", x.sizes(), ", got ", k);
        if (k == 0 && x.dim()) fail("to_sparse: sparse_dim must be greater than 0 for a tensor with dimensions");
        if (x.sparse() && sparse_dims(x) == k) return c.give(0, x);
        if (x.sparse()) refuse_sparse("to_sparse", "sparse_dim= of an argument");
        if (t_recorder) t_recorder->lost("to_sparse()");
        if (x.dim()) {
          Tensor indices = coordinates_of(x, int(k));
          return c.give(0, sparse_make(indices, index_op(x, rows_of(indices)), x.sizes(), true));
        }
        Tensor one = view(x, Dims{1});
        Tensor kept = coordinates_of(one, 1);
        c.give(0, sparse_make(empty({0, kept.size(1)}, DType::Int64), index_op(one, rows_of(kept)), Dims(), true));
      },
};

WEFT_OP{
  .signature = "coalesce(Tensor input) -> Tensor",
  .doc = "The same tensor with its indices in order, each there once; itself where they are.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .compose =
      [](Call& c) {
        if (!c.tensor(0).sparse()) fail("coalesce: expected a tensor of layout torch.sparse_coo, got torch.strided");
        c.give(0, coalesced(c.tensor(0)));
      },
};

WEFT_OP{
  .signature = "values(Tensor input) -> Tensor",
  .doc = "The values of a coalesced tensor; gradients flow.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        c.give(0, sparse_values(x, entries_of(x).indices, int64_t(x->layout)));
      },
};

WEFT_OP{
  .signature = "sparse_layout(Tensor input, str layout) -> Tensor",
  .doc = "The same tensor in the layout torch.sparse_coo, torch.sparse_csr or torch.sparse_csc.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        for (Layout layout : {Layout::SparseCoo, Layout::SparseCsr, Layout::SparseCsc})
          if (c.arg(1).text() == name_of(layout)) {
            if (layout != Layout::SparseCoo && (x.dim() < 2 || sparse_dims(x) != 2))
              fail_missing(name_of(layout), ": not implemented for tensors with other than two sparse dimensions, got ",
                           sparse_dims(x), " of ", x.sizes());
            if (t_recorder) t_recorder->lost("a change of sparse layout");
            return c.give(0, in_layout(x, layout));
          }
        fail("sparse_layout: no sparse layout ", c.arg(1).text());
      },
};

WEFT_OP{
  .signature = "sparse_mask(Tensor input, Tensor mask) -> Tensor",
  .doc = "What input, dense or sparse, has where the sparse mask has entries.",
  .traits = kHidden | kNoOut | kTakesSparse,
  .compose =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &mask = c.tensor(1);
        if (!mask.sparse()) fail("sparse_mask: mask must be sparse, got one of layout torch.strided");
        if (!(x.sizes() == mask.sizes()))
          fail("sparse_mask: operands have incompatible sizes: input ", x.sizes(), ", mask ", mask.sizes());
        const Entries& e = entries_of(mask);
        bool rows = !x.sparse() && sparse_dims(mask);
        Tensor values = rows ? index_op(x, rows_of(e.indices)) : sparse_take(x, e.indices);
        c.give(0, in_layout(sparse_make(e.indices, values, x.sizes(), e.coalesced), mask->layout));
      },
};

}  // namespace

void refuse_sparse(const char* op, const char* where) {
  fail_missing(op, ": not implemented for ", where, " of a sparse layout: use to_dense() first");
}

Tensor places_of(const Tensor& indices, const Dims& sizes) {
  int k = int(indices.size(0));
  int64_t n = indices.size(1);
  if (k == 1) return view_of(indices, Dims{n}, Dims{1}, indices->offset);
  Tensor out = zeros({n}, DType::Int64);
  auto *to = out.data<int64_t>(), *at = indices.data<int64_t>();
  for (int d = 0; d < k; ++d)
    for (int64_t i = 0; i < n; ++i) to[i] = to[i] * sizes[d] + at[d * n + i];
  return out;
}

TensorList rows_of(const Tensor& indices) {
  TensorList rows;
  int64_t n = indices.size(1);
  for (int64_t d = 0; d < indices.size(0); ++d)
    rows.push_back(view_of(indices, Dims{n}, Dims{1}, indices->offset + d * n));
  return rows;
}

Tensor coalesced_data(const Tensor& t) {
  static const OpRef sort{"sort"};
  const Entries e = entries_of(t);  // a copy: another thread may change the tensor while an op runs without the lock
  if (e.coalesced) return alias(t);
  Aside aside;
  Tensor places = places_of(e.indices, t.sizes());
  int64_t n = places.numel(), found = 0;
  if (strictly_rising(places.data<int64_t>(), n)) return sparse_of(t.sizes(), e.indices, e.values, true);
  TensorList sorted = sort.list(places, -1, false, true);
  const int64_t *keys = sorted[0].data<int64_t>(), *order = sorted[1].data<int64_t>();
  Tensor group = empty({n}, DType::Int64), first = empty({n}, DType::Int64);
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) first.data<int64_t>()[found++] = order[i];
    group.data<int64_t>()[order[i]] = found - 1;
  }
  Tensor indices = index_select(e.indices, 1, slice(first, 0, 0, found, 1));
  bool truth = e.values.dtype() == DType::Bool;
  Tensor values = truth ? to_dtype(e.values, DType::Int64) : e.values;
  Tensor sums = zeros(entry_sizes(found, t.sizes(), sparse_dims(t)), values.dtype());
  index_add.into(sums, 0, group, values);
  return sparse_of(t.sizes(), indices, to_dtype(sums, t.dtype()), true);
}

Tensor coalesced(const Tensor& t) { return entries_of(t).coalesced ? t : sparse_join(t); }

Tensor in_layout(const Tensor& t, Layout layout) {
  return t->layout == layout ? t : sparse_as(t, int64_t(layout), int64_t(t->layout));
}

Parts::Parts(const Tensor& t, bool join) : sizes(t.sizes()), layout(t->layout) {
  bool recorded = t_modes.grad && t.wants_grad();
  Tensor source = join || recorded || !is_inexact(t.dtype()) ? weft::coalesced(t) : t;
  indices = alias(entries_of(source).indices);
  values = recorded ? sparse_values(source, indices, int64_t(layout)) : alias(entries_of(source).values);
  coalesced = entries_of(source).coalesced;
}

Tensor Parts::with(const Tensor& other_values) const {
  return in_layout(sparse_make(indices, other_values, sizes, coalesced), layout);
}

Tensor dense_of(const Tensor& t) {
  Parts p(t);
  if (p.indices.size(0) == 0)
    return t.dtype() == DType::Bool ? any_dim(p.values, 0, false) : sum_dim(p.values, Dims{0}, false, t.dtype());
  return index_put(zeros(t.sizes(), t.dtype()), rows_of(p.indices), p.values, t.dtype() != DType::Bool);
}

}  // namespace weft
