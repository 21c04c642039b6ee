// The caching allocator: 64-byte aligned blocks kept by size class, live and peak bytes always counted.
// Called with the interpreter lock held; kernels that run without it use Scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/exec.h"

namespace weft {

struct MemoryStats {
  int64_t live = 0;         // bytes of blocks in use
  int64_t peak = 0;         // the most that `live` has been since reset_peak
  int64_t cached = 0;       // bytes of free blocks kept for reuse
  int64_t blocks = 0;       // blocks in use
  int64_t allocations = 0;  // all there ever were
};

MemoryStats& memory_stats();
void* allocate_block(int64_t* bytes);     // at least that many; says how many there are. Throws Error(Memory)
void free_block(void* p, int64_t bytes);  // as many as allocate_block said
void empty_cache();
int64_t shrink_block(void* p, int64_t bytes, int64_t used);  // gives back what it can of the rest; how many there are
void fail_allocation_after(int64_t n);  // for tests: the n-th allocation from now on fails; negative: none

// Small fixed-size objects (tensors, nodes, storages): free lists by size, never given back.
void* pool_allocate(size_t bytes);
void pool_free(void* p, size_t bytes);

// Gaps in memory that nobody uses for now. While it is alive, large Scratch of this thread, and of those that help it,
// lies there if it fits.
class Loan {
 public:
  struct Gap {
    int64_t begin, bytes;
  };
  static constexpr int64_t kLeast = int64_t(1) << 20;  // bytes: less stays in the cache from kernel to kernel
  Loan(char* memory, const std::vector<Gap>& gaps) : memory_(memory), gaps_(gaps) {}
  void* take(int64_t bytes);  // or null
  void give_back(void* p);
  bool in_use() const { return !taken_.empty(); }

 private:
  char* memory_;
  const std::vector<Gap>& gaps_;
  std::mutex lock_;
  std::vector<Gap> taken_;
};

// The loan of this call for a while; null: what is made now may be kept for longer than any.
class WithLoan {
 public:
  explicit WithLoan(Loan* loan) : before_(std::exchange(Exec::current().loan, loan)) {}
  ~WithLoan() { Exec::current().loan = before_; }
  WithLoan(const WithLoan&) = delete;
  WithLoan& operator=(const WithLoan&) = delete;

 private:
  Loan* before_;
};

// Plain memory for the time of a kernel, usable without the interpreter lock. A few large pieces are kept for the next
// kernel: pages that are new cost more than most kernels.
class Scratch {
 public:
  explicit Scratch(int64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(p_);
  }

 private:
  void* p_;
  int64_t bytes_;
  Loan* lender_ = nullptr;
};

// Work space that its thread keeps for the next kernel that asks for the same slot. Where it is lent already, other
// memory is allocated. It costs less than Scratch, for small kernels; large blocks are freed.
class Panel {
 public:
  static constexpr int kSlots = 3;
  Panel(int slot, int64_t bytes);  // 0 bytes: none
  ~Panel();
  Panel(const Panel&) = delete;
  Panel& operator=(const Panel&) = delete;
  char* data() const { return p_; }

 private:
  int slot_;
  char* p_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace weft
