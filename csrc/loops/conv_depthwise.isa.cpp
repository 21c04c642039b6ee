#include "loops/conv_depthwise.h"

#include "loops/gemm_finish.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using S = Simd<float>;
constexpr int kPlaces = 4;   // side by side, that share the weights in registers
constexpr int kVectors = 2;  // of channels

struct Range {
  int64_t begin, end;
};
// The taps along one dimension that meet the image, for a window that begins at `from`.
Range taps_inside(int64_t from, int64_t kernel, int64_t dilation, int64_t size) {
  int64_t begin = from < 0 ? (-from + dilation - 1) / dilation : 0;
  int64_t end = size > from ? (size - from + dilation - 1) / dilation : 0;
  end = end < kernel ? end : kernel;
  return {begin, begin < end ? end : begin};
}
// The places along one dimension whose window has that tap inside the image.
Range places_inside(int64_t tap, int64_t pad, int64_t stride, int64_t size, int64_t places) {
  int64_t from = pad - tap;
  int64_t begin = from > 0 ? (from + stride - 1) / stride : 0;
  int64_t end = size + from > 0 ? (size + from + stride - 1) / stride : 0;
  end = end < places ? end : places;
  return {begin, begin < end ? end : begin};
}

// What one row of places reads: where its window begins along each dimension, and the taps inside.
struct Row {
  const float* x;
  int64_t ring;
  int64_t from[2];
  Range taps[2];
};

template <int places, int vectors>
inline void place_sums(const Conv& c, const Row& row, int64_t at, Range last, int64_t channel, int64_t lanes,
                       const float* weights, Ending ending, float* y) {
  const int64_t step = c.stride[2] * c.in;
  auto load = [&](const float* p) { return vectors == 1 ? S::load(p, lanes) : S::load(p); };
  S::Vec sum[places][vectors];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    S::Vec first = ending.bias ? load(ending.bias + channel + v * S::W) : S::Vec{};
#pragma GCC unroll 4
    for (int p = 0; p < places; ++p) sum[p][v] = first;
  }
  for (int64_t i = row.taps[0].begin; i < row.taps[0].end; ++i)
    for (int64_t j = row.taps[1].begin; j < row.taps[1].end; ++j) {
      int64_t line = (row.from[0] + i * c.dilation[0]) * c.size[1] + row.from[1] + j * c.dilation[1];
      const float* x = row.x + ((line & row.ring) * c.size[2] + at) * c.in + channel;
      const float* w = weights + (i * c.kernel[1] + j) * c.kernel[2] * c.in + channel;
      for (int64_t k = last.begin; k < last.end; ++k) {
        S::Vec wv[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) wv[v] = load(w + k * c.in + v * S::W);
#pragma GCC unroll 4
        for (int p = 0; p < places; ++p)
#pragma GCC unroll 2
          for (int v = 0; v < vectors; ++v)
            sum[p][v] = S::fma(load(x + k * c.dilation[2] * c.in + p * step + v * S::W), wv[v], sum[p][v]);
      }
    }
#pragma GCC unroll 4
  for (int p = 0; p < places; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      S::Vec s = S::within(sum[p][v], ending.bounds);
      float* to = y + p * c.in + channel + v * S::W;
      if (vectors == 1)
        S::store(to, s, lanes);
      else
        S::store(to, s);
    }
}

// The same for kernels K wide, for P places and a vector of channels: the pixels that windows share are read once.
// Edge: some of these may lie beyond the image.
template <int K, int Step, int P, bool Edge>
void shared_sums(const Conv& c, const Row& row, int64_t at, int64_t channel, int64_t lanes, const float* weights,
                 const Ending& ending, float* y) {
  S::Vec sum[P];
  S::Vec first = ending.bias ? S::load(ending.bias + channel, lanes) : S::Vec{};
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) sum[p] = first;
  const int64_t size = c.size[2], in = c.in;
  for (int64_t i = row.taps[0].begin; i < row.taps[0].end; ++i)
    for (int64_t j = row.taps[1].begin; j < row.taps[1].end; ++j) {
      int64_t line = (row.from[0] + i * c.dilation[0]) * c.size[1] + row.from[1] + j * c.dilation[1];
      const float* x = row.x + ((line & row.ring) * size + at) * in + channel;
      const float* w = weights + (i * c.kernel[1] + j) * K * in + channel;
      S::Vec wv[K];
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) wv[k] = S::load(w + k * in, lanes);
#pragma GCC unroll 32
      for (int q = 0; q < (P - 1) * Step + K; ++q) {
        if (Edge && uint64_t(at + q) >= uint64_t(size)) continue;
        S::Vec pixel = S::load(x + q * in, lanes);
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k)
          if (q - k >= 0 && (q - k) % Step == 0 && (q - k) / Step < P)
            sum[(q - k) / Step] = S::fma(pixel, wv[k], sum[(q - k) / Step]);
      }
    }
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) S::store(y + p * in + channel, S::within(sum[p], ending.bounds), lanes);
}

