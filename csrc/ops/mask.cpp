// Masks: fill, select, scatter, and the coordinates of what is not zero.
#include <algorithm>

#include "loops/copy.h"
#include "ops/index_plan.h"

namespace weft {
namespace {

const OpRef masked_select{"masked_select"}, masked_scatter{"masked_scatter"}, nonzero_columns{"nonzero.columns"};

void check_mask(const Tensor& mask, const char* op) {
  if (mask.dtype() != DType::Bool) fail(op, ": expected a mask of dtype bool, got ", name_of(mask.dtype()));
}

// How many elements of t are not zero before each chunk, and in all.
struct Counts {
  std::vector<int64_t> starts;
  int64_t total;
  Counts(DType type, const char* data, int64_t n)
      : starts(size_t(mask_chunks(n) + 1)), total(index_kernels().count(type, data, n, starts.data())) {}
};

// The strides of t in a walk over sizes, to which it is broadcast.
Dims strides_in(const Tensor& t, const Dims& sizes) {
  Dims strides(sizes.size());
  int shift = sizes.size() - t.dim();
  for (int d = 0; d < t.dim(); ++d) strides[d + shift] = t.size(d) == 1 ? 0 : t.stride(d);
  return strides;
}

WEFT_OP{
  .signature = "masked_fill(Tensor input, Tensor mask, Tensor|Scalar value) -> Tensor",
  .doc = R"(A copy of input with value where mask is true.

>>> weft.masked_fill(weft.zeros(3), weft.tensor([True, False, True]), 1)
tensor([1., 0., 1.]))",
  .traits = kInplace | kOverwrites,
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &mask = c.tensor(1);
        check_mask(mask, "masked_fill");
        const Value& v = c.arg(2);
        if (v.is_tensor() && v.tensor().dim())
          fail("masked_fill: only supports a 0-dimensional value tensor, but got tensor with ", v.tensor().dim(),
               " dimension(s).");
        bool complex_value = v.is_tensor() ? is_complex(v.tensor().dtype()) : v.tag() == Tag::Complex;
        if (complex_value && !is_complex(x.dtype()))
          fail("masked_fill: value cannot be converted to type ", name_of(x.dtype()), " without overflow");
        check_fits(v, x.dtype(), "masked_fill");
        Dims sizes = broadcast(x.sizes(), mask.sizes(), "masked_fill");
        bool keep_order = !x.contiguous() && sizes == x.sizes() && is_dense(x.sizes(), x.strides());
        c.give(0, keep_order ? meta_strided(x.dtype(), sizes, x.strides()) : meta(x.dtype(), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &mask = c.tensor(1), &y = c.out[0];
        alignas(16) char element[16];
        const Value& v = c.arg(2);
        if (v.is_tensor())
          copy_kernels().convert(v.tensor().dtype(), y.dtype(), v.tensor().data(), element, 1);
        else
          v.store(y.dtype(), element);
        Dims none(y.dim()), of_mask = strides_in(mask, y.sizes()), of_x = strides_in(x, y.sizes());
        index_kernels().blend(item_size(y.dtype()), y.data(), mask.data(), element, x.data(), y.dim(), y.sizes().data(),
                              {y.strides().data(), of_mask.data(), none.data(), of_x.data()});
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        Tensor mask = d.x(1);
        if (d.needs(0)) d.give(0, masked_fill(d.g(), mask, 0));
        if (d.needs(2)) d.give(2, sum_all(where(mask, d.g(), 0)));
      },
};

WEFT_OP{
  .signature = "masked_select(Tensor input, Tensor mask) -> Tensor",
  .doc = R"(The elements of input where mask is true, in one dimension.

>>> weft.masked_select(weft.arange(3), weft.tensor([True, False, True]))
tensor([0, 2]))",
  .traits = kDynamic,
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &mask = c.tensor(1);
        check_mask(mask, "masked_select");
        check_out_apart(c);
        Dims sizes = broadcast(x.sizes(), mask.sizes(), "masked_select");
        int64_t times = mask.numel() ? numel_of(sizes) / mask.numel()
                                     : 0;  // a broadcast mask keeps its elements that often
        InOrder ordered(mask, mask.sizes());
        c.give(0, meta(x.dtype(), Dims{Size(Counts(DType::Bool, ordered.data(), mask.numel()).total) * times}));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &mask = c.tensor(1), &y = c.out[0];
        if (!y.numel()) return;
        Dims sizes = broadcast(x.sizes(), mask.sizes(), "masked_select");
        int64_t n = numel_of(sizes);
        InOrder values(x, sizes), kept(mask, sizes);
        Counts counts(DType::Bool, kept.data(), n);
        index_kernels().masked_select(item_size(x.dtype()), y.data(), values.data(), kept.data(), n,
                                      counts.starts.data());
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        Tensor mask = d.x(1);
        Dims sizes = broadcast(d.shape(0), mask.sizes(), "masked_select");
        d.give(0, masked_scatter(zeros(sizes, d.g().dtype()), mask, d.g()));
      },
};

