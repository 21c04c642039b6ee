// Vectors as wide as the machine's, in the compiler's own vector types. Included by the headers of the sets, which
// define WEFT_VECTOR_BYTES; other files include simd/simd.h.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft::WEFT_ISA {

constexpr int kVectorBytes = WEFT_VECTOR_BYTES;

template <class T, int lanes>
struct VectorOf {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};
template <class T>
constexpr bool is_vectorizable = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// A vector of T; for complex numbers a single one.
template <class T, int lanes = kVectorBytes / int(sizeof(T))>
using Vec = typename std::conditional_t<is_vectorizable<T>, VectorOf<T, lanes>, std::type_identity<T>>::type;
template <class T>
constexpr int kLanes = is_vectorizable<T> ? kVectorBytes / int(sizeof(T)) : 1;
using HalfBits = Vec<uint16_t, kLanes<float>>;  // of as many half numbers as a vector has floats

template <class V, class T>
inline V load(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T, class V>
inline void store(T* p, V v) {
  std::memcpy(static_cast<void*>(p), &v, sizeof v);
}

template <class T>
inline Vec<T> splat(T x) {
  if constexpr (is_vectorizable<T>)
    return x - Vec<T>{};  // minus zero keeps the sign of -0.0
  else
    return x;
}

}  // namespace weft::WEFT_ISA
