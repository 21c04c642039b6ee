// Work split over threads in fixed chunks: the borders depend on the size of the work, never on the number of
// threads, so results do not either.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/exec.h"
#include "core/memory.h"
#include "loops/helpers.h"

namespace weft {

int num_threads();  // what set_num_threads chose, or the CPUs this process may use
void set_num_threads(int n);
int call_threads();  // how many the loops of this call may have; the same until it ends
int loop_threads();  // those of a loop that begins here
Exec fixed_exec();   // the context for a kernel that releases the interpreter's lock

constexpr int64_t kGrain = 32768;  // elements of light work per chunk

// Ctrl-C. Loops ask between chunks, on the thread that called them, and leave by an exception; what they were writing
// is then unfinished.
bool interrupt_pending();        // looks every few milliseconds; true: Ctrl-C arrived, and is the loop's to report
[[noreturn]] void leave_loop();  // throws Interrupted
void leave_if_interrupted();     // both, from anywhere in a loop

// While one is alive, loops of this call are not interrupted: what they write must be whole.
class Uninterrupted {
 public:
  Uninterrupted() { ++Exec::current().uninterrupted; }
  ~Uninterrupted() { --Exec::current().uninterrupted; }
};

// Memory for each thread of loops of up to `items` items, taken before the threads start. These loops must begin where
// this is made.
class PerThread {
 public:
  static constexpr int64_t kMany = INT64_MAX;  // items: as many threads as there are
  PerThread(int64_t bytes, int64_t items);
  template <class T>
  T* mine() const {
    return reinterpret_cast<T*>(memory_.as<char>() + (count_ > 1 ? thread_index() : 0) * each_);
  }
  template <class T>
  T* all() const {
    return memory_.as<T>();
  }
  int64_t bytes() const { return each_ * count_; }

 private:
  int64_t each_, count_;
  Scratch memory_;
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

template <class F>
inline void parallel_each(int64_t n, const F& f) {
  int threads = n > 1 ? int(std::min<int64_t>(n, loop_threads())) : 1;
  auto run = [](const void* f, int64_t i) { (*static_cast<const F*>(f))(i); };
  if (threads <= 1 || !share_out(n, threads, run, &f)) serial_each(n, f);
}

// Calls f(begin, end) for [0, n) cut at the multiples of grain.
template <class F>
inline void parallel_chunks(int64_t n, int64_t grain, const F& f) {
  int64_t chunks = grain > 0 ? (n + grain - 1) / grain : 1;
  parallel_each(chunks, [&](int64_t c) { f(c * grain, (c + 1) * grain < n ? (c + 1) * grain : n); });
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
  int64_t parts = loop_threads();
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
