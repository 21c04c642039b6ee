// A kernel as its loop wants it, kept with the kernel's storage until that changes.
#pragma once

#include <memory>
#include <mutex>

#include "loops/conv.h"
#include "ops/op.h"

namespace weft {

struct KeptKernel final : Attached {
  std::shared_ptr<PackedKernel> packed;
  uint32_t changes = 0;  // of the storage, when it was made
  int64_t offset = 0;
  DType type = DType::Float;
};

class Prepacked {
 public:
  Prepacked(const Tensor& w, bool wanted) : storage_(*w->storage), offset_(w->offset), type_(w.dtype()) {
    if (!wanted || !w->contiguous || !storage_.block || storage_.shown) return;
    used_ = true;
    std::lock_guard<std::mutex> hold(lock());
    auto* kept = dynamic_cast<KeptKernel*>(storage_.attached.get());
    if (kept && kept->changes == storage_.changes && kept->offset == offset_ && kept->type == type_)
      packed_ = kept->packed;
    before_ = packed_;
  }
  ~Prepacked() {
    if (!used_ || packed_ == before_) return;
    auto kept = std::make_unique<KeptKernel>();
    kept->packed = packed_, kept->changes = storage_.changes, kept->offset = offset_, kept->type = type_;
    std::lock_guard<std::mutex> hold(lock());
    storage_.attached = std::move(kept);
  }
  std::shared_ptr<PackedKernel>* get() { return used_ ? &packed_ : nullptr; }

 private:
  static std::mutex& lock() {
    static std::mutex m;
    return m;
  }
  Storage& storage_;
  int64_t offset_;
  DType type_;
  bool used_ = false;
  std::shared_ptr<PackedKernel> packed_, before_;
};

}  // namespace weft
