// Fork safety: a child has one thread, and every lock and claim of its parent's other threads.
// docs/architecture/threads.md.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

namespace weft {

// The order in which fork takes locks: a thread that holds one may take those after it.
enum class LockOrder { generators, packed, work_space, plans };

// A lock that fork takes before the process is copied: the child finds it free, and what it guards consistent. It lives
// as long as the process. A thread that holds one runs no Python and does not wait for the interpreter's lock, which
// the forking thread holds.
class ForkLock {
 public:
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

 protected:
  explicit ForkLock(LockOrder order);
  ~ForkLock() = default;

 private:
  friend class AtFork;
  virtual void hold() = 0;
  virtual void release() = 0;
  virtual void reset_in_child() { release(); }
  LockOrder order_;
};

class ForkMutex final : public ForkLock {
 public:
  explicit ForkMutex(LockOrder order) : ForkLock(order) {}
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  void hold() override { lock(); }
  void release() override { unlock(); }
  std::mutex mutex_;
};

// Calls f in a child, once its locks are free.
void in_child(void (*f)());

// While one is alive, this thread uses something although it may release the interpreter's lock: others wait until the
// count is zero, or do without. Made and destroyed with that lock held. A child after fork subtracts the claims of
// threads that it does not have.
class Claim {
 public:
  explicit Claim(int32_t& count) : Claim(std::vector<int32_t*>{&count}) {}
  explicit Claim(std::vector<int32_t*> counts);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  friend class AtFork;
  struct Entry {
    std::vector<int32_t*> counts;
    pthread_t by;
  };
  std::list<Entry>::iterator at_;
};

}  // namespace weft
