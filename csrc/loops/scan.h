// Running sums, products and extremes along one axis.
#pragma once

#include "core/dtype.h"
#include "loops/lines.h"
#include "simd/isa.h"

namespace weft {

struct ScanKernels {
  // y has the type of x; float types are summed and multiplied in double.
  void (*cumsum)(DType dtype, const void* x, void* y, const Lines& lines);
  void (*cumprod)(DType dtype, const void* x, void* y, const Lines& lines);
  void (*logcumsumexp)(DType dtype, const void* x, void* y, const Lines& lines);  // floating and complex types
  // Of equal values the last counts; NaN wins and stays.
  void (*cummax)(DType dtype, const void* x, void* values, int64_t* indices, const Lines& lines);
  void (*cummin)(DType dtype, const void* x, void* values, int64_t* indices, const Lines& lines);
};

WEFT_DECLARE_KERNELS(ScanKernels, scan_kernels)

}  // namespace weft
