// Depthwise convolutions, split over threads: forward by rows of the result, gradients by groups of channels.
#include "loops/conv_depthwise.h"

#include "core/memory.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kGroup = 16;  // channels of one piece of work: a line of the cache

// Kernels as (taps, channels), and back.
void turn(int64_t rows, int64_t columns, const float* from, float* to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

// Calls f(image, first channel, channels) for all groups of channels of all images.
template <class F>
void for_channels(const Conv& c, int64_t images, const F& f) {
  int64_t groups = (c.in + kGroup - 1) / kGroup;
  parallel_each(images * groups, [&](int64_t at) {
    int64_t first = at % groups * kGroup, end = std::min(c.in, first + kGroup);
    f(at / groups, first, end - first);
  });
}

void rows_of(const Conv& c, const float* x, const float* weights, Ending end, float* y) {
  int64_t rows = c.batch * c.result[0] * c.result[1];
  parallel_shares(
      rows, std::max<int64_t>(1, kGrain / (c.result[2] * c.in * c.taps())), 1,
      [&](int64_t begin, int64_t stop) { depthwise_kernels().forward(c, x, -1, weights, end, y, begin, stop); });
}

}  // namespace

class DepthwiseWeights final : public PackedKernel {
 public:
  DepthwiseWeights(const Conv& c, const float* w)
      : taps(c.taps()), channels(c.in), numbers(taps * channels * int64_t(sizeof(float))) {
    turn(channels, taps, w, numbers.as<float>());
  }
  const int64_t taps, channels;
  const Scratch numbers;
};

std::shared_ptr<DepthwiseWeights> depthwise_weights(const Conv& c, const float* w,
                                                    std::shared_ptr<PackedKernel>* packed) {
  if (!packed) return std::make_shared<DepthwiseWeights>(c, w);
  auto known = std::dynamic_pointer_cast<DepthwiseWeights>(*packed);  // another loop may have packed it
  if (known && known->taps == c.taps() && known->channels == c.in) return known;
  WithLoan outlives_the_call(nullptr);
  known = std::make_shared<DepthwiseWeights>(c, w);
  *packed = known;
  return known;
}

const float* numbers_of(const DepthwiseWeights& weights) { return weights.numbers.as<float>(); }

bool depthwise_suits(const Conv& c) { return c.groups > 1 && c.groups == c.in && c.in == c.out; }

void depthwise_conv_forward(const Conv& plain, const float* x, const float* w, Ending end, float* y,
                            std::shared_ptr<PackedKernel>* packed) {
  Conv c = moved_to_end(plain);
  auto weights = depthwise_weights(c, w, packed);
  rows_of(c, x, numbers_of(*weights), end, y);
}

void depthwise_conv_input(const Conv& plain, const float* g, const float* w, float* dx) {
  Conv c = moved_to_end(plain);
  Scratch weights(c.taps() * c.in * int64_t(sizeof(float)));
  turn(c.in, c.taps(), w, weights.as<float>());
  if (c.stride[0] == 1 && c.stride[1] == 1 && c.stride[2] == 1) {  // the convolution of g with the kernels reversed
    float* rows = weights.as<float>();
    for (int64_t t = 0; t < c.taps() / 2; ++t)
      std::swap_ranges(rows + t * c.in, rows + (t + 1) * c.in, rows + (c.taps() - 1 - t) * c.in);
    std::swap(c.size, c.result);
    for (int d = 0; d < 3; ++d) c.pad[d] = (c.kernel[d] - 1) * c.dilation[d] - c.pad[d];
    return rows_of(c, g, rows, {}, dx);
  }
  for_channels(c, c.batch, [&](int64_t n, int64_t first, int64_t channels) {
    depthwise_kernels().input(c, g + n * c.places() * c.in, weights.as<float>(), dx + n * c.pixels() * c.in, first,
                              channels);
  });
}

void depthwise_conv_weight(const Conv& plain, const float* x, const float* g, float* dw) {
  Conv c = moved_to_end(plain);
  Scratch weights(c.taps() * c.in * int64_t(sizeof(float)));
  for_channels(c, 1, [&](int64_t, int64_t first, int64_t channels) {
    depthwise_kernels().weight(c, x, g, weights.as<float>(), first, channels);
  });
  turn(c.taps(), c.in, weights.as<float>(), dw);
}

}  // namespace weft
