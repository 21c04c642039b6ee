// What follows a layer and is done with its results while they are near, as text: any of these, in this order.
//
//   bounds LOW HIGH    what is beyond them becomes them
//   NAME               an activation of one operand
//   add                another tensor of the same shape is added
//   bounds LOW HIGH    again
#pragma once

#include <string>
#include <string_view>

#include "loops/gemm_kernels.h"
#include "ops/op.h"
#include "ops/pointwise.h"

namespace weft {

struct Described {
  Bounds bounds;
  const Row* activation = nullptr;
  bool adds = false;
  Bounds then;  // after the sum
};

Described described(const char* op, std::string_view text);
// Checks what is added, which must be there if `d` adds and have the shape and dtype of the result.
void check_added(Call& c, const Described& d, int at, DType type, const Dims& sizes);
// The same as loops take it; `plus` and `y` are both as they lie.
Finish finish_of(const Described& d, const char* plus, const char* y);
// All of it, for n numbers that lie side by side; float and double.
void end_plainly(const Described& d, DType type, const char* plus, char* y, int64_t n);

}  // namespace weft
