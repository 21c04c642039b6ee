// Reductions: many elements joined into one.
#include "loops/reduce.h"

#include <algorithm>
#include <cmath>

#include "loops/copy.h"
#include "ops/api.h"
#include "ops/order.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {

// ---- which dimensions

// None or an empty list: all of them.
Dims reduced_dims(const Value& v, int n, const char* op) {
  Dims out;
  if (v.none() || (v.tag() == Tag::Ints && v.ints().empty())) {
    for (int i = 0; i < n; ++i) out.push(i);
    return out;
  }
  Dims asked = v.tag() == Tag::Ints ? v.ints() : Dims{v.integer()};
  for (int64_t d : asked) {
    int w = wrap_dim(d, n, op);
    if (std::find(out.begin(), out.end(), w) != out.end())
      fail(op, ": dim ", w, " appears multiple times in the list of dims ", asked);
    if (n) out.push(w);
  }
  return out;
}

static bool has(const Dims& dims, int i) { return std::find(dims.begin(), dims.end(), i) != dims.end(); }

Dims kept_sizes(const Dims& sizes, const Dims& dims, bool keepdim) {
  Dims out;
  for (int i = 0; i < sizes.size(); ++i) {
    if (!has(dims, i))
      out.push(sizes[i]);
    else if (keepdim)
      out.push(1);
  }
  return out;
}

int64_t count_of(const Dims& sizes, const Dims& dims) {
  Size n = 1;
  for (int64_t d : dims) n *= sizes[int(d)];
  return n;
}

// A reduced tensor with its lost dimensions back, as ones.
Tensor with_dims(const Tensor& t, const Dims& shape, const Dims& dims, bool kept) {
  return kept ? t : view(contiguous_of(t), kept_sizes(shape, dims, true));
}

// ---- how elements lie

LaidOut::LaidOut(const Tensor& x, DType type) : data_(x.data()) {
  if (x.dtype() != type || !x.contiguous()) copy(x, type, x.sizes(), x.strides());
}

LaidOut::LaidOut(const Tensor& x, DType type, const Dims& order) : data_(x.data()) {
  Dims sizes, strides;
  for (int64_t d : order) {
    sizes.push(x.size(int(d)));
    strides.push(x.stride(int(d)));
  }
  if (x.dtype() != type || !is_contiguous(sizes, strides)) copy(x, type, sizes, strides);
}

void LaidOut::copy(const Tensor& x, DType type, const Dims& sizes, const Dims& strides) {
  copy_.emplace(x.numel() * item_size(type));
  data_ = copy_->as<char>();
  Dims flat = contiguous_strides(sizes);
  if (x.numel())
    copy_kernels().copy(type, copy_->as<char>(), flat.data(), x.dtype(), x.data(), strides.data(), sizes.data(),
                        sizes.size());
}

Lines lines_of(const Dims& sizes, int axis) {
  Lines l{1, 1, 1};
  for (int i = 0; i < sizes.size(); ++i) {
    int64_t& part = i < axis ? l.outer : i == axis ? l.n : l.inner;
    part = part * sizes[i];
  }
  return l;
}

void reduce_box(Reduce op, DType type, const char* data, const Dims& sizes, const Dims& strides, const Dims& dims,
                void* y, void* second, double p) {
  Dims ks, kt, rs, rt;
  for (int i = 0; i < sizes.size(); ++i) {
    (has(dims, i) ? rs : ks).push(sizes[i]);
    (has(dims, i) ? rt : kt).push(strides[i]);
  }
  reduce(op, type, data, {ks.size(), ks.data(), kt.data()}, {rs.size(), rs.data(), rt.data()}, y, second, p);
}

namespace {

// Whether elements stand for several, few enough to write them out: then a sum has the bits of that of a copy.
bool is_expanded(const Tensor& x) {
  constexpr int64_t kMost = 1 << 24;
  if (x.contiguous() || x.numel() > kMost) return false;
  for (int d = 0; d < x.dim(); ++d)
    if (x.stride(d) == 0 && x.size(d) > 1) return true;
  return false;
}

}  // namespace

