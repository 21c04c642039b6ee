#include "loops/conv.h"

#include <algorithm>
#include <cstring>

#include "core/dims.h"
#include "core/error.h"
#include "core/memory.h"
#include "loops/conv_direct.h"
#include "loops/conv_single.h"
#include "loops/modular.h"
#include "loops/packed_weight.h"
#include "loops/parallel.h"

namespace weft {
namespace {

// Calls f(place, pixel, n) for each row of places of the result whose windows read pixels with this tap: n of them,
// from these on, stride[2] pixels apart.
template <class F>
void each_row(const Conv& c, int64_t tap, const F& f) {
  const int64_t t2 = tap % c.kernel[2], t1 = tap / c.kernel[2] % c.kernel[1], t0 = tap / c.kernel[2] / c.kernel[1];
  const int64_t shift = t2 * c.dilation[2] - c.pad[2], step = c.stride[2], room = c.size[2] - 1 - shift;
  const int64_t first = shift < 0 ? (-shift + step - 1) / step : 0;
  const int64_t n = std::min(room < 0 ? 0 : room / step + 1, c.result[2]) - first;
  if (n <= 0) return;
  for (int64_t a = 0; a < c.result[0]; ++a) {
    int64_t x0 = a * c.stride[0] + t0 * c.dilation[0] - c.pad[0];
    if (x0 < 0 || x0 >= c.size[0]) continue;
    for (int64_t b = 0; b < c.result[1]; ++b) {
      int64_t x1 = b * c.stride[1] + t1 * c.dilation[1] - c.pad[1];
      if (x1 < 0 || x1 >= c.size[1]) continue;
      f((a * c.result[1] + b) * c.result[2] + first, (x0 * c.size[1] + x1) * c.size[2] + first * step + shift, n);
    }
  }
}

// The windows of one image and group, as a matrix: (channels * taps) x places. Where each is one pixel, that is the
// image; else it is laid out in `windows`.
template <class T>
const T* lay_out(const Conv& c, const T* x, T* windows) {
  if (c.is_product()) return x;
  int64_t channels = c.in / c.groups, taps = c.taps(), places = c.places(), step = c.stride[2];
  std::memset(static_cast<void*>(windows), 0, size_t(channels * taps * places) * sizeof(T));
  for (int64_t k = 0; k < channels * taps; ++k)
    each_row(c, k % taps, [&](int64_t place, int64_t pixel, int64_t n) {
      const T* from = x + k / taps * c.pixels() + pixel;
      T* to = windows + k * places + place;
      if (step == 1)
        std::copy_n(from, n, to);
      else
        for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
    });
  return windows;
}
template <class T>
void add_back(const Conv& c, const T* windows, T* x) {
  int64_t channels = c.in / c.groups, taps = c.taps(), places = c.places(), step = c.stride[2];
  for (int64_t k = 0; k < channels * taps; ++k)
    each_row(c, k % taps, [&](int64_t place, int64_t pixel, int64_t n) {
      const T* from = windows + k * places + place;
      T* to = x + k / taps * c.pixels() + pixel;
      if (step == 1)
        for (int64_t i = 0; i < n; ++i) to[i] = modular::add(to[i], from[i]);
      else
        for (int64_t i = 0; i < n; ++i) to[i * step] = modular::add(to[i * step], from[i]);
    });
}

// Half types are widened by the op: here are those that gemm and addition know as they are.
template <class F>
void by_type(DType type, const F& f) {
  switch (type) {
    case DType::Float: return f(float());
    case DType::Double: return f(double());
    case DType::ComplexFloat: return f(std::complex<float>());
    case DType::ComplexDouble: return f(std::complex<double>());
    case DType::UInt8: return f(uint8_t());
    case DType::Int8: return f(int8_t());
    case DType::Int16: return f(int16_t());
    case DType::Int32: return f(int32_t());
    case DType::Int64: return f(int64_t());
    default: return;
  }
}

struct Parts {  // of one group
  int64_t rows, inner, places, x, w, y;
  explicit Parts(const Conv& c)
      : rows(c.out / c.groups),
        inner(c.in / c.groups * c.taps()),
        places(c.places()),
        x(c.in / c.groups * c.pixels()),
        w(rows * inner),
        y(rows * places) {}
};

// Memory for the windows of one image and group on each thread, taken before the threads start.
template <class T>
class Windows {
 public:
  Windows(const Conv& c, const Parts& p, int64_t work)
      : memory_(c.is_product() ? Size(0) : Size(p.inner) * p.places * int64_t(sizeof(T)), work) {}
  T* mine() const { return memory_.template mine<T>(); }

