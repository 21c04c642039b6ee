#include "loops/conv_winograd.h"

#include <algorithm>
#include <cstring>

#include "core/memory.h"
#include "loops/conv.h"
#include "loops/gemm.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kNear = 768 << 10;  // bytes of points at a time: they stay in the L2 cache
constexpr int64_t kLarge = 8 << 20;   // bytes of a kernel's points: worth going through for many tiles only
constexpr int64_t kSkew = 48;         // numbers between points, so that they do not share sets of the L1 cache
constexpr int64_t kSums = 4 << 20;    // bytes of sums that are kept apart, for the gradient of a kernel
constexpr int64_t kMostGroups = 4;    // of tiles, each with such sums
constexpr int64_t kBlock = 128;       // tiles that are added to them at a time
constexpr int64_t kFloat = sizeof(float);

int64_t tiles_of(const Conv& c, int64_t makes) {
  return c.batch * ((c.result[0] + makes - 1) / makes) * ((c.result[1] + makes - 1) / makes);
}

// The more places a tile makes, the more points its kernel has, which take time to make and to read.
const Winograd& way_of(const Conv& c) {
  constexpr int64_t kEnough = 48;
  return tiles_of(c, 4) >= kEnough ? winograd_kernels().by_four : winograd_kernels().by_two;
}

// The tiles of all images; some of their pixels and places may lie beyond the edge.
struct Tiles {
  int64_t height, width, down, across, pad_y, pad_x, makes, side, tiles_down, tiles_across, count;

  Tiles(const Winograd& way, int64_t batch, const int64_t* size, const int64_t* result, int64_t pad_y, int64_t pad_x)
      : height(size[0]),
        width(size[1]),
        down(result[0]),
        across(result[1]),
        pad_y(pad_y),
        pad_x(pad_x),
        makes(way.makes),
        side(way.side),
        tiles_down((down + makes - 1) / makes),
        tiles_across((across + makes - 1) / makes),
        count(batch * tiles_down * tiles_across) {}

  template <class T>
  void pixels(int64_t tile, T* images, int64_t channels, T* beyond, T** to) const {
    auto [n, y, x] = where(tile);
    window({y - pad_y, x - pad_x, height, width, side}, images + n * height * width * channels, channels, beyond, to);
  }
  template <class T>
  void places(int64_t tile, T* results, int64_t channels, T* beyond, T** to) const {
    auto [n, y, x] = where(tile);
    window({y, x, down, across, makes}, results + n * down * across * channels, channels, beyond, to);
  }

 private:
  struct Place {
    int64_t image, y, x;
  };
  struct Window {
    int64_t y, x, height, width, side;
  };
  Place where(int64_t tile) const {
    int64_t each = tiles_down * tiles_across, at = tile % each;
    return {tile / each, at / tiles_across * makes, at % tiles_across * makes};
  }
  template <class T>
  static void window(const Window& w, T* image, int64_t channels, T* beyond, T** to) {
    for (int64_t y = w.y; y < w.y + w.side; ++y) {
      T* line = y < 0 || y >= w.height ? nullptr : image + y * w.width * channels;
      for (int64_t x = w.x; x < w.x + w.side; ++x) *to++ = line && x >= 0 && x < w.width ? line + x * channels : beyond;
    }
  }
};

// What lies beyond the edge of images: zeros to read, and for each thread a place to write to.
class Beyond {
 public:
  explicit Beyond(int64_t channels) : lines_(channels * kFloat, PerThread::kMany) {
    std::memset(lines_.all<float>(), 0, size_t(lines_.bytes()));
  }
  const float* zeros() const { return lines_.all<float>(); }
  float* mine() const { return lines_.mine<float>(); }

 private:
  PerThread lines_;
};

// The points of some tiles at a time, for each thread.
class Points {
 public:
  Points(int64_t tiles, int64_t channels, int64_t points)
      : apart(tiles * channels + kSkew), all_(points * apart * kFloat, PerThread::kMany) {}
  const int64_t apart;
  float* mine() const { return all_.mine<float>(); }

 private:
  PerThread all_;
};

