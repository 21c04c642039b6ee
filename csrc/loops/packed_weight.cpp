#include "loops/packed_weight.h"

#include "core/memory.h"

namespace weft {
namespace {

// A weight in the order in which products read it.
struct PackedWeight final : PackedKernel {
  PackedWeight(DType type, int64_t n, int64_t k, const void* w)
      : type(type), n(n), k(k), matrix(type, true, k, n, w, k) {}
  const DType type;
  const int64_t n, k;
  const PackedMatrix matrix;
};

}  // namespace

bool keeps_weight(DType type, const Product& p) {
  constexpr int64_t kLeastRows = 9, kMostRows = 512, kLeastBytes = 64 * 1024;
  return p.m >= kLeastRows && p.m <= kMostRows && p.n > 1 && p.n * p.k * item_size(type) >= kLeastBytes &&
         (type == DType::Float || type == DType::Double);
}

std::shared_ptr<const PackedMatrix> packed_weight(DType type, int64_t n, int64_t k, const void* w,
                                                  std::shared_ptr<PackedKernel>* packed) {
  auto known = packed ? std::dynamic_pointer_cast<PackedWeight>(*packed) : nullptr;  // another loop may have packed it
  if (!known || known->type != type || known->n != n || known->k != k) {
    WithLoan outlives_the_call(nullptr);
    known = std::make_shared<PackedWeight>(type, n, k, w);
    if (packed) *packed = known;
  }
  return {known, &known->matrix};
}

void gemm_by_weight(DType type, const Product& p, std::shared_ptr<PackedKernel>* packed) {
  if (!packed || !keeps_weight(type, p)) return gemm(type, p);
  packed_weight(type, p.n, p.k, p.b, packed)->multiply(p);
}

}  // namespace weft
