// Ctrl-C, as it travels through C++.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace weft {

// Ticks of the CPU's clock that loops wait between two looks for Ctrl-C. Tests set it to 0: every opportunity is used
// then, on a machine of any speed.
inline constexpr uint64_t kPatience = 40'000'000;  // about 15 ms
inline std::atomic<uint64_t> g_patience{kPatience};

// A kernel noticed Ctrl-C and was abandoned: what it was writing is unfinished. No Python exception is set, since a
// kernel runs no Python; bind/ raises KeyboardInterrupt once the call is over.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted by Ctrl-C"; }
};

}  // namespace weft
