// What gemm.cpp builds matrix products from: kernels for one thread, for float, double, int32 and int64.
#pragma once

#include <cstdint>
#include <limits>

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// What is beyond the bounds becomes them; NaN stays. Real numbers only.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  explicit operator bool() const {
    return low > -std::numeric_limits<double>::infinity() || high < std::numeric_limits<double>::infinity();
  }
};
constexpr Bounds kRelu{0};  // what is negative becomes zero, also a negative zero

// What still happens to a part of a result when it has been written, while it is near: `loop` is applied to it in
// place, then another tensor is added, which lies like the result `apart` bytes from it, then the bounds are applied.
// float only.
struct Finish {
  void (*loop)(char* const* p, int64_t n) = nullptr;  // of a pointwise op: p[0] the result, p[1] the operand
  bool adds = false;
  intptr_t apart = 0;
  Bounds bounds = {};
  explicit operator bool() const { return loop || adds; }
};

// c = alpha op(a) op(b) + beta c, all row-major: op(a) is m x k, op(b) is k x n. With beta = 0, c is not read. Where
// `plus` is given, it stands for c on the right, its rows ld_plus apart (0: one row for all). Then `bounds`
// are applied, for float and double, and `finish`, for float.
struct Product {
  bool trans_a, trans_b;
  int64_t m, n, k;
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  void* c;
  int64_t ldc;
  double alpha, beta;
  const void* plus = nullptr;
  int64_t ld_plus = 0;
  Bounds bounds = {};
  Finish finish = {};  // behind the bounds
};

// What becomes of complex numbers z: themselves, i z, and the same of the conjugates.
enum class Turn { none, left, conj, conj_left };

// How large products are cut, to suit the caches of machines with that instruction set.
struct GemmBlocks {
  int64_t depth;        // rows of b, or of a panel of it: products that are added up before they are added to c
  int64_t panel_bytes;  // of each row of a panel of b that is packed
  int64_t rows;         // of a that pass by such a panel in one go
  int64_t few_rows;     // of a: packing b would cost more than it brings
  int64_t plain_depth;  // rows of b that are always read in place
  int64_t close_bytes;  // of a row of b that is read in place beside an a that is packed
  int64_t same_sets;    // bytes from row to row of b with which few of them fit into the L1 cache
};

struct GemmKernels {
  int tile_rows, tile_bytes;  // what one tile of c covers: rows, and bytes of a row
  GemmBlocks blocks;

  // op(b) into slivers as wide as a tile, which lie one after the other, each k rows high.
  void (*pack_b)(DType type, const Product& p, void* packed);
  // The same for op(a), in slivers as high as a tile.
  void (*pack_a)(DType type, const Product& p, void* packed);
  // The product, tile by tile. Where packed_a or packed_b is given it is read instead of a or b; without
  // packed_b, trans_b must be false.
  void (*multiply)(DType type, const Product& p, const void* packed_a, const void* packed_b);
  // The same with trans_b and without trans_a, as inner products of rows.
  void (*inner)(DType type, const Product& p);
  // The same for m = 1 with a contiguous, without trans_b, plus and relu: one pass over the rows of b.
  void (*row)(DType type, const Product& p);
  // The inner product of two contiguous vectors.
  void (*dot)(DType type, const void* a, const void* b, int64_t n, void* result);
  // The real and imaginary parts of n complex numbers (float or double), apart.
  void (*split)(DType type, const void* pairs, int64_t n, void* re, void* im);
  void (*turn)(DType type, const void* pairs, int64_t n, Turn how, void* to);
  // c = beta c + re + i im, of real numbers or (turned) of complex ones; with beta = 0, c is not read.
  void (*put_joined)(DType type, const void* re, const void* im, int64_t n, double beta, void* c);
  void (*put_turned)(DType type, const void* re, const void* im, int64_t n, double beta, void* c);
  // The inner product of two contiguous vectors of complex numbers, or of the conjugate of the first.
  void (*dot_pairs)(DType type, const void* a, const void* b, int64_t n, bool conj, void* result);
  // Finishes n numbers that lie side by side.
  void (*finish)(const Finish& how, float* y, int64_t n);
};

WEFT_DECLARE_KERNELS(GemmKernels, gemm_kernels)

}  // namespace weft
