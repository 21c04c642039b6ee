#include "loops/conv_chain.h"

#include <algorithm>

#include "loops/conv_depthwise.h"
#include "loops/packed_weight.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kNear = 448 * 1024;  // bytes between the convolutions: weights and images need room in the L2 cache

// How many lines of the result are made at a time, and how many lines before the convolution in the middle are there:
// a power of two, or all.
struct Bands {
  int64_t lines, ring;

  explicit Bands(const Conv& c, bool before, bool behind) {
    int64_t reach = (c.kernel[1] - 1) * c.dilation[1] + 1, all = c.result[1];
    auto ring_of = [&](int64_t n) {
      int64_t wanted = (n - 1) * c.stride[1] + reach, power = 1;
      while (power < wanted) power *= 2;
      return std::min(power, c.size[1]);
    };
    auto bytes = [&](int64_t n) {
      int64_t read = before ? ring_of(n) * c.size[2] : 0, made = behind ? n * c.result[2] : 0;
      return (read + made) * c.in * kFloat;
    };
    int64_t parts = 1;
    auto each = [&] { return (all + parts - 1) / parts; };
    while (each() > 1 && bytes(each()) > kNear) ++parts;
    lines = each(), ring = ring_of(lines);
  }
};

// One of the products, its weight packed.
struct Packed {
  Packed(const ChainProduct& p) : in(p.in), out(p.out), end(p.end) {
    weight = packed_weight(DType::Float, out, in, p.w, p.packed);
  }
  void operator()(int64_t rows, const float* x, float* y) const {
    Product p{false, true, rows, out, in, x, in, nullptr, 0, y, out, 1, end.bias ? 1.0 : 0.0};
    p.plus = end.bias, p.bounds = end.bounds, p.finish = end.finish;
    weight->multiply(p);
  }
  int64_t in, out;
  Ending end;
  std::shared_ptr<const PackedMatrix> weight;
};

}  // namespace

void chain_conv_forward(const Chain& chain, const float* x, float* y) {
  const Conv c = moved_to_end(chain.middle);
  std::optional<Packed> before, behind;
  if (chain.before) before.emplace(*chain.before);
  if (chain.behind) behind.emplace(*chain.behind);
  auto weights = depthwise_weights(c, chain.w, chain.packed);
  const Bands bands(c, bool(before), bool(behind));
  const int64_t read_line = c.size[2] * c.in, made_line = c.result[2] * c.in;
  const int64_t mask = bands.ring == c.size[1] ? -1 : bands.ring - 1;
  const int64_t in = before ? before->in : c.in, out = behind ? behind->out : c.in;
  // Threads share images, or parts of them.
  const int64_t threads = loop_threads(), most = (c.result[1] + bands.lines - 1) / bands.lines;
  const int64_t parts = std::clamp<int64_t>((threads + c.batch - 1) / c.batch, 1, most);
  const int64_t part = (c.result[1] + parts - 1) / parts;
  PerThread ring(before ? bands.ring * read_line * kFloat : 0, c.batch * parts);
  PerThread made(behind ? bands.lines * made_line * kFloat : 0, c.batch * parts);
  parallel_each(c.batch * parts, [&](int64_t task) {
    const int64_t image = task / parts, first = task % parts * part, end = std::min(first + part, c.result[1]);
    const float* from = x + image * c.pixels() * in;
    float* lines = before ? ring.mine<float>() : nullptr;
    int64_t there = std::max<int64_t>(0, first * c.stride[1] - c.pad[1]);
    for (int64_t begin = first; begin < end; begin += bands.lines) {
      leave_if_interrupted();
      Conv some = c;
      some.batch = 1, some.result[1] = std::min(bands.lines, end - begin);
      some.pad[1] = c.pad[1] - begin * c.stride[1];
      int64_t last = (some.result[1] - 1) * c.stride[1] - some.pad[1] + (c.kernel[1] - 1) * c.dilation[1];
      there = std::max(there, -some.pad[1]);  // steps may leave lines out
      for (int64_t stop = std::min(last + 1, c.size[1]); before && there < stop;) {
        int64_t at = there & mask, count = std::min(stop - there, bands.ring - at);
        (*before)(count* c.size[2], from + there * c.size[2] * in, lines + at * read_line);
        there += count;
      }
      float* to = y + (image * c.result[1] + begin) * c.result[2] * out;
      float* middle = behind ? made.mine<float>() : to;
      depthwise_kernels().forward(some, before ? lines : from, before ? mask : -1, numbers_of(*weights), chain.end,
                                  middle, 0, some.result[1]);
      if (behind) (*behind)(some.result[1] * c.result[2], middle, to);
    }
  });
}

}  // namespace weft