// A kernel, and which way it is read: `back` is turned by half, from `out` to `in` channels.
struct Kernel {
  const Winograd& way;
  int64_t in, out;
  const float* w;
  bool back;

  int64_t reads() const { return back ? out : in; }
  int64_t makes() const { return back ? in : out; }
};

// Its points for some of the channels that it makes, ready for products: as many matrices of (channels read) x (those).
class KernelPoints final : public PackedKernel {
 public:
  KernelPoints(const Kernel& k, int64_t first, int64_t end)
      : way(k.way), reads(k.reads()), makes(end - first), matrices_(DType::Float, way.points(), reads, makes) {
    auto wide = [](PackedMatrix::Columns c) { return c.end - c.begin; };
    int64_t last = matrices_.strips() - 1, widest = std::max(wide(matrices_.strip(0)), wide(matrices_.strip(last)));
    Points space(widest, reads, way.points());
    parallel_each(last + 1, [&](int64_t s) {
      auto columns = matrices_.strip(s);
      int64_t begin = first + columns.begin, kernels = k.back ? wide(columns) : k.in;  // that lie one behind the other
      float* points = space.mine();
      for (int64_t o = 0; o < (k.back ? k.out : wide(columns)); ++o) {
        const float* taps = k.w + (k.back ? o * k.in + begin : (begin + o) * k.in) * kWinogradTaps;
        way.read_taps(taps, kernels, k.back, points + o * kernels, space.apart);
      }
      for (int p = 0; p < way.points(); ++p) matrices_.pack(p, !k.back, columns, points + p * space.apart, kernels);
    });
  }
  const Winograd& way;
  const int64_t reads, makes;
  void multiply(int point, int64_t rows, const float* a, float* c) const {
    matrices_.multiply({false, false, rows, makes, reads, a, reads, nullptr, 0, c, makes, 1, 0}, point);
  }

 private:
  PackedMatrix matrices_;
};

// As many tiles at a time as stay near, but enough to make the way through a large kernel worth it.
int64_t tiles_at_once(const KernelPoints& k, int64_t tiles) {
  int64_t bytes = k.way.points() * kFloat, near = kNear / ((k.reads + k.makes) * bytes);
  near = std::max<int64_t>(near, k.reads * k.makes * bytes < kLarge ? 32 : 128);
  int64_t parts = std::max((tiles + near - 1) / near, std::min<int64_t>(loop_threads(), (tiles + 7) / 8));
  return ((tiles + parts - 1) / parts + 7) / 8 * 8;
}

// The places of a tile that are not beyond the edge.
void finish(const Ending& ending, const float* beyond, float* const* places, int count, int64_t channels) {
  if (!ending.finish) return;
  for (int i = 0; i < count; ++i)
    if (places[i] != beyond) gemm_kernels().finish(ending.finish, places[i], channels);
}

void convolve(const Tiles& tiles, const float* x, const KernelPoints& kernel, Ending ending, float* y) {
  const Winograd& way = kernel.way;
  int64_t in = kernel.reads, out = kernel.makes, block = tiles_at_once(kernel, tiles.count);
  Points read(block, in, way.points()), made(block, out, way.points());
  Beyond before(in), behind(out);
  parallel_chunks(tiles.count, block, [&](int64_t begin, int64_t end) {
    float *v = read.mine(), *m = made.mine(), *places[kWinogradMost * kWinogradMost];
    const float* pixels[kWinogradMost * kWinogradMost];
    for (int64_t t = begin; t < end; ++t) {
      tiles.pixels(t, x, in, before.zeros(), pixels);
      way.read_pixels(pixels, in, 0, way.side, v + (t - begin) * in, read.apart);
    }
    for (int p = 0; p < way.points(); ++p) kernel.multiply(p, end - begin, v + p * read.apart, m + p * made.apart);
    for (int64_t t = begin; t < end; ++t) {
      tiles.places(t, y, out, behind.mine(), places);
      way.write_places(m + (t - begin) * out, made.apart, out, ending, places);
      finish(ending, behind.mine(), places, way.makes * way.makes, out);
    }
  });
}

