// The way back through a captured call: one node of the graph, whose derivative is a program too.
#pragma once

#include "bind/python.h"
#include "exec/program.h"
#include "ops/record.h"

namespace weft {

// What a program gives for an edge: a gradient, or a share of one.
struct PartOfGradient {
  int left = -1, right = -1;  // which results of the program; right only of a share, left -1: nothing
  Share::Kind kind = Share::product;
};

// What the nodes of all calls share.
struct CompiledBack : Counted {
  // By which results have gradients (bit by bit, less one): the program of those, then of what was saved; none until it
  // is needed.
  std::vector<std::shared_ptr<Program>> programs;
  std::vector<InputMeta> outputs;                      // the results that have gradients
  std::vector<std::vector<PartOfGradient>> gradients;  // of such a program, for each edge
  size_t saved = 0;             // how many of the kept tensors the program is given; others must not change
  std::vector<Tensor> outside;  // what the call reads that it was not given
  bool stale() const;           // a program must be built anew for other calls
  void destroy() { delete this; }
};

// One call, as its node has to know it. `kept`: what is saved. `leaves`: where each edge leads; to the same one several
// times where several gradients arrive at it, which the walk adds up as it would in an eager call.
struct CompiledCall {
  std::vector<Tensor> inputs, leaves, kept, outputs;
};

// How gradients go back through calls of one kind. `ways.build(which, saved)` makes the program where gradients of some
// results arrive (bit by bit): of those, then of what is saved; `gradients[which - 1]` says which of its results go
// along each edge, as (kind of share or -1, left, right). What is watched must not change before it runs.
// `ways.again(inputs)` makes the call once more, with its history, and gives its results; neither the inputs nor what
// is outside may have changed.
class WayBack {
 public:
  using Part = std::tuple<int, int, int>;
  WayBack(nb::object ways, const std::vector<std::vector<Part>>& gradients, size_t saved, nb::list watched,
          nb::list outside);
  // Gives the outputs of a call one node, from which gradients go on to the leaves.
  void record(CompiledCall call);
  PyObject* ways() const { return ways_.ptr(); }
  void drop_ways() { ways_ = nb::object(); }

 private:
  nb::object ways_;
  Ref<CompiledBack> back_;
  std::vector<Tensor> watched_;
};

}  // namespace weft
