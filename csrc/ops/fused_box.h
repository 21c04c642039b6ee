// How the loop of a fused group walks its operands, which may lie and be repeated in any way.
#pragma once

#include "ops/fused.h"

namespace weft {

class FusedBox {
 public:
  FusedBox(const FusedKernel& k, const Dims& sizes);
  // Operands in the order of the kernel's pointers; those that are smaller than the box are repeated.
  void add(const Tensor& t, bool once);
  void add_made(DType dtype);  // its elements go where run() says
  // Brings the dimensions into the order of the first operand, if that may be, and joins those that lie as one.
  void settle(bool any_order);

  // The elements [begin, end) in the order of the box. What is made for add_made begins at `made`.
  void run(int64_t begin, int64_t end, char* made = nullptr) const;

  static constexpr int kBlock = 256;  // elements that are gathered at a time

 private:
  static constexpr int kMaxDims = kMaxRank;
  struct Operand {
    char* data;
    int64_t item;
    bool once, flat = false;  // flat: element i of the box lies at data + i * item
    bool made = false;
    int64_t strides[kMaxDims];  // in bytes
  };
  struct Row {  // a place in the box: the offsets of the row, and where in it
    int64_t offset[kMaxFused], index, at;
  };

  bool varies_inside() const;
  Row row_at(int64_t index) const;
  void run_rows(int64_t begin, int64_t end, char* made) const;
  void run_blocks(int64_t begin, int64_t end, char* made) const;
  template <bool store>
  void move(const Operand& o, int which, Row row, char* buffer, int64_t n) const;

  const FusedKernel& kernel_;
  int count_ = 0, dims_;
  int64_t sizes_[kMaxDims];
  bool all_flat_ = false;
  Operand operands_[kMaxFused];
};

// Calls the loop for any n > 0: fewer elements than lanes pass through buffers.
void call_fused(const FusedKernel& k, char* const* p, int operands, int outputs, const int64_t* items, int64_t n);

}  // namespace weft
