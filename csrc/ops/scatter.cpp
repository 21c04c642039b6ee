// Indexing, writing: scatter and its variants, index_add, index_copy, index_fill, index_put.
#include <algorithm>
#include <limits>

#include "loops/copy.h"
#include "ops/index_plan.h"

namespace weft {
namespace {

const OpRef scatter_src{"scatter"}, scatter_value{"scatter.value"}, scatter_prod{"scatter_prod"},
    scatter_reduce{"scatter_reduce"}, index_fill{"index_fill"}, index_places{"index.places"},
    index_put_places{"index_put.places"};

// ---- one element of index, one place

void check_scatter(Call& c, const Tensor& x, int dim, const Tensor& index) {
  if (index.numel() == 0) return;
  check_index_dtype(index, c.name());
  if (std::max(index.dim(), 1) != std::max(x.dim(), 1))
    fail(c.name(), ": Index tensor must have the same number of dimensions as self tensor, got ", index.sizes(),
         " and ", x.sizes());
  for (int d = 0; d < index.dim(); ++d)
    if (d != dim && index.size(d) > x.size(d))
      fail(c.name(), ": Expected index ", index.sizes(), " to be no larger than self ", x.sizes(),
           " apart from dimension ", dim);
}

void check_scatter_src(Call& c, const Tensor& x, const Tensor& index, const Tensor& src) {
  if (src.dtype() != x.dtype())
    fail(c.name(), ": Expected self.dtype to be equal to src.dtype, got ", name_of(x.dtype()), " and ",
         name_of(src.dtype()));
  if (index.numel() == 0) return;
  if (std::max(index.dim(), 1) != std::max(src.dim(), 1))
    fail(c.name(), ": Index tensor must have the same number of dimensions as src tensor, got ", index.sizes(), " and ",
         src.sizes());
  for (int d = 0; d < index.dim(); ++d)
    if (index.size(d) > (src.dim() ? src.size(d) : 1))
      fail(c.name(), ": Expected index ", index.sizes(), " to be no larger than src ", src.sizes());
}

void infer_scatter(Call& c) {
  const Tensor &x = c.tensor(0), &index = c.tensor(2);
  check_scatter(c, x, wrap_dim(c.integer(1), x.dim(), c.name()), index);
  if (c.arg(3).is_tensor()) check_scatter_src(c, x, index, c.tensor(3));
  c.give(0, meta(x.dtype(), x.sizes()));
}

// The result starts as a copy of the first argument, unless it is the first argument.
void begin_with_input(Call& c) {
  if (!c.out[0].is(c.tensor(0))) copy_data(c.out[0], c.tensor(0));
}

void run_scatter(Call& c, Scatter op) {
  begin_with_input(c);
  const Tensor &y = c.out[0], &index = c.tensor(2), &src = c.tensor(3);
  if (index.numel() == 0) return;
  Planner p = plan_elements(src, y, wrap_dim(c.integer(1), y.dim(), c.name()), index);
  scatter_planned(op, y, src, p, ErrorKind::Runtime, c.name());
}

// The gradient of src, which may be larger than index.
void give_src(Grad& d, const Tensor& index, const Tensor& g) {
  if (!d.needs(2)) return;
  const Dims& sizes = d.shape(2);
  Tensor part = gather(g, d.arg(1), index);
  if (part.sizes() == sizes) return d.give(2, part);
  d.give(2, replace_strided(zeros(sizes, g.dtype()), part, part.sizes(), contiguous_strides(sizes), 0));
}

WEFT_OP{
  .signature = "scatter(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
  .doc = R"(A copy of input with the elements of src (or one value) written to the places that index names along dim.

>>> weft.scatter(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
tensor([2., 0., 1.]))",
  .traits = kInplace | kOverwrites,
  .infer = infer_scatter,
  .run = [](Call& c) { run_scatter(c, Scatter::set); },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        Tensor index = d.x(1);
        if (d.needs(0)) d.give(0, scatter_value(d.g(), d.arg(1), index, 0));
        give_src(d, index, d.g());
      },
};

WEFT_OP{
  .signature = "scatter.value(Tensor input, int dim, Tensor index, Scalar value) -> Tensor",
  .doc = "A copy of input with value written to the places that index names along dim.",
  .traits = kInplace | kOverwrites,
  .infer = infer_scatter,
  .run =
      [](Call& c) {
        begin_with_input(c);
        const Tensor &y = c.out[0], &index = c.tensor(2);
        if (index.numel() == 0) return;
        alignas(16) char element[16];
        c.arg(3).store(y.dtype(), element);
        Planner p = plan_elements_of_one(y, wrap_dim(c.integer(1), y.dim(), "scatter"), index);
        if (!index_kernels().scatter(Scatter::set, y.dtype(), y.data(), element, p.plan()))
          p.fail_range(ErrorKind::Runtime, "scatter");
      },
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, scatter_value(d.g(), d.arg(1), d.x(1), 0)); },
};

