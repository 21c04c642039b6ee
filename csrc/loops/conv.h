// Convolutions over one to three dimensions. Images are (batch, channels, size…), kernels (out, in / groups, size…).
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace weft {

struct Conv {
  int64_t dims = 0, batch = 0, in = 0, out = 0, groups = 1;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, result[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};

  int64_t pixels() const { return size[0] * size[1] * size[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t places() const { return result[0] * result[1] * result[2]; }
};

// All arrays are contiguous. float runs in oneDNN where that is shipped, everything else in plain_*.
void conv_forward(DType type, const Conv& c, const void* x, const void* w, const void* bias, void* y);
void conv_input(DType type, const Conv& c, const void* g, const void* w, void* dx);
void conv_weight(DType type, const Conv& c, const void* x, const void* g, void* dw);

// The same as matrix products over windows laid out in memory; the twins that tests compare with.
void plain_conv_forward(DType type, const Conv& c, const void* x, const void* w, const void* bias, void* y);
void plain_conv_input(DType type, const Conv& c, const void* g, const void* w, void* dx);
void plain_conv_weight(DType type, const Conv& c, const void* x, const void* g, void* dw);

// What the library weft/lib/libweft_onednn.so offers. It is loaded with the first convolution: oneDNN is large.
struct OneDnn {
  // Each returns false where oneDNN has no such kernel.
  bool (*forward)(const Conv& c, int threads, const float* x, const float* w, const float* bias, float* y);
  bool (*input)(const Conv& c, int threads, const float* g, const float* w, float* dx);
  bool (*weight)(const Conv& c, int threads, const float* x, const float* g, float* dw);
};
const OneDnn* onednn();  // throws where it cannot be loaded: a slow convolution must not come unnoticed

}  // namespace weft
