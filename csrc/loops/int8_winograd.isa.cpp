// Convolutions of bytes with kernels of 3x3, by Winograd's algorithm in integers: nothing is rounded.
//
// A tile of 4 x 4 pixels becomes 16 points, each the sum or difference of four pixels: at most 510. A kernel becomes
// as many, times four: at most 1152. Their products, summed over the channels, become 2 x 2 places, times four.
#include "loops/int8_lanes.h"

namespace weft::WEFT_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif
constexpr int kRows = 6;  // of a block of sums, which stay in registers
constexpr int64_t kPanel = kVectors * Ints::W;

inline Shorts load(const int16_t* from) { return *reinterpret_cast<const LooseShorts*>(from); }
inline void store(int16_t* to, Shorts v) { *reinterpret_cast<LooseShorts*>(to) = v; }

// Of four numbers in a line: the first less the third, the middle ones added and subtracted, the second less the last.
template <class V>
inline void points_of(V a, V b, V c, V d, V* to, int step) {
  to[0] = a - c, to[step] = b + c, to[2 * step] = c - b, to[3 * step] = b - d;
}

void read(const int16_t* const* pixels, int64_t channels, int16_t* to, int64_t apart) {
  for (int64_t c = 0; c < channels; c += kShorts) {
    Shorts lines[16], points[16];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x)
      points_of(load(pixels[x] + c), load(pixels[4 + x] + c), load(pixels[8 + x] + c), load(pixels[12 + x] + c),
                lines + x, 4);
#pragma GCC unroll 4
    for (int y = 0; y < 16; y += 4) points_of(lines[y], lines[y + 1], lines[y + 2], lines[y + 3], points + y, 1);
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) store(to + k * apart + c, points[k]);
  }
}

template <int R>
void block(const int16_t* a, int64_t row, int64_t pairs, const int16_t* w, int32_t* c, int64_t ldc) {
  typedef int32_t Pair __attribute__((aligned(2), may_alias));
  Ints::Vec sum[R][kVectors] = {};
  for (int64_t q = 0; q < pairs; ++q, a += 2, w += 2 * kPanel) {
    Shorts weights[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) weights[v] = load(w + v * kShorts);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      Shorts x = (Shorts)Ints::splat(*reinterpret_cast<const Pair*>(a + r * row));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] += add_pairs(x, weights[v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) Ints::store(c + r * ldc + v * Ints::W, sum[r][v]);
}

void multiply(const int16_t* a, int64_t rows, int64_t row, int64_t pairs, const int16_t* w, int64_t n, int32_t* c) {
  static constexpr decltype(&block<1>) blocks[] = {block<1>, block<2>, block<3>, block<4>, block<5>, block<6>};
  for (int64_t j = 0; j < n; j += kPanel, w += 2 * kPanel * pairs)
    for (int64_t i = 0; i < rows;) {
      int64_t left = rows - i, parts = (left + kRows - 1) / kRows, count = (left + parts - 1) / parts;
      blocks[count - 1](a + i * row, row, pairs, w, c + i * n + j, n);
      i += count;
    }
}

// Of four points in a line: two places. Sums wrap, since only the last ones must fit.
typedef uint32_t Words __attribute__((vector_size(kVectorBytes)));
inline void places_of(Words a, Words b, Words c, Words d, Words* to, int step) {
  to[0] = a + b + c, to[step] = b - c - d;
}

void write(const Int8Product& p, const int32_t* points, int64_t apart, int64_t n, const int64_t* rows, int64_t tiles) {
  for (int64_t j = 0; j < p.n; j += Ints::W) {
    Finish finish(p, j, p.n - j < Ints::W ? p.n - j : Ints::W);
    for (int64_t t = 0; t < tiles; ++t) {
      const int32_t* from = points + t * n + j;
      auto at = [&](int k) { return (Words)Ints::load(from + k * apart); };
      Words lines[8], places[4];
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) places_of(at(x), at(4 + x), at(8 + x), at(12 + x), lines + x, 4);
      places_of(lines[0], lines[1], lines[2], lines[3], places, 1);
      places_of(lines[4], lines[5], lines[6], lines[7], places + 2, 1);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k)
        if (rows[4 * t + k] >= 0) finish((Ints::Vec)places[k] >> 2, rows[4 * t + k]);
    }
  }
}

}  // namespace

const Int8Tiles int8_tiles = {
  {sizeof(int16_t), kPanel, kPanel, quantize<int16_t>, nullptr}, kShorts, read, multiply, write};

}  // namespace weft::WEFT_ISA
