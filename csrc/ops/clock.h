// When the call that a recorder observes began: run_call sets it, and recorders read it.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft {

extern constinit thread_local int64_t t_call_began;  // nanoseconds; 0: nobody took the time

inline int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace weft
