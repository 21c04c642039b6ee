// Sparse tensors as ops see them.
#pragma once

#include "ops/op.h"

namespace weft {

// A call with a sparse input, of an op whose form knows only dense ones.
void run_sparse(Call& c);
[[noreturn]] void refuse_sparse(const char* op, const char* where = "an argument");

inline int sparse_dims(const Tensor& t) { return int(entries_of(t).indices.size(0)); }
inline int64_t entry_count(const Tensor& t) { return entries_of(t).indices.size(1); }

Tensor coalesced(const Tensor& t);                           // itself where it is; recorded
Tensor coalesced_data(const Tensor& t);                      // the same, no history
Tensor dense_of(const Tensor& t);                            // recorded
Tensor in_layout(const Tensor& t, Layout layout);            // the same tensor in another sparse layout; recorded
Tensor places_of(const Tensor& indices, const Dims& sizes);  // counted as if the sparse dimensions were one
TensorList rows_of(const Tensor& indices);                   // one index tensor per sparse dimension

// Indices and values to compute with; the values have history if gradients are wanted. As a function of its entries a
// tensor does not depend on how a value is split over equal indices, so those are joined before anything is recorded,
// and so are whole numbers, which may overflow or be truth values.
struct Parts {
  Tensor indices, values;
  Dims sizes;
  Layout layout;
  bool coalesced;
  explicit Parts(const Tensor& t, bool join = false);
  Tensor with(const Tensor& other_values) const;  // at the same places
};

}  // namespace weft
