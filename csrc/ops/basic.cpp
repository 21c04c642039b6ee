// Copying, filling and allocating: what the dispatcher and all ops are built on.
#include <cstring>

#include "loops/copy.h"
#include "ops/api.h"
#include "ops/order.h"
#include "ops/rules.h"

namespace weft {

void copy_data(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  if (dst.sizes() == src.sizes()) {
    copy_kernels().copy(dst.dtype(), dst.data(), dst.strides().data(), src.dtype(), src.data(), src.strides().data(),
                        dst.sizes().data(), dst.dim());
    return;
  }
  Dims strides(dst.dim());
  int shift = dst.dim() - src.dim();
  for (int i = 0; i < src.dim(); ++i) {
    if (i + shift < 0) continue;  // leading dimensions of size one
    if (src.size(i) != dst.size(i + shift) && src.size(i) != 1)
      fail("copy: a tensor of shape ", src.sizes(), " does not fit into shape ", dst.sizes());
    strides[i + shift] = src.size(i) == 1 ? 0 : src.stride(i);
  }
  copy_kernels().copy(dst.dtype(), dst.data(), dst.strides().data(), src.dtype(), src.data(), strides.data(),
                      dst.sizes().data(), dst.dim());
}

void fill_data(const Tensor& dst, const Value& value) {
  if (dst.numel() == 0) return;
  alignas(16) char element[16];
  if (value.is_tensor())
    copy_kernels().convert(value.tensor().dtype(), dst.dtype(), value.tensor().data(), element, 1);
  else
    check_fits(value, dst.dtype(), "fill"), value.store(dst.dtype(), element);
  if (dst.contiguous() || is_dense(dst.sizes(), dst.strides())) {
    copy_kernels().fill(dst.dtype(), dst.data(), dst.numel(), element);
    return;
  }
  Dims none(dst.dim());
  copy_kernels().copy(dst.dtype(), dst.data(), dst.strides().data(), dst.dtype(), element, none.data(),
                      dst.sizes().data(), dst.dim());
}

namespace {
// Those of a copy: the same, or without the gaps, in the same order of dimensions.
Dims dense_strides(const Tensor& t) {
  bool dense = is_dense(t.sizes(), t.strides());
  return dense ? t.strides() : strides_like(t.sizes(), t.strides());
}

// A copy of an image that lies channels last lies like it.
void copy_as_it_lies(const Tensor& out, const Tensor& t) {
  if (!lies_last(t)) return copy_data(out, t);
  LastWritten to(out);
  std::memmove(to.data(), as_it_lies(t), size_t(t.numel() * item_size(t.dtype())));
}
}  // namespace

Tensor clone_data(const Tensor& t) {
  Tensor out = empty_strided(t.sizes(), dense_strides(t), t.dtype());
  copy_as_it_lies(out, t);
  return out;
}

void resize_to(Tensor& t, const Dims& sizes) {
  Dims strides = contiguous_strides(sizes);
  t->storage->resize((t->offset + Size(numel_of(sizes))) * item_size(t.dtype()));
  t->set_geometry(sizes, strides, t->offset);
}

bool overlaps_partly(Call& c, const Tensor& written) {
  for (int i = 1; i < c.count; ++i) {
    if (!c.arg(i).is_tensor()) continue;
    const Tensor& t = c.tensor(i);
    if (t->storage.get() != written->storage.get()) continue;
    if (t->offset == written->offset && t.sizes() == written.sizes() && t.strides() == written.strides()) continue;
    return true;
  }
  return false;
}

// In a trace the makers are ops: what they give may be changed in place, and is new in each run.
Tensor zeros(const Dims& sizes, DType dtype) {
  static const OpRef made{"zeros"};
  if (t_recorder) return made(sizes, dtype);
  Tensor t = empty(sizes, dtype);
  std::memset(t.data(), 0, size_t(t.numel() * item_size(dtype)));
  return t;
}

Tensor full(const Dims& sizes, const Value& value, DType dtype) {
  static const OpRef made{"full"};
  if (t_recorder) return made(sizes, value, dtype);
  Tensor t = empty(sizes, dtype);
  fill_data(t, value);
  return t;
}

Tensor zeros_like(const Tensor& t) { return zeros(t.sizes(), t.dtype()); }
Tensor ones_like(const Tensor& t) { return full(t.sizes(), Value(1), t.dtype()); }

Tensor arange(int64_t n) {
  Tensor t = empty({n}, DType::Int64);
  for (int64_t i = 0; i < n; ++i) t.data<int64_t>()[i] = i;
  return t;
}

Tensor scalar_tensor(const Value& number, DType dtype, bool wrapped) {
  Tensor t = empty({}, dtype);
  number.store(dtype, t.data());
  t->wrapped_number = wrapped;
  return t;
}

Tensor to_dtype(const Tensor& t, DType dtype) {
  static const OpRef cast{"cast"};
  return t.dtype() == dtype ? t : cast(t, dtype);
}

Tensor clone_of(const Tensor& t) {
  static const OpRef clone{"clone"};
  return clone(t);
}

Tensor contiguous_of(const Tensor& t) { return t.contiguous() ? t : contiguous(t); }

Tensor real_part(const Tensor& t) {
  static const OpRef real{"real"};
  return is_complex(t.dtype()) ? real(t) : t;
}

Tensor sum_to(const Tensor& t, const Dims& sizes) {
  if (t.sizes() == sizes) return t;
  Dims axes;
  int shift = t.dim() - sizes.size();
  for (int i = 0; i < t.dim(); ++i)
    if (i < shift || (sizes[i - shift] == 1 && t.size(i) != 1)) axes.push(i);
  Tensor out = axes.empty() ? t : sum_dim(t, axes, true);
  return out.sizes() == sizes ? out : view(out, sizes);
}

namespace {

WEFT_OP{
  .signature = "cast(Tensor input, dtype dtype) -> Tensor",
  .doc = "input with its elements converted to dtype.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        DType t = c.arg(1).dtype();
        bool dense = !x.contiguous() && is_dense(x.sizes(), x.strides());
        c.give(0, dense ? meta_strided(t, x.sizes(), x.strides()) : meta(t, x.sizes()));
      },
  .run = [](Call& c) { copy_data(c.out[0], c.tensor(0)); },
  .back = [](Grad& d) { d.give(0, d.g()); },
};

WEFT_OP{
  .signature = "clone(Tensor input, *, object? memory_format=None) -> Tensor",
  .doc = R"(A copy of input with its own memory; gradients flow through it.

>>> x = weft.ones(2)
>>> y = x.clone()
>>> y.data_ptr() == x.data_ptr()
False)",
  .traits = kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        bool in_order = c.has(1) || x.contiguous();
        c.give(0, in_order ? meta(x.dtype(), x.sizes()) : meta_strided(x.dtype(), x.sizes(), dense_strides(x)));
      },
  .run = [](Call& c) { copy_as_it_lies(c.out[0], c.tensor(0)); },
  .any_order = [](Call& c) { return lies_last(c.tensor(0)); },
  .back = [](Grad& d) { d.give(0, d.g()); },
};