// The points of all tiles, where that is less than those of a kernel: made once, and then read for some channels of the
// result at a time.
class AllPoints {
 public:
  AllPoints(const Tiles& tiles, const Winograd& way, const float* x, int64_t channels)
      : apart(tiles.count * channels + kSkew), all_(way.points() * apart * kFloat) {
    Beyond before(channels);
    parallel_shares(tiles.count, 8, 1, [&](int64_t begin, int64_t end) {
      const float* pixels[kWinogradMost * kWinogradMost];
      for (int64_t t = begin; t < end; ++t) {
        tiles.pixels(t, x, channels, before.zeros(), pixels);
        way.read_pixels(pixels, channels, 0, way.side, at(0) + t * channels, apart);
      }
    });
  }
  const int64_t apart;
  float* at(int64_t point) const { return all_.as<float>() + point * apart; }

 private:
  Scratch all_;
};

// The same as convolve(), for few tiles: no more than some of the kernel's points are there at a time.
void convolve_few(const Tiles& tiles, const float* x, const Kernel& kernel, Ending ending, float* y) {
  const Winograd& way = kernel.way;
  int64_t makes = kernel.makes();
  AllPoints v(tiles, way, x, kernel.reads());
  Beyond behind(makes);
  constexpr int64_t kColumns = 48;  // channels at a time: whole tiles of a product
  parallel_chunks(makes, kColumns, [&](int64_t begin, int64_t end) {
    KernelPoints points(kernel, begin, end);
    Points made(tiles.count, end - begin, way.points());
    float *m = made.mine(), *places[kWinogradMost * kWinogradMost];
    for (int p = 0; p < way.points(); ++p) points.multiply(p, tiles.count, v.at(p), m + p * made.apart);
    for (int64_t t = 0; t < tiles.count; ++t) {
      tiles.places(t, y, makes, behind.mine(), places);
      for (int i = 0; i < way.makes * way.makes; ++i) places[i] += begin;
      way.write_places(m + t * (end - begin), made.apart, end - begin, ending.of_channels_from(begin), places);
      finish(ending, behind.mine() + begin, places, way.makes * way.makes, end - begin);
    }
  });
}

// The gradient of a kernel, for few tiles.
void gather_few(const Tiles& tiles, const Winograd& way, const Conv& c, const float* x, const float* g, float* dw) {
  AllPoints v(tiles, way, x, c.in);
  Beyond behind(c.out);
  constexpr int64_t kRows = 32;  // channels at a time
  parallel_chunks(c.out, kRows, [&](int64_t begin, int64_t end) {
    int64_t some = end - begin, each = some * c.in;
    Points read(tiles.count, some, way.points());
    Scratch sums(way.points() * each * kFloat);
    float *z = read.mine(), *sum = sums.as<float>();
    const float* places[kWinogradMost * kWinogradMost];
    for (int64_t t = 0; t < tiles.count; ++t) {
      tiles.places(t, g, c.out, behind.zeros(), places);
      for (int i = 0; i < way.makes * way.makes; ++i) places[i] += begin;
      way.read_places(places, some, 0, way.side, z + t * some, read.apart);
    }
    for (int p = 0; p < way.points(); ++p)
      gemm(DType::Float, true, false, some, c.in, tiles.count, z + p * read.apart, some, v.at(p), c.in, sum + p * each,
           c.in, 1, 0);
    for (int64_t o = 0; o < some; ++o)
      way.write_taps(sum + o * c.in, each, c.in, dw + (begin + o) * c.in * kWinogradTaps);
  });
}

}  // namespace

bool g_winograd = true;

bool winograd_suits(const Conv& c) {
  bool three = g_winograd && c.dims == 2 && c.groups == 1;
  for (int i = 0; i < 2 && three; ++i)
    three = c.kernel[i] == 3 && c.stride[i] == 1 && c.dilation[i] == 1 && c.pad[i] <= 2;
  return three && c.in >= 16 && c.out >= 16 && tiles_of(c, 2) >= 48;
}

