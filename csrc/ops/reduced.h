// What reductions and layers share: which dimensions they join, and how their kernels read and write.
#pragma once

#include <optional>

#include "core/memory.h"
#include "loops/copy.h"
#include "loops/lines.h"
#include "loops/parallel.h"
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

// Half types are computed in float.
inline DType work_type(DType t) { return is_half(t) ? DType::Float : t; }

// The memory of an output of the kernel's type: its own, or a scratch that is rounded into it at the end.
class Written {
 public:
  Written(const Tensor& t, DType type) : t_(t), type_(type) {
    if (t.dtype() != type) scratch_.emplace(t.numel() * item_size(type));
  }
  ~Written() {
    if (!scratch_) return;
    Uninterrupted leaving;  // a destructor cannot throw
    int64_t n = t_.numel(), one = 1;
    copy_kernels().copy(t_.dtype(), t_.data(), &one, type_, scratch_->as<char>(), &one, &n, 1);
  }
  void* data() const { return scratch_ ? scratch_->as<char>() : t_.data(); }

 private:
  const Tensor& t_;
  DType type_;
  std::optional<Scratch> scratch_;
};

// An argument that may be missing, as the kernel reads it.
class Given {
 public:
  Given(Call& c, int i, DType type) {
    if (c.has(i)) laid_out_.emplace(c.tensor(i), type);
  }
  const char* data() const { return laid_out_ ? laid_out_->data() : nullptr; }

 private:
  std::optional<LaidOut> laid_out_;
};

Lines lines_of(const Dims& sizes, int axis);  // along one dimension of a contiguous box

}  // namespace weft
