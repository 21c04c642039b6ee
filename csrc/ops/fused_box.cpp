#include "ops/fused_box.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

constexpr int kSlot = 128;        // bytes: room for the lanes of one operand
constexpr int64_t kLongRow = 64;  // shorter rows are gathered, several at a time

template <class T>
void gather(char* to, const char* from, int64_t stride, int64_t n) {
  T* y = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = *reinterpret_cast<const T*>(from + i * stride);
}
template <class T>
void scatter(char* to, const char* from, int64_t stride, int64_t n) {
  const T* x = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = x[i];
}
template <bool store>
void move_some(int64_t item, char* memory, char* buffer, int64_t stride, int64_t n) {
  auto f = [&](auto t) {
    using T = decltype(t);
    store ? scatter<T>(memory, buffer, stride, n) : gather<T>(buffer, memory, stride, n);
  };
  item == 1 ? f(uint8_t()) : item == 4 ? f(uint32_t()) : f(uint64_t());
}

}  // namespace

void call_fused(const FusedKernel& k, char* const* p, int operands, int outputs, const int64_t* items, int64_t n) {
  if (n >= k.lanes) return k.function(p, n);
  alignas(64) char slots[kMaxFused][kSlot];
  char* q[kMaxFused];
  for (int i = 0; i < operands; ++i) {
    q[i] = slots[i];
    if (i < outputs) continue;
    int64_t bytes = k.inputs[size_t(i - outputs)].once ? items[i] : n * items[i];
    std::memcpy(q[i], p[i], size_t(bytes));
    std::memset(q[i] + bytes, 0, size_t(kSlot - bytes));
  }
  k.function(q, k.lanes);
  for (int i = 0; i < outputs; ++i) std::memcpy(p[i], q[i], size_t(n * items[i]));
}

FusedBox::FusedBox(const FusedKernel& k, const Dims& sizes) : kernel_(k), dims_(sizes.size()) {
  for (int d = 0; d < dims_; ++d) sizes_[d] = sizes[d];
}

void FusedBox::add(const Tensor& t, bool once) {
  Operand& o = operands_[count_++];
  o.data = t.data();
  o.item = item_size(t.dtype());
  o.once = once;
  o.flat = o.made = false;
  int shift = dims_ - t.dim();
  for (int d = 0; d < dims_; ++d) o.strides[d] = d < shift || t.size(d - shift) == 1 ? 0 : t.stride(d - shift) * o.item;
}

void FusedBox::add_made(DType dtype) {
  Operand& o = operands_[count_++];
  o.data = nullptr;
  o.item = item_size(dtype);
  o.once = false;
  o.flat = o.made = true;
  int64_t step = o.item;
  for (int d = dims_ - 1; d >= 0; --d) {
    o.strides[d] = sizes_[d] == 1 ? 0 : step;
    step *= sizes_[d];
  }
}

// Whether an operand that the loop reads once has several elements along the innermost dimension.
bool FusedBox::varies_inside() const {
  for (int i = 0; i < count_; ++i)
    if (operands_[i].once && dims_ && operands_[i].strides[dims_ - 1] != 0) return true;
  return false;
}

void FusedBox::settle(bool any_order) {
  int order[kMaxDims], n = 0;
  for (int d = 0; d < dims_; ++d)
    if (sizes_[d] != 1) order[n++] = d;
  auto place = [&](const int* from) {  // the dimensions in this order
    int64_t sizes[kMaxDims], strides[kMaxDims];
    for (int k = 0; k < n; ++k) sizes[k] = sizes_[from[k]];
    for (int i = 0; i < count_; ++i) {
      for (int k = 0; k < n; ++k) strides[k] = operands_[i].strides[from[k]];
      std::copy(strides, strides + n, operands_[i].strides);
    }
    std::copy(sizes, sizes + n, sizes_);
    dims_ = n;
  };
  place(order);
  if (any_order && n > 1) {
    int sorted[kMaxDims], back[kMaxDims];
    for (int k = 0; k < n; ++k) sorted[k] = k;
    const int64_t* first = operands_[0].strides;
    std::stable_sort(sorted, sorted + n, [&](int a, int b) { return first[a] > first[b]; });
    for (int k = 0; k < n; ++k) back[sorted[k]] = k;
    place(sorted);
    if (varies_inside()) place(back);
  }
  int used = 0;
  for (int d = 0; d < dims_; ++d) {
    if (used) {  // the last one that is kept lies at used - 1: compare in place
      bool join = true;
      for (int i = 0; join && i < count_; ++i)
        join = operands_[i].strides[used - 1] == operands_[i].strides[d] * sizes_[d];
      if (join) {
        sizes_[used - 1] *= sizes_[d];
        for (int i = 0; i < count_; ++i) operands_[i].strides[used - 1] = operands_[i].strides[d];
        continue;
      }
    }
    sizes_[used] = sizes_[d];
    for (int i = 0; i < count_; ++i) operands_[i].strides[used] = operands_[i].strides[d];
    ++used;
  }
  if (used == 0) {
    used = 1;
    sizes_[0] = 1;
    for (int i = 0; i < count_; ++i) operands_[i].strides[0] = operands_[i].once ? 0 : operands_[i].item;
  }
  dims_ = used;
  all_flat_ = true;
  for (int i = 0; i < count_; ++i) {
    Operand& o = operands_[i];
    int64_t step = o.item;
    bool flat = true, fixed = true;
    for (int d = dims_ - 1; d >= 0; --d) {
      flat = flat && o.strides[d] == step;
      fixed = fixed && o.strides[d] == 0;
      step *= sizes_[d];
    }
    o.flat = o.once ? fixed : flat;
    all_flat_ = all_flat_ && o.flat;
  }
}