WEFT_OP{
  .signature = "scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
  .doc = R"(A copy of input with the elements of src added at the places that index names along dim.

>>> weft.scatter_add(weft.zeros(2), 0, weft.tensor([1, 1]), weft.tensor([1., 2.]))
tensor([0., 3.]))",
  .traits = kInplace | kOverwrites,
  .infer = infer_scatter,
  .run = [](Call& c) { run_scatter(c, Scatter::add); },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        d.give(0, d.g());
        give_src(d, d.x(1), d.g());
      },
};

// ---- reductions

WEFT_OP{
  .signature = "scatter_prod(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
  .doc = "A copy of input multiplied by the elements of src at the places that index names along dim.",
  .traits = kHidden,
  .infer = infer_scatter,
  .run = [](Call& c) { run_scatter(c, Scatter::mul); },
  .keeps = keep::x0 | keep::x1 | keep::x2 | keep::y0,
  .back =
      [](Grad& d) {
        // The product of the others is the product divided by the element itself; for a zero it is taken with a one
        // in its place, which is right if it is the only zero that went there.
        Tensor x = d.x(0), index = d.x(1), src = d.x(2), g = d.g();
        const Value& along = d.arg(1);
        if (d.needs(0)) {
          Tensor filled = masked_fill(x, x == 0.0, 1);
          d.give(0, g * conj(scatter_prod(filled, along, index, src) / filled));
        }
        if (!d.needs(2)) return;
        Tensor zero = src == 0.0;
        Tensor zeros_there = gather(scatter_add(zeros_like(x), along, index, to_dtype(zero, x.dtype())), along, index);
        Tensor only = zero && (zeros_there == 1.0);
        Tensor without = gather(g * conj(scatter_prod(x, along, index, masked_fill(src, only, 1))), along, index);
        Tensor quotient = gather(g * conj(d.y()), along, index) / conj(masked_fill(src, zero, 1));
        d.give(2, where(only, without, quotient));
      },
};

// Equal extremes share the gradient.
void back_extreme(Grad& d) {
  Tensor x = d.x(0), index = d.x(1), src = d.x(2), y = d.y();
  const Value& along = d.arg(1);
  Tensor x_wins = to_dtype(x == y, x.dtype()), src_wins = to_dtype(src == gather(y, along, index), x.dtype());
  Tensor share = d.g() / scatter_add(x_wins, along, index, src_wins);
  Tensor part = masked_fill(share, isnan(share), 0);
  if (d.needs(0)) d.give(0, x_wins * part);
  if (d.needs(2)) d.give(2, src_wins * gather(part, along, index));
}

WEFT_OP{
  .signature = "scatter_amax(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
  .doc = "The larger of input and the elements of src at the places that index names along dim.",
  .traits = kHidden,
  .infer = infer_scatter,
  .run = [](Call& c) { run_scatter(c, Scatter::amax); },
  .keeps = keep::x0 | keep::x1 | keep::x2 | keep::y0,
  .back = back_extreme,
};