WEFT_OP{
  .signature = "layout_as(Tensor input, int[] strides) -> Tensor",
  .doc = "A copy of input with the given strides.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        expect_count(c, 1, x.dim()), expect_not_negative(c, 1);
        if (overlaps_itself(x.sizes(), c.ints(1))) refuse(c, 1, "give each element of ", x.sizes(), " a place");
        c.give(0, meta_strided(x.dtype(), x.sizes(), c.ints(1)));
      },
  .run = [](Call& c) { copy_data(c.out[0], c.tensor(0)); },
  .back = [](Grad& d) { d.give(0, d.g()); },
};

// Whether copy_ writes all of an image over which one that lies channels last is copied: then it lies like that.
static bool takes_order_of_source(Call& c) {
  if (!c.arg(1).is_tensor()) return false;
  const Tensor &self = c.tensor(0), &source = c.tensor(1);
  bool alike = self.sizes() == source.sizes() && self.dtype() == source.dtype();
  return alike && lies_last(source) && (lies_last(self) || can_lie_last(self));
}

WEFT_OP{
  .signature = "copy_(Tensor input, Tensor|Scalar src, bool non_blocking=False) -> Tensor",
  .doc = R"(Writes src into this tensor, cast and broadcast as needed.

>>> weft.zeros(2).copy_(weft.tensor([1, 2]))
tensor([1., 2.]))",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& self = c.tensor(0);
        if (c.arg(1).is_tensor()) {
          Dims joint = broadcast(self.sizes(), c.tensor(1).sizes(), "copy_");
          if (!(joint == self.sizes()))
            fail("copy_: output with shape ", self.sizes(), " doesn't match the broadcast shape ", joint);
        }
        c.give(0, meta(self.dtype(), self.sizes()));
      },
  .run =
      [](Call& c) {
        if (!c.arg(1).is_tensor())
          fill_data(c.out[0], c.arg(1));
        else if (takes_order_of_source(c))
          copy_as_it_lies(c.out[0], c.tensor(1));
        else
          copy_data(c.out[0], c.tensor(1));
      },
  .any_order = takes_order_of_source,
  .back =
      [](Grad& d) {
        Tensor nothing = zeros(d.g().sizes(), d.g().dtype());
        if (d.g().dim() > 3 && lies_last(d.g()) && can_lie_last(nothing)) set_lies_last(nothing);  // and sums with it
        d.give(0, nothing);
        d.give(1, d.g());
      },
};

WEFT_OP{
  .signature = "fill(Tensor input, Tensor|Scalar value) -> Tensor",
  .doc = R"(A tensor like input with every element set to value.

>>> weft.fill(weft.zeros(2), 3)
tensor([3., 3.]))",
  .traits = kInplace | kOverwrites | kNoMethod | kNoOut,
  .infer =
      [](Call& c) {
        if (c.arg(1).is_tensor() && c.tensor(1).dim() != 0)
          fail("fill_ only supports 0-dimension value tensor but got tensor with ", c.tensor(1).dim(), " dimensions.");
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run = [](Call& c) { fill_data(c.out[0], c.arg(1)); },
  .back =
      [](Grad& d) {
        d.give(0, zeros(d.g().sizes(), d.g().dtype()));
        if (d.needs(1)) d.give(1, sum_all(d.g()));
      },
};

WEFT_OP{
  .signature = "zero_(Tensor input) -> Tensor",
  .doc = R"(Sets every element to zero.

>>> weft.ones(2).zero_()
tensor([0., 0.]))",
  .traits = kInplaceOnly | kOverwrites | kNoOut,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes())); },
  .run = [](Call& c) { fill_data(c.out[0], Value(0)); },
  .back = [](Grad& d) { d.give(0, zeros(d.g().sizes(), d.g().dtype())); },
};

}  // namespace
}  // namespace weft
