// Matrix products of any element type. Results do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/memory.h"
#include "loops/gemm_kernels.h"

namespace weft {

// The product as gemm_kernels.h describes it. Integers wrap; the half types are summed in float and rounded once.
void gemm(DType type, const Product& product);

// The same for `batch` products without plus, whose matrices are stride_a, stride_b and stride_c elements apart.
void gemm_batched(DType type, const Product& first, int64_t batch, int64_t stride_a, int64_t stride_b,
                  int64_t stride_c);

inline void gemm(DType type, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
                 const void* b, int64_t ldb, void* c, int64_t ldc, double alpha, double beta) {
  gemm(type, Product{trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, alpha, beta});
}

void apply_bounds(DType type, const Bounds& bounds, int64_t rows, int64_t n, void* c, int64_t ldc);

// op(b), copied once into the order in which products read it; or several such matrices of one shape. float and double.
class PackedMatrix {
 public:
  PackedMatrix(DType type, bool trans_b, int64_t k, int64_t n, const void* b, int64_t ldb);
  // `count` matrices of k x n numbers, which pack() fills in.
  PackedMatrix(DType type, int64_t count, int64_t k, int64_t n);
  // Columns of one of them, b being those columns: all of them, or those of a strip.
  struct Columns {
    int64_t begin, end;
  };
  void pack(int64_t matrix, bool trans_b, Columns columns, const void* b, int64_t ldb);
  int64_t strips() const;
  Columns strip(int64_t i) const;
  // The product with one of them: b, ldb and trans_b of `p` do not count; trans_a must be false.
  void multiply(Product p, int64_t matrix = 0) const;

 private:
  char* at_column(int64_t matrix, int64_t q, int64_t depth, int64_t column) const;
  int64_t tile() const;
  int64_t cuttable()
      const;  // columns before which it may be cut, at multiples of tile(): the end may lie as two halves
  DType type_;
  int64_t k_, n_, rounded_;  // rounded_: columns, filled up to whole tiles
  Scratch packed_;
};

// sum of a[i * a_stride] * b[i * b_stride], without conjugation, written as one element of the type.
void dot(DType type, int64_t n, const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* result);

}  // namespace weft