void run_reduce(Reduce op, const Tensor& x, DType type, const Dims& dims, void* y, void* second, double p) {
  if (x.dtype() == type && x.contiguous() && dims.size() == x.dim()) {  // all of them, side by side
    int64_t n = x.numel(), one = 1;
    return reduce(op, type, x.data(), {0, nullptr, nullptr}, {1, &n, &one}, y, second, p);
  }
  if (x.dtype() == type && !is_expanded(x))
    return reduce_box(op, type, x.data(), x.sizes(), x.strides(), dims, y, second, p);
  LaidOut copy(x, type);
  reduce_box(op, type, copy.data(), x.sizes(), contiguous_strides(x.sizes()), dims, y, second, p);
}

namespace {

const OpRef amax{"amax"}, amin{"amin"}, prod_dim{"prod.dim_int"}, eye{"eye"};

DType sum_type(Call& c, int at) {
  DType t = c.tensor(0).dtype();
  return c.dtype_or(at, is_integral(t) ? DType::Int64 : t);
}
// Whether all pixels of images that lie channels last are joined, and nothing else: then they are read as they lie.
bool over_pixels(Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.dtype() != c.out[0].dtype() || !is_floating(x.dtype()) || is_half(x.dtype()) || !lies_last(x)) return false;
  Dims dims = reduced_dims(c.arg(1), x.dim(), c.name());
  return dims.size() == x.dim() - 2 && !has(dims, 0) && !has(dims, 1);
}
void reduce_pixels(Reduce op, Call& c) {
  const Tensor& x = c.tensor(0);
  int64_t pixels = x.numel() / (x.size(0) * x.size(1));
  Dims sizes{x.size(0), pixels, x.size(1)};
  reduce_box(op, x.dtype(), as_it_lies(x), sizes, contiguous_strides(sizes), Dims{1}, c.out[0].data(), nullptr, 0);
}

// A sum or product. Integers of any width have an int64 total: no cast before it, one after it for a narrower result.
void run_total(Reduce op, Call& c, const Value& dim) {
  const Tensor &x = c.tensor(0), &y = c.out[0];
  Dims dims = reduced_dims(dim, x.dim(), c.name());
  DType type = y.dtype();
  if (!is_integral(type)) return run_reduce(op, x, type, dims, y.data());
  if (type == DType::Int64) return run_reduce(op, x, is_integral(x.dtype()) ? x.dtype() : type, dims, y.data());
  Scratch totals(y.numel() * item_size(DType::Int64));
  run_reduce(op, x, type, dims, totals.as<char>());
  int64_t n = y.numel(), one = 1;
  copy_kernels().copy(type, y.data(), &one, DType::Int64, totals.as<char>(), &one, &n, 1);
}

void infer_over(Call& c, const Value& dim, bool keepdim, DType out) {
  const Tensor& x = c.tensor(0);
  c.give(0, meta(out, kept_sizes(x.sizes(), reduced_dims(dim, x.dim(), c.name()), keepdim)));
}

void need_elements(const Tensor& x, const Dims& dims, const char* op) {
  for (int64_t d : dims)
    if (x.size(int(d)) == 0)
      fail_index(op, "(): Expected reduction dim ", d, " to have non-zero size, got shape ", x.sizes());
  if (x.dim() && dims.size() == x.dim() && x.numel() == 0)
    fail_index(op,
               "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
               "'dim' argument.");
}

// ---- sum, mean, prod

void sum_back(Grad& d, const Value& dim, bool keepdim) {
  const Dims& shape = d.shape(0);
  d.give(0, expand(with_dims(d.g(), shape, reduced_dims(dim, shape.size(), "sum"), keepdim), shape));
}

