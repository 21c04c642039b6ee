#include "ops/prepacked.h"

#include <mutex>
#include <new>
#include <utility>

#include "core/fork.h"

namespace weft {
namespace {

ForkMutex g_lock(LockOrder::packed);  // of all that is kept

struct KeptKernel final : Attached {
  std::shared_ptr<PackedKernel> packed;
  uint32_t changes = 0;  // of the storage, before it was made
  int64_t offset = 0;
  DType type = DType::Float;
};

// Returns what was attached before, so that the caller destroys it without holding the lock.
std::unique_ptr<Attached> attach(Storage& storage, std::unique_ptr<Attached> what) {
  std::lock_guard hold(g_lock);
  return std::exchange(storage.attached, std::move(what));
}

}  // namespace

Prepacked::Prepacked(const Tensor& w, bool wanted)
    : storage_(*w->storage), offset_(w->offset), type_(w.dtype()), changes_(storage_.changes) {
  if (!wanted || !w->contiguous || !storage_.block || storage_.shown) return;
  used_ = true;
  std::lock_guard hold(g_lock);
  auto* kept = dynamic_cast<KeptKernel*>(storage_.attached.get());
  if (kept && kept->changes == changes_ && kept->offset == offset_ && kept->type == type_) packed_ = kept->packed;
  before_ = packed_;
}

Prepacked::~Prepacked() {
  if (!used_ || packed_ == before_) return;
  std::unique_ptr<KeptKernel> kept(new (std::nothrow) KeptKernel);
  if (!kept) return;  // no memory for it: the next call packs again
  kept->packed = packed_, kept->changes = changes_, kept->offset = offset_, kept->type = type_;
  attach(storage_, std::move(kept));
}

void drop_packed(Storage& storage) {
  if (storage.attached) attach(storage, nullptr);
}

}  // namespace weft
