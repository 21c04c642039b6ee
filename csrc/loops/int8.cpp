#include "loops/int8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/dims.h"
#include "core/memory.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kWork = 1 << 20;       // multiplications worth a thread
constexpr int64_t kWindows = 64 * 1024;  // bytes of windows that are laid out at a time

}  // namespace

ByteGrid grid_between(float low, float high) {
  double a = std::min<double>(low, 0), b = std::max<double>(high, 0), scale = (b - a) / 255;
  if (!std::isfinite(low) || !std::isfinite(high)) return {std::numeric_limits<float>::quiet_NaN(), 0};
  if (!std::isfinite(1.0f / float(scale))) scale = 0.1;  // all zero, or so near to it
  double zero = std::nearbyint(-a / double(float(scale)));
  return {float(scale), int32_t(std::clamp(zero, 0.0, 255.0))};
}

ByteGrid grid_of(const float* x, int64_t n) {
  constexpr int64_t kMost = 64;
  float low[kMost], high[kMost];
  int64_t grain = std::max<int64_t>(kGrain, (n + kMost - 1) / kMost);
  parallel_chunks(n, grain, [&](int64_t begin, int64_t end) {
    int8_kernels().range(x + begin, end - begin, low + begin / grain, high + begin / grain);
  });
  float least = 0, most = 0;
  for (int64_t c = 0; c * grain < n; ++c) {
    if (std::isnan(low[c])) return grid_between(low[c], low[c]);
    least = std::min(least, low[c]), most = std::max(most, high[c]);
  }
  return grid_between(least, most);
}

void int8_quantize(const float* x, int64_t m, int64_t k, ByteGrid grid, uint8_t* bytes, int64_t row) {
  if (row == k) {
    parallel_shares(m * k, kGrain, 64, [&](int64_t begin, int64_t end) {
      int8_kernels().quantize(x + begin, end - begin, grid, bytes + begin);
    });
    return;
  }
  parallel_shares(m, std::max<int64_t>(1, kGrain / row), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int8_kernels().quantize(x + i * k, k, grid, bytes + i * row);
      std::memset(bytes + i * row + k, 0, size_t(row - k));
    }
  });
}

void int8_multiply(const Int8Product& p) {
  bool by_rows = p.m > p.n || p.m >= 64;
  int64_t length = by_rows ? p.m : p.n, across = by_rows ? p.n : p.m;
  int64_t grain = std::max<int64_t>(1, kWork / std::max<int64_t>(1, across * p.k));
  parallel_shares(length, grain, by_rows ? 4 : 16, [&](int64_t begin, int64_t end) {
    Int8Product part = p;
    if (by_rows) {
      part.m = end - begin, part.a += begin * p.k, part.y += begin * p.ldy;
    } else {
      part.n = end - begin, part.w += begin * p.k, part.y += begin;
      part.scale += begin, part.shift += begin;
      if (p.bias) part.bias += begin;
    }
    int8_kernels().multiply(part);
  });
}

namespace {

// What the window at one place of the result looks at, in the order of its taps; beyond the edges is `zero`.
void lay_out(const Conv& c, const uint8_t* image, int64_t place, int64_t channels, uint8_t zero, uint8_t* window) {
  int64_t at[3] = {place / (c.result[1] * c.result[2]), place / c.result[2] % c.result[1], place % c.result[2]};
  for (int d = 0; d < 3; ++d) at[d] = at[d] * c.stride[d] - c.pad[d];
  for (int64_t i = 0; i < c.kernel[0]; ++i)
    for (int64_t j = 0; j < c.kernel[1]; ++j)
      for (int64_t l = 0; l < c.kernel[2]; ++l, window += channels) {
        int64_t z = at[0] + i * c.dilation[0], y = at[1] + j * c.dilation[1], x = at[2] + l * c.dilation[2];
        bool inside = z >= 0 && z < c.size[0] && y >= 0 && y < c.size[1] && x >= 0 && x < c.size[2];
        if (inside)
          std::memcpy(window, image + ((z * c.size[1] + y) * c.size[2] + x) * c.in, size_t(channels));
        else
          std::memset(window, zero, size_t(channels));
      }
}

}  // namespace

void int8_convolve(const Conv& given, const uint8_t* image, int32_t zero, const Int8Product& p) {
  Conv c = moved_to_end(given);
  int64_t channels = c.in / c.groups, out = c.out / c.groups, k = c.taps() * channels, row = int8_row(k);
  int64_t places = c.places(), block = std::clamp<int64_t>(kWindows / row / 4 * 4, 4, 256);
  int64_t blocks = (places + block - 1) / block, count = c.batch * blocks * c.groups;
  PerThread windows(Size(block) * row, count);
  std::memset(windows.all<uint8_t>(), 0, size_t(windows.bytes()));  // what fills rows up stays zero
  auto part = [&](int64_t i) {
    int64_t group = i % c.groups, b = i / c.groups % blocks, n = i / c.groups / blocks, first = b * block;
    uint8_t* mine = windows.mine<uint8_t>();
    Int8Product q = p;
    q.m = std::min(block, places - first), q.n = out, q.k = row, q.a = mine;
    const uint8_t* from = image + n * c.pixels() * c.in + group * channels;
    for (int64_t r = 0; r < q.m; ++r) lay_out(c, from, first + r, channels, uint8_t(zero), mine + r * row);
    q.w += group * out * row, q.scale += group * out, q.shift += group * out;
    if (q.bias) q.bias += group * out;
    q.y += (n * places + first) * c.out + group * out, q.ldy = c.out;
    int8_kernels().multiply(q);
  };
  if (count * std::min(block, places) * out * row < 2 * kWork)
    serial_each(count, part);
  else
    parallel_each(count, part);
}

}  // namespace weft
