// Transposition of small square tiles in registers, for inclusion in *.isa.cpp files.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "loops/isa.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace weft::WEFT_ISA {

// The side of a tile of elements of `size` bytes: as many as a vector holds. Bytes and 16-bit words stay in
// 128-bit vectors, whose interleaving instructions every x86 has.
constexpr int tile_side(int size) {
#if defined(__AVX512F__)
  return size == 1 ? 16 : size == 2 ? 8 : 64 / size;
#elif defined(__AVX2__)
  return size == 1 ? 16 : size == 2 ? 8 : 32 / size;
#else
  return 16 / size;
#endif
}

template <class T, int W = tile_side(sizeof(T))>
struct Tile {
  typedef T Vec __attribute__((vector_size(W * sizeof(T)), aligned(alignof(T)), may_alias));

  template <size_t... I>
  static Vec low(Vec a, Vec b, std::index_sequence<I...>) {  // a0 b0 a1 b1 ...
    return __builtin_shufflevector(a, b, (I % 2 * W + I / 2)...);
  }
  template <size_t... I>
  static Vec high(Vec a, Vec b, std::index_sequence<I...>) {  // ... of the upper halves
    return __builtin_shufflevector(a, b, (I % 2 * W + I / 2 + W / 2)...);
  }

  // dst[i * ds + j] = src[j * ss + i] for i, j < W. Interleaving row i with row i + W/2 moves one bit of the
  // row number into the column number; after log2(W) rounds the two have changed places.
  static void transpose(const T* src, int64_t ss, T* dst, int64_t ds) {
    constexpr auto lanes = std::make_index_sequence<W>();
    Vec a[W], b[W];
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j) a[j] = *reinterpret_cast<const Vec*>(src + j * ss);
#pragma GCC unroll 4
    for (int round = 1; round < W; round *= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < W / 2; ++i) {
        b[2 * i] = low(a[i], a[i + W / 2], lanes);
        b[2 * i + 1] = high(a[i], a[i + W / 2], lanes);
      }
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i) a[i] = b[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) *reinterpret_cast<Vec*>(dst + i * ds) = a[i];
  }
};

// dst[i * ds + j] = src[j * ss + i] for i < rows, j < cols.
template <class T>
inline void transpose_block(const T* src, int64_t ss, T* dst, int64_t ds, int64_t rows, int64_t cols) {
  constexpr int W = tile_side(sizeof(T));
  int64_t full_rows = rows / W * W, full_cols = cols / W * W;
  for (int64_t i = 0; i < full_rows; i += W)
    for (int64_t j = 0; j < full_cols; j += W) Tile<T>::transpose(src + j * ss + i, ss, dst + i * ds + j, ds);
  for (int64_t j = full_cols; j < cols; ++j)
    for (int64_t i = 0; i < full_rows; ++i) dst[i * ds + j] = src[j * ss + i];
  for (int64_t i = full_rows; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) dst[i * ds + j] = src[j * ss + i];
}

// The same where ds = cols is less than a vector holds: dst is one row, whose vectors are gathered. The places of their
// elements repeat themselves from W rows to the next.
template <class T>
inline void transpose_narrow(const T* src, int64_t ss, T* dst, int64_t rows, int64_t cols) {
  int64_t done = 0;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr int W = tile_side(sizeof(T));
    if (rows >= W && ss * cols < (int64_t(1) << 31) && ss * cols > -(int64_t(1) << 31)) {
      alignas(64) int32_t places[W * W];
      for (int64_t i = 0, t = 0; i < W; ++i)
        for (int64_t j = 0; j < cols; ++j) places[t++] = int32_t(j * ss + i);
      for (; done + W <= rows; done += W)
        for (int64_t v = 0; v < cols; ++v) {
          __m512i x = _mm512_setzero_si512();
          if constexpr (sizeof(T) == 4)
            x = _mm512_mask_i32gather_epi32(x, 0xffff, _mm512_load_si512(places + v * W), src + done, 4);
          else
            x = _mm512_mask_i32gather_epi64(
                x, 0xff, _mm256_load_si256(reinterpret_cast<const __m256i*>(places + v * W)), src + done, 8);
          _mm512_storeu_si512(dst + done * cols + v * W, x);
        }
    }
  }
#endif
  transpose_block(src + done, ss, dst + done * cols, cols, rows - done, cols);
}

}  // namespace weft::WEFT_ISA
