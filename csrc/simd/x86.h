// What every x86 CPU has beside the vectors of its set; elsewhere the same in plain C++.
#pragma once

#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "simd/isa.h"

namespace weft::WEFT_ISA {

// Writes 16 bytes past the caches; p is a multiple of 16. When all is written, end_stores_past_caches() follows.
inline void store_past_caches(void* p, const void* bytes) {
#if defined(__SSE2__)
  __m128i vector;
  std::memcpy(&vector, bytes, 16);
  _mm_stream_si128(static_cast<__m128i*>(p), vector);
#else
  std::memcpy(p, bytes, 16);
#endif
}
inline void end_stores_past_caches() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace weft::WEFT_ISA
