// How pointwise rows run: one shape rule, one driver, one way back for all of them.
#pragma once

#include "ops/op.h"
#include "ops/pointwise_kernels.h"

namespace weft {

// The loops of one row for one type.
struct Loops {
  PointwiseKernel all, single[2] = {};
};

struct Row {
  const PointwiseKernels* base;  // kernels of the base instruction set; replaced by the machine's best
  int operands;
  Rule rule;
  uint32_t keeps[kRowOperands] = {};  // what the derivative of each operand reads
  Tensor (*derivative[kRowOperands])(const Tensor* g_inputs_result) = {};
  bool passes[kRowOperands] = {};  // the derivative is the gradient itself
  const PointwiseKernels* best = nullptr;

  Loops forward(DType t) const {
    auto* k = best && best->forward[int(t)] ? best : base;
    return {k->forward[int(t)], {k->single[0][int(t)], k->single[1][int(t)]}};
  }
  PointwiseKernel back(int i, DType t) const {
    auto k = best ? best->back[i][int(t)] : nullptr;
    return k ? k : base->back[i][int(t)];
  }
};

// The derivative by operand i of a row, given the gradient, the operands and the result (t: those that keeps[i] names).
// With `recorded` it is made of recorded ops.
Tensor row_gradient(const Row& row, int i, const Tensor* t, bool recorded, const char* op);

uint32_t pointwise_keeps(const Op& op, uint32_t needs);
void pointwise_back(Grad& d);

void register_pointwise(const RowSpec& spec, Row* row);

// The operands of a pointwise computation: tensors or numbers.
struct Operands {
  int count = 0;
  const Value* v[kRowOperands + 2];  // with a gradient and a result
};
// out = kernel(operands) with broadcasting, casts and any layout; the kernel computes in `type` and gives `result`.
void run_pointwise(const Tensor& out, const Operands& in, DType type, DType result, const Loops& loops);
// The common dtype of operands by PyTorch's rules (0-d tensors and numbers are weak).
DType common_dtype(const Operands& in);
// The broadcast shape, with strides that follow the operands when they agree: a meta tensor.
Tensor pointwise_meta(const Operands& in, DType dtype, const char* op);

}  // namespace weft
