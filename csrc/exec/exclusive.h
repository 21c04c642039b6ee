// One thread at a time, although it may release the interpreter's lock meanwhile.
#pragma once

#include "core/fork.h"
#include "core/interpreter.h"
#include "core/storage.h"

namespace weft {

// All of it is called with the interpreter's lock held. A thread may hold it several times, one inside the other. A
// child after fork finds it free of threads that it does not have.
class Exclusive {
 public:
  // Lets others run until this thread may hold it. What was true before need not be true any more.
  void wait() {
    if (is_free(0)) return;
    Claim waits(waiting_);
    while (!is_free(1)) interpreter::let_others_run();
  }
  bool is_free() const { return is_free(0); }

  class Hold {
   public:
    explicit Hold(Exclusive& e) : claim_(e.held_) { e.by_ = pthread_self(); }

   private:
    Claim claim_;
  };

 private:
  // Whoever held it last lets those go first who wait: else it could take it again each time before they look.
  bool is_free(int32_t waiting) const {
    bool mine = pthread_equal(by_, pthread_self());
    return held_ ? mine : waiting_ <= waiting || !mine;
  }

  int32_t held_ = 0, waiting_ = 0;  // claims
  pthread_t by_{};                  // who holds it, or did last
};

}  // namespace weft
