// Work split over threads in fixed chunks: the borders depend on the size of the work, never on the number of
// threads, so results do not either.
#pragma once

#include <omp.h>

#include <cstdint>

namespace weft {

int num_threads();  // what set_num_threads chose, or the CPUs this process may use
void set_num_threads(int n);
bool in_parallel();  // inside a parallel region already: then everything runs on the calling thread

constexpr int64_t kGrain = 32768;  // elements of light work per chunk

// Calls f(begin, end) for [0, n) cut at the multiples of grain.
template <class F>
inline void parallel_chunks(int64_t n, int64_t grain, const F& f) {
  int64_t chunks = grain > 0 ? (n + grain - 1) / grain : 1;
  int threads = chunks > 1 && !in_parallel() ? num_threads() : 1;
  if (threads <= 1) {
    for (int64_t c = 0; c < chunks; ++c) f(c * grain, (c + 1) * grain < n ? (c + 1) * grain : n);
    return;
  }
  if (threads > chunks) threads = int(chunks);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t c = 0; c < chunks; ++c) f(c * grain, (c + 1) * grain < n ? (c + 1) * grain : n);
}

// The same in as many parts as there are threads, all of the same length, for work that comes out the same wherever it
// is cut. Cuts are multiples of `unit` (64 elements: no vector is cut), parts no shorter than about `grain`.
template <class F>
inline void parallel_shares(int64_t n, int64_t grain, int64_t unit, const F& f) {
  int64_t parts = n > grain && !in_parallel() ? num_threads() : 1;
  if (parts > 1 && parts * grain > n) parts = (n + grain - 1) / grain;
  int64_t units = (n + unit - 1) / unit;
  if (n > 0) parallel_chunks(n, (units + parts - 1) / parts * unit, f);
}

// Calls f(i) for every i in [0, n), each on some thread.
template <class F>
inline void parallel_each(int64_t n, const F& f) {
  int threads = n > 1 && !in_parallel() ? num_threads() : 1;
  if (threads <= 1) {
    for (int64_t i = 0; i < n; ++i) f(i);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t i = 0; i < n; ++i) f(i);
}

}  // namespace weft