WEFT_OP{
  .signature = "masked_scatter(Tensor input, Tensor mask, Tensor source) -> Tensor",
  .doc = R"(A copy of input with the elements of source, in order, where mask is true.

>>> weft.masked_scatter(weft.zeros(3), weft.tensor([True, False, True]), weft.tensor([5., 6.]))
tensor([5., 0., 6.]))",
  .traits = kInplace,
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &mask = c.tensor(1), &source = c.tensor(2);
        check_mask(mask, "masked_scatter");
        if (source.dtype() != x.dtype())
          fail("masked_scatter: expected self and source to have same dtypes but got ", name_of(x.dtype()), " and ",
               name_of(source.dtype()));
        c.give(0, meta(x.dtype(), broadcast(x.sizes(), mask.sizes(), "masked_scatter")));
      },
  .run =
      [](Call& c) {
        const Tensor &mask = c.tensor(1), &source = c.tensor(2), &y = c.out[0];
        copy_data(y, c.tensor(0));
        InOrder kept(mask, y.sizes()), values(source, source.sizes());
        Counts counts(DType::Bool, kept.data(), y.numel());
        if (counts.total > source.numel())
          fail("masked_scatter: expected the number of elements of source (", source.numel(),
               ") to be at least the number of ones in mask (", counts.total, ")");
        if (counts.total)
          index_kernels().masked_scatter(item_size(y.dtype()), y.data(), kept.data(), values.data(), y.numel(),
                                         counts.starts.data());
      },
  .keeps = keep::x1,
  .back =
      [](Grad& d) {
        static const OpRef cat{"cat"};
        Tensor mask = d.x(1);
        if (d.needs(0)) d.give(0, masked_fill(d.g(), mask, 0));
        if (!d.needs(2)) return;
        Tensor used = masked_select(d.g(), mask);
        int64_t rest = numel_of(d.shape(2)) - used.numel();
        if (rest) used = cat(TensorList{used, zeros(Dims{rest}, used.dtype())}, 0);
        d.give(2, view(used, d.shape(2)));
      },
};

// ---- coordinates

constexpr const char* kIndices = "the result is made of indices";

int64_t count_nonzero_of(const Tensor& x) {
  InOrder values(x, x.sizes());
  return Counts(x.dtype(), values.data(), x.numel()).total;
}

void write_nonzero(const Tensor& x, const Tensor& y, int64_t row, int64_t column) {
  if (!y.numel()) return;
  InOrder values(x, x.sizes());
  Counts counts(x.dtype(), values.data(), x.numel());
  index_kernels().nonzero(x.dtype(), values.data(), x.dim(), x.sizes().data(), counts.starts.data(), y.data<int64_t>(),
                          row, column);
}

WEFT_OP{
  .signature = "nonzero(Tensor input) -> Tensor",
  .doc =
      R"(The coordinates of the elements that are not zero, one in each row; with as_tuple=True, one tensor for each dimension.

>>> weft.nonzero(weft.tensor([[0, 7], [5, 0]]))
tensor([[0, 1],
        [1, 0]]))",
  .traits = kDynamic,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        c.give(0, meta(DType::Int64, Dims{count_nonzero_of(x), x.dim()}));
      },
  .run = [](Call& c) { write_nonzero(c.tensor(0), c.out[0], c.tensor(0).dim(), 1); },
  .no_derivative = kIndices,
  .aliases = "argwhere",
};

WEFT_OP{
  .signature = "nonzero.columns(Tensor input) -> Tensor",
  .doc = "The coordinates of the elements that are not zero, one dimension in each row.",
  .traits = kDynamic | kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        c.give(0, meta(DType::Int64, Dims{x.dim(), count_nonzero_of(x)}));
      },
  .run = [](Call& c) { write_nonzero(c.tensor(0), c.out[0], 1, c.out[0].size(1)); },
  .no_derivative = kIndices,
};

WEFT_OP{
  .signature = "where.condition(Tensor condition) -> Tensor[]",
  .doc = "The coordinates of the elements of condition that are not zero, one tensor for each dimension.",
  .traits = kNoMethod | kNoOut,
  .compose =
      [](Call& c) {
        Tensor x = c.tensor(0).dim() ? c.tensor(0) : view(c.tensor(0), Dims{1});
        Tensor columns = nonzero_columns(x);
        for (int k = 0; k < x.dim(); ++k) c.list.push_back(select(columns, 0, k));
      },
};

}  // namespace
}  // namespace weft
