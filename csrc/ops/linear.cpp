// The linear layer as one op: x w^T + b, with an activation or without, with its derivatives as products that never
// copy a transpose.
#include "loops/packed_weight.h"
#include "ops/pointwise.h"
#include "ops/prepacked.h"
#include "ops/product.h"
#include "ops/random.h"
#include "ops/recording.h"

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

void infer_linear(Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  if (x.dim() == 0 || w.dim() != 2)
    fail("linear: expected an input of at least one dimension and a weight of two, got shapes ", x.sizes(), " and ",
         w.sizes());
  if (x.dtype() != w.dtype() || (c.has(2) && c.tensor(2).dtype() != x.dtype()))
    fail("linear: mat1 and mat2 must have the same dtype, but got an input of ", name_of(x.dtype()), ", a weight of ",
         name_of(w.dtype()), c.has(2) ? " and a bias of " : "", c.has(2) ? name_of(c.tensor(2).dtype()) : "");
  if (x.dtype() == DType::Bool) fail_missing("linear: not implemented for 'Bool'");
  if (x.size(-1) != w.size(1))
    fail("linear: mat1 and mat2 shapes cannot be multiplied (", x.sizes(), " and the transpose of ", w.sizes(), ")");
  Dims sizes = with_last(x.sizes(), w.size(0));
  if (c.has(2) && !(c.tensor(2).sizes() == Dims{w.size(0)}) &&
      !(broadcast(c.tensor(2).sizes(), sizes, "linear") == sizes))
    fail("linear: bias of shape ", c.tensor(2).sizes(), " cannot be expanded to shape ", sizes);
  c.give(0, meta(x.dtype(), sizes));
}

void run(Call& c, const Tensor& y, const Bounds& bounds) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  if (y.numel() == 0) return;
  int64_t n = w.size(0), k = w.size(1), rows = y.numel() / n;
  bool row = c.has(2) && c.tensor(2).dim() == 1 && c.tensor(2)->contiguous && c.tensor(2).numel() == n;
  if (c.has(2) && !row) copy_data(y, c.tensor(2));
  if (x->contiguous && w->contiguous) {
    Product p{false, true, rows, n, k, x.data(), k, w.data(), k, y.data(), n, 1, c.has(2) ? 1.0 : 0.0};
    if (row) p.plus = c.tensor(2).data();
    p.bounds = bounds;
    bool learns = t_modes.grad || t_modes.learning;  // then weights change with every step
    if (learns || !keeps_weight(x.dtype(), p)) return gemm(x.dtype(), p);
    Prepacked packed(w, true);
    return gemm_by_weight(x.dtype(), p, packed.get());
  }
  if (row) copy_data(y, c.tensor(2));
  multiply(x, false, w, true, y, 1, c.has(2) ? 1 : 0);
  if (bounds) apply_bounds(y.dtype(), bounds, rows, n, y.data(), n);
}

