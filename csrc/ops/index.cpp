// Indexing, reading: gather, index_select, take, and tensors in square brackets.
#include <algorithm>

#include "loops/copy.h"
#include "ops/index_plan.h"
#include "ops/rules.h"

namespace weft {

// ---- tensors in square brackets

namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

void check_mask_fits(const Tensor& x, const Tensor& mask, int at) {
  for (int k = 0; k < mask.dim(); ++k)
    if (at + k >= x.dim() || mask.size(k) != x.size(at + k))
      fail_index("index: The shape of the mask ", mask.sizes(), " at index ", k,
                 " does not match the shape of the indexed tensor ", x.sizes(), " at index ", at + k);
}

}  // namespace

// Masks become the coordinates of what they keep; integers become int64.
TensorList index_tensors(const Tensor& x, const TensorList& indices) {
  static const OpRef coordinates{"nonzero.columns"};
  TensorList out;
  out.reserve(indices.size() + 2);
  for (const Tensor& t : indices) {
    if (!t) {
      out.emplace_back();
    } else if (is_mask(t)) {
      check_mask_fits(x, t, int(out.size()));
      Tensor columns = coordinates(t);
      for (int k = 0; k < t.dim(); ++k) out.push_back(select(columns, 0, k));
    } else if (t.dtype() == DType::Int64 || t.dtype() == DType::Int32) {
      out.push_back(to_dtype(t, DType::Int64));
    } else {
      fail_index("index: tensors used as indices must be long, int, byte or bool tensors, got ", name_of(t.dtype()));
    }
  }
  if (int(out.size()) > x.dim()) fail_index("index: too many indices for tensor of dimension ", x.dim());
  while (!out.empty() && !out.back()) out.pop_back();
  return out;
}

IndexedShape::IndexedShape(const Tensor& x, const TensorList& indices) {
  if (int(indices.size()) > x.dim()) fail_index("index: too many indices for tensor of dimension ", x.dim());
  bool any = false;
  for (const Tensor& t : indices) {
    if (t && t.dtype() != DType::Int64) fail_index("index: indices must be int64, got ", name_of(t.dtype()));
    any = any || t;
  }
  if (!any) fail_index("index: at least one index tensor is needed");
  int last = -1;
  bool together = true;
  for (int d = 0; d < int(indices.size()); ++d) {
    if (!indices[size_t(d)]) continue;
    together = together && (last < 0 || last == d - 1);
    if (last < 0) first = d;
    last = d;
    block = broadcast_indices(indices, d);
  }
  if (!together) first = 0;
  for (int d = 0; d < x.dim(); ++d) {
    bool indexed = d < int(indices.size()) && indices[size_t(d)];
    if (!indexed) kept.push(d);
  }
  int before = 0;
  while (together && before < kept.size() && kept[before] < first) ++before;
  for (int k = 0; k < before; ++k) sizes.push(x.size(int(kept[k])));
  for (int64_t n : block) sizes.push(n);
  for (int k = before; k < kept.size(); ++k) sizes.push(x.size(int(kept[k])));
  first = before;
}

Dims IndexedShape::broadcast_indices(const TensorList& indices, int d) const {
  const Dims& next = indices[size_t(d)].sizes();
  Dims out = block.size() >= next.size() ? block : next;
  int a = out.size() - block.size(), b = out.size() - next.size();
  for (int i = 0; i < out.size(); ++i) {
    int64_t x = 1, y = 1;
    if (i >= a) x = block[i - a];
    if (i >= b) y = next[i - b];
    if (x != y && x != 1 && y != 1)
      fail_index("index: shape mismatch: indexing tensors could not be broadcast together with shapes ", block, ", ",
                 next);
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Planner IndexedShape::plan(const Tensor& table, const TensorList& indices, const Dims& dense) const {
  Planner p(true);
  int n = sizes.size(), nb = block.size();
  for (int k = 0; k < n; ++k) {
    bool in_block = k >= first && k < first + nb;
    int from = in_block ? -1 : int(kept[k < first ? k : k - nb]);
    p.dimension(sizes[k], dense[k], in_block ? 0 : table.stride(from));
  }
  for (int d = 0; d < int(indices.size()); ++d) {
    const Tensor& index = indices[size_t(d)];
    if (!index) continue;
    Dims strides(n);
    int shift = first + nb - index.dim();
    for (int k = 0; k < index.dim(); ++k) strides[shift + k] = index.size(k) == 1 ? 0 : index.stride(k);
    p.input(index, strides, table, d);
  }
  return p;
}

namespace {

const OpRef index_places{"index.places"}, index_put_places{"index_put.places"};

WEFT_OP{
  .signature = "index.places(Tensor input, Tensor?[] indices) -> Tensor",
  .doc = "The elements of input at the given int64 indices, one tensor (or None) for each leading dimension.",
  .traits = kHidden,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), IndexedShape(c.tensor(0), c.tensors(1)).sizes)); },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        Planner p = IndexedShape(x, c.tensors(1)).plan(x, c.tensors(1), y.strides());
        if (!index_kernels().gather(item_size(x.dtype()), y.data(), x.data(), p.plan()))
          p.fail_range(ErrorKind::Index, "index");
      },
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, index_put_places.into(zeros(d.shape(0), d.g().dtype()), d.arg(1), d.g(), true)); },
};