WEFT_OP{
  .signature = "sum(Tensor input, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The sum of all elements, or over dim.

>>> weft.ones(2, 3).sum()
tensor(6.)
>>> weft.ones(2, 3).sum(0)
tensor([2., 2., 2.]))",
  .traits = kOutSetsType,
  .infer = [](Call& c) { c.give(0, meta(sum_type(c, 1), {})); },
  .run = [](Call& c) { run_total(Reduce::sum, c, Value()); },
  .back = [](Grad& d) { sum_back(d, Value(), false); },
};

WEFT_OP{
  .signature = "sum.dim(Tensor input, int[]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
  .doc = "The sum over dim.",
  .traits = kOutSetsType,
  .infer = [](Call& c) { infer_over(c, c.arg(1), c.flag(2), sum_type(c, 3)); },
  .run = [](Call& c) { over_pixels(c) ? reduce_pixels(Reduce::sum, c) : run_total(Reduce::sum, c, c.arg(1)); },
  .any_order = over_pixels,
  .back = [](Grad& d) { sum_back(d, d.arg(1), d.arg(2).flag()); },
};

WEFT_OP{
  .signature = "sum_of_numbers(Tensor input, int[]? dim, bool keepdim) -> Tensor",
  .doc = "The sum over dim of what is not NaN, of floating numbers.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_floating(c, 0);
        infer_over(c, c.arg(1), c.flag(2), c.tensor(0).dtype());
      },
  .run = [](Call& c) { run_total(Reduce::nansum, c, c.arg(1)); },
  .keeps = keep::x0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0);
        Dims dims = reduced_dims(d.arg(1), x.dim(), "nansum");
        d.give(0, where(isnan(x), 0.0, with_dims(d.g(), x.sizes(), dims, d.arg(2).flag())));
      },
};

DType mean_type(Call& c, int at) {
  DType t = c.dtype_or(at, c.tensor(0).dtype());
  if (!is_inexact(t))
    fail("mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ",
         name_of(t));
  return t;
}

void mean_back(Grad& d, const Value& dim, bool keepdim) {
  const Dims& shape = d.shape(0);
  Dims dims = reduced_dims(dim, shape.size(), "mean");
  d.give(0,
         expand(with_dims(d.g(), shape, dims, keepdim), shape) / double(std::max<int64_t>(1, count_of(shape, dims))));
}

WEFT_OP{
  .signature = "mean(Tensor input, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The mean of all elements, or over dim.

>>> weft.tensor([1.0, 3.0]).mean()
tensor(2.))",
  .traits = kOutSetsType,
  .infer = [](Call& c) { c.give(0, meta(mean_type(c, 1), {})); },
  .run =
      [](Call& c) {
        run_reduce(Reduce::mean, c.tensor(0), c.out[0].dtype(), reduced_dims(Value(), c.tensor(0).dim(), "mean"),
                   c.out[0].data());
      },
  .back = [](Grad& d) { mean_back(d, Value(), false); },
};

WEFT_OP{
  .signature = "mean.dim(Tensor input, int[]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
  .doc = "The mean over dim.",
  .traits = kOutSetsType,
  .infer = [](Call& c) { infer_over(c, c.arg(1), c.flag(2), mean_type(c, 3)); },
  .run =
      [](Call& c) {
        if (over_pixels(c)) return reduce_pixels(Reduce::mean, c);
        run_reduce(Reduce::mean, c.tensor(0), c.out[0].dtype(), reduced_dims(c.arg(1), c.tensor(0).dim(), "mean"),
                   c.out[0].data());
      },
  .any_order = over_pixels,
  .back = [](Grad& d) { mean_back(d, d.arg(1), d.arg(2).flag()); },
};

// Each element's gradient is the product of all others along the last dimension: a quotient, unless there are zeros.
Tensor product_of_others(const Tensor& x, const Tensor& y, bool record) {
  if (!record) {
    static const OpRef any{"any"};
    if (x.numel() == 0 || !decide(any(x == 0.0))) return y / x;
  }
  int64_t n = x.size(-1);
  Dims square = x.sizes();
  square.push(n);
  Tensor rows = expand(unsqueeze(x, int64_t(-2)), square);
  return prod_dim(where(eye(n, DType::Bool), 1.0, rows), int64_t(-1), false);
}

