// A convolution's or quantised layer's kernel in the layout that its loop reads, kept with the kernel's storage until
// that changes. What is kept is never modified: another thread may be using it.
#pragma once

#include <memory>

#include "loops/conv.h"
#include "ops/op.h"

namespace weft {

class Prepacked {
 public:
  Prepacked(const Tensor& w, bool wanted);
  ~Prepacked();  // keeps what was packed meanwhile
  Prepacked(const Prepacked&) = delete;
  // What was kept, or null; where a loop leaves what it packs. Null: nothing is kept of this kernel.
  std::shared_ptr<PackedKernel>* get() { return used_ ? &packed_ : nullptr; }

 private:
  Storage& storage_;
  int64_t offset_;
  DType type_;
  // Of the storage, before anything of it was read. A change is counted once it is complete, so a kernel that was
  // packed in the middle of one carries the older count and is packed again.
  uint32_t changes_;
  bool used_ = false;
  std::shared_ptr<PackedKernel> packed_, before_;
};

void drop_packed(Storage& storage);  // what is kept with it

}  // namespace weft