 private:
  PerThread memory_;
};

}  // namespace

void plain_conv_forward(DType type, const Conv& given, const void* x, const void* w, const void* bias, void* y) {
  if (single_suits(type, given)) return single_conv_forward(type, given, x, w, bias, y);
  const Conv c = moved_to_end(given);  // long rows
  Parts p(c);
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    Windows<T> space(c, p, c.batch * c.groups);
    parallel_each(c.batch * c.groups, [&](int64_t i) {
      int64_t group = i % c.groups;
      T* out = static_cast<T*>(y) + i * p.y;
      const T* windows = lay_out(c, static_cast<const T*>(x) + i * p.x, space.mine());
      if (bias)
        for (int64_t r = 0; r < p.rows; ++r)
          std::fill_n(out + r * p.places, p.places, static_cast<const T*>(bias)[group * p.rows + r]);
      gemm(type, false, false, p.rows, p.places, p.inner, static_cast<const T*>(w) + group * p.w, p.inner, windows,
           p.places, out, p.places, 1, bias ? 1 : 0);
    });
  });
}

void plain_conv_input(DType type, const Conv& given, const void* g, const void* w, void* dx) {
  if (single_suits(type, given)) return single_conv_input(type, given, g, w, dx);
  const Conv c = moved_to_end(given);  // long rows
  Parts p(c);
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    Windows<T> space(c, p, c.batch * c.groups);
    parallel_each(c.batch * c.groups, [&](int64_t i) {
      T* out = static_cast<T*>(dx) + i * p.x;
      T* windows = c.is_product() ? out : space.mine();
      gemm(type, true, false, p.inner, p.places, p.rows, static_cast<const T*>(w) + i % c.groups * p.w, p.inner,
           static_cast<const T*>(g) + i * p.y, p.places, windows, p.places, 1, 0);
      if (windows == out) return;
      std::fill_n(out, p.x, T());
      add_back(c, windows, out);
    });
  });
}

void plain_conv_weight(DType type, const Conv& given, const void* x, const void* g, void* dw) {
  if (single_suits(type, given)) return single_conv_weight(type, given, x, g, dw);
  const Conv c = moved_to_end(given);  // long rows
  Parts p(c);
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    Windows<T> space(c, p, c.groups);
    parallel_each(c.groups, [&](int64_t group) {
      T* out = static_cast<T*>(dw) + group * p.w;
      std::fill_n(out, p.w, T());
      for (int64_t n = 0; n < c.batch; ++n) {
        int64_t i = n * c.groups + group;
        const T* windows = lay_out(c, static_cast<const T*>(x) + i * p.x, space.mine());
        gemm(type, false, true, p.rows, p.inner, p.places, static_cast<const T*>(g) + i * p.y, p.places, windows,
             p.places, out, p.inner, 1, 1);
      }
    });
  });
}

namespace {

// Where laying windows out costs less than it brings, by measurement: docs/notes/convolution.md.
bool rows_suit(const Conv& c) {
  constexpr int64_t
      kMost = 4 << 20;  // numbers in the windows of one image: else they need more memory than they are worth
  return c.groups == 1 && c.batch * c.places() >= 128 && c.places() * c.taps() * c.in <= kMost;
}
bool small_images(const Conv& c) { return rows_suit(c) && c.places() <= 16 && c.in >= 256; }
bool few_channels(const Conv& c) { return rows_suit(c) && c.in < 16; }
// One channel lies the same way in any order: windows are rows of a matrix, as for other types.
bool single_channel(const Conv& c) {
  return (c.in == 1 && c.out == 1 && rows_suit(c)) || single_suits(DType::Float, c);
}
bool small(const Conv& c) {
  return c.groups == 1 && c.in >= 4 && c.in <= 8 && c.out <= kDirectChannels && c.pixels() <= 1 << 16;
}

}  // namespace

