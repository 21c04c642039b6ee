// Convolutions of float images that lie channels last, as a few large products: every place of the result is a row,
// which holds the window that it reads, tap by tap. Faster than oneDNN where images are small and channels many.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/memory.h"
#include "loops/conv.h"
#include "loops/gemm.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kWindowBytes = 8 << 20;  // laid out at a time

// The kernel's channels and taps: (out, in, taps) in memory, (out, taps, in) here.
class KernelRows {
 public:
  explicit KernelRows(const Conv& c) : in_(c.in), taps_(c.taps()), out_(c.out), rows_(c.out * c.in * c.taps() * 4) {}
  void read(const float* w) {
    each_row([&](float* row, int64_t at) {
      for (int64_t t = 0; t < taps_; ++t)
        for (int64_t i = 0; i < in_; ++i) row[t * in_ + i] = w[at + i * taps_ + t];
    });
  }
  void write(float* w) const {
    each_row([&](const float* row, int64_t at) {
      for (int64_t t = 0; t < taps_; ++t)
        for (int64_t i = 0; i < in_; ++i) w[at + i * taps_ + t] = row[t * in_ + i];
    });
  }
  float* data() const { return rows_.as<float>(); }

 private:
  template <class F>
  void each_row(const F& f) const {
    int64_t width = in_ * taps_;
    parallel_shares(out_, std::max<int64_t>(1, kGrain / width), 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) f(data() + o * width, o * width);
    });
  }
  int64_t in_, taps_, out_;
  Scratch rows_;
};

// The pixel, counted within its image, that a place reads with a tap; -1 beyond the edge.
int64_t pixel_of(const Conv& c, int64_t place, int64_t tap) {
  int64_t pixel = 0, above = 1;
  for (int i = 2; i >= 0; --i) {
    int64_t x = place % c.result[i] * c.stride[i] + tap % c.kernel[i] * c.dilation[i] - c.pad[i];
    if (x < 0 || x >= c.size[i]) return -1;
    pixel += x * above, above *= c.size[i];
    place /= c.result[i], tap /= c.kernel[i];
  }
  return pixel;
}

// Some images at a time: their windows, each a row of taps * in numbers.
class Windows {
 public:
  explicit Windows(const Conv& c)
      : c_(c),
        width_(c.in * c.taps()),
        pixels_(size_t(c.places() * c.taps())),
        at_once_(std::clamp<int64_t>(kWindowBytes / 4 / (c.places() * width_), 1, c.batch)),
        rows_(at_once_ * c.places() * width_ * 4) {
    for (int64_t p = 0; p < c.places(); ++p)
      for (int64_t t = 0; t < c.taps(); ++t) pixels_[size_t(p * c.taps() + t)] = pixel_of(c, p, t);
  }
  float* data() const { return rows_.as<float>(); }
  int64_t width() const { return width_; }

  // Calls f(first row, rows) for each part of the batch.
  template <class F>
  void each_part(const F& f) const {
    for (int64_t n = 0; n < c_.batch; n += at_once_) f(n * c_.places(), std::min(at_once_, c_.batch - n) * c_.places());
  }
  void lay_out(const float* x, int64_t first, int64_t rows) {
    each_tap(first, rows, [&](float* window, int64_t at) {
      if (at < 0)
        std::memset(window, 0, size_t(c_.in) * sizeof(float));
      else
        std::memcpy(window, x + at, size_t(c_.in) * sizeof(float));
    });
  }
  void add_back(float* x, int64_t first, int64_t rows) const {
    each_tap(first, rows, [&](const float* window, int64_t at) {
      if (at < 0) return;
      for (int64_t i = 0; i < c_.in; ++i) x[at + i] += window[i];
    });
  }

 private:
  // Calls f(window of the tap, where its pixel begins); images are shared out, so that no two threads meet in one.
  template <class F>
  void each_tap(int64_t first, int64_t rows, const F& f) const {
    int64_t places = c_.places(), taps = c_.taps();
    parallel_shares(rows / places, std::max<int64_t>(1, kGrain / (places * width_)), 1,
                    [&](int64_t begin, int64_t end) {
                      for (int64_t row = begin * places; row < end * places; ++row) {
                        int64_t image = (first + row) / places * c_.pixels();
                        const int64_t* pixels = &pixels_[size_t(row % places * taps)];
                        for (int64_t t = 0; t < taps; ++t)
                          f(data() + row * width_ + t * c_.in, pixels[t] < 0 ? -1 : (image + pixels[t]) * c_.in);
                      }
                    });
  }
  const Conv& c_;
  int64_t width_;
  std::vector<int64_t> pixels_;
  int64_t at_once_;
  Scratch rows_;
};

}  // namespace

void rows_conv_forward(const Conv& c, const float* x, const float* w, const float* bias, float* y) {
  KernelRows kernel(c);
  kernel.read(w);
  Windows windows(c);
  int64_t k = windows.width();
  windows.each_part([&](int64_t first, int64_t rows) {
    windows.lay_out(x, first, rows);
    gemm(DType::Float, Product{false, true, rows, c.out, k, windows.data(), k, kernel.data(), k, y + first * c.out,
                               c.out, 1, bias ? 1.0 : 0.0, bias, 0});
  });
}

void rows_conv_input(const Conv& c, const float* g, const float* w, float* dx) {
  KernelRows kernel(c);
  kernel.read(w);
  Windows windows(c);
  int64_t k = windows.width(), image = c.pixels() * c.in;
  windows.each_part([&](int64_t first, int64_t rows) {
    gemm(DType::Float, false, false, rows, k, c.out, g + first * c.out, c.out, kernel.data(), k, windows.data(), k, 1,
         0);
    std::memset(dx + first / c.places() * image, 0, size_t(rows / c.places() * image) * sizeof(float));
    windows.add_back(dx, first, rows);
  });
}

void rows_conv_weight(const Conv& c, const float* x, const float* g, float* dw) {
  KernelRows kernel(c);
  Windows windows(c);
  int64_t k = windows.width();
  windows.each_part([&](int64_t first, int64_t rows) {
    windows.lay_out(x, first, rows);
    gemm(DType::Float, true, false, c.out, k, rows, g + first * c.out, c.out, windows.data(), k, kernel.data(), k, 1,
         first ? 1 : 0);
  });
  kernel.write(dw);
}

}  // namespace weft
