// In a graph that is recorded, the ops of a gradient say the line of the forward op that they belong to.
#pragma once

#include "core/origin.h"

namespace weft {

// For a scope, every origin that is taken on this thread is this one (bind/frames.cpp).
class ForwardOrigin {
 public:
  explicit ForwardOrigin(const Origin& origin);
  ~ForwardOrigin();
  ForwardOrigin(const ForwardOrigin&) = delete;
  ForwardOrigin& operator=(const ForwardOrigin&) = delete;

 private:
  const Origin* before_;
};

}  // namespace weft
