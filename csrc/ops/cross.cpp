// Vector products in three dimensions.
#include "loops/modular.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef vector_product{"vector_product"};

// x y - z w, each product and the difference rounded by itself.
template <class T>
T difference(T x, T y, T z, T w) {
  return modular::sub(modular::mul(x, y), modular::mul(z, w));
}
template <>
Half difference(Half x, Half y, Half z, Half w) {
  return Half(float(Half(float(x) * float(y))) - float(Half(float(z) * float(w))));
}
template <>
BFloat16 difference(BFloat16 x, BFloat16 y, BFloat16 z, BFloat16 w) {
  return BFloat16(float(BFloat16(float(x) * float(y))) - float(BFloat16(float(z) * float(w))));
}
template <class R>
std::complex<R> product(std::complex<R> x, std::complex<R> y) {  // infinities are what the formula gives
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <>
c64 difference(c64 x, c64 y, c64 z, c64 w) {
  return product(x, y) - product(z, w);
}
template <>
c128 difference(c128 x, c128 y, c128 z, c128 w) {
  return product(x, y) - product(z, w);
}

// Components lie `inner` elements apart.
template <class T>
void cross_block(const T* __restrict a, const T* __restrict b, T* __restrict c, int64_t inner) {
  const T *a0 = a, *a1 = a + inner, *a2 = a1 + inner, *b0 = b, *b1 = b + inner, *b2 = b1 + inner;
  T *c0 = c, *c1 = c + inner, *c2 = c1 + inner;
  for (int64_t i = 0; i < inner; ++i) {
    c0[i] = difference(a1[i], b2[i], a2[i], b1[i]);
    c1[i] = difference(a2[i], b0[i], a0[i], b2[i]);
    c2[i] = difference(a0[i], b1[i], a1[i], b0[i]);
  }
}

WEFT_OP{
  .signature = "vector_product(Tensor input, Tensor other, int dim) -> Tensor",
  .doc = "The vector products along a dimension of size 3 of two tensors of one shape and dtype.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dtype() == DType::Bool) fail_missing("cross: not implemented for 'bool'");
        expect_dtype(c, 1, x.dtype());
        expect_shape(c, 1, x.sizes());
        if (x.size(expect_axis(c, 2, x.dim())) != 3) refuse(c, 0, "have length 3 in this dimension");
        c.give(0, meta(x.dtype(), x.sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor& y = c.out[0];
        const LaidOut a(c.tensor(0), y.dtype()), b(c.tensor(1), y.dtype());
        const Lines lines = lines_of(y.sizes(), int(c.integer(2)));
        visit(y.dtype(), [&](auto zero) {
          using T = decltype(zero);
          if constexpr (!std::is_same_v<T, bool>) {
            const T *from = reinterpret_cast<const T*>(a.data()), *other = reinterpret_cast<const T*>(b.data());
            const int64_t block = 3 * lines.inner;
            parallel_shares(lines.outer, 1 + kGrain / block, 1, [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i)
                cross_block(from + i * block, other + i * block, y.data<T>() + i * block, lines.inner);
            });
          }
        });
      },
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        if (d.needs(0)) d.give(0, vector_product(conj_of(d.x(1)), d.g(), d.arg(2)));
        if (d.needs(1)) d.give(1, vector_product(d.g(), conj_of(d.x(0)), d.arg(2)));
      },
};

Tensor cross(const Tensor& x, const Tensor& y, int64_t dim) {
  if (x.dim() != y.dim()) fail("linalg.cross: inputs must have the same number of dimensions.");
  if (x.dtype() != y.dtype())
    fail("linalg.cross: Expected input and other to have the same dtype, but found input of type ", name_of(x.dtype()),
         " and other of type ", name_of(y.dtype()), " instead");
  const int axis = wrap_dim(dim, x.dim(), "linalg.cross");
  if (x.dim() == 0 || x.size(axis) != 3 || y.size(axis) != 3)
    fail("linalg.cross: inputs dimension ", dim, " must have length 3. Got ", x.dim() ? x.size(axis) : 0, " and ",
         y.dim() ? y.size(axis) : 0);
  if (x.sizes() == y.sizes()) return vector_product(x, y, int64_t(axis));
  const Dims sizes = broadcast(x.sizes(), y.sizes(), "linalg.cross");
  return vector_product(expand(x, sizes), expand(y, sizes), int64_t(axis));
}

WEFT_OP{
  .signature = "linalg_cross(Tensor input, Tensor other, *, int dim=-1) -> Tensor",
  .doc = R"(The vector products along a dimension of size 3.

>>> weft.linalg.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
tensor([0, 0, 1]))",
  .traits = kNoMethod,
  .compose = [](Call& c) { c.give(0, cross(c.tensor(0), c.tensor(1), c.integer(2))); },
};

WEFT_OP{
  .signature = "cross(Tensor input, Tensor other, int? dim=None) -> Tensor",
  .doc = R"(The vector products along a dimension of size 3 (by default the first such).

>>> weft.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
tensor([0, 0, 1]))",
  .compose =
      [](Call& c) {
        if (c.has(2)) return c.give(0, cross(c.tensor(0), c.tensor(1), c.integer(2)));
        const Dims sizes = broadcast(c.tensor(0).sizes(), c.tensor(1).sizes(), "cross");
        for (int d = 0; d < sizes.size(); ++d)
          if (sizes[d] == 3) return c.give(0, cross(c.tensor(0), c.tensor(1), d - sizes.size()));
        fail("cross: no dimension of size 3 in input");
      },
};

}  // namespace
}  // namespace weft