void infer_real(Call& c) {
  infer_linear(c);
  if (!is_floating(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
}

// y = the activation of x, which may be y.
void activate(const Row& row, const Tensor& x, const Tensor& y) {
  Value value(x);
  Operands in{1, {&value}};
  DType type = compute_of(x.dtype());
  run_pointwise(y, in, type, type, row.forward(type));
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
  .traits = kHidden | kBeside,
  .infer = infer_linear,
  .run = [](Call& c) { run(c, c.out[0], {}); },
  .keeps_when = product_keeps,
  .back = [](Grad& d) { back(d, d.g()); },
};

WEFT_OP{
  .signature = "linear_relu(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
  .doc = "input times the transposed weight, plus bias, where that is positive, else zero.",
  .traits = kHidden | kBeside,
  .infer =
      [](Call& c) {
        infer_linear(c);
        if (is_complex(c.tensor(0).dtype())) fail_missing("relu: not implemented for complex numbers");
      },
  .run = [](Call& c) { run(c, c.out[0], kRelu); },
  .keeps_when = [](const Op& op, uint32_t wanting) { return product_keeps(op, wanting) | uint32_t(keep::y0); },
  .back = [](Grad& d) { back(d, pass_positive(d.g(), d.y(0))); },
};

// ---- with other activations: the rows of these ops, run on what the layer gave

struct Activation {
  const char* name;
  const Row* found = nullptr;
  const Row& row() {
    if (!found) found = static_cast<const Row*>(Registry::get().find(name)->form.row);
    return *found;
  }
};

// An activation whose derivative follows from its result: that takes the place of what the layer gave.
template <Activation& a>
constexpr Form from_result(std::string_view signature, std::string_view doc) {
  return {
    .signature = signature,
    .doc = doc,
    .traits = kHidden,
    .infer = infer_real,
    .run =
        [](Call& c) {
          run(c, c.out[0], {});
          activate(a.row(), c.out[0], c.out[0]);
        },
    .keeps_when = [](const Op& op, uint32_t wanting) { return product_keeps(op, wanting) | uint32_t(keep::y0); },
    .back =
        [](Grad& d) {
          Tensor t[3] = {d.g(), {}, d.y(0)};
          back(d, row_gradient(a.row(), 0, t, d.create_graph, a.name));
        },
  };
}

// One whose derivative needs what the layer gave: the second result, empty where there will be no derivative.
template <Activation& a>
constexpr Form from_input(std::string_view signature, std::string_view doc) {
  return {
    .signature = signature,
    .doc = doc,
    .traits = kHidden,
    .infer =
        [](Call& c) {
          infer_real(c);
          bool recorded = t_modes.derivative ||
                          (t_modes.grad && (wants_grad(*c.tensor(0).get()) || wants_grad(*c.tensor(1).get()) ||
                                            (c.has(2) && wants_grad(*c.tensor(2).get()))));
          const Tensor& y = c.out[0];
          c.give(1, meta(y.dtype(), recorded ? y.sizes() : Dims{0}));
        },
    .run =
        [](Call& c) {
          const Tensor& before = c.out[1].sizes() == c.out[0].sizes() ? c.out[1] : c.out[0];
          run(c, before, {});
          activate(a.row(), before, c.out[0]);
        },
    .keeps_when = [](const Op& op, uint32_t wanting) { return product_keeps(op, wanting) | uint32_t(keep::y1); },
    .back =
        [](Grad& d) {
          Tensor t[3] = {d.g(), d.y(1), {}};
          Tensor g = row_gradient(a.row(), 0, t, d.create_graph, a.name);
          back(d, d.has_g(1) ? g + d.g(1) : g);
        },
  };
}

Activation g_tanh{"tanh"}, g_sigmoid{"sigmoid"}, g_gelu{"gelu_erf"}, g_gelu_tanh{"gelu_tanh"}, g_silu{"silu"},
    g_mish{"mish"}, g_hardswish{"hardswish"};
#define WEFT_LINEAR(form, activation, name, result)                     \
  static const Register WEFT_JOIN(op_, __COUNTER__) = form<activation>( \
      "linear_" name "(Tensor input, Tensor weight, Tensor? bias=None) -> " result, "linear, then " name ".")
WEFT_LINEAR(from_result, g_tanh, "tanh", "Tensor");
WEFT_LINEAR(from_result, g_sigmoid, "sigmoid", "Tensor");
#define WEFT_PAIR "(Tensor result, Tensor before)"
WEFT_LINEAR(from_input, g_gelu, "gelu", WEFT_PAIR);
WEFT_LINEAR(from_input, g_gelu_tanh, "gelu_tanh", WEFT_PAIR);
WEFT_LINEAR(from_input, g_silu, "silu", WEFT_PAIR);
WEFT_LINEAR(from_input, g_mish, "mish", WEFT_PAIR);
WEFT_LINEAR(from_input, g_hardswish, "hardswish", WEFT_PAIR);
#undef WEFT_PAIR
#undef WEFT_LINEAR

}  // namespace
}  // namespace weft
