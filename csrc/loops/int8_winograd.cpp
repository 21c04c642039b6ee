#include <algorithm>

#include "loops/int8.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kNear = 384 << 10;  // bytes of points at a time: they stay in the L2 cache
constexpr int64_t kDeepest = 1800;    // channels whose sums, times four, an int32 is sure to hold
constexpr int64_t kPoints = 16;

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

// Where bytes are multiplied by instructions of their own, that is faster.
bool Int8Windows::by_tiles(const Conv& c) {
  auto plain = [&](int d) { return c.kernel[d] == 3 && c.stride[d] == 1 && c.dilation[d] == 1; };
  return !machine_vnni() && c.dims == 2 && c.groups == 1 && plain(0) && plain(1) && c.in >= 16 && c.in <= kDeepest &&
         c.out >= 16 && c.result[0] >= 2 && c.result[1] >= 2;
}

int64_t int8_packed_size_by_tiles(int64_t out, int64_t in) {
  return kPoints * round_up(out, int8_kernels().tiles->way.panel) * round_up(in, 2) * int64_t(sizeof(int16_t));
}

void int8_pack_by_tiles(int64_t out, int64_t in, const int8_t* w, int16_t* to) {
  const int64_t panel = int8_kernels().tiles->way.panel, point = round_up(out, panel) * round_up(in, 2);
  auto points = [](int a, int b, int c, int* p) { p[0] = 2 * a, p[1] = a + b + c, p[2] = a - b + c, p[3] = 2 * c; };
  std::fill_n(to, kPoints * point, int16_t(0));
  for (int64_t i = 0; i < out; ++i)
    for (int64_t c = 0; c < in; ++c) {
      const int8_t* taps = w + (i * in + c) * 9;
      int lines[3][4], all[4];
      for (int y = 0; y < 3; ++y) points(taps[3 * y], taps[3 * y + 1], taps[3 * y + 2], lines[y]);
      int64_t at = i / panel * panel * round_up(in, 2) + (c / 2 * panel + i % panel) * 2 + c % 2;
      for (int x = 0; x < 4; ++x) {
        points(lines[0][x], lines[1][x], lines[2][x], all);
        for (int y = 0; y < 4; ++y) to[(4 * y + x) * point + at] = int16_t(all[y]);
      }
    }
}

void Int8Windows::multiply_by_tiles(Int8Product p, const void* a) const {
  const Int8Tiles& kernels = *int8_kernels().tiles;
  const auto* pixels = static_cast<const int16_t*>(a);
  const auto* w = reinterpret_cast<const int16_t*>(p.w);
  int64_t down = (c_.result[1] + 1) / 2, across = (c_.result[2] + 1) / 2, count = c_.batch * down * across;
  int64_t row = round_up(c_.in, kernels.lanes), n = round_up(c_.out, kernels.way.panel), pairs = (c_.in + 1) / 2;
  int64_t each = kPoints * (row * int64_t(sizeof(int16_t)) + n * int64_t(sizeof(int32_t)));
  int64_t tiles = std::clamp<int64_t>(kNear / each / 6 * 6, 12, 96);
  p.n = p.ldy = c_.out;
  PerThread read(kPoints * tiles * row * int64_t(sizeof(int16_t)), PerThread::kMany);
  PerThread made(kPoints * tiles * n * int64_t(sizeof(int32_t)), PerThread::kMany);
  parallel_chunks(count, tiles, [&](int64_t begin, int64_t end) {
    auto* points = read.mine<int16_t>();
    auto* sums = made.mine<int32_t>();
    int64_t rows[4 * 96];
    for (int64_t t = begin; t < end; ++t) {
      int64_t image = t / (down * across), y = t / across % down * 2, x = t % across * 2;
      const int16_t* from[kPoints];
      for (int k = 0; k < kPoints; ++k)  // beyond the border, anything: no place is made of it
        from[k] = pixels + image * plane_ +
                  (std::min(y + k / 4, padded_[1] - 1) * padded_[2] + std::min(x + k % 4, padded_[2] - 1)) * c_.in;
      kernels.read(from, c_.in, points + (t - begin) * row, tiles * row);
      for (int k = 0; k < 4; ++k) {
        bool there = y + k / 2 < c_.result[1] && x + k % 2 < c_.result[2];
        rows[4 * (t - begin) + k] = there ? (image * c_.result[1] + y + k / 2) * c_.result[2] + x + k % 2 : -1;
      }
    }
    for (int64_t k = 0; k < kPoints; ++k)
      kernels.multiply(points + k * tiles * row, end - begin, row, pairs, w + k * n * 2 * pairs, n,
                       sums + k * tiles * n);
    kernels.write(p, sums, tiles * n, n, rows, end - begin);
  });
}

}  // namespace weft