WEFT_OP{
  .signature = "prod.dim_int(Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
  .doc = "The product over dim.",
  .traits = kOutSetsType,
  .infer = [](Call& c) { infer_over(c, c.arg(1), c.flag(2), sum_type(c, 3)); },
  .run = [](Call& c) { run_total(Reduce::prod, c, c.arg(1)); },
  .keeps = keep::x0 | keep::y0,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0), y = d.y(), g = d.g();
        if (x.dim() == 0) return d.give(0, g);
        int64_t dim = wrap_dim(d.arg(1).integer(), x.dim(), "prod");
        if (!d.arg(2).flag()) {
          y = unsqueeze(y, dim);
          g = unsqueeze(g, dim);
        }
        Tensor others = transpose(
            product_of_others(transpose(x, dim, int64_t(-1)), transpose(y, dim, int64_t(-1)), d.create_graph), dim,
            int64_t(-1));
        d.give(0, g * conj(others));
      },
};

WEFT_OP{
  .signature = "prod(Tensor input, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The product of all elements, or over dim.

>>> weft.tensor([2.0, 3.0]).prod()
tensor(6.))",
  .traits = kOutSetsType,
  .compose =
      [](Call& c) {
        Tensor flat = reshape(c.tensor(0), Dims{-1});
        c.give(0, c.has(1) ? prod_dim(flat, int64_t(0), false, c.arg(1)) : prod_dim(flat, int64_t(0), false));
      },
};

// ---- extremes

void refuse_complex(const Tensor& x, const char* op) {
  if (is_complex(x.dtype())) fail_missing("\"", op, "\" not implemented for '", name_of(x.dtype()), "'");
}

// The gradient is shared evenly among equal extremes.
void extreme_back(Grad& d, const Value& dim, bool keepdim) {
  Tensor x = d.x(0);
  Dims dims = reduced_dims(dim, x.dim(), "amax");
  Tensor y = with_dims(d.y(), x.sizes(), dims, keepdim), g = with_dims(d.g(), x.sizes(), dims, keepdim);
  Tensor mask = to_dtype(x == y, g.dtype());
  d.give(0, g * mask / (dims.empty() ? mask : sum_dim(mask, dims, true)));
}

template <Reduce op>
void run_extreme(Call& c, const Value& dim) {
  run_reduce(op, c.tensor(0), c.tensor(0).dtype(), reduced_dims(dim, c.tensor(0).dim(), c.name()), c.out[0].data());
}

void infer_extreme(Call& c, const Value& dim, bool keepdim) {
  const Tensor& x = c.tensor(0);
  refuse_complex(x, c.name());
  need_elements(x, reduced_dims(dim, x.dim(), c.name()), c.name());
  infer_over(c, dim, keepdim, x.dtype());
}

WEFT_OP{
  .signature = "amax(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
  .doc = R"(The largest value over dim; equal ones share the gradient.

>>> weft.tensor([[1.0, 2.0], [4.0, 3.0]]).amax(1)
tensor([2., 4.]))",
  .infer = [](Call& c) { infer_extreme(c, c.arg(1), c.flag(2)); },
  .run = [](Call& c) { run_extreme<Reduce::max>(c, c.arg(1)); },
  .keeps = keep::x0 | keep::y0,
  .back = [](Grad& d) { extreme_back(d, d.arg(1), d.arg(2).flag()); },
};

WEFT_OP{
  .signature = "amin(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
  .doc = R"(The smallest value over dim; equal ones share the gradient.

>>> weft.tensor([[1.0, 2.0], [4.0, 3.0]]).amin(1)
tensor([1., 3.]))",
  .infer = [](Call& c) { infer_extreme(c, c.arg(1), c.flag(2)); },
  .run = [](Call& c) { run_extreme<Reduce::min>(c, c.arg(1)); },
  .keeps = keep::x0 | keep::y0,
  .back = [](Grad& d) { extreme_back(d, d.arg(1), d.arg(2).flag()); },
};

