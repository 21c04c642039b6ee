// Exponentials along one axis, scaled to sum to one, and what belongs to them. Floating types; half types compute
// in float.
#pragma once

#include "core/dtype.h"
#include "loops/lines.h"
#include "simd/isa.h"

namespace weft {

struct SoftmaxKernels {
  void (*softmax)(DType dtype, const void* x, void* y, const Lines& lines);
  void (*log_softmax)(DType dtype, const void* x, void* y, const Lines& lines);
  void (*logsumexp)(DType dtype, const void* x, void* y, const Lines& lines);  // y: [outer, inner]
  // dx from dy and the result y; log_softmax_backward takes the result of log_softmax.
  void (*softmax_backward)(DType dtype, const void* dy, const void* y, void* dx, const Lines& lines);
  void (*log_softmax_backward)(DType dtype, const void* dy, const void* y, void* dx, const Lines& lines);
};

WEFT_DECLARE_KERNELS(SoftmaxKernels, softmax_kernels)

}  // namespace weft