WEFT_OP{
  .signature = "scatter_amin(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
  .doc = "The smaller of input and the elements of src at the places that index names along dim.",
  .traits = kHidden,
  .infer = infer_scatter,
  .run = [](Call& c) { run_scatter(c, Scatter::amin); },
  .keeps = keep::x0 | keep::x1 | keep::x2 | keep::y0,
  .back = back_extreme,
};

// The value that changes nothing: where the input does not count, reductions start from it.
Value neutral(const std::string& reduce, DType t) {
  bool highest = reduce == "amin";
  if (reduce == "sum" || reduce == "mean") return Value(0);
  if (reduce == "prod") return Value(1);
  if (is_inexact(t))
    return Value(highest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
  if (t == DType::Bool) return Value(highest);
  if (t == DType::UInt8) return Value(int64_t(highest ? 255 : 0));
  int bits = int(item_size(t)) * 8 - 1;
  return highest ? Value(int64_t((uint64_t(1) << bits) - 1)) : Value(int64_t(-(uint64_t(1) << bits)));
}

// Sums are exact for integers, whose mean is rounded down.
Tensor mean_of_scattered(const Tensor& sum, const Value& dim, const Tensor& index, const Tensor& src,
                         bool include_self) {
  static const OpRef floor_divide{"floor_divide"};
  Tensor count = include_self ? ones_like(sum) : zeros_like(sum);
  count = scatter_add(count, dim, index, ones_like(src));
  count = masked_fill(count, count == 0.0, 1);
  return is_integral(sum.dtype()) ? floor_divide(sum, count) : sum / count;
}

WEFT_OP{
  .signature =
      "scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
      "Tensor",
  .doc =
      R"(A copy of input in which the elements of src are reduced ('sum', 'prod', 'mean', 'amax' or 'amin') into the places
that index names along dim, together with what was there unless include_self is False.

>>> weft.scatter_reduce(weft.ones(2), 0, weft.tensor([0, 0, 1]), weft.tensor([3., 5., 2.]), "amax")
tensor([5., 2.]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        static const OpRef amax{"scatter_amax"}, amin{"scatter_amin"};
        const Tensor &x = c.tensor(0), &index = c.tensor(2), &src = c.tensor(3);
        const Value& dim = c.arg(1);
        const std::string& how = c.text(4);
        if (how != "sum" && how != "prod" && how != "mean" && how != "amax" && how != "amin")
          fail("scatter_reduce: reduce argument must be either sum, prod, mean, amax or amin, got ", how);
        if (is_complex(x.dtype()) && how[0] == 'a')
          fail("scatter_reduce: ", how, " is not defined for complex numbers");
        bool include_self = c.flag(5);
        if (src.dtype() != x.dtype())
          fail("scatter_reduce: Expected self.dtype to be equal to src.dtype, got ", name_of(x.dtype()), " and ",
               name_of(src.dtype()));
        if (is_half(x.dtype()) && how == "mean") {  // rounded once, at the end
          Tensor wide = scatter_reduce(to_dtype(x, DType::Float), dim, index, to_dtype(src, DType::Float), c.arg(4),
                                       c.arg(5));
          return c.give(0, to_dtype(wide, x.dtype()));
        }
        bool counts = include_self ||
                      index.numel() == 0;  // what is there; kept for backward, so not what will be changed
        Tensor start = !counts ? scatter_value(x, dim, index, neutral(how, x.dtype())) : c.inplace ? clone_of(x) : x;
        Tensor y;
        if (how == "sum" || how == "mean")
          y = scatter_add(start, dim, index, src);
        else if (how == "prod")
          y = scatter_prod(start, dim, index, src);
        else
          y = how == "amax" ? amax(start, dim, index, src) : amin(start, dim, index, src);
        c.give(0, how == "mean" && index.numel() ? mean_of_scattered(y, dim, index, src, include_self) : y);
      },
};

// scatter with reduce="add" or "multiply"; src as a tensor.
Tensor scatter_with(const Tensor& x, const Value& dim, const Tensor& index, const Tensor& src, const std::string& how) {
  if (how == "add") return scatter_add(x, dim, index, src);
  if (how == "multiply") return scatter_prod(x, dim, index, src);
  fail("scatter: reduce argument must be either add or multiply, got ", how);
}

WEFT_OP{
  .signature = "scatter.reduce(Tensor input, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
  .doc = "The same, with src added or multiplied to what is there.",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        Tensor x = c.inplace ? clone_of(c.tensor(0)) : c.tensor(0);  // kept for backward, so not what will be changed
        c.give(0, scatter_with(x, c.arg(1), c.tensor(2), c.tensor(3), c.text(4)));
      },
};

