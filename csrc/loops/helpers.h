// The threads that help with parallel loops, and when they do: docs/notes/threads.md.
#pragma once

#include <cstdint>
#include <utility>

#include "core/exec.h"

namespace weft {

uint64_t ticks();  // of the CPU's clock: about three in a nanosecond

// Whether this thread works for a parallel loop already: then everything it calls runs on it alone.
inline bool in_parallel() { return Exec::current().working; }
// 0 on the thread that called the loop, 1, 2 … on those that help it.
inline int thread_index() { return Exec::current().index; }
// While one is alive, this thread works alone.
class Alone {
 public:
  Alone() : before_(std::exchange(Exec::current().working, true)) {}
  ~Alone() { Exec::current().working = before_; }

 private:
  bool before_;
};
bool loop_stopped();  // on a thread that helps: its loop will end in an exception, so the work is in vain

// Calls run(f, i) for every i in [0, n), on this thread and on those of its threads - 1 helpers that come in time.
// False: nothing was called, since the helpers are another loop's, or rest. Throws what run throws, on any thread.
bool share_out(int64_t n, int threads, void (*run)(const void* f, int64_t i), const void* f);

void forget_helpers();  // in a child after fork, which has none of its parent's threads

}  // namespace weft
