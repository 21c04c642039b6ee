#include "loops/conv_planes.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/memory.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kLines = 8;  // of the result at a time: the lines that they read stay in the L1 cache

// The kernel as (columns / kPlaneColumns, taps, in, kPlaneColumns): in the order in which indirect_conv_forward adds.
class Packed final : public PackedKernel {
 public:
  Packed(const Conv& c, const float* w)
      : taps(c.taps()),
        in(c.in),
        out(c.out),
        parts((c.out + kPlaneColumns - 1) / kPlaneColumns),
        numbers_(parts * taps * in * kPlaneColumns * kFloat) {
    std::memset(numbers_.as<float>(), 0, size_t(parts * taps * in * kPlaneColumns) * sizeof(float));
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        for (int64_t t = 0; t < taps; ++t)
          numbers_.as<float>()[((o / kPlaneColumns * taps + t) * in + i) * kPlaneColumns +
                               o % kPlaneColumns] = w[(o * in + i) * taps + t];
  }
  const int64_t taps, in, out, parts;
  const float* part(int64_t i) const { return numbers_.as<float>() + i * taps * in * kPlaneColumns; }

 private:
  Scratch numbers_;
};

std::shared_ptr<Packed> kept(const Conv& c, const float* w, std::shared_ptr<PackedKernel>* packed) {
  if (!packed) return std::make_shared<Packed>(c, w);
  auto known = std::dynamic_pointer_cast<Packed>(*packed);  // another loop may have packed it
  if (known && known->taps == c.taps() && known->in == c.in && known->out == c.out) return known;
  WithLoan outlives_the_call(nullptr);
  known = std::make_shared<Packed>(c, w);
  *packed = known;
  return known;
}

}  // namespace

bool planes_suit(const Conv& c) {
  constexpr int64_t kMostTaps = 64, kLeastPlaces = 8;
  bool plain = c.groups == 1 && c.dims <= 2 && c.in > 1 && c.in < 4 && c.out >= 8 && c.taps() > 1;
  for (int d = 0; d < 2; ++d) plain = plain && c.dilation[d] == 1;
  return plain && !joined_suits_forward(c) && c.taps() <= kMostTaps && c.result[c.dims - 1] >= kLeastPlaces;
}

void planes_conv_forward(const Conv& given, const float* x, const float* w, Ending end, float* y,
                         std::shared_ptr<PackedKernel>* packed) {
  const Conv c = moved_to_end(given);
  auto kernel = kept(given, w, packed);
  // Lines with their padding, for some lines of the result.
  const int64_t wide = (c.result[2] - 1) * c.stride[2] + c.kernel[2];
  const int64_t high = (kLines - 1) * c.stride[1] + c.kernel[1], plane = high * wide;
  const int64_t before = std::min(c.pad[2], wide), copied = std::min(c.size[2], wide - before);
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < c.kernel[1]; ++i)
    for (int64_t j = 0; j < c.kernel[2]; ++j)
      for (int64_t channel = 0; channel < c.in; ++channel) offsets.push_back(channel * plane + i * wide + j);
  const int64_t bands = (c.result[1] + kLines - 1) / kLines;
  PerThread lines(c.in * plane * kFloat, c.batch * bands);
  parallel_each(c.batch * bands, [&](int64_t task) {
    const int64_t image = task / bands, first = task % bands * kLines, count = std::min(kLines, c.result[1] - first);
    const float* from = x + image * c.in * c.pixels();
    for (int64_t channel = 0; channel < c.in; ++channel)
      for (int64_t i = 0; i < (count - 1) * c.stride[1] + c.kernel[1]; ++i) {
        const int64_t line = first * c.stride[1] - c.pad[1] + i;
        const int64_t some = line < 0 || line >= c.size[1] ? 0 : copied;
        float* to = lines.mine<float>() + channel * plane + i * wide;
        std::fill_n(to, before, 0.0f);
        std::copy_n(from + (channel * c.size[1] + (some ? line : 0)) * c.size[2], some, to + before);
        std::fill_n(to + before + some, wide - before - some, 0.0f);
      }
    float* result = y + (image * c.result[1] + first) * c.result[2] * c.out;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t part = 0; part < kernel->parts; ++part) {
        const int64_t column = part * kPlaneColumns;
        PlaneLine d{
          c.result[2], c.stride[2], int64_t(offsets.size()), offsets.data(), std::min(kPlaneColumns, c.out - column),
          c.out};
        plane_kernels().line(d, lines.mine<float>() + i * c.stride[1] * wide, kernel->part(part),
                             end.of_channels_from(column), result + i * c.result[2] * c.out + column);
      }
    if (end.finish) gemm_kernels().finish(end.finish, result, count * c.result[2] * c.out);
  });
}

}  // namespace weft