WEFT_OP{
  .signature = "index(Tensor input, Tensor?[] indices) -> Tensor",
  .doc = "The elements of input at the given indices: integers or masks, one tensor (or None) after the other.",
  .traits = kHidden,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        const TensorList& given = c.tensors(1);
        if (given.size() == 1 && given[0] && given[0].dtype() == DType::Bool && given[0].dim() &&
            given[0].dim() == x.dim()) {
          static const OpRef masked_select{"masked_select"};
          check_mask_fits(x, given[0], 0);
          return c.give(0, masked_select(x, given[0]));
        }
        TensorList indices = index_tensors(x, given);
        c.give(0, indices.empty() ? view(x, x.sizes()) : index_places(x, std::move(indices)));
      },
};

// ---- integers, slices and new dimensions, several at once

// spec holds three numbers for every item in the brackets: (step, start, length) of a slice, (0, index, 0) of an
// integer, (-1, 0, 0) of a new dimension. Dimensions behind the last item stay as they are.
struct BasicView {
  Dims sizes, strides;
  Size offset = 0;
  BasicView(const Dims& of_sizes, const Dims& of_strides, const Dims& spec) {
    int d = 0;
    if (spec.size() % 3) refuse(of_sizes, spec);
    for (int k = 0; k + 2 < spec.size(); k += 3) {
      Size step = spec[k], start = spec[k + 1], length = spec[k + 2];
      bool inside = d < of_sizes.size();
      if (step < 0) {
        sizes.push(1), strides.push(inside ? of_sizes[d] * of_strides[d] : Size(1));
        continue;
      }
      if (!inside || !fits(step, start, length, of_sizes[d])) refuse(of_sizes, spec);
      if (step == 0 || length > 0) offset += start * of_strides[d];
      if (step > 0) sizes.push(length), strides.push(length > 1 ? of_strides[d] * step : of_strides[d]);
      ++d;
    }
    for (; d < of_sizes.size(); ++d) sizes.push(of_sizes[d]), strides.push(of_strides[d]);
  }

 private:
  // Whether a dimension of `size` has the elements that an integer or a slice names.
  static bool fits(int64_t step, int64_t start, int64_t length, int64_t size) {
    if (step > 0 && length == 0) return true;
    if (start < 0 || start >= size) return false;
    return step == 0 || (length > 0 && length - 1 <= (step == 1 ? size - 1 - start : (size - 1 - start) / step));
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(const Dims& of_sizes, const Dims& spec) {
    fail("view_at: (step, start, length) of ", spec, " lie outside of a tensor of shape ", of_sizes);
  }
};

const OpRef view_at{"view_at"};

WEFT_OP{
  .signature = "view_at(Tensor input, int[] spec) -> Tensor",
  .doc = "The view that integers, slices and None in square brackets show.",
  .traits = kView | kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        BasicView v(x.sizes(), x.strides(), c.ints(1));
        c.give(0, view_of(x, v.sizes, v.strides, x->offset + v.offset));
      },
  .back =
      [](Grad& d) {
        static const OpRef back{"view_at_backward"};
        d.give(0, back(d.g(), d.shape(0), d.arg(1)));
      },
};

