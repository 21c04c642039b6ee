#include "ops/order.h"

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/pointwise_kernels.h"

namespace weft {
namespace {

int64_t pixels_of(const Tensor& t) { return t.numel() / (t.size(0) * t.size(1)); }

bool fills_its_storage(const Tensor& t) {
  return t.dim() >= 3 && t.numel() && t->contiguous && t->offset == 0 &&
         t.numel() * item_size(t.dtype()) == t->storage->bytes;
}

// A dtype of the same size, for copies that only move elements.
DType mover(int64_t item) {
  return item == 1 ? DType::UInt8 : item == 2 ? DType::Int16 : item == 4 ? DType::Int32 : DType::Int64;
}

}  // namespace

void copy_channels_first(char* to, const char* from, int64_t bytes, const ChannelsLast& how) {
  Dims sizes{bytes / (how.item * how.channels * how.pixels), how.channels, how.pixels};
  DType type = mover(how.item);
  copy_kernels().copy(type, to, contiguous_strides(sizes).data(), type, from, last_strides(sizes).data(), sizes.data(),
                      3);
}

Dims last_strides(const Dims& sizes) {
  Dims strides(sizes.size());
  Size step = sizes[1];
  strides[1] = 1;
  for (int i = sizes.size() - 1; i > 1; --i) strides[i] = step, step *= sizes[i];
  strides[0] = step;
  return strides;
}

bool lies_last(const Tensor& t) {
  const ChannelsLast& last = t->storage->last;
  return last.channels && fills_its_storage(t) && last.channels == t.size(1) && last.pixels == pixels_of(t) &&
         last.item == item_size(t.dtype());
}

bool strides_last(const Tensor& t) {
  if (t.dim() < 3 || t.stride(1) != 1 || t.contiguous() || t.numel() == 0) return false;
  if (t.size(1) == 1 || pixels_of(t) == 1) return false;
  Dims strides = last_strides(t.sizes());
  for (int i = 0; i < t.dim(); ++i)
    if (t.size(i) != 1 && t.stride(i) != strides[i]) return false;
  return true;
}

Tensor meta_last_as(const Tensor& x, DType type, const Dims& sizes) {
  return strides_last(x) ? meta_strided(type, sizes, last_strides(sizes)) : meta(type, sizes);
}

bool can_lie_last(const Tensor& t) {
  const Storage& s = *t->storage;
  return (s.block || s.planned) && !s.shown && item_size(t.dtype()) <= 8 && fills_its_storage(t);
}

void set_lies_last(const Tensor& t) {
  int64_t channels = t.size(1), pixels = pixels_of(t);
  if (channels > 1 && pixels > 1) t->storage->last = {channels, pixels, item_size(t.dtype())};
}

namespace {
template <class Operand>
bool all_last(const Tensor& out, int count, const bool* single, const Operand& operand) {
  bool any = false;
  for (int i = 0; i < count; ++i) {
    if (single[i]) continue;
    const Tensor& t = operand(i);
    if (!t->storage->last.channels || !lies_last(t) || !(t.sizes() == out.sizes())) return false;
    any = true;
  }
  return any && (lies_last(out) || can_lie_last(out));
}
}  // namespace

bool all_lie_last(const Tensor& out, const Value* const* operands, const bool* single, int count) {
  return all_last(out, count, single, [&](int i) -> const Tensor& { return operands[i]->tensor(); });
}
bool all_lie_last_or_scale(const Tensor& out, const Value* const* operands, const bool* single, int count) {
  bool scales[kRowOperands + 2];
  for (int i = 0; i < count; ++i) {
    scales[i] = single[i];
    if (single[i]) continue;
    const Tensor& t = operands[i]->tensor();
    scales[i] = t.dim() == out.dim() && t.dim() >= 3 && t.size(0) * t.size(1) == t.numel();
  }
  return all_lie_last(out, operands, scales, count);
}
bool all_lie_last(const Tensor& out, const Tensor* const* operands, const bool* single, int count) {
  return all_last(out, count, single, [&](int i) -> const Tensor& { return *operands[i]; });
}

Last::Last(const Tensor& t) {
  if (lies_last(t)) {
    data_ = as_it_lies(t);
    return;
  }
  data_ = t.data();
  Dims strides = last_strides(t.sizes());
  bool already = true;  // by its strides
  for (int i = 0; i < t.dim(); ++i) already = already && (t.size(i) == 1 || t.stride(i) == strides[i]);
  if (already) return;
  copy_.emplace(t.numel() * item_size(t.dtype()));
  DType type = mover(item_size(t.dtype()));
  copy_kernels().copy(type, copy_->as<char>(), strides.data(), type, data_, t.strides().data(), t.sizes().data(),
                      t.dim());
  data_ = copy_->as<char>();
}

LastWritten::LastWritten(const Tensor& t) : t_(t), strided_(strides_last(t)) {
  if (!strided_ && !can_lie_last(t)) scratch_.emplace(t.numel() * item_size(t.dtype()));
}

LastWritten::~LastWritten() {
  if (!scratch_) {
    if (!strided_) set_lies_last(t_);
    return;
  }
  Uninterrupted leaving;  // a destructor cannot throw
  DType type = mover(item_size(t_.dtype()));
  copy_kernels().copy(type, t_.data(), t_.strides().data(), type, scratch_->as<char>(), last_strides(t_.sizes()).data(),
                      t_.sizes().data(), t_.dim());
}

}  // namespace weft
