// Sums of rows of a table, bag by bag; and whether two runs of elements are equal.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// Bag b has the indices [start(b), start(b + 1)) of `count`: starts[b], or b * length where there are no starts.
struct BagPlan {
  int64_t bags = 0, count = 0, width = 0, length = 0;
  const int64_t* starts = nullptr;
  const int64_t* indices = nullptr;  // all of them rows of the table
  int64_t padding = -1;              // this row is left out
  bool mean = false;
  int64_t start(int64_t b) const { return b >= bags ? count : starts ? starts[b] : b * length; }
};

struct BagKernels {
  // y is (bags, width); weights has a number for each index, or is null. `kept` gets how many rows each mean is of, at
  // least 1. float and double.
  void (*sum)(DType type, const BagPlan& p, const void* table, const void* weights, void* y, int64_t* kept);
  // Whether n elements are equal: stops at the first block that has a difference. float and double.
  bool (*equal)(DType type, const void* a, const void* b, int64_t n);
};

WEFT_DECLARE_KERNELS(BagKernels, bag_kernels)

}  // namespace weft
