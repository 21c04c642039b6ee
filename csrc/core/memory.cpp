#include "core/memory.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/error.h"
#include "core/event_log.h"
#include "core/fork.h"
#include "core/free_blocks.h"

namespace weft {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kSmall = 4096;  // classes in steps of 64 bytes up to here, then 8 per power of two
constexpr int kSmallClasses = kSmall / kAlign;
constexpr int kClasses = kSmallClasses + 8 * 50;
constexpr int64_t kHugePage = int64_t(1) << 21;
constexpr int64_t kMaxCached = int64_t(1) << 31;
constexpr int kFirstShared = kSmallClasses + 8 * 4, kFirstLarge = kSmallClasses + 8 * 10;  // 64 KiB, 4 MiB

struct FreeBlock {
  FreeBlock* next;
};

FreeBlock* g_free[kClasses];
MemoryStats g_stats;
int64_t g_fail_after = -1;
bool g_reports = false;              // to the recorder
bool g_careful = false;              // an allocation may be made to fail, or is reported
int64_t g_most_cached = kMaxCached;  // -1 while blocks are reported: each that is given back is looked at

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

// Large blocks are mappings of their own: in malloc's heap they would leave holes that nothing else fits into.
#ifdef WEFT_SANITIZE
constexpr bool is_mapped(int64_t) { return false; }  // so that the address sanitizer sees each block
#else
constexpr bool is_mapped(int64_t bytes) { return bytes >= kHugePage; }
#endif

void* map(int64_t bytes) {
  size_t page = size_t(kHugePage), size = size_t(bytes);
  void* found = mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto begin = reinterpret_cast<uintptr_t>(found), first = (begin + page - 1) / page * page;
  if (first > begin) munmap(found, first - begin);
  if (begin + page > first) munmap(reinterpret_cast<void*>(first + size), begin + page - first);
  madvise(reinterpret_cast<void*>(first), size, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(first);
}

void unmap(void* p, int64_t bytes) { munmap(p, size_t(bytes)); }

void* system_try(int64_t bytes) {
  if (is_mapped(bytes)) return map(bytes);
  void* p = nullptr;
  return posix_memalign(&p, size_t(kAlign), size_t(bytes)) == 0 ? p : nullptr;
}

void* system_allocate(int64_t bytes) {
  void* p = system_try(bytes);
  if (!p) {
    empty_cache();
    p = system_try(bytes);
  }
  return p;
}

void system_free(void* p, int64_t bytes) { is_mapped(bytes) ? unmap(p, bytes) : std::free(p); }

// Work spaces that no kernel uses now: memory from the system would have to be cleared first.
struct Spare {
  void* p;
  int64_t bytes;
};
ForkMutex g_spare_lock(LockOrder::work_space);
std::vector<Spare> g_spare;
#ifdef WEFT_SANITIZE
constexpr int64_t kLeastSpare = INT64_MAX;
#else
constexpr int64_t kLeastSpare = int64_t(64) << 10;
#endif
constexpr int64_t kSpareStep = int64_t(64) << 10;
constexpr int64_t kMostSpare = int64_t(48) << 20;
constexpr int64_t kLeastLent = std::max(Loan::kLeast, kLeastSpare);

// The smallest that is large enough. Where all are too small the largest gives way to the one that is made now, so that
// in the end there are as many as kernels use at the same time, and no more.
void* take_spare(int64_t* bytes) {
  std::lock_guard hold(g_spare_lock);
  auto smaller = [](const Spare& a, const Spare& b) { return a.bytes < b.bytes; };
  std::sort(g_spare.begin(), g_spare.end(), smaller);
  auto best = std::lower_bound(g_spare.begin(), g_spare.end(), Spare{nullptr, *bytes}, smaller);
  if (best == g_spare.end()) {
    if (!g_spare.empty()) {
      unmap(g_spare.back().p, g_spare.back().bytes);
      g_spare.pop_back();
    }
    return nullptr;
  }
  if (best->bytes > 8 * *bytes) return nullptr;  // it may be kept for long
  *bytes = best->bytes;
  void* p = best->p;
  g_spare.erase(best);
  return p;
}

// Some go where there are too many.
void keep_spare(void* p, int64_t bytes, int64_t most) {
  std::lock_guard hold(g_spare_lock);
  if (p) g_spare.push_back({p, bytes});
  int64_t total = 0;
  for (const Spare& s : g_spare) total += s.bytes;
  while (total > most) {
    unmap(g_spare.front().p, g_spare.front().bytes);
    total -= g_spare.front().bytes;
    g_spare.erase(g_spare.begin());
  }
}

}  // namespace

MemoryStats& memory_stats() { return g_stats; }

namespace {

// Apart from allocate_block, whose usual path is as short as can be.
inline void* take_block(int64_t* wanted) {
  if (*wanted > (int64_t(1) << 61)) out_of_memory(*wanted);
  int fits = class_of(*wanted);
  // A free block that is larger serves as well, by up to a third or, if it is not large, twice: less is kept in all.
  int last = std::min(fits + (fits < kFirstShared ? 0 : fits < kFirstLarge ? 8 : 3), kClasses - 1);
  void* p = nullptr;
  for (int c = fits; c <= last && !p; ++c)
    if (g_free[c]) {
      p = g_free[c];
      g_free[c] = g_free[c]->next;
      fits = c;
      g_stats.cached -= bytes_of_class(c);
    }
  int64_t bytes = *wanted = bytes_of_class(fits);
  if (!p) p = system_allocate(bytes);
  if (!p) out_of_memory(bytes);
  ++g_stats.blocks;
  ++g_stats.allocations;
  g_stats.live += bytes;
  if (g_stats.live > g_stats.peak) g_stats.peak = g_stats.live;
  return p;
}

[[gnu::noinline]] void* take_carefully(int64_t* wanted) {
  if (g_fail_after >= 0 && g_fail_after-- == 0) out_of_memory(*wanted);
  void* p = take_block(wanted);
  if (g_reports) record_memory(p, *wanted, g_stats.live);
  return p;
}

}  // namespace

void* allocate_block(int64_t* wanted) { return g_careful ? take_carefully(wanted) : take_block(wanted); }

void free_block(void* p, int64_t bytes) {
  --g_stats.blocks;
  g_stats.live -= bytes;
  if (g_stats.cached + bytes > g_most_cached) [[unlikely]] {
    if (g_reports) record_memory(p, -bytes, g_stats.live);
    if (g_stats.cached + bytes > kMaxCached) return system_free(p, bytes);
  }
  g_stats.cached += bytes;
  FreeBlock*& head = g_free[class_of(bytes)];
  auto* block = static_cast<FreeBlock*>(p);
  block->next = head;
  head = block;
}

std::vector<FreeBlocks> free_blocks() {
  std::vector<FreeBlocks> all;
  for (int c = 0; c < kClasses; ++c) {
    int64_t count = 0;
    for (FreeBlock* b = g_free[c]; b; b = b->next) ++count;
    if (count) all.push_back({bytes_of_class(c), count});
  }
  return all;
}

void empty_cache() {
  for (int c = 0; c < kClasses; ++c)
    while (g_free[c]) system_free(std::exchange(g_free[c], g_free[c]->next), bytes_of_class(c));
  g_stats.cached = 0;
  keep_spare(nullptr, 0, 0);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

int64_t shrink_block(void* p, int64_t bytes, int64_t used) {
  char *begin = static_cast<char*>(p), *end = begin + bytes;
  int64_t less = std::max(bytes_of_class(class_of(used)), kHugePage);
  if (is_mapped(bytes) && less < bytes) {
    unmap(begin + less, bytes - less);
    g_stats.live -= bytes - less;
    if (g_reports) record_memory(begin + less, less - bytes, g_stats.live);
    return less;
  }
  // Of malloc's heap, the pages that lie in there as a whole; they come back when they are written to.
  auto page = uintptr_t(sysconf(_SC_PAGESIZE)),
       first = (reinterpret_cast<uintptr_t>(begin + used) + page - 1) / page * page;
  auto last = reinterpret_cast<uintptr_t>(end) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  return bytes;
}

void fail_allocation_after(int64_t n) {
  g_fail_after = n;
  g_careful = g_reports || n >= 0;
}

void report_memory(bool on) {
  g_reports = on;
  g_careful = on || g_fail_after >= 0;
  g_most_cached = on ? -1 : kMaxCached;
}

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

void* Loan::take(int64_t bytes) {
  std::lock_guard<std::mutex> hold(lock_);
  for (const Gap& gap : gaps_) {
    int64_t begin = gap.begin;
    auto next = taken_.begin();  // they are in order
    for (; next != taken_.end() && next->begin < begin + bytes; ++next)
      begin = std::max(begin, next->begin + next->bytes);
    if (begin + bytes > gap.begin + gap.bytes) continue;
    taken_.insert(next, {begin, bytes});
    return memory_ + begin;
  }
  return nullptr;
}

void Loan::give_back(void* p) {
  std::lock_guard<std::mutex> hold(lock_);
  int64_t begin = static_cast<char*>(p) - memory_;
  taken_.erase(std::find_if(taken_.begin(), taken_.end(), [&](const Gap& g) { return g.begin == begin; }));
}

Scratch::Scratch(int64_t bytes) : p_(nullptr), bytes_((bytes + kAlign) / kAlign * kAlign) {
  if (Loan* loan = Exec::current().loan; loan && bytes_ >= kLeastLent && (p_ = loan->take(bytes_))) {
    lender_ = loan;
    return;
  }
  if (bytes_ >= kLeastSpare) {
    bytes_ = (bytes_ + kSpareStep - 1) / kSpareStep * kSpareStep;
    p_ = take_spare(&bytes_);
    if (!p_) p_ = map(bytes_);
  } else {
    p_ = system_try(bytes_);
  }
  if (!p_) fail(ErrorKind::Memory, "out of memory: could not allocate ", bytes, " bytes of work space");
}
Scratch::~Scratch() {
  if (lender_) {
    lender_->give_back(p_);
    return;
  }
  if (bytes_ < kLeastSpare) {
    std::free(p_);
    return;
  }
  try {
    keep_spare(p_, bytes_, kMostSpare);
  } catch (const std::bad_alloc&) {  // no room in the list
    unmap(p_, bytes_);
  }
}

namespace {
constexpr int64_t kMostKept = 16 << 20;  // bytes of a panel: more than any block of a product, less than long vectors

struct KeptPanels {
  char* p[Panel::kSlots] = {};
  int64_t bytes[Panel::kSlots] = {};
  ~KeptPanels() {
    for (char*& each : p) std::free(std::exchange(each, nullptr));
  }
};
thread_local KeptPanels t_panels;
}  // namespace

Panel::Panel(int slot, int64_t bytes) : slot_(slot) {
  if (!bytes) return;
  KeptPanels& kept = t_panels;
  p_ = std::exchange(kept.p[slot], nullptr), bytes_ = kept.bytes[slot];
  if (p_ && bytes_ >= bytes) return;
  std::free(p_);
  bytes_ = (bytes + kAlign - 1) / kAlign * kAlign;
  p_ = static_cast<char*>(std::aligned_alloc(size_t(kAlign), size_t(bytes_)));
  if (!p_) throw std::bad_alloc();
}

Panel::~Panel() {
  if (!p_) return;
  if (bytes_ > kMostKept) {
    std::free(p_);
    return;
  }
  KeptPanels& kept = t_panels;
  std::free(kept.p[slot_]);  // what a kernel inside of this one borrowed
  kept.p[slot_] = p_, kept.bytes[slot_] = bytes_;
}

}  // namespace weft
