// The way back through pointwise rows: a derivative is one loop, or, where it is itself differentiated, recorded ops.
#include "ops/api.h"
#include "ops/order.h"
#include "ops/pointwise.h"
#include "ops/rules.h"

namespace weft {

uint32_t pointwise_keeps(const Op& op, uint32_t needs) {
  const Row& row = *static_cast<const Row*>(op.form.row);
  uint32_t keeps = 0;
  for (int i = 0; i < row.operands; ++i)
    if (needs & (1u << i)) keeps |= row.keeps[i];
  return keeps;
}

void pointwise_back(Grad& d) {
  const Row& row = *static_cast<const Row*>(d.op().form.row);
  for (int i = 0; i < row.operands; ++i) {
    if (!d.needs(i)) continue;
    if (!row.derivative[i])
      fail_missing(d.op().base, ": there is no derivative by '", d.op().params[size_t(i)].name,
                   "', which requires gradients. Pass a number or a detached tensor");
    Tensor t[kRowOperands + 2] = {d.g()};
    for (int k = 0; k < row.operands; ++k)
      if (row.keeps[i] & (1u << k)) t[k + 1] = d.x(k);
    if (row.keeps[i] & keep::y0) t[row.operands + 1] = d.y();
    d.give(i, row_gradient(row, i, t, d.create_graph, d.op().name.c_str()));
  }
}

namespace {

// The operands of the loop of a derivative: what it does not read is g, which it is given instead.
struct GradientOperands : Operands {
  Value values[kRowOperands + 2];
  GradientOperands(const Row& row, const Tensor* t) {
    count = row.operands + 2;
    for (int k = 0; k < count; ++k) {
      values[k] = Value(t[k] ? t[k] : t[0]);
      v[k] = &values[k];
    }
  }
};

void run_gradient(const Row& row, int i, const Operands& in, const Tensor& out) {
  DType type = compute_of(out.dtype());
  run_pointwise(out, in, type, type, {row.back(i, type)});
}

const OpRef gradient_op{"pointwise_gradient"};

}  // namespace

Tensor row_gradient(const Row& row, int i, const Tensor* t, bool recorded, const char* op) {
  const Tensor& g = t[0];
  bool real = true;
  for (int k = 0; k < row.operands + 2; ++k) real = real && (!t[k] || is_floating(t[k].dtype()));
  if (recorded || !real || g.sparse() || row.passes[i] || !row.back(i, compute_of(g.dtype())))
    return row.derivative[i](t);
  if (t_recorder) {
    auto given = [&](int k) { return k < row.operands + 2 && t[k] ? Value(t[k]) : Value(); };
    return gradient_op(std::string(op), int64_t(i), g, given(1), given(2), given(3), given(4), given(5));
  }
  GradientOperands in(row, t);
  Tensor out = pointwise_meta(in, g.dtype(), op);
  give_memory(*out.get());
  run_gradient(row, i, in, out);
  return out;
}

namespace {

struct Gradient {
  const Row& row;
  int operand;
  Tensor t[kRowOperands + 2];
  explicit Gradient(Call& c)
      : row(*static_cast<const Row*>(Registry::get().find(c.text(0))->form.row)), operand(int(c.integer(1))) {
    for (int k = 0; k < row.operands + 2; ++k)
      if (c.has(2 + k)) t[k] = c.tensor(2 + k);
  }
};

WEFT_OP{
  .signature =
      "pointwise_gradient(str op, int operand, Tensor g, Tensor? a=None, Tensor? b=None, Tensor? c=None, Tensor? "
      "d=None, Tensor? e=None) -> Tensor",
  .doc =
      "The derivative of a pointwise op by one of its operands, as the walk back computes it in one loop: in graphs it "
      "stands for that. Behind g come the operands and the result, as far as it reads them.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Op* op = Registry::get().find(c.text(0));
        if (!op || !op->form.row) fail("pointwise_gradient: there is no pointwise op named '", c.text(0), "'");
        const Row& row = *static_cast<const Row*>(op->form.row);
        Size i = c.integer(1);
        if (i < 0 || i >= row.operands || !row.derivative[i] || !is_floating(c.tensor(2).dtype()) ||
            !row.back(int(i), compute_of(c.tensor(2).dtype())))
          fail("pointwise_gradient: ", c.text(0), " has no derivative by operand ", i, " for ",
               name_of(c.tensor(2).dtype()));
        Gradient d(c);
        for (int k = 0; k <= row.operands; ++k) {
          bool read = row.keeps[i] & (k < row.operands ? 1u << k : uint32_t(keep::y0));
          if (read && !d.t[k + 1]) refuse(c, 3 + k, "be given for ", c.text(0));
          expect_floating(c, 3 + k);
        }
        c.give(0, pointwise_meta(GradientOperands(d.row, d.t), d.t[0].dtype(), c.text(0).c_str()));
      },
  .run =
      [](Call& c) {
        Gradient d(c);
        run_gradient(d.row, d.operand, GradientOperands(d.row, d.t), c.out[0]);
      },
  .any_order =
      [](Call& c) {
        Gradient d(c);
        GradientOperands in(d.row, d.t);
        bool number[kRowOperands + 2] = {};
        for (int i = 0; i < in.count; ++i) number[i] = in.v[i]->tensor().numel() == 1;
        return compute_of(c.out[0].dtype()) == DType::Float && all_lie_last(c.out[0], in.v, number, in.count);
      },
  .no_derivative = "it stands for a derivative that was computed without a graph",
};

}  // namespace

}  // namespace weft