void winograd_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                           std::shared_ptr<PackedKernel>* packed) {
  const Winograd& way = way_of(c);
  Tiles tiles(way, c.batch, c.size, c.result, c.pad[0], c.pad[1]);
  Kernel kernel{way, c.in, c.out, w, false};
  if (!packed && tiles.count <= c.out) return convolve_few(tiles, x, kernel, end, y);
  auto points = packed ? std::dynamic_pointer_cast<KernelPoints>(*packed) : nullptr;
  bool fits = points && &points->way == &way && points->reads == c.in && points->makes == c.out;  // w may be a part
  if (!fits) {
    WithLoan unless_kept(packed ? nullptr : Exec::current().loan);
    points = std::make_shared<KernelPoints>(kernel, 0, c.out);
  }
  if (packed) *packed = points;
  convolve(tiles, x, *points, end, y);
}

void winograd_conv_input(const Conv& c, const float* g, const float* w, float* dx) {
  const Winograd& way = way_of(c);
  Tiles tiles(way, c.batch, c.result, c.size, 2 - c.pad[0], 2 - c.pad[1]);
  Kernel kernel{way, c.in, c.out, w, true};
  if (tiles.count <= c.in) return convolve_few(tiles, g, kernel, {}, dx);
  convolve(tiles, g, KernelPoints(kernel, 0, c.in), {}, dx);
}

// Tiles are added up in groups, in blocks of fixed size, so the sums do not depend on who does it: a job is some rows
// of points of one group.
void winograd_conv_weight(const Conv& c, const float* x, const float* g, float* dw) {
  const Winograd& way = way_of(c);
  Tiles tiles(way, c.batch, c.size, c.result, c.pad[0], c.pad[1]);
  if (tiles.count <= c.out) return gather_few(tiles, way, c, x, g, dw);
  int64_t each = c.in * c.out, bytes = way.points() * each * kFloat;
  int64_t groups = std::clamp<int64_t>(std::min(kSums / bytes, tiles.count / 256), 1, kMostGroups);
  int64_t share = (tiles.count + groups - 1) / groups, block = std::min(kBlock, share);
  int64_t rows = way.side;  // those whose points stay near, and enough jobs for all
  auto too_many = [&] { return (c.in + c.out) * rows * way.side * block * kFloat > 2 * kNear; };
  while (rows > 1 && (way.side % rows || too_many() || groups * way.side / rows < loop_threads())) --rows;
  int64_t jobs = way.side / rows;  // of a group
  Scratch sums(groups * bytes);
  Points pixel_points(block, c.in, way.side * rows), place_points(block, c.out, way.side * rows);
  Beyond before(c.in), behind(c.out);
  parallel_each(groups * jobs, [&](int64_t job) {
    int64_t group = job / jobs, first = group * share, last = std::min(tiles.count, first + share);
    int row = int(job % jobs * rows);
    float *v = pixel_points.mine(), *z = place_points.mine();
    float* sum = sums.as<float>() + (group * way.points() + row * way.side) * each;
    const float *pixels[kWinogradMost * kWinogradMost], *places[kWinogradMost * kWinogradMost];
    for (int64_t t = first; t < last; t += block) {
      int64_t count = std::min(block, last - t);
      for (int64_t i = 0; i < count; ++i) {
        tiles.pixels(t + i, x, c.in, before.zeros(), pixels);
        way.read_pixels(pixels, c.in, row, int(rows), v + i * c.in, pixel_points.apart);
        tiles.places(t + i, g, c.out, behind.zeros(), places);
        way.read_places(places, c.out, row, int(rows), z + i * c.out, place_points.apart);
      }
      for (int64_t p = 0; p < way.side * rows; ++p)
        gemm(DType::Float, true, false, c.out, c.in, count, z + p * place_points.apart, c.out,
             v + p * pixel_points.apart, c.in, sum + p * each, c.in, 1, t == first ? 0 : 1);
    }
  });
  float* sum = sums.as<float>();
  parallel_shares(c.out, std::max<int64_t>(1, kGrain / (c.in * way.points())), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = 1; k < groups; ++k)
      for (int p = 0; p < way.points(); ++p) {
        float* to = sum + p * each;
        const float* from = to + k * way.points() * each;
        for (int64_t i = begin * c.in; i < end * c.in; ++i) to[i] += from[i];
      }
    for (int64_t o = begin; o < end; ++o) way.write_taps(sum + o * c.in, each, c.in, dw + o * c.in * kWinogradTaps);
  });
}

}  // namespace weft
