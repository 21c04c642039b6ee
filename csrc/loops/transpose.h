// Transposition of small square tiles in registers, for inclusion in *.isa.cpp files.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "simd/simd.h"

namespace weft::WEFT_ISA {

// The side of a tile of elements of `size` bytes: as many as a vector holds. Bytes and 16-bit words stay in
// 128-bit vectors, whose interleaving instructions every x86 has.
constexpr int tile_side(int size) { return (size < 4 ? 16 : kVectorBytes) / size; }

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

  // dst[i * ds + j] = src[j * ss + i] for i, j < W.
  static void transpose(const T* src, int64_t ss, T* dst, int64_t ds) {
    transpose([=](int j) { return src + j * ss; }, [=](int i) { return dst + i * ds; });
  }
  // The same for rows anywhere: to(i)[j] = from(j)[i]. Interleaving row i with row i + W/2 moves one bit of the row
  // number into the column number; after log2(W) rounds the two have changed places.
  template <class From, class To>
  [[gnu::always_inline]] static inline void transpose(const From& from, const To& to) {
    constexpr auto lanes = std::make_index_sequence<W>();
    Vec a[W], b[W];
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j) a[j] = *reinterpret_cast<const Vec*>(from(j));
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
    for (int i = 0; i < W; ++i) *reinterpret_cast<Vec*>(to(i)) = a[i];
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

// The same where ds = cols <= 8, for elements of four bytes. As above, but with eight vectors only, so that each ends
// up with two rows of dst.
inline void transpose_narrow(const uint32_t* src, int64_t ss, uint32_t* dst, int64_t rows, int64_t cols) {
  int64_t done = 0;
#if WEFT_SIMD_HALF_VECTORS
  using T16 = Tile<uint32_t, 16>;
  constexpr auto lanes = std::make_index_sequence<16>();
  for (; done + 16 <= rows; done += 16) {
    T16::Vec a[8] = {}, b[8];
    for (int64_t j = 0; j < cols; ++j) a[j] = *reinterpret_cast<const T16::Vec*>(src + j * ss + done);
#pragma GCC unroll 3
    for (int round = 0; round < 3; ++round) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        b[2 * i] = T16::low(a[i], a[i + 4], lanes);
        b[2 * i + 1] = T16::high(a[i], a[i + 4], lanes);
      }
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) a[i] = b[i];
    }
    uint32_t* to = dst + done * cols;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i, to += 2 * cols) {
      store_first(to, Vec<uint32_t>(a[i]), cols);
      store_first_upper(to + cols, Vec<uint32_t>(a[i]), cols);
    }
  }
#endif
  transpose_block(src + done, ss, dst + done * cols, cols, rows - done, cols);
}

}  // namespace weft::WEFT_ISA
