// The part of OpenMP's runtime that oneDNN uses, under the names that GCC gives it. The linker looks for them here
// before it looks into libgomp, which is loaded and idle; only where a program has loaded libgomp for all, that one is
// used.
#include "onednn/openmp.h"

#include <sched.h>

#include <algorithm>
#include <atomic>

#define OPENMP extern "C" __attribute__((visibility("default")))

namespace {

const weft::Gang* g_gang = nullptr;

// The threads that run a parallel region.
struct Team {
  void (*run)(void*) = nullptr;
  void* data = nullptr;
  int size = 0;
  std::atomic<int> arrived{0}, barriers{0};
};
thread_local Team t_own;              // of the region that this thread has begun
thread_local Team* t_team = nullptr;  // that it works for
thread_local int t_alone = 0;         // regions of one thread, inside one another, that it is in
thread_local int t_most = 1;

bool alone() { return t_alone || !t_team; }

void join(void* team) {
  t_team = static_cast<Team*>(team);
  t_team->run(t_team->data);
  t_team = nullptr;
}

// A loop over [0, turns) whose chunks are dealt out to the threads in turn.
struct Loop {
  long begin, step, turns, chunk, next;
  bool deal(int threads, long* from, long* to) {
    long first = next * chunk;
    if (first >= turns) return false;
    *from = begin + first * step;
    *to = begin + std::min(first + chunk, turns) * step;
    next += threads;
    return true;
  }
};
thread_local Loop t_loop;

}  // namespace

void weft::use_gang(const Gang& gang) { g_gang = &gang; }

OPENMP int omp_get_max_threads() { return t_most; }
OPENMP void omp_set_num_threads(int n) { t_most = std::max(1, n); }
OPENMP int omp_in_parallel() { return t_team != nullptr; }
OPENMP int omp_get_num_threads() { return alone() ? 1 : t_team->size; }
OPENMP int omp_get_thread_num() { return alone() ? 0 : g_gang->index(); }

// Between these two the calling thread does its part of the region.
OPENMP void GOMP_parallel_start(void (*run)(void*), void* data, unsigned threads) {
  int size = threads ? int(threads) : t_most;
  if (t_team || size == 1) {
    ++t_alone;
    return;
  }
  t_own.run = run, t_own.data = data, t_own.size = size;
  t_team = &t_own;
  g_gang->begin(size, join, &t_own);
}

OPENMP void GOMP_parallel_end() {
  if (t_alone) {
    --t_alone;
    return;
  }
  g_gang->end();
  t_team = nullptr;
}

OPENMP void GOMP_barrier() {
  if (alone()) return;
  Team& team = *t_team;
  int before = team.barriers.load(std::memory_order_acquire);
  if (team.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == team.size) {
    team.arrived.store(0, std::memory_order_relaxed);
    team.barriers.fetch_add(1, std::memory_order_release);
    return;
  }
  for (int looks = 0; team.barriers.load(std::memory_order_acquire) == before; ++looks)
    if (looks > 1000) sched_yield();
}

OPENMP bool GOMP_loop_static_next(long* from, long* to) { return t_loop.deal(omp_get_num_threads(), from, to); }

OPENMP bool GOMP_loop_static_start(long begin, long end, long step, long chunk, long* from, long* to) {
  int threads = omp_get_num_threads();
  long turns = std::max(0L, (end - begin + step - (step > 0 ? 1 : -1)) / step);
  if (chunk == 0) chunk = std::max(1L, (turns + threads - 1) / threads);  // one for each thread
  t_loop = {begin, step, turns, chunk, omp_get_thread_num()};
  return GOMP_loop_static_next(from, to);
}

OPENMP void GOMP_loop_end_nowait() {}
