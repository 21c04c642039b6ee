// The execution context: what a kernel runs with. docs/architecture/threads.md says what follows from it.
#pragma once

#include <cstdint>

namespace weft {

class Loan;

// Each call of a kernel has one of its own, on the stack of its thread, and so has each thread that helps it: two calls
// share nothing, whether they are in two threads or one inside the other.
class Exec {
 public:
  // How many threads its loops may have. 0: what set_num_threads says, which cannot change while this thread holds the
  // interpreter's lock. Code that releases the lock fixes the number first: fixed_exec() in loops/parallel.h.
  int threads = 0;
  int index = 0;           // of this thread among those of the loop that it works for; 0: the one that began the loop
  bool working = false;    // this thread works for a parallel loop: what it calls runs on it alone
  int uninterrupted = 0;   // above 0: Ctrl-C waits
  uint64_t next_look = 0;  // for Ctrl-C, in ticks
  Loan* loan = nullptr;    // where large work space may lie

  // That of this thread. It is found here and not handed down to loops: a kernel passes through tables of function
  // pointers, and a plain op on a few elements needs none.
  static Exec& current() { return t_current ? *t_current : t_outside; }

 private:
  friend class WithExec;
  static constinit thread_local Exec* t_current;
  static constinit thread_local Exec t_outside;  // of all calls
};

// A context of its own for what this thread does while it is alive.
class WithExec {
 public:
  explicit WithExec(const Exec& exec) : mine_(exec), before_(Exec::t_current) { Exec::t_current = &mine_; }
  ~WithExec() {
    Exec::t_current = before_;
    Exec::current().next_look = mine_.next_look;
  }
  WithExec(const WithExec&) = delete;
  WithExec& operator=(const WithExec&) = delete;

 private:
  Exec mine_;
  Exec* before_;
};

}  // namespace weft
