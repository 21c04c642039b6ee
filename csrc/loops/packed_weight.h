// Products by a weight that is packed once and kept while it does not change (ops/prepacked.h).
#pragma once

#include <memory>

#include "loops/conv.h"
#include "loops/gemm.h"

namespace weft {

// Whether there are few enough rows that packing the weight again in each product would count. Real numbers only.
bool keeps_weight(DType type, const Product& p);

// The product by the transposed weight b (n x k, contiguous), which is taken from `packed`, or packed and left there.
// Where `packed` is null or keeping does not pay, this is gemm, which gives the same bits.
void gemm_by_weight(DType type, const Product& p, std::shared_ptr<PackedKernel>* packed);

// The transposed weight (n x k), packed: taken from `packed`, or left there. `packed` may be null.
std::shared_ptr<const PackedMatrix> packed_weight(DType type, int64_t n, int64_t k, const void* w,
                                                  std::shared_ptr<PackedKernel>* packed);

}  // namespace weft
