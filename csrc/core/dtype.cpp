#include "core/dtype.h"

namespace weft {

const char* name_of(DType t) {
  static const char* names[kDTypes] = {"bool",    "uint8",    "int8",    "int16",   "int32",     "int64",
                                       "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
  return names[int(t)];
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a > b) return promote(b, a);
  if (is_complex(b)) {
    if (is_complex(a) || b == DType::ComplexDouble) return b;
    return a == DType::Double ? DType::ComplexDouble : b;
  }
  if (is_floating(b)) {
    if (a == DType::Half && b == DType::BFloat16) return DType::Float;
    return b;
  }
  // Unsigned with signed needs one size more; UInt8 precedes all signed types.
  if (a == DType::UInt8 && b == DType::Int8) return DType::Int16;
  return b;
}

bool can_cast(DType from, DType to) {
  auto rank = [](DType t) { return t == DType::Bool ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3; };
  return rank(from) <= rank(to);
}

}  // namespace weft
