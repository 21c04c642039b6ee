// In a graph that is recorded, the ops of a gradient say the line of the forward op that they belong to.
#pragma once

#include "core/origin.h"

namespace weft {

struct Recorder;

// Whether a recorder takes them so: one that watches a step as it runs tells the lines of the walk from others by
// itself (bind/trace.cpp).
bool says_forward_lines(Recorder* recorder);

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
