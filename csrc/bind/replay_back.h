// The way back through a captured call: one node of the graph, whose derivative is a program too.
#pragma once

#include "exec/program.h"
#include "ops/record.h"

namespace weft {

// What the nodes of all calls share.
struct CompiledBack : Counted {
  std::shared_ptr<Program> program;  // of the gradients that arrive, then of what was saved
  std::vector<InputMeta> outputs;    // the results that have gradients
  std::vector<int> gradients;        // of each leaf: which result of the program it is; -1: none
  size_t saved = 0;                  // how many of the kept tensors the program is given; others must not change
  void destroy() { delete this; }
};

// Records one node for a call: the gradients of its outputs lead to those of the leaves.
void record_compiled(const Ref<CompiledBack>& how, const std::vector<Tensor>& leaves, const std::vector<Tensor>& kept,
                     const std::vector<Tensor>& outputs);

}  // namespace weft
