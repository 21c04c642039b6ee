// Products of matrices of half types: summed in float, rounded once. No matrix is widened as a whole: only panels are.
#pragma once

#include "loops/gemm_kernels.h"

namespace weft {

void gemm_half(DType type, const Product& p);

// What gemm.cpp has for it: the part of a product that makes rows [i, i + m) and columns [j, j + n) of c from
// [q, q + k) of the inner dimension, of which all but the first add to c; and how many threads a product is worth.
Product part(DType type, const Product& p, int64_t i, int64_t m, int64_t j, int64_t n, int64_t q, int64_t k);
int threads_for_product(const Product& p);

// Kernels for one thread. Pairs: bfloat16 as the instruction that multiplies two of them at a time reads it, the pairs
// along k; where k is odd the last one has a zero. It treats numbers below 2^-126 as zero: docs/notes/matmul.md.
struct HalfGemmKernels {
  bool (*has_pairs)();
  // op(b) into slivers as wide as a tile, and op(a), with trans_a, into slivers as high as one.
  void (*pack_b)(const Product& p, void* packed);
  void (*pack_a)(const Product& p, void* packed);
  // Sums of products, in float at c: put there, or added where beta is not 0. packed_a: null where a need not be
  // packed.
  void (*multiply)(const Product& p, const void* packed_a, const void* packed_b);
  int tile_rows, tile_columns;
  // c = alpha sums + beta c, or beta plus, and then what is negative becomes 0 where asked; rows of sums are ld apart.
  void (*finish)(DType type, const Product& p, const float* sums, int64_t ld);
  // c = a op(b) as inner products of rows: with trans_b, without trans_a.
  void (*inner)(DType type, const Product& p);
  // One row times the rows of b: n sums in float, which are added to.
  void (*row)(DType type, const Product& p, float* sums);
  float (*dot)(DType type, const void* a, const void* b, int64_t n);
};

WEFT_DECLARE_KERNELS(HalfGemmKernels, half_gemm_kernels)

}  // namespace weft