WEFT_OP{
  .signature = "max(Tensor input) -> Tensor",
  .doc = R"(The largest element; with dim, the largest along it and where; with other, the larger of the two.

>>> weft.tensor([1.0, 3.0, 2.0]).max()
tensor(3.)
>>> weft.tensor([1.0, 3.0, 2.0]).max(0).indices
tensor(1))",
  .compose =
      [](Call& c) {
        if (c.tensor(0).numel() == 0)
          fail(
              "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
              "the 'dim' argument.");
        c.give(0, amax(c.tensor(0)));
      },
};

WEFT_OP{
  .signature = "min(Tensor input) -> Tensor",
  .doc = R"(The smallest element; with dim, the smallest along it and where; with other, the smaller of the two.

>>> weft.tensor([1.0, 3.0, 2.0]).min()
tensor(1.))",
  .compose =
      [](Call& c) {
        if (c.tensor(0).numel() == 0)
          fail(
              "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
              "the 'dim' argument.");
        c.give(0, amin(c.tensor(0)));
      },
};

void infer_extreme_dim(Call& c) {
  infer_extreme(c, c.arg(1), c.flag(2));
  c.give(1, meta(DType::Int64, c.out[0].sizes()));
}

template <Reduce op>
void run_extreme_dim(Call& c) {
  Dims dims = reduced_dims(c.arg(1), c.tensor(0).dim(), c.name());
  run_reduce(op, c.tensor(0), c.tensor(0).dtype(), dims, c.out[1].data(), c.out[0].data());
}

void chosen_back(Grad& d) {
  const Dims& shape = d.shape(0);
  if (shape.empty()) return d.give(0, d.g());
  int64_t dim = wrap_dim(d.arg(1).integer(), shape.size(), "max");
  Tensor g = d.g(), index = d.y(1);
  if (!d.arg(2).flag()) {
    g = unsqueeze(g, dim);
    index = unsqueeze(index, dim);
  }
  d.give(0, scatter_add.into(zeros(shape, g.dtype()), dim, index, g));
}

// Before the forms with dim: a tensor of one integer can stand for a number, but here it is the other operand.
WEFT_OP{
  .signature = "max.other(Tensor input, Tensor other) -> Tensor",
  .doc = "The larger of the two, element by element.",
  .compose = [](Call& c) { c.give(0, maximum(c.tensor(0), c.tensor(1))); },
};

WEFT_OP{
  .signature = "min.other(Tensor input, Tensor other) -> Tensor",
  .doc = "The smaller of the two, element by element.",
  .compose = [](Call& c) { c.give(0, minimum(c.tensor(0), c.tensor(1))); },
};

WEFT_OP{
  .signature = "max.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
  .doc = "The largest along dim, and where.",
  .infer = infer_extreme_dim,
  .run = run_extreme_dim<Reduce::argmax>,
  .keeps = keep::y1,
  .back = chosen_back,
};

WEFT_OP{
  .signature = "min.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
  .doc = "The smallest along dim, and where.",
  .infer = infer_extreme_dim,
  .run = run_extreme_dim<Reduce::argmin>,
  .keeps = keep::y1,
  .back = chosen_back,
};

WEFT_OP{
  .signature = "aminmax(Tensor input, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
  .doc = R"(The smallest and the largest.

>>> weft.aminmax(weft.tensor([1.0, 3.0])).max
tensor(3.))",
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Dims dims = c.has(1) ? Dims{c.integer(1)} : reduced_dims(Value(), x.dim(), "aminmax");
        c.give(0, amin(x, dims, c.flag(2)));
        c.give(1, amax(x, dims, c.flag(2)));
      },
};

void infer_arg(Call& c) {
  const Tensor& x = c.tensor(0);
  refuse_complex(x, c.name());
  if (x.dtype() == DType::Bool) fail_missing("\"", c.name(), "\" not implemented for 'Bool'");
  need_elements(x, reduced_dims(c.arg(1), x.dim(), c.name()), c.name());
  infer_over(c, c.arg(1), c.flag(2), DType::Int64);
}