constexpr int kMany = 8;  // places at a time
using Shared = void (*)(const Conv&, const Row&, int64_t, int64_t, int64_t, const float*, const Ending&, float*);
template <int K, int Step, int... P>
Shared shared_of(int64_t places, bool edge, std::integer_sequence<int, P...>) {
  static constexpr Shared whole[] = {shared_sums<K, Step, P + 1, false>...};
  static constexpr Shared cut[] = {shared_sums<K, Step, P + 1, true>...};
  return (edge ? cut : whole)[places - 1];
}
template <int K>
Shared shared_of(int64_t step, int64_t places, bool edge) {
  constexpr auto all = std::make_integer_sequence<int, kMany>();
  return step == 1 ? shared_of<K, 1>(places, edge, all) : shared_of<K, 2>(places, edge, all);
}
// Kernels of other sizes, steps and gaps have none.
bool has_shared(const Conv& c) {
  int64_t k = c.kernel[2];
  return (k == 3 || k == 5 || k == 7) && c.stride[2] <= 2 && c.dilation[2] == 1;
}
Shared shared_of(const Conv& c, int64_t places, bool edge) {
  int64_t k = c.kernel[2], step = c.stride[2];
  return k == 3   ? shared_of<3>(step, places, edge)
         : k == 5 ? shared_of<5>(step, places, edge)
                  : shared_of<7>(step, places, edge);
}

// Calls f(first, channels) for a vector of channels at a time.
template <class F>
void for_vectors(int64_t first, int64_t channels, const F& f) {
  for (int64_t end = first + channels; first < end; first += S::W) f(first, end - first < S::W ? end - first : S::W);
}

template <int places>
void channel_sums(const Conv& c, const Row& row, int64_t at, Range last, const float* weights, Ending ending,
                  float* y) {
  int64_t channel = 0;
  for (; channel + kVectors * S::W <= c.in; channel += kVectors * S::W)
    place_sums<places, kVectors>(c, row, at, last, channel, S::W, weights, ending, y);
  for (; channel < c.in; channel += S::W)
    place_sums<places, 1>(c, row, at, last, channel, c.in - channel < S::W ? c.in - channel : S::W, weights, ending, y);
}

void forward(const Conv& c, const float* x, int64_t ring, const float* weights, Ending ending, float* y, int64_t begin,
             int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    int64_t j = r % c.result[1], i = r / c.result[1] % c.result[0], n = r / (c.result[0] * c.result[1]);
    Row row{x + n * c.pixels() * c.in, ring, {i * c.stride[0] - c.pad[0], j * c.stride[1] - c.pad[1]}, {}};
    for (int d = 0; d < 2; ++d) row.taps[d] = taps_inside(row.from[d], c.kernel[d], c.dilation[d], c.size[d]);
    float* out = y + r * c.result[2] * c.in;
    const bool shared = has_shared(c);
    for (int64_t p = 0; p < c.result[2];) {
      auto window = [&](int64_t p) {
        return taps_inside(p * c.stride[2] - c.pad[2], c.kernel[2], c.dilation[2], c.size[2]);
      };
      auto whole = [&](int64_t p) {
        Range t = window(p);
        return t.begin == 0 && t.end == c.kernel[2];
      };
      int64_t at = p * c.stride[2] - c.pad[2], first = p;
      if (shared) {  // parts of the same length, as far as that goes
        int64_t parts = (c.result[2] - p + kMany - 1) / kMany, count = (c.result[2] - p + parts - 1) / parts;
        Shared sums = shared_of(c, count, !whole(p) || !whole(p + count - 1));
        for_vectors(0, c.in, [&](int64_t channel, int64_t lanes) {
          sums(c, row, at, channel, lanes, weights, ending, out + p * c.in);
        });
        p += count;
      } else if (p + kPlaces <= c.result[2] && whole(p) && whole(p + kPlaces - 1)) {
        channel_sums<kPlaces>(c, row, at, window(p), weights, ending, out + p * c.in);
        p += kPlaces;
      } else {
        channel_sums<1>(c, row, at, window(p), weights, ending, out + p * c.in);
        ++p;
      }
      if (ending.finish) finish_part(ending.finish, out + first * c.in, (p - first) * c.in);
    }
  }
}