WEFT_OP{
  .signature = "scatter.value_reduce(Tensor input, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
  .doc = "The same, with value added or multiplied to what is there.",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        Tensor x = c.inplace ? clone_of(c.tensor(0)) : c.tensor(0);
        Tensor src = expand(scalar_tensor(c.arg(3), x.dtype()), c.tensor(2).sizes());
        c.give(0, scatter_with(x, c.arg(1), c.tensor(2), src, c.text(4)));
      },
};

// ---- one element of index, one slice

void check_slices(Call& c, ErrorKind shape_error) {
  const Tensor &x = c.tensor(0), &index = c.tensor(2);
  int dim = wrap_dim(c.integer(1), x.dim(), c.name());
  check_index_dtype(index, c.name());
  if (index.dim() > 1) fail_index(c.name(), ": Index is supposed to be a vector, but got shape ", index.sizes());
  if (c.arg(3).is_tensor() && c.op.base != "index_fill") {
    const Tensor& source = c.tensor(3);
    if (source.dtype() != x.dtype())
      fail(c.name(), ": self (", name_of(x.dtype()), ") and source (", name_of(source.dtype()),
           ") must have the same scalar type");
    Dims wanted = x.sizes();
    if (x.dim()) wanted[dim] = index.numel();
    bool fits = source.sizes() == wanted || (source.numel() == 1 && numel_of(wanted) == 1 && index.numel() == 1 &&
                                             source.dim() <= 1 && x.dim() <= 1);
    if (!fits)
      fail(shape_error, c.name(), ": source of shape ", source.sizes(), " must match self of shape ", x.sizes(),
           " in all dimensions but ", dim, ", where it must have the length of index, ", index.numel());
    if (x.dim() == 0 && index.numel() != 1)
      fail(shape_error, c.name(), ": a single element takes an index of length 1, got ", index.numel());
  }
  c.give(0, meta(x.dtype(), x.sizes()));
}

void run_slices(Call& c, Scatter op) {
  begin_with_input(c);
  const Tensor &y = c.out[0], &source = c.tensor(3);
  Planner p = plan_slices(source, y, wrap_dim(c.integer(1), y.dim(), c.name()), c.tensor(2), false);
  scatter_planned(op, y, source, p, ErrorKind::Index, c.name());
}

Tensor slices_back(Grad& d, const Tensor& g) {
  Tensor part = index_select(g, d.arg(1), d.x(1));
  return part.sizes() == d.shape(2) ? part : view(part, d.shape(2));
}

WEFT_OP{
  .signature = "index_add(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
  .doc = R"(A copy of input with the slices of source added to those that index names along dim.

>>> weft.index_add(weft.zeros(3), 0, weft.tensor([0, 0, 2]), weft.ones(3))
tensor([2., 0., 1.]))",
  .traits = kInplace | kOverwrites,
  .infer = [](Call& c) { check_slices(c, ErrorKind::Runtime); },
  .run = [](Call& c) { run_slices(c, Scatter::add); },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        d.give(0, d.g());
        if (d.needs(2)) d.give(2, slices_back(d, d.g()));
      },
};

WEFT_OP{
  .signature = "index_add.alpha(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha) -> Tensor",
  .doc = "The same, with source multiplied by alpha.",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &source = c.tensor(3);
        if (is_integral(x.dtype()) && c.arg(4).tag() != Tag::Int && c.arg(4).tag() != Tag::Bool)
          fail("index_add: For integral input tensors, argument alpha must not be a floating point number.");
        Tensor scaled = to_dtype(mul(source, c.arg(4)), source.dtype());
        c.give(0, c.inplace ? index_add.into(x, c.arg(1), c.arg(2), scaled) : index_add(x, c.arg(1), c.arg(2), scaled));
      },
};

