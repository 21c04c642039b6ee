// Attention: softmax(q k^T scale + mask) v, a block of queries and keys at a time, so that no matrix of all scores is
// ever in memory. float and double.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// The matrices of all heads: where each begins, and how far apart its rows are, in elements; rows are contiguous.
struct Heads {
  char* const* at = nullptr;
  int64_t step = 0;
};

struct Attention {
  int64_t heads = 0, queries = 0, keys = 0;
  int64_t size = 0, value_size = 0;  // of a query and a key; of a value
  bool causal = false;               // query i sees the keys up to i
  double scale = 1;
  Heads query, key, value, mask;  // the mask is added to the scores; it may be missing
  int64_t mask_column = 1;        // elements between its columns: 0 where it is the same for all keys
};

struct AttentionKernels {
  // `log_sums`: for each query of each head, the logarithm of the sum of the exponentials of its scores.
  void (*forward)(DType type, const Attention& a, const Heads& result, void* log_sums);
  void (*backward)(DType type, const Attention& a, const Heads& result, const void* log_sums, const Heads& grad,
                   const Heads& dq, const Heads& dk, const Heads& dv);
};

WEFT_DECLARE_KERNELS(AttentionKernels, attention_kernels)

}  // namespace weft
