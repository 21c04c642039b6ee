// What reductions share: which dimensions they join, and how they run.
#pragma once

#include "loops/reduce.h"
#include "ops/op.h"

namespace weft {

Dims reduced_dims(const Value& dim, int n, const char* op);  // None or an empty list: all of them
Dims kept_sizes(const Dims& sizes, const Dims& dims, bool keepdim);
int64_t count_of(const Dims& sizes, const Dims& dims);       // elements joined into one
Tensor with_dims(const Tensor& t, const Dims& shape, const Dims& dims, bool kept);  // lost dimensions back, as ones
// Runs a reduction over x, cast to `type` first if it has another.
void run_reduce(Reduce op, const Tensor& x, DType type, const Dims& dims, void* y, void* second = nullptr, double p = 0);

}  // namespace weft
