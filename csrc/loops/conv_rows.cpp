// Convolutions of float images that lie channels last, as a few large products: every place of the result is a row,
// which holds the window that it reads, tap by tap. For few channels, of which others leave most of a vector idle.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/memory.h"
#include "loops/conv.h"
#include "loops/conv_windows.h"
#include "loops/gemm.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kFarBytes = 8 << 20, kNearBytes = 256 << 10;  // of windows laid out at a time
constexpr int64_t kSmallKernel = 256 << 10;                     // bytes

// Calls f(where a row of the kernel begins) for all of them.
template <class F>
void each_kernel_row(const Conv& c, const F& f) {
  int64_t width = c.in * c.taps();
  parallel_shares(c.out, std::max<int64_t>(1, kGrain / width), 1, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) f(o * width);
  });
}

// The kernel's channels and taps: (out, in, taps) in memory, (out, taps, in) here.
class KernelRows {
 public:
  KernelRows(const Conv& c, const float* w) : rows_(c.out * c.in * c.taps() * 4) {
    each_kernel_row(c, [&](int64_t at) {
      for (int64_t t = 0; t < c.taps(); ++t)
        for (int64_t i = 0; i < c.in; ++i) data()[at + t * c.in + i] = w[at + i * c.taps() + t];
    });
  }
  float* data() const { return rows_.as<float>(); }

 private:
  Scratch rows_;
};

// From (out, taps, in) to (out, in, taps).
void put_taps_last(const Conv& c, float* dw) {
  each_kernel_row(c, [&](int64_t at) {
    Panel copy(2, c.in * c.taps() * int64_t(sizeof(float)));
    float* row = reinterpret_cast<float*>(copy.data());
    std::copy_n(dw + at, c.in * c.taps(), row);
    for (int64_t i = 0; i < c.in; ++i)
      for (int64_t t = 0; t < c.taps(); ++t) dw[at + i * c.taps() + t] = row[t * c.in + i];
  });
}

// The runs of all windows of an image: taps of one line of the kernel, which lie one behind the other in the image as
// they do in the window. Neighbours in the list are far apart in the image, so that adding to one need not wait for
// another.
std::vector<Run> runs_of(const Conv& given) {
  const Conv c = moved_to_end(given);
  std::vector<Run> runs;
  int64_t width = c.in * c.taps();
  auto add = [&](int64_t place, int64_t tap, int64_t count, int64_t pixel) {
    if (count > 0) runs.push_back({place * width + tap * c.in, pixel < 0 ? -1 : pixel * c.in, count * c.in});
  };
  for (int64_t t0 = 0; t0 < c.kernel[0]; ++t0)
    for (int64_t t1 = 0; t1 < c.kernel[1]; ++t1)
      for (int64_t p2 = 0; p2 < c.result[2]; ++p2)
        for (int64_t p0 = 0; p0 < c.result[0]; ++p0)
          for (int64_t p1 = 0; p1 < c.result[1]; ++p1) {
            int64_t place = (p0 * c.result[1] + p1) * c.result[2] + p2, tap = (t0 * c.kernel[1] + t1) * c.kernel[2];
            int64_t x0 = p0 * c.stride[0] + t0 * c.dilation[0] - c.pad[0];
            int64_t x1 = p1 * c.stride[1] + t1 * c.dilation[1] - c.pad[1], x2 = p2 * c.stride[2] - c.pad[2];
            int64_t line = (x0 * c.size[1] + x1) * c.size[2], taps = c.kernel[2];
            if (x0 < 0 || x0 >= c.size[0] || x1 < 0 || x1 >= c.size[1]) {
              add(place, tap, taps, -1);
            } else if (c.dilation[2] != 1) {
              for (int64_t t = 0; t < taps; ++t) {
                int64_t x = x2 + t * c.dilation[2];
                add(place, tap + t, 1, x < 0 || x >= c.size[2] ? -1 : line + x);
              }
            } else {  // before, in and behind the image
              int64_t enters = std::clamp<int64_t>(-x2, 0, taps);
              int64_t leaves = std::clamp<int64_t>(c.size[2] - x2, enters, taps);
              add(place, tap, enters, -1);
              add(place, tap + enters, leaves - enters, line + x2 + enters);
              add(place, tap + leaves, taps - leaves, -1);
            }
          }
  return runs;
}

