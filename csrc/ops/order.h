// Images whose channels lie last in memory, for ops that say so (Form::any_order).
#pragma once

#include <optional>

#include "core/memory.h"
#include "ops/op.h"

namespace weft {

// Whether the elements of t, all that its storage has, lie channels last.
bool lies_last(const Tensor& t);
// Whether the strides of t, which has several channels and pixels, say that its channels lie last.
bool strides_last(const Tensor& t);
inline bool is_last(const Tensor& t) { return lies_last(t) || strides_last(t); }
// A result of these sizes whose strides follow those of x, if they have the channels last.
Tensor meta_last_as(const Tensor& x, DType type, const Dims& sizes);
// Whether a result could: memory of our own that nobody else looks at, channels and pixels.
bool can_lie_last(const Tensor& t);
// Says that what was written into the memory of t lies channels last.
void set_lies_last(const Tensor& t);
// Whether all operands but the single elements lie channels last, so that an output of their shape may too.
bool all_lie_last(const Tensor& out, const Value* const* operands, const bool* single, int count);
bool all_lie_last(const Tensor& out, const Tensor* const* operands, const bool* single, int count);
// The same where operands may also have one number for all pixels of a channel, as gates and scales do.
bool all_lie_last_or_scale(const Tensor& out, const Value* const* operands, const bool* single, int count);
Dims last_strides(const Dims& sizes);  // of channels that lie last
// The memory as it lies.
inline char* as_it_lies(const Tensor& t) { return t->storage->data; }

// The elements of t with their channels last: as they lie, or a copy for the time of a kernel.
class Last {
 public:
  explicit Last(const Tensor& t);
  const char* data() const { return data_; }

 private:
  std::optional<Scratch> copy_;
  const char* data_;
};

// Where a kernel writes an image with its channels last: the memory of t, or a scratch that is put in order at the end.
// What has no strides of that order is marked instead.
class LastWritten {
 public:
  explicit LastWritten(const Tensor& t);
  ~LastWritten();
  char* data() const { return scratch_ ? scratch_->as<char>() : strided_ ? t_.data() : as_it_lies(t_); }

 private:
  const Tensor& t_;
  bool strided_;
  std::optional<Scratch> scratch_;
};

}  // namespace weft