WEFT_OP{
  .signature = "view_at_backward(Tensor grad, int[] sizes, int[] spec) -> Tensor",
  .doc = "Zeros of the given sizes with grad in the part that view_at shows.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Dims& sizes = c.ints(1);
        BasicView shown(sizes, contiguous_strides(sizes), c.ints(2));
        if (!(shown.sizes == c.tensor(0).sizes()))
          fail(c.name(), ": expected a gradient of shape ", shown.sizes, ", got ", c.tensor(0).sizes());
        c.give(0, meta(c.tensor(0).dtype(), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &g = c.tensor(0), &y = c.out[0];
        fill_data(y, Value(0));
        BasicView v(y.sizes(), y.strides(), c.ints(2));
        if (g.numel())
          copy_kernels().copy(g.dtype(), y.data() + v.offset * item_size(g.dtype()), v.strides.data(), g.dtype(),
                              g.data(), g.strides().data(), v.sizes.data(), v.sizes.size());
      },
  .back = [](Grad& d) { d.give(0, view_at(d.g(), d.arg(2))); },
};

// ---- along one dimension

void check_gather(Call& c, const Tensor& x, int dim, const Tensor& index) {
  if (index.numel() == 0) return;
  check_index_dtype(index, c.name());
  if (std::max(index.dim(), 1) != std::max(x.dim(), 1))
    fail(c.name(), ": Index tensor must have the same number of dimensions as input tensor, got ", index.sizes(),
         " and ", x.sizes());
  for (int d = 0; d < index.dim(); ++d)
    if (d != dim && index.size(d) > x.size(d))
      fail(c.name(), ": Size does not match at dimension ", d, " expected index ", index.sizes(),
           " to be no larger than self ", x.sizes(), " apart from dimension ", dim);
}

WEFT_OP{
  .signature = "gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
  .doc = R"(For every element of index, the element of input that it names along dim.

>>> weft.gather(weft.tensor([[1, 2], [3, 4]]), 1, weft.tensor([[0, 0], [1, 0]]))
tensor([[1, 1],
        [4, 3]]))",
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &index = c.tensor(2);
        check_gather(c, x, wrap_dim(c.integer(1), x.dim(), "gather"), index);
        check_out_apart(c);
        c.give(0, meta(x.dtype(), index.sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &index = c.tensor(2), &y = c.out[0];
        if (index.numel() == 0) return;
        Planner p = plan_elements(y, x, wrap_dim(c.integer(1), x.dim(), "gather"), index);
        if (!index_kernels().gather(item_size(x.dtype()), y.data(), x.data(), p.plan()))
          p.fail_range(ErrorKind::Runtime, "gather");
      },
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, scatter_add.into(zeros(d.shape(0), d.g().dtype()), d.arg(1), d.x(1), d.g())); },
};

WEFT_OP{
  .signature = "index_select(Tensor input, int dim, Tensor index) -> Tensor",
  .doc = R"(The slices of input along dim that index names, in its order.

>>> weft.index_select(weft.arange(6).view(3, 2), 0, weft.tensor([2, 0]))
tensor([[4, 5],
        [0, 1]]))",
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &index = c.tensor(2);
        int dim = wrap_dim(c.integer(1), x.dim(), "index_select");
        check_index_dtype(index, "index_select()");
        check_out_apart(c);
        if (index.dim() > 1) fail_index("index_select(): Index is supposed to be a vector, got shape ", index.sizes());
        if (x.dim() == 0 && index.numel() != 1)
          fail_index("index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
        Dims sizes = x.sizes();
        if (x.dim()) sizes[dim] = index.numel();
        c.give(0, meta(x.dtype(), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        Planner p = plan_slices(y, x, wrap_dim(c.integer(1), x.dim(), "index_select"), c.tensor(2), false);
        if (!index_kernels().gather(item_size(x.dtype()), y.data(), x.data(), p.plan()))
          p.fail_range(ErrorKind::Index, "index_select");
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        bool rows = d.shape(0).size() > 0 && wrap_dim(d.arg(1).integer(), d.shape(0).size(), "index_select") == 0;
        if (rows && !d.create_graph && d.x(1).dim() == 1) return d.give_rows(0, d.x(1), d.g());
        d.give(0, index_add.into(zeros(d.shape(0), d.g().dtype()), d.arg(1), d.x(1), d.g()));
      },
};

WEFT_OP{
  .signature = "take(Tensor input, Tensor index) -> Tensor",
  .doc = R"(The elements of input, counted in order as if it had one dimension, that index names.

>>> weft.take(weft.tensor([[4, 3], [5, 6]]), weft.tensor([0, -1]))
tensor([4, 6]))",
  .compose =
      [](Call& c) {
        check_out_apart(c);
        if (c.tensor(1).dtype() != DType::Int64)
          fail("take(): Expected a long tensor for index, but got ", name_of(c.tensor(1).dtype()));
        c.give(0, index_places(reshape(c.tensor(0), Dims{-1}), TensorList{c.tensor(1)}));
      },
};

