// The way back through a captured call: one node of the graph, whose derivative is a program too.
#pragma once

#include "bind/python.h"
#include "exec/program.h"
#include "ops/record.h"

namespace weft {

// What the nodes of all calls share.
struct CompiledBack : Counted {
  // By which results have gradients (bit by bit, less one): the program of those, then of what was saved; none until it
  // is needed.
  std::vector<std::shared_ptr<Program>> programs;
  std::vector<InputMeta> outputs;           // the results that have gradients
  std::vector<std::vector<int>> gradients;  // of each leaf: which result of such a program it is; -1: none
  size_t saved = 0;                         // how many of the kept tensors the program is given; others must not change
  std::vector<Tensor> outside;              // what the call reads that it was not given
  bool stale() const;                       // a program must be built anew for other calls
  void destroy() { delete this; }
};

// One call, as its node has to know it. `kept`: what is saved.
struct CompiledCall {
  std::vector<Tensor> inputs, leaves, kept, outputs;
};

// How gradients go back through calls of one kind. `ways.build(which, saved)` makes the program where gradients of some
// results arrive (bit by bit): of those, then of what is saved; it gives `gradients[which - 1]`. What is watched must
// not change before it runs. `ways.again(inputs)` makes the call once more, with its history, and gives its results;
// neither the inputs nor what is outside may have changed.
class WayBack {
 public:
  WayBack(nb::object ways, std::vector<std::vector<int>> gradients, size_t saved, nb::list watched, nb::list outside);
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