WEFT_OP{
  .signature = "index_copy(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
  .doc = R"(A copy of input with the slices of source in place of those that index names along dim.

>>> weft.index_copy(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
tensor([2., 0., 1.]))",
  .traits = kInplace | kOverwrites,
  .infer = [](Call& c) { check_slices(c, ErrorKind::Index); },
  .run = [](Call& c) { run_slices(c, Scatter::set); },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        if (d.needs(0)) d.give(0, index_fill(d.g(), d.arg(1), d.x(1), 0));
        if (d.needs(2)) d.give(2, slices_back(d, d.g()));
      },
};

WEFT_OP{
  .signature = "index_fill(Tensor input, int dim, Tensor index, Tensor|Scalar value) -> Tensor",
  .doc = R"(A copy of input with value in the slices that index names along dim.

>>> weft.index_fill(weft.zeros(3), 0, weft.tensor([2, 0]), 7)
tensor([7., 0., 7.]))",
  .traits = kInplace | kOverwrites,
  .infer =
      [](Call& c) {
        if (c.arg(3).is_tensor() && c.tensor(3).dim())
          fail("index_fill: only supports a 0-dimensional value tensor, but got tensor with ", c.tensor(3).dim(),
               " dimension(s)");
        if (c.arg(3).tag() == Tag::Complex && !is_complex(c.tensor(0).dtype()))
          fail("index_fill: converting complex Scalar to non-complex type is not supported");
        check_slices(c, ErrorKind::Index);
      },
  .run =
      [](Call& c) {
        begin_with_input(c);
        const Tensor& y = c.out[0];
        alignas(16) char element[16];
        const Value& v = c.arg(3);
        if (v.is_tensor())
          copy_kernels().convert(v.tensor().dtype(), y.dtype(), v.tensor().data(), element, 1);
        else
          v.store(y.dtype(), element);
        Planner p = plan_slices_of_one(y, wrap_dim(c.integer(1), y.dim(), "index_fill"), c.tensor(2), true);
        if (!index_kernels().scatter(Scatter::set, y.dtype(), y.data(), element, p.plan()))
          p.fail_range(ErrorKind::Index, "index_fill");
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        Tensor rest = index_fill(d.g(), d.arg(1), d.x(1), 0);
        d.give(0, rest);
        if (d.needs(2)) d.give(2, sum_all(d.g() - rest));
      },
};

WEFT_OP{
  .signature =
      "index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> "
      "Tensor",
  .doc =
      R"(A copy of input in which the slices of source are reduced ('prod', 'mean', 'amax' or 'amin') into those that index
names along dim.

>>> weft.index_reduce(weft.ones(2), 0, weft.tensor([0, 0]), weft.tensor([2., 3.]), "prod")
tensor([6., 1.]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &index = c.tensor(2), &source = c.tensor(3);
        const std::string& how = c.text(4);
        if (how != "prod" && how != "mean" && how != "amax" && how != "amin")
          fail("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", how, ".");
        int dim = wrap_dim(c.integer(1), x.dim(), "index_reduce");
        check_index_dtype(index, "index_reduce()");
        if (index.dim() > 1)
          fail_index("index_reduce(): Index is supposed to be a vector, but got shape ", index.sizes());
        Dims wanted = x.sizes(), along(std::max(x.dim(), 1), 1);
        if (x.dim()) wanted[dim] = index.numel();
        if (!(source.sizes() == wanted))
          fail("index_reduce(): source of shape ", source.sizes(), " must match self of shape ", x.sizes(),
               " in all dimensions but ", dim, ", where it must have the length of index, ", index.numel());
        along[dim] = index.numel();
        Tensor places = x.dim() ? expand(reshape(index, along), wanted) : reshape(index, Dims{});
        c.give(0, scatter_reduce(x, dim, places, source, c.arg(4), c.arg(5)));
      },
};

