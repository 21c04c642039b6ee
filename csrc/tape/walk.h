// The walk back that runs on this thread, as nodes see it.
#pragma once

#include "core/tensor.h"

namespace weft {

// A gradient of a leaf that is not computed yet: transposed(left) right, or the rows `right` to be added where `left`
// says.
struct DeferredGrad {
  enum Kind : uint8_t { product, rows } kind;
  Tensor left, right;
};
Tensor value_of(const DeferredGrad& deferred, const Dims& sizes);  // the gradient, of the leaf's sizes

struct ActiveWalk {
  // Whether it takes the gradient of these sizes deferred. False: it wants the gradient itself.
  virtual bool defers(const Edge& edge, const DeferredGrad& deferred, const Dims& sizes) = 0;
  const NodeSet* needed = nullptr;  // the nodes that lead to the inputs asked for; null: all are wanted

 protected:
  ~ActiveWalk() = default;
};
extern thread_local ActiveWalk* t_walk;

class WithWalk {  // for a scope
 public:
  explicit WithWalk(ActiveWalk* walk) : before_(std::exchange(t_walk, walk)) {}
  ~WithWalk() { t_walk = before_; }
  WithWalk(const WithWalk&) = delete;

 private:
  ActiveWalk* before_;
};

}  // namespace weft