FusedBox::Row FusedBox::row_at(int64_t index) const {
  Row r;
  r.index = index / sizes_[dims_ - 1];
  r.at = index % sizes_[dims_ - 1];
  std::fill_n(r.offset, count_, int64_t(0));
  int64_t rest = r.index;
  for (int d = dims_ - 2; d >= 0; --d) {
    int64_t k = rest % sizes_[d];
    rest /= sizes_[d];
    for (int i = 0; i < count_; ++i) r.offset[i] += k * operands_[i].strides[d];
  }
  return r;
}

void FusedBox::run(int64_t begin, int64_t end, char* made) const {
  if (begin >= end) return;
  if (!all_flat_)
    return sizes_[dims_ - 1] < kLongRow && dims_ > 1 ? run_blocks(begin, end, made) : run_rows(begin, end, made);
  char* p[kMaxFused];
  int64_t items[kMaxFused];
  for (int i = 0; i < count_; ++i) {
    const Operand& o = operands_[i];
    p[i] = o.made ? made : o.once ? o.data : o.data + begin * o.item;
    items[i] = o.item;
  }
  call_fused(kernel_, p, count_, count_ - int(kernel_.inputs.size()), items, end - begin);
}

// Row by row; what does not lie contiguous in a row is gathered.
void FusedBox::run_rows(int64_t begin, int64_t end, char* made) const {
  alignas(64) char buffers[kMaxFused][kBlock * 8];
  char* p[kMaxFused];
  int64_t items[kMaxFused], length = sizes_[dims_ - 1], start = begin;
  bool direct[kMaxFused], all = true;
  for (int i = 0; i < count_; ++i) {
    const Operand& o = operands_[i];
    items[i] = o.item;
    direct[i] = o.once || o.strides[dims_ - 1] == o.item;
    all = all && direct[i];
  }
  int outputs = count_ - int(kernel_.inputs.size());
  while (begin < end) {
    Row r = row_at(begin);
    int64_t row_end = std::min(end, begin + length - r.at);
    while (begin < row_end) {
      int64_t n = all ? row_end - begin : std::min<int64_t>(kBlock, row_end - begin);
      for (int i = 0; i < count_; ++i) {
        const Operand& o = operands_[i];
        int64_t stride = o.strides[dims_ - 1];
        char* at = o.made ? made + (begin - start) * o.item : o.data + r.offset[i] + (o.once ? 0 : r.at * stride);
        p[i] = direct[i] ? at : buffers[i];
        if (!direct[i] && i >= outputs) move_some<false>(o.item, at, p[i], stride, n);
      }
      call_fused(kernel_, p, count_, outputs, items, n);
      for (int i = 0; i < outputs; ++i) {
        const Operand& o = operands_[i];
        int64_t stride = o.strides[dims_ - 1];
        if (!direct[i]) move_some<true>(o.item, o.data + r.offset[i] + r.at * stride, p[i], stride, n);
      }
      begin += n;
      r.at += n;
    }
  }
}

// Moves n elements, from a place on, between the memory of an operand and a buffer.
template <bool store>
void FusedBox::move(const Operand& o, int which, Row row, char* buffer, int64_t n) const {
  int64_t length = sizes_[dims_ - 1], stride = o.strides[dims_ - 1];
  while (n > 0) {
    int64_t some = std::min(n, length - row.at);
    move_some<store>(o.item, o.data + row.offset[which] + row.at * stride, buffer, stride, some);
    buffer += some * o.item;
    n -= some;
    row.at = 0;
    ++row.index;  // to the next row
    int64_t rest = row.index, offset = 0;
    for (int d = dims_ - 2; d >= 0; --d) {
      offset += rest % sizes_[d] * o.strides[d];
      rest /= sizes_[d];
    }
    row.offset[which] = offset;
  }
}

// Rows are short: several are gathered and run as one.
void FusedBox::run_blocks(int64_t begin, int64_t end, char* made) const {
  alignas(64) char buffers[kMaxFused][kBlock * 8];
  char* p[kMaxFused];
  int64_t items[kMaxFused], start = begin;
  int outputs = count_ - int(kernel_.inputs.size());
  for (; begin < end; begin += kBlock) {
    int64_t n = std::min<int64_t>(kBlock, end - begin);
    Row row = row_at(begin);
    for (int i = 0; i < count_; ++i) {
      const Operand& o = operands_[i];
      items[i] = o.item;
      p[i] = o.made ? made + (begin - start) * o.item : o.once ? o.data : o.flat ? o.data + begin * o.item : buffers[i];
      if (!o.flat && i >= outputs) move<false>(o, i, row, p[i], n);
    }
    call_fused(kernel_, p, count_, outputs, items, n);
    for (int i = 0; i < outputs; ++i)
      if (!operands_[i].flat) move<true>(operands_[i], i, row, p[i], n);
  }
}

}  // namespace weft
