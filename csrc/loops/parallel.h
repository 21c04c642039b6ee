// Work split over threads in fixed chunks: the borders depend on the size of the work, never on the number of
// threads, so results do not either.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/error.h"

namespace weft {

int num_threads();  // what set_num_threads chose, or the CPUs this process may use
void set_num_threads(int n);
bool in_parallel();  // inside a parallel region already: then everything runs on the calling thread

constexpr int64_t kGrain = 32768;  // elements of light work per chunk

// Ctrl-C. Loops ask between chunks, on the thread that called them, and leave by an exception; what they were writing
// is then unfinished.
bool interrupt_pending();        // looks every few milliseconds; true: a Python exception is set
[[noreturn]] void leave_loop();  // throws it
void leave_if_interrupted();     // both, from anywhere in a loop
extern bool (*g_ask_interpreter)();
extern thread_local const std::atomic<bool>* t_stopped;  // of the parallel loop that this thread works for

// While one is alive, loops of this thread are not interrupted: what they write must be whole.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
};

// Calls f(i) for every i in [0, n): one after the other, or each on some thread.
template <class F>
inline void serial_each(int64_t n, const F& f) {
  bool ask = n > 1 && !in_parallel();
  for (int64_t i = 0; i < n; ++i) {
    if (ask && interrupt_pending()) leave_loop();
    f(i);
  }
}

// What a thread does with item i of a parallel loop.
template <class F>
inline void unless_stopped(std::atomic<bool>& stopped, int64_t i, const F& f) {
  if (stopped.load(std::memory_order_relaxed)) return;
  t_stopped = &stopped;
  try {
    leave_if_interrupted();
    f(i);
  } catch (const PythonError&) {
    stopped = true;
  }
}

template <class F>
inline void parallel_each(int64_t n, const F& f) {
  int threads = n > 1 && !in_parallel() ? num_threads() : 1;
  if (threads <= 1) return serial_each(n, f);
  std::atomic<bool> stopped{false};
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t i = 0; i < n; ++i) unless_stopped(stopped, i, f);
  if (stopped) leave_loop();
}

// Calls f(begin, end) for [0, n) cut at the multiples of grain.
template <class F>
inline void parallel_chunks(int64_t n, int64_t grain, const F& f) {
  int64_t chunks = grain > 0 ? (n + grain - 1) / grain : 1;
  auto chunk = [&](int64_t c) { f(c * grain, (c + 1) * grain < n ? (c + 1) * grain : n); };
  int threads = chunks > 1 && !in_parallel() ? num_threads() : 1;
  if (threads <= 1) return serial_each(chunks, chunk);
  if (threads > chunks) threads = int(chunks);
  std::atomic<bool> stopped{false};
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t c = 0; c < chunks; ++c) unless_stopped(stopped, c, chunk);
  if (stopped) leave_loop();
}

// The same in as many parts as there are threads, all of the same length, for work that comes out the same wherever it
// is cut. Cuts are multiples of `unit` (64 elements: no vector is cut), parts no shorter than about `grain`; very long
// parts are cut again, so that Ctrl-C need not wait.
template <class F>
inline void parallel_shares(int64_t n, int64_t grain, int64_t unit, const F& f) {
  constexpr int64_t kLongest = 64;  // grains
  if (n <= grain) {
    if (n > 0) f(0, n);
    return;
  }
  int64_t parts = n > grain && !in_parallel() ? num_threads() : 1;
  if (parts > 1 && parts * grain > n) parts = (n + grain - 1) / grain;
  int64_t units = (n + unit - 1) / unit;
  int64_t share = (units + parts - 1) / parts;
  int64_t cuts = (share * unit - 1) / (kLongest * grain) + 1;
  if (n > 0) parallel_chunks(n, (share + cuts - 1) / cuts * unit, f);
}

// Calls f(begin, end) for [0, n) in pieces, one after the other on this thread.
template <class F>
inline void in_pieces(int64_t n, const F& f) {
  constexpr int64_t kPiece = 1 << 20;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    if (begin) leave_if_interrupted();
    f(begin, std::min(n, begin + kPiece));
  }
}

}  // namespace weft
