// Sorting, selecting and searching, one line at a time: n elements, `stride` apart, read and written in that layout.
// NaN comes after everything else, zeros of either sign are equal. Real types.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct Line {
  const void* x;
  int64_t n, stride;
};

// Where the results of a line go; values or indices may be null.
struct SortedLine {
  void* values;
  int64_t* indices;
  int64_t stride;
};

enum class Pick : uint8_t {
  kth,        // the k-th smallest, from 0
  median,     // the lower one of the middle; NaN if there is one
  nanmedian,  // of what is not NaN
};

// Bytes that the functions below need to sort a line of n elements.
inline int64_t sort_scratch_bytes(DType dtype, int64_t n) {
  return 2 * (n + 8) * (item_size(dtype) < 8 && n < int64_t(1) << 32 ? 8 : 16);
}

struct SortKernels {
  // Equal elements keep their order, also when descending.
  void (*sort)(DType dtype, const Line& line, const SortedLine& to, bool descending, void* scratch);
  // The k largest or smallest, in order; of equal ones the first.
  void (*topk)(DType dtype, const Line& line, const SortedLine& to, int64_t k, bool largest, void* scratch);
  void (*pick)(DType dtype, const Line& line, const SortedLine& to, Pick what, int64_t k, void* scratch);
  // The smallest of the most frequent elements, and its last place.
  void (*mode)(DType dtype, const Line& line, const SortedLine& to, void* scratch);

  // at[i]: how many of the n sorted elements lie before values[i], or not after it (`right`). If sorter is given, the
  // sorted elements are sorted[sorter[0]], sorted[sorter[1]] ...
  void (*search)(DType dtype, const void* sorted, const int64_t* sorter, int64_t n, const void* values, int64_t m,
                 bool right, int64_t* at);
  // starts[j] = where the j-th run of equal neighbours starts; gives the number of runs.
  int64_t (*runs)(DType dtype, const void* x, int64_t n, int64_t* starts);
  // counts[x[i]] += 1, of integers below bins; or += weights[i], as double.
  void (*bincount)(DType dtype, const void* x, int64_t n, int64_t bins, const double* weights, void* counts);
  // counts[j] += 1 for the elements in the j-th of `bins` equal parts of [low, high]; counts have the type of x.
  void (*histogram)(DType dtype, const void* x, int64_t n, int64_t bins, double low, double high, void* counts);
};

WEFT_DECLARE_KERNELS(SortKernels, sort_kernels)

}  // namespace weft
