// What ops on strides share.
#pragma once
#include "loops/copy.h"
#include "ops/api.h"
#include "ops/rules.h"

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

// The elements of t with these strides, in memory of their own from its first element on: gaps hold zeros.
Tensor spread(const Tensor& t, const Dims& strides);

// The derivative of a view: zeros of the sizes in argument 1, with the gradient (argument 0) in the part that the view
// shows. Shown, a Place, is computed from the arguments that follow.
template <class Shown>
void infer_part(Call& c) {
  const Dims& sizes = c.ints(1);
  expect_not_negative(c, 1);
  expect_shape(c, 0, Shown(c, sizes, contiguous_strides(sizes), 2).sizes);
  c.give(0, meta(c.tensor(0).dtype(), sizes));
}

template <class Shown>
void run_part(Call& c) {
  const Tensor& y = c.out[0];
  fill_data(y, Value(0));
  if (!c.tensor(0).numel()) return;
  Shown shown(c, y.sizes(), y.strides(), 2);
  copy_box(y.data() + shown.offset * item_size(y.dtype()), shown.strides, c.tensor(0), shown.sizes);
}

// The same memory read as elements of another type; sizes, strides and offset count those.
Tensor reinterpreted(const Tensor& t, DType dtype, const Dims& sizes, const Dims& strides, int64_t offset);

}  // namespace weft
