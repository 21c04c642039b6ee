// The linear layer as one op: x w^T + b, with ReLU or without, with its derivatives as products that never copy a
// transpose.
#include "loops/gemm.h"
#include "ops/product.h"

namespace weft {
namespace {

const OpRef kProduct{"matrix_product"}, pass_positive{"pass_positive"};

// x (…, k) seen as one tall matrix.
Tensor tall(const Tensor& x) { return x.dim() == 2 ? x : reshape(x, Dims{-1, x.size(-1)}); }

Dims with_last(const Dims& sizes, int64_t last) {
  Dims out = sizes;
  out[out.size() - 1] = last;
  return out;
}

void infer(Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  if (x.dim() == 0 || w.dim() != 2)
    fail("linear: expected an input of at least one dimension and a weight of two, got shapes ", x.sizes(), " and ",
         w.sizes());
  if (x.dtype() != w.dtype() || (c.has(2) && c.tensor(2).dtype() != x.dtype()))
    fail("linear: mat1 and mat2 must have the same dtype, but got ", name_of(x.dtype()), " and ", name_of(w.dtype()),
         c.has(2) ? " and " : "", c.has(2) ? name_of(c.tensor(2).dtype()) : "");
  if (x.dtype() == DType::Bool) fail_missing("linear: not implemented for 'Bool'");
  if (x.size(-1) != w.size(1))
    fail("linear: mat1 and mat2 shapes cannot be multiplied (", x.sizes(), " and the transpose of ", w.sizes(), ")");
  Dims sizes = with_last(x.sizes(), w.size(0));
  if (c.has(2) && !(c.tensor(2).sizes() == Dims{w.size(0)}) &&
      !(broadcast(c.tensor(2).sizes(), sizes, "linear") == sizes))
    fail("linear: bias of shape ", c.tensor(2).sizes(), " cannot be expanded to shape ", sizes);
  c.give(0, meta(x.dtype(), sizes));
}

void run(Call& c, bool relu) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1), &y = c.out[0];
  if (y.numel() == 0) return;
  int64_t n = w.size(0), k = w.size(1), rows = y.numel() / n;
  bool row = c.has(2) && c.tensor(2).dim() == 1 && c.tensor(2)->contiguous && c.tensor(2).numel() == n;
  if (c.has(2) && !row) copy_data(y, c.tensor(2));
  if (x->contiguous && w->contiguous) {
    Product p{false, true, rows, n, k, x.data(), k, w.data(), k, y.data(), n, 1, c.has(2) ? 1.0 : 0.0};
    if (row) p.plus = c.tensor(2).data();
    p.relu = relu;
    return gemm(x.dtype(), p);
  }
  if (row) copy_data(y, c.tensor(2));
  multiply(x, false, w, true, y, 1, c.has(2) ? 1 : 0);
  if (relu) set_negatives_to_zero(y.dtype(), rows, n, y.data(), n);
}

uint32_t keeps(uint32_t wanting) {
  return (wanting & 1 ? uint32_t(keep::x1) : 0) | (wanting & 2 ? uint32_t(keep::x0) : 0);
}

void back(Grad& d, const Tensor& g) {
  if (d.needs(0)) {
    Tensor w = conj(d.x(1));
    d.give(0, g.dim() == 2 ? kProduct(g, w, false, false) : reshape(kProduct(tall(g), w, false, false), d.shape(0)));
  }
  if (d.needs(1)) d.give_product(1, tall(g), conj(tall(d.x(0))));
  if (d.needs(2)) d.give(2, g);  // summed to the shape of bias
}

WEFT_OP{
  .signature = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
  .doc = "input times the transposed weight, plus bias.",
  .traits = kHidden,
  .infer = infer,
  .run = [](Call& c) { run(c, false); },
  .keeps_when = [](const Op&, uint32_t wanting) { return keeps(wanting); },
  .back = [](Grad& d) { back(d, d.g()); },
};

WEFT_OP{
  .signature = "linear_relu(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
  .doc = "input times the transposed weight, plus bias, where that is positive, else zero.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        infer(c);
        if (is_complex(c.tensor(0).dtype())) fail_missing("relu: not implemented for complex numbers");
      },
  .run = [](Call& c) { run(c, true); },
  .keeps_when = [](const Op&, uint32_t wanting) { return keeps(wanting) | uint32_t(keep::y0); },
  .back = [](Grad& d) { back(d, pass_positive(d.g(), d.y(0))); },
};

}  // namespace
}  // namespace weft
