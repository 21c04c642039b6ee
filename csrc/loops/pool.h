// Pooling over one to three dimensions of planes that lie one after the other.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct Pool {
  int64_t planes = 0;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, result[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  bool count_padding = true;  // averages: padding counts as elements of the window
  int64_t divisor = 0;        // averages: divide by this instead, unless 0

  int64_t pixels() const { return size[0] * size[1] * size[2]; }
  int64_t places() const { return result[0] * result[1] * result[2]; }
  // Elements that the windows of a plane read, about.
  double work() const {
    double taps = 1;
    for (int d = 0; d < 3; ++d) taps *= double(kernel[d] < size[d] ? kernel[d] : size[d]);
    return double(places()) * taps + double(pixels());
  }
};

struct PoolKernels {
  // The largest of each window, and where in its plane it is; NaN wins.
  void (*largest)(DType type, const Pool& p, const void* x, void* y, int64_t* at);
  // The mean of each window, and its derivative.
  void (*mean)(DType type, const Pool& p, const void* x, void* y);
  void (*mean_back)(DType type, const Pool& p, const void* g, void* dx);
  // x[plane][at] for each place; and its derivative, which adds up. False where one lies outside of its plane.
  bool (*pick)(DType type, const Pool& p, const void* x, const int64_t* at, void* y);
  bool (*put)(DType type, const Pool& p, const void* g, const int64_t* at, void* dx);
  bool (*set)(DType type, const Pool& p, const void* x, const int64_t* at, void* y);  // the last one stays
  // float planes of `channels` each, side by side: (planes / channels, pixels, channels). `at` lies as y does.
  void (*largest_last)(const Pool& p, int64_t channels, const float* x, float* y, int64_t* at);
  bool (*put_last)(const Pool& p, int64_t channels, const float* g, const int64_t* at, float* dx);
  // The same as `largest` for windows between bounds: (first, end) for each place along each dimension, the dimensions
  // one after the other, for all planes alike or (`each`) plane by plane.
  void (*largest_between)(DType type, const Pool& p, const int32_t* bounds, bool each, const void* x, void* y,
                          int64_t* at);
};

WEFT_DECLARE_KERNELS(PoolKernels, pool_kernels)

}  // namespace weft
