#include "loops/int8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/dims.h"
#include "core/memory.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kWork = 1 << 20;  // multiplications worth a thread

void fill_zero(const Int8Way& way, ByteGrid grid, int64_t n, char* a) {
  if (way.item == 1)
    std::memset(a, int(grid.zero), size_t(n));
  else
    std::fill_n(reinterpret_cast<int16_t*>(a), n, int16_t(grid.zero));
}

}  // namespace

ByteGrid grid_between(float low, float high, int32_t most) {
  double a = std::min<double>(low, 0), b = std::max<double>(high, 0), scale = (b - a) / most;
  if (!std::isfinite(low) || !std::isfinite(high)) return {std::numeric_limits<float>::quiet_NaN(), 0, most};
  if (!std::isfinite(1.0f / float(scale))) scale = 0.1;  // all zero, or so near to it
  double zero = std::nearbyint(-a / double(float(scale)));
  return {float(scale), int32_t(std::clamp(zero, 0.0, double(most))), most};
}

ByteGrid grid_of(const float* x, int64_t n, int32_t most) {
  constexpr int64_t kMost = 64;
  float low[kMost], high[kMost];
  int64_t grain = std::max<int64_t>(kGrain, (n + kMost - 1) / kMost);
  parallel_chunks(n, grain, [&](int64_t begin, int64_t end) {
    int8_kernels().range(x + begin, end - begin, low + begin / grain, high + begin / grain);
  });
  float least = 0, greatest = 0;
  for (int64_t c = 0; c * grain < n; ++c) {
    if (std::isnan(low[c])) return grid_between(low[c], low[c], most);
    least = std::min(least, low[c]), greatest = std::max(greatest, high[c]);
  }
  return grid_between(least, greatest, most);
}

// Rows a multiple of 4096 bytes apart would share a few lines of the L1 cache.
int64_t int8_row(int64_t k) {
  int64_t row = (k + 63) / 64 * 64;
  return row % 1024 ? row : row + 64;
}

void int8_quantize(const Int8Way& way, const float* x, int64_t m, int64_t k, ByteGrid grid, void* a) {
  int64_t row = int8_row(k);
  parallel_shares(m, std::max<int64_t>(1, kGrain / row), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) way.quantize(x + i * k, k, grid, static_cast<char*>(a) + i * row * way.item);
  });
}

void int8_multiply(const Int8Way& way, const Int8Product& p) {
  int64_t m = p.last - p.first, deep = (p.k + kInt8Group - 1) / kInt8Group * kInt8Group * p.segments;
  bool by_rows = m > p.n || m >= 64;
  int64_t length = by_rows ? m : p.n, across = by_rows ? p.n : m;
  int64_t grain = std::max<int64_t>(1, kWork / std::max<int64_t>(1, across * deep));
  parallel_shares(length, grain, by_rows ? 12 : way.panel, [&](int64_t begin, int64_t end) {
    Int8Product part = p;
    if (by_rows) {
      part.first = p.first + begin, part.last = p.first + end;
    } else {
      part.n = end - begin, part.w += begin * deep, part.y += begin, part.sums += begin;
      if (p.each) part.scale += begin;
      if (p.bias) part.bias += begin;
      if (p.added) part.added += begin;
    }
    way.multiply(part);
  });
}

// ---- convolutions ----

Int8Windows::Int8Windows(const Conv& given, const Int8Way& way)
    : c_(moved_to_end(given)), by_channel_(by_channel(given)) {
  for (int64_t f = 2; !by_channel_ && f <= c_.groups && c_.out / c_.groups * f <= way.unit; ++f)
    if (c_.groups % f == 0) merged_ = f;
  c_.groups /= merged_;
  joined_ = c_.groups == 1 && c_.dilation[2] == 1;
  Size items = c_.in;
  for (int d = 0; d < 3; ++d) padded_[d] = c_.size[d] + 2 * c_.pad[d], items = items * padded_[d];
  plane_ = items;
}

void Int8Windows::quantize(const Int8Way& way, const float* x, ByteGrid grid, void* a) const {
  int64_t lines = c_.size[0] * c_.size[1], line = c_.size[2] * c_.in, wide = padded_[2] * c_.in;
  int64_t side = c_.pad[2] * c_.in;
  bool within = !c_.pad[0] && !c_.pad[1] && !c_.pad[2];
  if (within) lines = 1, line = wide = plane_;
  int64_t rows = within ? 1 : padded_[0] * padded_[1];
  parallel_shares(c_.batch * rows, std::max<int64_t>(1, kGrain / wide), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t n = i / rows, z = i % rows / padded_[1] - c_.pad[0], y = i % rows % padded_[1] - c_.pad[1];
      char* to = static_cast<char*>(a) + i * wide * way.item;
      if (within) {
        way.quantize(x + i * line, line, grid, to);
      } else if (z < 0 || z >= c_.size[0] || y < 0 || y >= c_.size[1]) {
        fill_zero(way, grid, wide, to);
      } else {
        fill_zero(way, grid, side, to);
        way.quantize(x + (n * lines + z * c_.size[1] + y) * line, line, grid, to + side * way.item);
        fill_zero(way, grid, side, to + (side + line) * way.item);
      }
    }
  });
}

void Int8Windows::multiply(const Int8Way& way, Int8Product p, const void* a, int64_t packed) const {
  int64_t step[3] = {padded_[1] * padded_[2] * c_.in, padded_[2] * c_.in, c_.in};
  int64_t groups = by_channel_ ? 1 : c_.groups, channels = c_.in / c_.groups, out = c_.out / groups;
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < c_.kernel[0]; ++i)
    for (int64_t j = 0; j < c_.kernel[1]; ++j)
      for (int64_t l = 0; l < (joined_ ? 1 : c_.kernel[2]); ++l)
        offsets.push_back(i * c_.dilation[0] * step[0] + j * c_.dilation[1] * step[1] + l * c_.dilation[2] * step[2]);
  p.first = 0, p.last = c_.batch * c_.places(), p.n = out;
  p.segments = int64_t(offsets.size()), p.k = joined_ ? c_.kernel[2] * channels : channels, p.offsets = offsets.data();
  p.rows = {a,
            {c_.result[2], c_.result[1], c_.result[0]},
            {c_.stride[2] * step[2], c_.stride[1] * step[1], c_.stride[0] * step[0], plane_}};
  p.ldy = c_.out;
  for (int64_t g = 0; g < groups; ++g) {
    int8_multiply(way, p);
    p.rows.a = static_cast<const char*>(p.rows.a) + channels * way.item;
    p.w += packed, p.sums += out, p.y += out;
    if (p.each) p.scale += out;
    if (p.bias) p.bias += out;
  }
}

}  // namespace weft
