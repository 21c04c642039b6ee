// What still happens to part of a product when it has been written. Only for *.isa.cpp files.
#pragma once

#include "loops/gemm_kernels.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {

// Finishes n numbers that lie side by side (loops/gemm_kernels.h).
template <class Finish>
inline void finish_part(const Finish& how, float* y, int64_t n) {
  using S = Simd<float>;
  if (how.loop) {
    char* p[2] = {reinterpret_cast<char*>(y), reinterpret_cast<char*>(y)};
    how.loop(p, n);
  }
  if (!how.adds) return;
  const float* plus = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(y) + uintptr_t(how.apart));
  int64_t i = 0;
  for (; i + S::W <= n; i += S::W) S::store(y + i, S::within(S::load(y + i) + S::load(plus + i), how.bounds));
  if (i < n) S::store(y + i, S::within(S::load(y + i, n - i) + S::load(plus + i, n - i), how.bounds), n - i);
}

}  // namespace weft::WEFT_ISA
