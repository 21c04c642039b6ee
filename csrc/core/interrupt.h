// Ctrl-C, as it travels through C++.
#pragma once

#include <exception>

namespace weft {

// A kernel noticed Ctrl-C and was abandoned: what it was writing is unfinished. No Python exception is set, since a
// kernel runs no Python; bind/ raises KeyboardInterrupt once the call is over.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted by Ctrl-C"; }
};

}  // namespace weft