// ---- tensors in square brackets

// The strides of values in a walk over `sizes`, to which they are broadcast.
Dims value_strides(const Tensor& values, const Dims& sizes) {
  int shift = sizes.size() - values.dim();
  Dims strides(sizes.size());
  for (int d = 0; d < values.dim(); ++d) {
    bool fits = d + shift >= 0 ? values.size(d) == 1 || values.size(d) == sizes[d + shift] : values.size(d) == 1;
    if (!fits)
      fail("index_put: shape mismatch: value tensor of shape ", values.sizes(),
           " cannot be broadcast to indexing result of shape ", sizes);
    if (d + shift >= 0) strides[d + shift] = values.size(d) == 1 ? 0 : values.stride(d);
  }
  return strides;
}

WEFT_OP{
  .signature = "index_put.places(Tensor input, Tensor?[] indices, Tensor values, bool accumulate) -> Tensor",
  .doc = "A copy of input with values written (or added) at the given int64 indices.",
  .traits = kHidden | kInplace | kOverwrites,
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &values = c.tensor(2);
        if (values.dtype() != x.dtype())
          fail("index_put: Index put requires the source and destination dtypes match, got ", name_of(x.dtype()),
               " for the destination and ", name_of(values.dtype()), " for the source.");
        value_strides(values, IndexedShape(x, c.tensors(1)).sizes);
        c.give(0, meta(x.dtype(), x.sizes()));
      },
  .run =
      [](Call& c) {
        begin_with_input(c);
        const Tensor &y = c.out[0], &values = c.tensor(2);
        IndexedShape shape(y, c.tensors(1));
        Planner p = shape.plan(y, c.tensors(1), value_strides(values, shape.sizes));
        scatter_planned(c.flag(3) ? Scatter::add : Scatter::set, y, values, p, ErrorKind::Index, "index_put");
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        const TensorList& indices = d.arg(1).tensors();
        bool accumulate = d.arg(3).flag();
        int values = 1 + int(indices.size());
        if (d.needs(0))
          d.give(0, accumulate ? d.g() : index_put_places(d.g(), d.arg(1), zeros({}, d.g().dtype()), false));
        if (d.needs(values)) d.give(values, index_places(d.g(), d.arg(1)));
      },
};

WEFT_OP{
  .signature = "index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
  .doc = R"(A copy of input with values written (or added, with accumulate) at the given indices or masks.

>>> weft.index_put(weft.zeros(3), (weft.tensor([0, 2]),), weft.tensor(1.))
tensor([1., 0., 1.]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        TensorList indices = index_tensors(x, c.tensors(1));
        if (indices.empty()) fail("index_put: at least one index tensor is needed");
        c.give(0, c.inplace ? index_put_places.into(x, std::move(indices), c.arg(2), c.arg(3))
                            : index_put_places(x, std::move(indices), c.arg(2), c.arg(3)));
      },
};

WEFT_OP{
  .signature = "put(Tensor input, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
  .doc =
      R"(A copy of input with source written (or added) at index, which counts the elements as if there were one dimension.

>>> weft.put(weft.zeros(2, 2), weft.tensor([3]), weft.tensor([5.]))
tensor([[0., 0.],
        [0., 5.]]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &index = c.tensor(1), &source = c.tensor(2);
        if (index.dtype() != DType::Int64)
          fail("put: Expected a long tensor for index, but got ", name_of(index.dtype()));
        if (source.dtype() != x.dtype())
          fail("put: Expected source and self to have the same dtype, but got ", name_of(source.dtype()), " and ",
               name_of(x.dtype()));
        if (index.numel() != source.numel())
          fail("put: Expected source and index to have the same number of elements, but got source.numel() = ",
               source.numel(), ", index.numel() = ", index.numel());
        Tensor flat = index_put_places(reshape(x, Dims{-1}), TensorList{reshape(index, Dims{-1})},
                                       reshape(source, Dims{-1}), c.arg(3));
        c.give(0, view(flat, x.sizes()));
      },
};

}  // namespace
}  // namespace weft
