// Steps of optimisers: one pass over a parameter, its gradient and its state. Contiguous float or double.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct SgdStep {
  double lr, weight_decay, momentum, dampening;
  bool nesterov, maximize, first;  // first: the momentum begins with the gradient
};
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  double size, root;  // lr / (1 - beta1^t), sqrt(1 - beta2^t)
  bool decoupled, maximize;
};

struct UpdateKernels {
  // buffer may be null: no momentum.
  void (*sgd)(DType type, const SgdStep& s, int64_t n, void* p, const void* g, void* buffer);
  // top may be null: no amsgrad.
  void (*adam)(DType type, const AdamStep& s, int64_t n, void* p, const void* g, void* m, void* v, void* top);
};

WEFT_DECLARE_KERNELS(UpdateKernels, update_kernels)

}  // namespace weft
