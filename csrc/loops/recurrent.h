// One step of recurrent cells over a batch of rows, there and back. float and double.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

enum class Cell : int64_t { rnn_tanh, rnn_relu, gru, lstm };

// What lies at one step of time; n units for each of the rows. Gates lie side by side in a row, as PyTorch orders them.
// A step may be that of a part of the layer's `units`: the first n from where its pointers begin.
struct CellStep {
  int64_t rows, n, units;
  const void* x;       // gru: the input's share of the gates
  void* gates;         // all others: the sum of both shares; gru: the state's share
  const void* before;  // the state before: h (gru) or c (lstm)
  void* h;             // the new state
  void* c;             // lstm: the new cell
  void* kept;          // lstm: i f g o; gru: r z n and the state's share of n
};
struct CellBack {
  int64_t rows, n;
  const void *dh, *kept, *before, *h, *c;
  void* dc;       // lstm: the gradient of c, replaced by that of the cell before
  void* dx;       // the gradient of the input's share
  void* dgates;   // gru: of the state's share
  void* dbefore;  // gru: of the state before, without what comes through the gates
};

struct RecurrentKernels {
  void (*step)(DType type, Cell cell, const CellStep& s);
  void (*back)(DType type, Cell cell, const CellBack& s);
};

WEFT_DECLARE_KERNELS(RecurrentKernels, recurrent_kernels)

}  // namespace weft