// Some images at a time: their windows, each a row of taps * in numbers.
class Windows {
 public:
  Windows(const Conv& c, int64_t at_once)
      : c_(c),
        width_(c.in * c.taps()),
        at_once_(at_once),
        runs_(runs_of(c)),
        rows_(at_once_ * c.places() * width_ * 4) {}
  float* data() const { return rows_.as<float>(); }
  int64_t width() const { return width_; }

  // Calls f(first row, rows) for each part of the batch.
  template <class F>
  void each_part(const F& f) const {
    for (int64_t n = 0; n < c_.batch; n += at_once_) {
      leave_if_interrupted();
      f(n * c_.places(), std::min(at_once_, c_.batch - n) * c_.places());
    }
  }
  void lay_out(const float* x, int64_t first, int64_t rows) {
    each_few(first, rows, [&](int64_t at, const Images& all, float* windows) {
      window_kernels().lay_out(runs_.data(), int64_t(runs_.size()), all, x + at, windows);
    });
  }
  void add_back(float* x, int64_t first, int64_t rows) const {
    each_few(first, rows, [&](int64_t at, const Images& all, float* windows) {
      std::memset(x + at, 0, size_t(all.count * all.image_step) * sizeof(float));
      window_kernels().add_back(runs_.data(), int64_t(runs_.size()), all, windows, x + at);
    });
  }

 private:
  // Calls f(where the first image begins, how many there are, their windows).
  template <class F>
  void each_few(int64_t first, int64_t rows, const F& f) const {
    constexpr int64_t kFew = 8;
    int64_t each = c_.places() * width_, image = c_.pixels() * c_.in, from = first / c_.places();
    parallel_shares(rows / c_.places(), std::max<int64_t>(1, kGrain / each), 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; n += kFew)
        f((from + n) * image, Images{std::min(kFew, end - n), image, each}, data() + n * each);
    });
  }
  const Conv& c_;
  int64_t width_, at_once_;
  std::vector<Run> runs_;
  Scratch rows_;
};

bool has_small_kernel(const Conv& c) { return c.out * c.in * c.taps() * 4 <= kSmallKernel; }
int64_t images_in(int64_t bytes, const Conv& c) { return bytes / 4 / (c.places() * c.in * c.taps()); }

// Images at a time: windows stay in the L2 cache, unless that would mean to go through a large kernel many times.
int64_t images_at_once(const Conv& c) {
  int64_t bytes = (has_small_kernel(c) ? kNearBytes : kFarBytes) * call_threads();
  return std::clamp<int64_t>(images_in(bytes, c), 1, c.batch);
}

// The same where windows are added up, which must not depend on the number of threads. gemm goes through the sums for
// every `depth` of them: where these are whole images, few of them are as fast as many.
int64_t images_added_at_once(const Conv& c) {
  int64_t depth = gemm_kernels().blocks.depth, each = std::max<int64_t>(1, depth / c.places());
  bool whole = each * c.places() % depth == 0;
  int64_t bytes = has_small_kernel(c) ? 2 * kNearBytes : whole ? kFarBytes / 4 : kFarBytes;
  return std::clamp(images_in(bytes, c) / each * each, whole ? each : 1, std::max(c.batch, each));
}

}  // namespace

void rows_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y) {
  KernelRows kernel(c, w);
  Windows windows(c, images_at_once(c));
  int64_t k = windows.width();
  windows.each_part([&](int64_t first, int64_t rows) {
    windows.lay_out(x, first, rows);
    gemm(DType::Float, Product{false, true, rows, c.out, k, windows.data(), k, kernel.data(), k, y + first * c.out,
                               c.out, 1, end.bias ? 1.0 : 0.0, end.bias, 0, end.bounds});
  });
}

void rows_conv_input(const Conv& c, const float* g, const float* w, float* dx) {
  KernelRows kernel(c, w);
  Windows windows(c, images_at_once(c));
  int64_t k = windows.width();
  windows.each_part([&](int64_t first, int64_t rows) {
    gemm(DType::Float, false, false, rows, k, c.out, g + first * c.out, c.out, kernel.data(), k, windows.data(), k, 1,
         0);
    windows.add_back(dx, first, rows);
  });
}

void rows_conv_weight(const Conv& c, const float* x, const float* g, float* dw) {
  Windows windows(c, images_added_at_once(c));
  int64_t k = windows.width();
  windows.each_part([&](int64_t first, int64_t rows) {
    windows.lay_out(x, first, rows);
    gemm(DType::Float, true, false, c.out, k, rows, g + first * c.out, c.out, windows.data(), k, dw, k, 1,
         first ? 1 : 0);
  });
  put_taps_last(c, dw);
}

}  // namespace weft
