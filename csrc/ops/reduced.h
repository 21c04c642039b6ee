// What reductions share: which dimensions they join, and how they run.
#pragma once

#include <optional>

#include "core/memory.h"
#include "loops/lines.h"
#include "loops/reduce.h"
#include "ops/op.h"

namespace weft {

Dims reduced_dims(const Value& dim, int n, const char* op);  // None or an empty list: all of them
Dims kept_sizes(const Dims& sizes, const Dims& dims, bool keepdim);
int64_t count_of(const Dims& sizes, const Dims& dims);                              // elements joined into one
Tensor with_dims(const Tensor& t, const Dims& shape, const Dims& dims, bool kept);  // lost dimensions back, as ones
// Reduces a box in memory over some of its dimensions.
void reduce_box(Reduce op, DType type, const char* data, const Dims& sizes, const Dims& strides, const Dims& dims,
                void* y, void* second, double p);
// Runs a reduction over x, cast to `type` first if it has another.
void run_reduce(Reduce op, const Tensor& x, DType type, const Dims& dims, void* y, void* second = nullptr,
                double p = 0);

// The elements of x, contiguous and of the given type: its own memory, or a copy for the time of a kernel. `order`
// lists its dimensions as they should lie.
class LaidOut {
 public:
  LaidOut(const Tensor& x, DType type);
  LaidOut(const Tensor& x, DType type, const Dims& order);
  const char* data() const { return data_; }

 private:
  void copy(const Tensor& x, DType type, const Dims& sizes, const Dims& strides);
  std::optional<Scratch> copy_;
  const char* data_;
};

Lines lines_of(const Dims& sizes, int axis);  // along one dimension of a contiguous box

}  // namespace weft
