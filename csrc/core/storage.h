// A block of memory that tensors look into, and the count of its changes.
#pragma once

#include "core/memory.h"
#include "core/origin.h"
#include "core/refs.h"

namespace weft {

struct Storage : Counted {
  uint32_t version = 0;  // how often it was changed in place
  bool writable = true;
  int32_t shown = 0;  // how many buffers look at the data: while there are some, it must not move
  char* data = nullptr;
  int64_t bytes = 0;                      // what its owner asked for
  int64_t block = 0;                      // the allocator's block; 0 when the memory is someone else's
  void (*let_go)(void* owner) = nullptr;  // for foreign memory
  void* owner = nullptr;
  Origin changed;  // where it was last changed in place

  static Ref<Storage> make(int64_t bytes);
  static Ref<Storage> foreign(void* data, int64_t bytes, void* owner, void (*let_go)(void*), bool writable = true);
  void resize(int64_t bytes);  // keeps the contents; the data may move
  void touch() {
    ++version;
    changed = Origin::here();
  }
  void destroy();
};

}  // namespace weft