template <Reduce op>
void run_arg(Call& c) {
  const Tensor& x = c.tensor(0);
  if (c.has(1) || x.contiguous()) {
    run_reduce(op, x, x.dtype(), reduced_dims(c.arg(1), x.dim(), c.name()), c.out[0].data());
    return;
  }
  LaidOut flat(x, x.dtype());
  int64_t n = x.numel(), one = 1;
  reduce(op, x.dtype(), flat.data(), {0, nullptr, nullptr}, {1, &n, &one}, c.out[0].data());
}

WEFT_OP{
  .signature = "argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
  .doc = R"(The index of the largest element, along dim or of all.

>>> weft.tensor([1.0, 3.0, 2.0]).argmax()
tensor(1))",
  .infer = infer_arg,
  .run = run_arg<Reduce::argmax>,
  .no_derivative = "an index has no derivative",
};

WEFT_OP{
  .signature = "argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
  .doc = R"(The index of the smallest element, along dim or of all.

>>> weft.tensor([1.0, 3.0, 2.0]).argmin()
tensor(0))",
  .infer = infer_arg,
  .run = run_arg<Reduce::argmin>,
  .no_derivative = "an index has no derivative",
};

// ---- truth and counts

DType truth_type(const Tensor& x) { return x.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool; }

// Unlike in other reductions, an empty list of dimensions joins nothing.
Dims truth_dims(Call& c) {
  if (c.arg(1).tag() == Tag::Ints && c.ints(1).empty()) return {};
  return reduced_dims(c.arg(1), c.tensor(0).dim(), c.name());
}

template <Reduce op>
void run_truth(Call& c, const Dims& dims) {
  run_reduce(op, c.tensor(0), c.tensor(0).dtype(), dims, c.out[0].data());
}

#define WEFT_TRUTH(name, text, example)                                                                        \
  WEFT_OP{                                                                                                     \
    .signature = #name "(Tensor input) -> Tensor",                                                             \
    .doc = text "\n\n" example,                                                                                \
    .infer = [](Call& c) { c.give(0, meta(truth_type(c.tensor(0)), {})); },                                    \
    .run = [](Call& c) { run_truth<Reduce::name>(c, reduced_dims(Value(), c.tensor(0).dim(), #name)); },       \
    .no_derivative = "the result is bool",                                                                     \
  };                                                                                                           \
  WEFT_OP{                                                                                                     \
    .signature = #name ".dim(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",                    \
    .doc = text,                                                                                               \
    .infer =                                                                                                   \
        [](Call& c) {                                                                                          \
          c.give(0, meta(truth_type(c.tensor(0)), kept_sizes(c.tensor(0).sizes(), truth_dims(c), c.flag(2)))); \
        },                                                                                                     \
    .run = [](Call& c) { run_truth<Reduce::name>(c, truth_dims(c)); },                                         \
    .no_derivative = "the result is bool",                                                                     \
  };
WEFT_TRUTH(all, "Whether all elements are nonzero, or all along dim.",
           ">>> weft.tensor([True, False]).all()\ntensor(False)")
WEFT_TRUTH(any, "Whether any element is nonzero, or any along dim.",
           ">>> weft.tensor([True, False]).any()\ntensor(True)")

WEFT_OP{
  .signature = "count_nonzero(Tensor input, int[]? dim=None) -> Tensor",
  .doc = R"(How many elements are not zero.

>>> weft.count_nonzero(weft.tensor([0, 1, 2]))
tensor(2))",
  .traits = kNoOut,
  .infer = [](Call& c) { infer_over(c, c.arg(1), false, DType::Int64); },
  .run = [](Call& c) { run_truth<Reduce::count_nonzero>(c, reduced_dims(c.arg(1), c.tensor(0).dim(), c.name())); },
  .no_derivative = "a count has no derivative",
};

}  // namespace
}  // namespace weft
