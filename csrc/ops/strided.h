// What ops on strides share.
#pragma once
#include "loops/copy.h"
#include "ops/api.h"

namespace weft {

// Gives output 0 as a view of the first argument.
inline void give_view(Call& c, const Dims& sizes, const Dims& strides, int64_t offset) {
  c.give(0, view_of(c.tensor(0), sizes, strides, offset));
}

// Copies src into a box of memory that has src's dtype.
inline void copy_box(char* at, const Dims& strides, const Tensor& src, const Dims& sizes) {
  copy_kernels().copy(src.dtype(), at, strides.data(), src.dtype(), src.data(), src.strides().data(), sizes.data(),
                      sizes.size());
}

// How many elements there are from the first to the last.
int64_t extent_of(const Dims& sizes, const Dims& strides);
// The elements of t with these strides, in memory of their own from its first element on: gaps hold zeros.
Tensor spread(const Tensor& t, const Dims& strides);

// The same memory read as elements of another type; sizes, strides and offset count those.
Tensor reinterpreted(const Tensor& t, DType dtype, const Dims& sizes, const Dims& strides, int64_t offset);

}  // namespace weft
