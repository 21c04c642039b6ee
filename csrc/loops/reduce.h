// Reductions: a box of elements, some of its axes kept, the others joined into one value each.
//
// reduce.cpp walks the box in whatever order reads memory best and hands contiguous rows or columns to the
// kernels of reduce.isa.cpp. How the work is cut depends on the sizes only, never on the number of threads.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct Axes {
  int n;
  const int64_t* sizes;
  const int64_t* strides;  // in elements
};

enum class Reduce : uint8_t {
  sum,
  mean,
  nansum,
  prod,  // integers and bool give int64 (no mean)
  max,
  min,  // NaN wins
  any,
  all,            // give bool
  count_nonzero,  // gives int64
  l0,
  l1,
  l2,
  lp,
  linf,
  lneginf,      // norms, real also for complex numbers
  sum_squares,  // the same without the root
  argmax,
  argmin,  // the first index of the extreme, int64, NaN counts as the extreme; and the value
  var,
  std,  // and the mean
};
constexpr int kReduces = int(Reduce::std) + 1;

// y has the kept sizes and is contiguous; so is second, where the operation has a second result, which may be null.
// p is the power of lp and the correction of var and std. argmax and argmin count along the reduced axes as
// if they were one, which they must be: a single axis, or several that lie contiguous in order.
void reduce(Reduce op, DType dtype, const void* x, const Axes& kept, const Axes& reduced, void* y,
            void* second = nullptr, double p = 0);

// Elements that lie nowhere: make(state, to, at, n) writes n of them, from the at-th on.
struct Made {
  void (*make)(const void* state, char* to, int64_t at, int64_t n);
  const void* state;
};
constexpr int64_t kShortestMadeRow = 24;  // shorter rows are taken across where they lie
// The same as if they lay contiguous, in rows that are reduced to one value each: made a block at a time, in no order.
void reduce_made(Reduce op, DType dtype, int64_t rows, int64_t length, const Made& made, void* y);

// One operation on one type, as loops over contiguous elements. Partial results are arrays of acc_size bytes each;
// at most kMaxColumns of them at a time.
struct Reducer {
  struct Where {
    int64_t at;  // the position of the first element along the reduced axes
    double p;
  };
  struct Result {
    char* y;
    char* second;
    int64_t stride;  // in elements, of both
    int64_t count;   // elements joined into each result
    double p;
  };
  int acc_size;
  int item_size;  // of an element as the loops want it
  int result_size, second_size;
  bool indexed;  // needs Where::at
  void (*start)(void* acc, int64_t n);
  // acc[i] joined with x[i * stride + 0 .. n)
  void (*rows)(void* acc, const void* x, int64_t rows, int64_t stride, int64_t n, const Where&);
  // acc[j] joined with x[0 .. n * stride : stride][j]
  void (*columns)(void* acc, const void* x, int64_t n, int64_t stride, int64_t width, const Where&);
  void (*merge)(void* acc, const void* other, int64_t n);  // other comes later along the reduced axes
  void (*finish)(const void* acc, int64_t n, const Result&);
  // to[i * n + j] = x[i * row_stride + j * stride], as the loops want it
  void (*pack)(void* to, const void* x, int64_t rows, int64_t row_stride, int64_t n, int64_t stride);
  bool must_pack;  // also where x is contiguous, since its type differs
};
constexpr int64_t kMaxColumns = 1024;

struct ReduceKernels {
  const Reducer* (*find)(Reduce op, DType dtype);
};

WEFT_DECLARE_KERNELS(ReduceKernels, reduce_kernels)

}  // namespace weft
