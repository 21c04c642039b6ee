// The backward pass: from a result back through the graph, newest node first.
#pragma once

#include "tape/walk.h"

namespace weft {

// What arrives at an input: a gradient, or a deferred one.
struct Arrival {
  Tensor whole;  // empty for a deferred one
  DeferredGrad deferred;
};
using Arrivals = std::vector<std::vector<Arrival>>;

struct BackwardRequest {
  std::vector<Edge> roots;
  std::vector<Tensor> grads;  // one per root
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulate = true;    // into .grad of the leaves; else the gradients of `inputs` are returned
  std::vector<Edge> inputs;  // empty: all leaves
  // Notes for each input what arrives there, one by one and in order, instead of adding it up. The walk ends at inputs.
  Arrivals* arrivals = nullptr;
};

// Gradients of the inputs (empty where none flowed), in their order. Runs on the caller's thread. Several threads may
// walk at once; what they add to the same leaf is added one after the other, each walk's whole gradient at a time.
std::vector<Tensor> run_backward(const BackwardRequest& request);

}  // namespace weft