// Calls f(tap, x, g, count) for all taps and rows of one image: the places of a row that meet the image with that tap,
// `count` of them, from the pixel at offset x and the place at offset g on.
template <class F>
void for_taps(const Conv& c, const F& f) {
  for (int64_t i = 0; i < c.result[0]; ++i)
    for (int64_t j = 0; j < c.result[1]; ++j) {
      int64_t from[2] = {i * c.stride[0] - c.pad[0], j * c.stride[1] - c.pad[1]};
      Range taps[2];
      for (int d = 0; d < 2; ++d) taps[d] = taps_inside(from[d], c.kernel[d], c.dilation[d], c.size[d]);
      for (int64_t a = taps[0].begin; a < taps[0].end; ++a)
        for (int64_t b = taps[1].begin; b < taps[1].end; ++b)
          for (int64_t k = 0; k < c.kernel[2]; ++k) {
            Range places = places_inside(k * c.dilation[2], c.pad[2], c.stride[2], c.size[2], c.result[2]);
            int64_t line = (from[0] + a * c.dilation[0]) * c.size[1] + from[1] + b * c.dilation[1];
            int64_t pixel = places.begin * c.stride[2] - c.pad[2] + k * c.dilation[2];
            f((a * c.kernel[1] + b) * c.kernel[2] + k, line * c.size[2] + pixel,
              (i * c.result[1] + j) * c.result[2] + places.begin, places.end - places.begin);
          }
    }
}

void input_lanes(const Conv& c, const float* g, const float* weights, float* dx, int64_t first, int64_t channels) {
  for (int64_t pixel = 0; pixel < c.pixels(); ++pixel) S::store(dx + pixel * c.in + first, S::Vec{}, channels);
  for_taps(c, [&](int64_t tap, int64_t x, int64_t place, int64_t count) {
    S::Vec w = S::load(weights + tap * c.in + first, channels);
    float* to = dx + x * c.in + first;
    const float* from = g + place * c.in + first;
    for (int64_t p = 0; p < count; ++p, to += c.stride[2] * c.in, from += c.in)
      S::store(to, S::fma(S::load(from, channels), w, S::load(to, channels)), channels);
  });
}

void weight_lanes(const Conv& c, const float* x, const float* g, float* dweights, int64_t first, int64_t channels) {
  for (int64_t tap = 0; tap < c.taps(); ++tap) S::store(dweights + tap * c.in + first, S::Vec{}, channels);
  for (int64_t n = 0; n < c.batch; ++n, x += c.pixels() * c.in, g += c.places() * c.in)
    for_taps(c, [&](int64_t tap, int64_t pixel, int64_t place, int64_t count) {
      const float *a = x + pixel * c.in + first, *b = g + place * c.in + first;
      S::Vec sum[4] = {};  // so that one sum need not wait for the last
      int64_t p = 0;
      for (; p + 4 <= count; p += 4)
#pragma GCC unroll 4
        for (int64_t q = 0; q < 4; ++q)
          sum[q] = S::fma(S::load(a + (p + q) * c.stride[2] * c.in, channels), S::load(b + (p + q) * c.in, channels),
                          sum[q]);
      for (; p < count; ++p)
        sum[0] = S::fma(S::load(a + p * c.stride[2] * c.in, channels), S::load(b + p * c.in, channels), sum[0]);
      float* to = dweights + tap * c.in + first;
      S::store(to, S::load(to, channels) + ((sum[0] + sum[1]) + (sum[2] + sum[3])), channels);
    });
}

void input(const Conv& c, const float* g, const float* weights, float* dx, int64_t first, int64_t channels) {
  for_vectors(first, channels, [&](int64_t from, int64_t lanes) { input_lanes(c, g, weights, dx, from, lanes); });
}
void weight(const Conv& c, const float* x, const float* g, float* dweights, int64_t first, int64_t channels) {
  for_vectors(first, channels, [&](int64_t from, int64_t lanes) { weight_lanes(c, x, g, dweights, from, lanes); });
}

}  // namespace

extern const DepthwiseKernels depthwise_kernels_table;
const DepthwiseKernels depthwise_kernels_table{forward, input, weight};

}  // namespace weft::WEFT_ISA
