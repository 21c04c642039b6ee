#include "core/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <vector>

#include "core/error.h"

namespace weft {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kSmall = 4096;  // classes in steps of 64 bytes up to here, then 8 per power of two
constexpr int kSmallClasses = kSmall / kAlign;
constexpr int kClasses = kSmallClasses + 8 * 50;
constexpr int64_t kHugePage = int64_t(1) << 21;
constexpr int64_t kMaxCached = int64_t(1) << 31;

struct FreeBlock {
  FreeBlock* next;
};

FreeBlock* g_free[kClasses];
MemoryStats g_stats;
int64_t g_fail_after = -1;

int log2_floor(int64_t n) { return 63 - __builtin_clzll(uint64_t(n)); }

int class_of(int64_t bytes) {
  if (bytes <= kSmall) return int((bytes + kAlign - 1) / kAlign) - (bytes > 0);
  int e = log2_floor(bytes - 1);  // 2^e < bytes <= 2^(e+1)
  int64_t step = int64_t(1) << (e - 3);
  int64_t eighth = (bytes - (int64_t(1) << e) + step - 1) / step;  // 1..8
  return kSmallClasses + (e - 12) * 8 + int(eighth) - 1;
}

int64_t bytes_of_class(int c) {
  if (c < kSmallClasses) return (c + 1) * kAlign;
  int k = c - kSmallClasses, e = 12 + k / 8;
  return (int64_t(1) << e) + (int64_t(k % 8) + 1) * (int64_t(1) << (e - 3));
}

[[noreturn]] void out_of_memory(int64_t bytes) {
  fail(ErrorKind::Memory, "out of memory: could not allocate ", bytes, " bytes (", g_stats.live,
       " bytes are in use by tensors, the peak was ", g_stats.peak, ")");
}

void* system_allocate(int64_t bytes) {
  void* p = nullptr;
  int64_t align = bytes >= kHugePage ? kHugePage : kAlign;
  if (posix_memalign(&p, size_t(align), size_t(bytes)) != 0) {
    empty_cache();
    if (posix_memalign(&p, size_t(align), size_t(bytes)) != 0) out_of_memory(bytes);
  }
  if (bytes >= kHugePage) madvise(p, size_t(bytes), MADV_HUGEPAGE);
  return p;
}

}  // namespace

MemoryStats& memory_stats() { return g_stats; }

int64_t block_bytes(int64_t bytes) {
  if (bytes > (int64_t(1) << 61)) out_of_memory(bytes);
  return bytes_of_class(class_of(bytes));
}

void* allocate_block(int64_t bytes) {
  if (g_fail_after >= 0 && g_fail_after-- == 0) out_of_memory(bytes);
  FreeBlock*& head = g_free[class_of(bytes)];
  void* p = head;
  if (p) {
    head = head->next;
    g_stats.cached -= bytes;
  } else {
    p = system_allocate(bytes);
  }
  ++g_stats.blocks;
  ++g_stats.allocations;
  g_stats.live += bytes;
  if (g_stats.live > g_stats.peak) g_stats.peak = g_stats.live;
  return p;
}

void free_block(void* p, int64_t bytes) {
  --g_stats.blocks;
  g_stats.live -= bytes;
  if (g_stats.cached + bytes > kMaxCached) {
    std::free(p);
    return;
  }
  g_stats.cached += bytes;
  FreeBlock*& head = g_free[class_of(bytes)];
  auto* block = static_cast<FreeBlock*>(p);
  block->next = head;
  head = block;
}

void empty_cache() {
  for (FreeBlock*& head : g_free) {
    while (head) {
      FreeBlock* next = head->next;
      std::free(head);
      head = next;
    }
  }
  g_stats.cached = 0;
}

void fail_allocation_after(int64_t n) { g_fail_after = n; }

namespace {
constexpr size_t kPoolStep = 32, kPoolMax = 1024;
FreeBlock* g_pool[kPoolMax / kPoolStep + 1];

// Fills a free list from one slab, so that neighbours in time are neighbours in memory.
void refill(size_t index) {
  size_t bytes = index * kPoolStep, count = 65536 / bytes;
  char* slab = static_cast<char*>(std::malloc(bytes * count));
  if (!slab) out_of_memory(int64_t(bytes * count));
  for (size_t i = count; i-- > 0;) {
    auto* block = reinterpret_cast<FreeBlock*>(slab + i * bytes);
    block->next = g_pool[index];
    g_pool[index] = block;
  }
}
}  // namespace

void* pool_allocate(size_t bytes) {
#ifdef WEFT_SANITIZE
  return std::malloc(bytes);  // so that the address sanitizer sees each object
#else
  if (bytes > kPoolMax) {
    void* p = std::malloc(bytes);
    if (!p) out_of_memory(int64_t(bytes));
    return p;
  }
  size_t index = (bytes + kPoolStep - 1) / kPoolStep;
  if (!g_pool[index]) refill(index);
  FreeBlock* block = g_pool[index];
  g_pool[index] = block->next;
  return block;
#endif
}

void pool_free(void* p, size_t bytes) {
#ifdef WEFT_SANITIZE
  (void)bytes;
  std::free(p);
#else
  if (bytes > kPoolMax) return std::free(p);
  auto* block = static_cast<FreeBlock*>(p);
  FreeBlock*& head = g_pool[(bytes + kPoolStep - 1) / kPoolStep];
  block->next = head;
  head = block;
#endif
}

Scratch::Scratch(int64_t bytes) : p_(std::aligned_alloc(64, size_t((bytes + 63) / 64 * 64 + 64))) {
  if (!p_) fail(ErrorKind::Memory, "out of memory: could not allocate ", bytes, " bytes of work space");
}
Scratch::~Scratch() { std::free(p_); }

}  // namespace weft
