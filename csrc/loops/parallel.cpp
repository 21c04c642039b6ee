#include "loops/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "core/dims.h"
#include "core/fork.h"
#include "core/interpreter.h"
#include "core/interrupt.h"

namespace weft {
namespace {

std::atomic<int> g_threads{0};

// The CPUs that affinity and the cgroup's quota leave to this process.
int available_cpus() {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    long quota = 0, period = 0;
    if (std::fscanf(f, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0)
      n = std::min<long>(n, std::max(1L, (quota + period - 1) / period));
    std::fclose(f);
  }
  if (const char* env = std::getenv("OMP_NUM_THREADS")) {
    int wanted = std::atoi(env);
    if (wanted > 0) n = wanted;
  }
  return std::max(1, n);
}

const bool g_watches_forks = [] {
  in_child([] {
    g_threads = 1;  // a program that forks has many children, as a rule
    forget_helpers();
  });
  return true;
}();

}  // namespace

int num_threads() {
  if (g_threads == 0) g_threads = available_cpus();
  return g_threads;
}

void set_num_threads(int n) {
  num_threads();
  g_threads = std::max(1, n);
}

int call_threads() {
  int fixed = Exec::current().threads;
  return fixed ? fixed : num_threads();
}

int loop_threads() { return in_parallel() ? 1 : call_threads(); }

Exec fixed_exec() {
  Exec exec = Exec::current();
  exec.threads = call_threads();
  return exec;
}

PerThread::PerThread(int64_t bytes, int64_t items)
    : each_((Size(bytes) + 63) / 64 * 64), count_(items > 1 ? loop_threads() : 1), memory_(Size(each_) * count_) {}

bool interrupt_pending() {
  Exec& exec = Exec::current();
  const uint64_t now = ticks(), patience = g_patience.load(std::memory_order_relaxed);
  if (now < exec.next_look && exec.next_look - now <= patience) return false;
  exec.next_look = now + patience;
  return !exec.uninterrupted && interpreter::interrupted();
}

void leave_loop() { throw Interrupted(); }

void leave_if_interrupted() {
  if (thread_index() == 0 ? interrupt_pending() : loop_stopped()) leave_loop();
}

}  // namespace weft
