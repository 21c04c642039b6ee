// A block of memory that tensors look into, and the count of its changes.
#pragma once

#include <atomic>
#include <memory>

#include "core/memory.h"
#include "core/origin.h"
#include "core/refs.h"

namespace weft {

// How elements lie while they lie channels last: (batch, pixels, channels), whereas the tensors that look at them say
// (batch, channels, pixels…). Convolutions and what stands between them pass images on like that. Everybody else goes
// through TensorImpl::data(), which puts them in order first, so nobody can tell.
struct ChannelsLast {
  int64_t channels = 0;  // 0: the elements lie as tensors say; -1: there are none, the tensor is sparse
  int64_t pixels = 0;
  int64_t item = 0;  // bytes of an element
};

// Something that was made from the contents of a storage and is kept with it.
struct Attached {
  virtual ~Attached() = default;
};

// Incremented with the interpreter's lock held, read without: a thread that reads a count sees what it counts.
class ChangeCount {
 public:
  operator uint32_t() const { return count_.load(std::memory_order_acquire); }
  void operator++() { count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  std::atomic<uint32_t> count_{0};
};

struct Storage : Counted {
  uint32_t version = 0;  // how often it was changed in place
  ChangeCount changes;   // the same, with changes that the tape is not told of (through `.data`, by others)
  bool writable = true;
  bool planned = false;  // a place in the memory of a static program: it cannot move, but is nobody else's
  int32_t shown = 0;     // how many buffers look at the data: while there are some, it must not move
  char* data = nullptr;
  int64_t bytes = 0;                      // what its owner asked for
  int64_t block = 0;                      // the allocator's block; 0 when the memory is someone else's
  void (*let_go)(void* owner) = nullptr;  // for foreign memory
  void* owner = nullptr;
  Origin changed;  // where it was last changed in place
  ChannelsLast last;
  int32_t readers = 0;  // kernels that work on the elements where they lie, without the interpreter's lock
  std::unique_ptr<Attached> attached;

  static Ref<Storage> make(int64_t bytes);
  static Ref<Storage> foreign(void* data, int64_t bytes, void* owner, void (*let_go)(void*), bool writable = true);
  void resize(int64_t bytes);  // keeps the contents; the data may move
  // Its contents lie in foreign memory of `size` bytes, at least as many as it has, from now on.
  void move_to(void* memory, int64_t size, void* owner, void (*let_go)(void*));
  void forget();         // gives its block back
  void forget_slack() {  // gives back what it holds beyond its bytes
    if (block) block = shrink_block(data, block, bytes);
  }
  void put_in_order();      // after which they lie as tensors say; with the interpreter's lock held
  void wait_for_readers();  // other threads may run meanwhile, and change anything
  void touch() {
    ++version;
    ++changes;
    changed = Origin::here();
  }
  void destroy();
};

// Copies elements that lie channels last in the order of a contiguous tensor. Defined by ops/order.cpp, which has
// loops.
void copy_channels_first(char* to, const char* from, int64_t bytes, const ChannelsLast& how);

}  // namespace weft