void product_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                          std::shared_ptr<PackedKernel>* packed) {
  Product p{false, true, c.batch * c.pixels(), c.out, c.in, x, c.in, w, c.in, y, c.out, 1, end.bias ? 1.0 : 0.0};
  p.plus = end.bias, p.bounds = end.bounds, p.finish = end.finish;
  gemm_by_weight(DType::Float, p, packed);
}
void product_conv_input(const Conv& c, const float* g, const float* w, float* dx) {
  gemm(DType::Float, false, false, c.batch * c.pixels(), c.in, c.out, g, c.out, w, c.in, dx, c.in, 1, 0);
}
void product_conv_weight(const Conv& c, const float* x, const float* g, float* dw) {
  gemm(DType::Float, true, false, c.out, c.in, c.batch * c.pixels(), g, c.out, x, c.in, dw, c.in, 1, 0);
}

void conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                  std::shared_ptr<PackedKernel>* packed) {
  if (c.is_product()) return product_conv_forward(c, x, w, end, y, packed);
  if (depthwise_suits(c)) return depthwise_conv_forward(c, x, w, end, y, packed);
  if (c.uneven) return indirect_conv_forward(c, x, w, end, y, packed);
  if (winograd_suits(c)) return winograd_conv_forward(c, x, w, end, y, packed);
  auto then_finish = [&](auto loop) {  // for loops that cannot
    int64_t numbers = c.batch * c.places() * c.out;
    loop(Ending{end.bias, end.bounds});
    if (end.finish)
      parallel_shares(numbers, kGrain, 64,
                      [&](int64_t begin, int64_t stop) { gemm_kernels().finish(end.finish, y + begin, stop - begin); });
  };
  if (joined_suits_forward(c)) return then_finish([&](Ending e) { joined_conv_forward(c, x, w, e, y); });
  if (single_channel(c))
    return then_finish([&](Ending e) {
      plain_conv_forward(DType::Float, c, x, w, e.bias, y);
      if (e.bounds) apply_bounds(DType::Float, e.bounds, 1, c.batch * c.places(), y, c.batch * c.places());
    });
  if (small(c)) return then_finish([&](Ending e) { direct_conv_forward(c, x, w, e, y); });
  indirect_conv_forward(c, x, w, end, y, packed);
}
void conv_input(const Conv& c, const float* g, const float* w, float* dx) {
  if (c.is_product()) return product_conv_input(c, g, w, dx);
  if (depthwise_suits(c)) return depthwise_conv_input(c, g, w, dx);
  if (winograd_suits(c)) return winograd_conv_input(c, g, w, dx);
  if (joined_suits_input(c)) return joined_conv_input(c, g, w, dx);
  if (single_channel(c)) return plain_conv_input(DType::Float, c, g, w, dx);
  if (few_channels(c)) return rows_conv_input(c, g, w, dx);
  indirect_conv_input(c, g, w, dx);
}
void conv_weight(const Conv& c, const float* x, const float* g, float* dw) {
  if (c.is_product()) return product_conv_weight(c, x, g, dw);
  if (depthwise_suits(c)) return depthwise_conv_weight(c, x, g, dw);
  if (winograd_suits(c) && c.in * c.out >= 512) return winograd_conv_weight(c, x, g, dw);
  if (joined_suits_weight(c)) return joined_conv_weight(c, x, g, dw);
  if (single_channel(c)) return plain_conv_weight(DType::Float, c, x, g, dw);
  if (few_channels(c) || small_images(c)) return rows_conv_weight(c, x, g, dw);
  indirect_conv_weight(c, x, g, dw);
}

}  // namespace weft
