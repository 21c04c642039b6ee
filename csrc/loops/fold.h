// Windows of planes as rows, and their adjoint: im2col and col2im.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct FoldPlan {
  int64_t planes = 0;
  int64_t size[2] = {1, 1}, kernel[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0}, stride[2] = {1, 1};
  int64_t windows[2] = {1, 1};  // along each dimension
  int64_t pixels() const { return size[0] * size[1]; }
  int64_t columns() const { return kernel[0] * kernel[1] * windows[0] * windows[1]; }  // elements, of one plane
};

struct FoldKernels {
  // x is (planes, size), y (planes, kernel, windows); elements of `item` bytes are moved, those outside are 0.
  void (*unfold)(int64_t item, const FoldPlan& p, const void* x, void* y);
  void (*fold)(DType type, const FoldPlan& p, const void* y, void* x);
};

WEFT_DECLARE_KERNELS(FoldKernels, fold_kernels)

}  // namespace weft
