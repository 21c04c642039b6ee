#include "loops/conv_joined.h"

#include "loops/transpose.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using S = Simd<float>;
constexpr int W = S::W;
static_assert(W == tile_side(sizeof(float)));

constexpr int kDown = 6;                  // channels of the result whose sums are in registers
constexpr int kAcross = W == 16 ? 4 : 2;  // places or numbers of a window beside them: as many as there are registers

void join(const float* images, int64_t step, int64_t count, int64_t n, float* joined) {
  if (count < W || n < W) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < W; ++j) joined[i * W + j] = j < count ? images[j * step + i] : 0;
    return;
  }
  for (int64_t i = 0; i < n; i += W) {
    int64_t at = i + W <= n ? i : n - W;  // the last tile covers some of the one before it
    Tile<float>::transpose(images + at, step, joined + at * W, W);
  }
}

void part(const float* joined, int64_t n, int64_t count, float* images, int64_t step) {
  if (count < W || n < W) {
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < n; ++i) images[j * step + i] = joined[i * W + j];
    return;
  }
  for (int64_t i = 0; i < n; i += W) {
    int64_t at = i + W <= n ? i : n - W;
    Tile<float>::transpose(joined + at * W, W, images + at, step);
  }
}

// O channels of the result for P places, which see the numbers [first, last) of each run.
template <int O, int P>
struct Forward {
  static void run(const JoinedLine& d, int64_t first, int64_t last, const float* x, const float* weights, Ending end,
                  float* y) {
    S::Vec sum[O][P];
#pragma GCC unroll 6
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) sum[o][p] = end.bias ? S::splat(end.bias[o]) : S::Vec{};
    const int64_t step = d.step * W, out = d.out;
    for (int64_t r = 0; r < d.runs; ++r) {
      const float* from = x + (d.run_begin[r] + first) * W;
      const float* w = weights + (d.run_number[r] * d.length + first) * out;
      for (int64_t k = first; k < last; ++k, from += W, w += out) {
        S::Vec xs[P];
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) xs[p] = S::load(from + p * step);
#pragma GCC unroll 6
        for (int o = 0; o < O; ++o) {
          S::Vec each = S::splat(w[o]);
#pragma GCC unroll 4
          for (int p = 0; p < P; ++p) sum[o][p] = S::fma(each, xs[p], sum[o][p]);
        }
      }
    }
#pragma GCC unroll 6
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) S::store(y + (p * out + o) * W, S::within(sum[o][p], end.bounds));
  }
};

// O channels of the result with K numbers that lie side by side in each window.
template <int O, int K>
struct Weight {
  static void run(const JoinedLines& d, const float* x, const float* g, float* sums) {
    S::Vec sum[O][K];
    const int64_t step = d.step * W, out = d.out * W;
#pragma GCC unroll 6
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) sum[o][k] = S::load(sums + k * out + o * W);
    for (int64_t l = 0; l < d.lines; ++l) {
      const float* from = x + l * d.line_step * W;
      for (int64_t p = 0; p < d.places; ++p, from += step, g += out) {
        S::Vec xs[K];
#pragma GCC unroll 4
        for (int k = 0; k < K; ++k) xs[k] = S::load(from + k * W);
#pragma GCC unroll 6
        for (int o = 0; o < O; ++o) {
          S::Vec each = S::load(g + o * W);
#pragma GCC unroll 4
          for (int k = 0; k < K; ++k) sum[o][k] = S::fma(each, xs[k], sum[o][k]);
        }
      }
    }
#pragma GCC unroll 6
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) S::store(sums + k * out + o * W, sum[o][k]);
  }
};

// Kernel<down, across>::run, for numbers that are known only now.
template <template <int, int> class Kernel, int... I>
auto kernel_of(int64_t down, int64_t across, std::integer_sequence<int, I...>) {
  static constexpr decltype(&Kernel<1, 1>::run) table[] = {Kernel<1 + I / kAcross, 1 + I % kAcross>::run...};
  return table[(down - 1) * kAcross + across - 1];
}

// Calls f(kernel, first channel, first across, how many across) for blocks that cover `out` times `n`, as equal as they
// can be.
template <template <int, int> class Kernel, class F>
void each_block(int64_t out, int64_t n, const F& f) {
  constexpr auto all = std::make_integer_sequence<int, kDown * kAcross>();
  for (int64_t i = 0, across = 0; i < n; i += across) {
    int64_t parts = (n - i + kAcross - 1) / kAcross;
    across = (n - i + parts - 1) / parts;
    for (int64_t o = 0, down = 0; o < out; o += down) {
      int64_t rest = (out - o + kDown - 1) / kDown;
      down = (out - o + rest - 1) / rest;
      f(kernel_of<Kernel>(down, across, all), o, i, across);
    }
  }
}

void forward(const JoinedLine& d, const float* x, const float* weights, Ending end, float* y) {
  each_block<Forward>(d.out, d.places, [&](auto kernel, int64_t o, int64_t p, int64_t count) {
    // What only zeros beyond the edges are multiplied by is left out.
    int64_t first = d.before - (p + count - 1) * d.step, last = d.within - p * d.step;
    if (first < 0) first = 0;
    if (last > d.length) last = d.length;
    kernel(d, first, last, x + p * d.step * W, weights + o, end.of_channels_from(o), y + (p * d.out + o) * W);
  });
}

void weight(const JoinedLines& d, const float* x, const float* g, float* sums) {
  each_block<Weight>(d.out, d.length, [&](auto kernel, int64_t o, int64_t k, int64_t) {
    kernel(d, x + k * W, g + o * W, sums + (k * d.out + o) * W);
  });
}

void add_lanes(const float* sums, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += 4) {
    S::Vec four[4];
    for (int j = 0; j < 4; ++j) four[j] = S::load(sums + (i + j) * W);
    S::sum4(four, to + i);
  }
}

}  // namespace

extern const JoinedKernels joined_kernels_table;
const JoinedKernels joined_kernels_table{W, join, part, forward, weight, add_lanes};

}  // namespace weft::WEFT_ISA
