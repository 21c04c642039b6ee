#include "loops/helpers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "core/memory.h"
#include "loops/parallel.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

constexpr int kMost = 256;                       // threads of a loop
constexpr uint64_t kMicrosecond = 3000;          // ticks
constexpr uint64_t kAwake = 100 * kMicrosecond;  // how long a helper looks for the next loop before it sleeps
constexpr uint64_t kGrace = 50 * kMicrosecond;   // how much longer than the caller a helper may work
constexpr uint64_t kRest = 4;                    // times as long as was waited in vain
constexpr uint64_t kWorth = 2;                   // times what was lost, for which helpers need not rest
constexpr uint64_t kLongRest = 256'000 * kMicrosecond;

using Word = std::atomic<uint32_t>;  // on which threads sleep
static_assert(sizeof(Word) == 4);

void sleep_while(Word& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

void relax() {
#if defined(__SSE2__)
  _mm_pause();
#endif
}

// How a thread rounds and what it does with tiny numbers.
#if defined(__SSE2__)
unsigned arithmetic() { return _mm_getcsr() & ~0x3fu; }  // without the flags of what has happened
void set_arithmetic(unsigned mode) { _mm_setcsr(mode); }
#else
unsigned arithmetic() { return 0; }
void set_arithmetic(unsigned) {}
#endif

// Part of a loop: a thread first works through its own, in order, then through what is left of the others'.
struct alignas(64) Shard {
  std::atomic<int64_t> next;
  int64_t end;
};

struct alignas(64) Helper {
  Word asleep{0};
};

// All helpers and the one loop they help with at a time. Never destroyed: helpers sleep on it until the process ends.
class Helpers {
 public:
  bool share_out(int64_t n, int threads, void (*run)(const void*, int64_t), const void* f) {
    uint64_t start = ticks();
    uint64_t alone = alone_until_.load(std::memory_order_relaxed);
    if (start < alone && alone - start <= kLongRest) return false;
    if (taken_.test_and_set(std::memory_order_acquire)) return false;
    threads = std::min({threads, kMost, 1 + hire(threads - 1)});
    run_ = run, f_ = f, threads_ = threads, arithmetic_ = arithmetic();
    exec_threads_ = Exec::current().threads, loan_ = Exec::current().loan;
    for (int t = 0; t < threads; ++t) {
      auto border = [&](int64_t k) { return n / threads * k + std::min(k, n % threads); };
      shards_[t].next.store(border(t), std::memory_order_relaxed);
      shards_[t].end = border(t + 1);
    }
    stopped_.store(false, std::memory_order_relaxed);
    error_ = nullptr;
    crowded_.store(false, std::memory_order_relaxed);
    cpu_.store(sched_getcpu(), std::memory_order_relaxed);
    gate_.store(kOpen, std::memory_order_release);
    round_.fetch_add(1);
    call_helpers(0);
    std::exception_ptr error = work_and_wait(start);
    if (error) std::rethrow_exception(error);
    return true;
  }

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kOpen = 1u << 31, kCallerSleeps = 1u << 30;  // of the gate; the rest counts who is inside

  // However the caller leaves, it waits for its helpers first: they use what is on its stack. What a helper threw.
  std::exception_ptr work_and_wait(uint64_t start) {
    std::exception_ptr error;
    {
      struct Leaving {
        Helpers& all;
        uint64_t start;
        std::exception_ptr& error;
        bool done = false;
        ~Leaving() {
          if (!done) all.stopped_ = true;
          Exec::current().working = false;
          all.wait_for_helpers(start);
          error = std::exchange(all.error_, nullptr);
          all.taken_.clear(std::memory_order_release);
        }
      } leaving{*this, start, error};
      Exec::current().working = true;
      work(0);
      leaving.done = true;
    }
    return error;
  }

  void work(int me) {
    for (int k = 0; k < threads_; ++k) {
      Shard& shard = shards_[(me + k) % threads_];
      while (!stopped()) {
        int64_t i = shard.next.fetch_add(1, std::memory_order_relaxed);
        if (i >= shard.end) break;
        leave_if_interrupted();
        run_(f_, i);
      }
    }
  }

  // The caller waits for nobody but helpers that work. If one takes far longer than it should, its CPU works for
  // somebody else. If more time was lost by that than was gained since the last time, loops run alone for a while, and
  // longer each time.
  void wait_for_helpers(uint64_t start) {
    uint32_t inside = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    if (!inside && !crowded_) return;
    uint64_t done = ticks(), now = done, patience = done - start + kGrace;
    for (; inside && now - done <= patience; now = ticks()) {
      relax();
      inside = gate_.load(std::memory_order_acquire);
    }
    bool late = inside;
    while (inside) {
      if (gate_.compare_exchange_strong(inside, inside | kCallerSleeps)) sleep_while(gate_, inside | kCallerSleeps);
      inside = gate_.load(std::memory_order_acquire) & ~kCallerSleeps;
    }
    now = ticks();
    if (!late && !crowded_) return;
    uint64_t lost = std::max(now - done, kGrace), gained = gained_.exchange(0, std::memory_order_relaxed);
    bool worthwhile = gained > lost && gained - lost > kWorth * lost;  // a late helper has counted what was lost, too
    rest_ = worthwhile ? 0 : std::min(std::max(2 * rest_, kRest * lost), kLongRest);
    alone_until_ = now + rest_;
  }

  // Wakes the helpers that stand below this thread in a tree, as far as the loop has work for them.
  void call_helpers(int me) {
    for (int each = 2 * me + 1; each <= 2 * me + 2 && each < threads_; ++each)
      if (helpers_[each].asleep.load() && helpers_[each].asleep.exchange(0)) wake(helpers_[each].asleep);
  }

  // Starts threads until there are `count`, as far as the system allows; how many there are.
  int hire(int count) {
    while (hired_ < std::min(count, kMost - 1)) {
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for Python's threads
      pthread_t thread;
      auto body = [](void* index) -> void* {
        the().help(int(reinterpret_cast<intptr_t>(index)));
        return nullptr;
      };
      bool made = pthread_create(&thread, nullptr, body, reinterpret_cast<void*>(intptr_t(hired_ + 1))) == 0;
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (!made) break;
      pthread_detach(thread);
      ++hired_;
    }
    return hired_;
  }

  void help(int me) {
    pthread_setname_np(pthread_self(), "weft helper");
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (uint32_t seen = 0;;) {
      seen = next_round(me, seen);
      if (on_callers_cpu() && !move_away(allowed)) {
        crowded_ = true;
        continue;
      }
      if (!enter()) continue;
      if (me < threads_) help_with_loop(me);
      if (gate_.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) wake(gate_);
    }
  }

  void help_with_loop(int me) {
    call_helpers(me);
    if (arithmetic() != arithmetic_) set_arithmetic(arithmetic_);
    Exec mine;
    mine.threads = exec_threads_, mine.loan = loan_, mine.index = me, mine.working = true;
    WithExec of_caller(mine);
    uint64_t start = ticks();
    try {
      work(me);
    } catch (...) {
      if (!stopped_.exchange(true)) error_ = std::current_exception();
    }
    gained_.fetch_add(ticks() - start, std::memory_order_relaxed);
  }

  // Where a helper only takes the caller's time.
  bool on_callers_cpu() const { return sched_getcpu() == cpu_.load(std::memory_order_relaxed); }
  bool move_away(cpu_set_t allowed) const {
    CPU_CLR(cpu_.load(std::memory_order_relaxed), &allowed);
    return CPU_COUNT(&allowed) && sched_setaffinity(0, sizeof allowed, &allowed) == 0;
  }

  uint32_t next_round(int me, uint32_t seen) {
    uint64_t start = ticks();
    uint32_t round;
    while ((round = round_.load(std::memory_order_acquire)) == seen) {
      relax();
      if (ticks() - start > kAwake || on_callers_cpu()) {
        helpers_[me].asleep = 1;
        if (round_ == seen) sleep_while(helpers_[me].asleep, 1);
        helpers_[me].asleep = 0;
      }
    }
    return round;
  }

  // Past the gate the loop stays until this thread has left.
  bool enter() {
    uint32_t inside = gate_.load(std::memory_order_relaxed);
    while (inside & kOpen)
      if (gate_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire)) return true;
    return false;
  }

  alignas(64) std::atomic_flag taken_;
  int hired_ = 0;
  std::atomic<uint64_t> alone_until_{0};
  std::atomic<uint64_t> gained_{0};  // what helpers have worked since one was late
  uint64_t rest_ = 0;

  // The loop.
  void (*run_)(const void*, int64_t) = nullptr;
  const void* f_ = nullptr;
  int threads_ = 0;
  unsigned arithmetic_ = 0;
  int exec_threads_ = 0;
  Loan* loan_ = nullptr;
  std::exception_ptr error_;  // the first of a helper
  std::atomic<bool> stopped_{false}, crowded_{false};
  std::atomic<int> cpu_{-1};  // of the caller when it began
  Shard shards_[kMost];

  alignas(64) Word gate_{0};
  alignas(64) Word round_{0};
  Helper helpers_[kMost];

 public:
  static Helpers& the();
};

// Made when weft is loaded: a fork while another thread makes it would leave the child waiting for that thread.
Helpers* const g_helpers = new Helpers;
Helpers& Helpers::the() { return *g_helpers; }

}  // namespace

uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()) * 3;
#endif
}

bool loop_stopped() { return Helpers::the().stopped(); }

bool share_out(int64_t n, int threads, void (*run)(const void* f, int64_t i), const void* f) {
  return Helpers::the().share_out(n, threads, run, f);
}

void forget_helpers() { new (&Helpers::the()) Helpers; }

}  // namespace weft
