// The backward pass: from a result back through the graph, newest node first.
#pragma once

#include "ops/op.h"
#include "ops/record.h"

namespace weft {

// What arrives at an input: a gradient, or a share of one.
struct Arrival {
  Tensor whole;  // empty for a share
  Share share;
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

// What the walk asks of the interpreter's hooks (set by bind/). Each may replace the gradient it is given.
struct HookRunner {
  void (*on_tensor)(Hook& hook, Tensor& grad) = nullptr;
  void (*after_accumulate)(Hook& hook, const Tensor& leaf) = nullptr;
  void (*before_node)(Hook& hook, Grads& grads) = nullptr;
  void (*after_node)(Hook& hook, Grads& results, const Grads& grads) = nullptr;
};
extern HookRunner g_hooks;

}  // namespace weft
