// Operations of simd/simd.h in plain C++, for sets whose instructions take no masks.
#pragma once

#include "simd/types.h"

namespace weft::WEFT_ISA {

template <class T, int lanes = kLanes<T>>
[[gnu::noinline]] Vec<T, lanes> load_some(const T* p, int64_t n, T fill) {
  T some[lanes];
  for (int64_t i = 0; i < lanes; ++i) some[i] = i < n ? p[i] : fill;
  return load<Vec<T, lanes>>(some);
}
template <class T>
inline void store_some(T* p, int64_t n, Vec<T> v) {
  for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}
inline HalfBits load_first_halves(const void* p, int64_t n) {
  HalfBits bits = {};
  for (int i = 0; i < n; ++i) bits[i] = static_cast<const uint16_t*>(p)[i];
  return bits;
}
inline void store_first_halves(void* p, HalfBits bits, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<uint16_t*>(p)[i] = bits[i];
}

}  // namespace weft::WEFT_ISA