WEFT_OP{
  .signature = "take_along_dim(Tensor input, Tensor indices, int? dim=None) -> Tensor",
  .doc = R"(Like gather, with input and indices broadcast against each other; without dim, on the flattened input.

>>> weft.take_along_dim(weft.tensor([[30, 10], [20, 40]]), weft.tensor([[1], [0]]), 1)
tensor([[10],
        [20]]))",
  .compose =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &index = c.tensor(1);
        if (index.dtype() != DType::Int64)
          fail("take_along_dim(): dtype of indices should be Long but got ", name_of(index.dtype()));
        if (!c.has(2)) return c.give(0, index_places(reshape(x, Dims{-1}), TensorList{reshape(index, Dims{-1})}));
        if (x.dim() != index.dim())
          fail("take_along_dim(): input and indices should have the same number of dimensions, but got ", x.dim(),
               " dimensions for input, and ", index.dim(), " dimensions for indices");
        int dim = wrap_dim(c.integer(2), x.dim(), "take_along_dim");
        Dims without_x = x.sizes(), without_index = index.sizes();
        if (x.dim()) without_x[dim] = without_index[dim] = 1;
        Dims joint = broadcast(without_x, without_index, "take_along_dim"), x_sizes = joint, index_sizes = joint;
        if (x.dim()) x_sizes[dim] = x.size(dim), index_sizes[dim] = index.size(dim);
        Tensor counted = x.dim() ? where(index < 0.0, add(index, x.size(dim)), index)
                                 : index;  // negatives from the end
        c.give(0, gather(expand(x, x_sizes), dim, expand(counted, index_sizes)));
      },
};

WEFT_OP{
  .signature = "narrow(Tensor input, int dim, int start, int length) -> Tensor",
  .doc = R"(length elements along dim from start on, as a view.

>>> weft.arange(5).narrow(0, 1, 3)
tensor([1, 2, 3]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dim() == 0) fail("narrow: cannot be applied to a 0-dim tensor.");
        int dim = wrap_dim(c.integer(1), x.dim(), "narrow");
        Size start = c.integer(2), length = c.integer(3), n = x.size(dim);
        if (length < 0) fail("narrow: length must be non-negative, got ", length);
        if (start < -n || start > n)
          fail_index("narrow: start out of range (expected to be in range of [", -n, ", ", n, "], but got ", start,
                     ")");
        if (start < 0) start += n;
        if (start > n - length)
          fail("narrow: start (", start, ") + length (", length, ") exceeds dimension size (", n, ").");
        c.give(0, slice(x, dim, start, start + length));
      },
};

// Reached only with what does not do as an int.
WEFT_OP{
  .signature = "narrow.tensor(Tensor input, int dim, Tensor start, int length) -> Tensor",
  .doc = "The same, with start in a tensor.",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        fail("narrow: start must be an 0-dim integral Tensor, got ", name_of(c.tensor(2).dtype()), " of shape ",
             c.tensor(2).sizes());
      },
};

WEFT_OP{
  .signature = "narrow_copy(Tensor input, int dim, int start, int length) -> Tensor",
  .doc = R"(A copy of length elements along dim from start on.

>>> weft.narrow_copy(weft.arange(5), 0, 1, 3)
tensor([1, 2, 3]))",
  .compose =
      [](Call& c) {
        static const OpRef narrow{"narrow"};
        c.give(0, clone_of(narrow(c.tensor(0), c.arg(1), c.arg(2), c.arg(3))));
      },
};

}  // namespace
}  // namespace weft
