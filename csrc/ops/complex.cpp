// Complex numbers: their parts, as views where possible.
#include <complex>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/strided.h"

namespace weft {
namespace {

const OpRef kAsReal{"view_as_real"}, kAsComplex{"view_as_complex"}, kComplex{"complex"}, kConjPhysical{"conj_physical"};

WEFT_OP{
  .signature = "view_as_real(Tensor input) -> Tensor",
  .doc = R"(A complex tensor seen as pairs of real numbers, in a new last dimension.

>>> weft.view_as_real(weft.complex(weft.tensor([1.0]), weft.tensor([2.0])))
tensor([[1., 2.]]))",
  .traits = kView | kNoOut | kNoMethod,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (!is_complex(x.dtype()))
          fail("view_as_real is only supported for complex tensors, got ", name_of(x.dtype()));
        Dims sizes = x.sizes(), strides = x.strides();
        for (int64_t& s : strides) s *= 2;
        sizes.push(2), strides.push(1);
        c.give(0, reinterpreted(x, real_of(x.dtype()), sizes, strides, x->offset * 2));
      },
  .back = [](Grad& d) { d.give(0, kAsComplex(contiguous(d.g()))); },
};

WEFT_OP{
  .signature = "view_as_complex(Tensor input) -> Tensor",
  .doc = R"(Pairs of real numbers in the last dimension seen as complex numbers.

>>> weft.view_as_complex(weft.tensor([[1.0, 2.0]]))
tensor([1.+2.j]))",
  .traits = kView | kNoOut | kNoMethod,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int n = x.dim();
        if (x.dtype() != DType::Float && x.dtype() != DType::Double)
          fail("view_as_complex is only supported for floating point tensors, but got a tensor of type ",
               name_of(x.dtype()));
        if (n == 0) fail("view_as_complex: input tensor must have one or more dimensions");
        if (x.size(n - 1) != 2)
          fail("view_as_complex: tensor must have a last dimension of size 2, got shape ", x.sizes());
        if (x.stride(n - 1) != 1) fail("view_as_complex: tensor must have a last dimension with stride 1");
        if (x->offset % 2) fail("view_as_complex: tensor must have a storage_offset divisible by 2");
        Dims sizes(x.sizes().data(), n - 1), strides(x.strides().data(), n - 1);
        for (int64_t& s : strides) {
          if (s % 2) fail("view_as_complex: tensor must have a stride divisible by 2 for all but last dimension");
          s /= 2;
        }
        c.give(0, reinterpreted(x, complex_of(x.dtype()), sizes, strides, x->offset / 2));
      },
  .back = [](Grad& d) { d.give(0, kAsReal(d.g())); },
};

WEFT_OP{
  .signature = "real(Tensor input) -> Tensor",
  .doc = R"(The real parts: a view of a complex tensor, a real one itself.

>>> weft.real(weft.tensor([1 + 2j, 3 - 1j]))
tensor([1., 3.]))",
  .traits = kNoOut | kNoMethod,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        c.give(0, is_complex(x.dtype()) ? select(kAsReal(x), -1, 0) : x);
      },
};

WEFT_OP{
  .signature = "imag(Tensor input) -> Tensor",
  .doc = R"(The imaginary parts, as a view.

>>> weft.imag(weft.tensor([1 + 2j, 3 - 1j]))
tensor([ 2., -1.]))",
  .traits = kNoOut | kNoMethod,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (!is_complex(x.dtype())) fail("imag is not implemented for tensors with non-complex dtypes.");
        c.give(0, select(kAsReal(x), -1, 1));
      },
};

// Whole numbers of the same bytes: the sign of the imaginary part is the last bit of a complex64.
[[gnu::optimize("O3"), gnu::noinline]] void conjugate_floats(uint64_t* to, const uint64_t* from, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] ^ (uint64_t(1) << 63);
}
[[gnu::optimize("O3"), gnu::noinline]] void conjugate_doubles(uint64_t* to, const uint64_t* from, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < 2 * n; i += 2) to[i] = from[i], to[i + 1] = from[i + 1] ^ (uint64_t(1) << 63);
}
void conjugate(const Tensor& x, const Tensor& out) {
  const Tensor* from = &x;
  if (!x.contiguous()) copy_data(out, x), from = &out;
  auto *to = out.data<uint64_t>(), *at = from->data<uint64_t>();
  parallel_chunks(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (x.dtype() == DType::ComplexFloat)
      conjugate_floats(to + begin, at + begin, end - begin);
    else
      conjugate_doubles(to + 2 * begin, at + 2 * begin, end - begin);
  });
}

