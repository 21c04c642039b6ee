// Copies between layouts and element types. Strides are counted in elements.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct CopyKernels {
  // dst[i] = src[i] for every index of an n-d box; any strides, any pair of types. Threaded.
  void (*copy)(DType to, char* dst, const int64_t* dst_strides, DType from, const char* src, const int64_t* src_strides,
               const int64_t* sizes, int ndim);
  // n contiguous elements from one type to another, on the calling thread.
  void (*convert)(DType from, DType to, const void* src, void* dst, int64_t n);
  // n contiguous elements set to the element that value points at. Threaded.
  void (*fill)(DType type, void* dst, int64_t n, const void* value);
};

WEFT_DECLARE_KERNELS(CopyKernels, copy_kernels)

}  // namespace weft
