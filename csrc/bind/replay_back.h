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
  bool stale() const;                       // a program must be built anew for other calls
  void destroy() { delete this; }
};

// Records one node for a call: the gradients of its outputs lead to those of the leaves. `build(which, saved)` makes a
// program.
void record_compiled(const Ref<CompiledBack>& how, PyObject* build, const std::vector<Tensor>& leaves,
                     const std::vector<Tensor>& kept, const std::vector<Tensor>& outputs);

}  // namespace weft