// Two arrays as one of pairs.
template <class T>
[[gnu::optimize("O3"), gnu::noinline]] void interleave(T* to, const T* re, const T* im, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[2 * i] = re[i], to[2 * i + 1] = im[i];
}
bool interleaved(const Tensor& re, const Tensor& im, const Tensor& out) {
  bool alike = re.contiguous() && im.contiguous() && out.contiguous() && re.sizes() == im.sizes();
  if (!alike || re.dtype() != real_of(out.dtype())) return false;
  parallel_chunks(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (re.dtype() == DType::Float)
      interleave(out.data<float>() + 2 * begin, re.data<float>() + begin, im.data<float>() + begin, end - begin);
    else
      interleave(out.data<double>() + 2 * begin, re.data<double>() + begin, im.data<double>() + begin, end - begin);
  });
  return true;
}

WEFT_OP{
  .signature = "conj_physical(Tensor input) -> Tensor",
  .doc = R"(The complex conjugates, as new memory.

>>> weft.conj_physical(weft.tensor([1 + 2j]))
tensor([1.-2.j]))",
  .traits = kInplace,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes())); },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &out = c.out[0];
        is_complex(x.dtype()) ? conjugate(x, out) : copy_data(out, x);
      },
  .back = [](Grad& d) { d.give(0, kConjPhysical(d.g())); },
};

WEFT_OP{
  .signature = "conj(Tensor input) -> Tensor",
  .doc = R"(The complex conjugates; a real tensor itself.

>>> weft.conj(weft.tensor([1 + 2j]))
tensor([1.-2.j]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        c.give(0, is_complex(x.dtype()) ? kConjPhysical(x) : x);
      },
};

// weft conjugates and negates at once, so there is nothing left to resolve.
void give_itself(Call& c) { c.give(0, c.tensor(0)); }

WEFT_OP{
  .signature = "resolve_conj(Tensor input) -> Tensor",
  .doc = R"(input itself: weft never puts a conjugation off.

>>> weft.resolve_conj(weft.tensor([1.0]))
tensor([1.]))",
  .traits = kNoOut,
  .compose = give_itself,
};

WEFT_OP{
  .signature = "resolve_neg(Tensor input) -> Tensor",
  .doc = R"(input itself: weft never puts a negation off.

>>> weft.resolve_neg(weft.tensor([1.0]))
tensor([1.]))",
  .traits = kNoOut,
  .compose = give_itself,
};

WEFT_OP{
  .signature = "complex(Tensor real, Tensor imag) -> Tensor",
  .doc = R"(Complex numbers from their real and imaginary parts.

>>> weft.complex(weft.tensor([1.0]), weft.tensor([2.0]))
tensor([1.+2.j]))",
  .traits = kNoMethod,
  .infer =
      [](Call& c) {
        const Tensor &re = c.tensor(0), &im = c.tensor(1);
        if ((re.dtype() != DType::Float && re.dtype() != DType::Double && re.dtype() != DType::Half) ||
            re.dtype() != im.dtype())
          fail("complex: Expected both inputs to be Half, Float or Double tensors of one type but got ",
               name_of(re.dtype()), " and ", name_of(im.dtype()));
        DType dtype = complex_of(re.dtype());
        c.give(0, meta(dtype, broadcast(re.sizes(), im.sizes(), "complex")));
      },
  .run =
      [](Call& c) {
        const Tensor& out = c.out[0];
        if (interleaved(c.tensor(0), c.tensor(1), out)) return;
        DType real = real_of(out.dtype());
        Dims to = out.strides();
        for (int64_t& s : to) s *= 2;
        for (int part = 0; part < 2; ++part) {
          const Tensor& t = c.tensor(part);
          Dims from(out.dim());
          int shift = out.dim() - t.dim();
          for (int i = 0; i < t.dim(); ++i) from[i + shift] = t.size(i) == 1 ? 0 : t.stride(i);
          copy_kernels().copy(real, out.data() + part * item_size(real), to.data(), t.dtype(), t.data(), from.data(),
                              out.sizes().data(), out.dim());
        }
      },
  .back =
      [](Grad& d) {
        Tensor pairs = kAsReal(d.g());
        if (d.needs(0)) d.give(0, select(pairs, -1, 0));
        if (d.needs(1)) d.give(1, select(pairs, -1, 1));
      },
};

WEFT_OP{
  .signature = "polar(Tensor abs, Tensor angle) -> Tensor",
  .doc = R"(Complex numbers from their absolute values and angles.

>>> weft.polar(weft.tensor([2.0]), weft.tensor([0.0]))
tensor([2.+0.j]))",
  .traits = kNoMethod,
  .compose =
      [](Call& c) {
        const Tensor &r = c.tensor(0), &angle = c.tensor(1);
        if ((r.dtype() != DType::Float && r.dtype() != DType::Double) || r.dtype() != angle.dtype())
          fail("polar: Expected both inputs to be Float or Double tensors of one type but got ", name_of(r.dtype()),
               " and ", name_of(angle.dtype()));
        c.give(0, kComplex(r * cos(angle), r * sin(angle)));
      },
};

}  // namespace
}  // namespace weft
