// Convolutions over one to three dimensions. Images are (batch, channels, size…), kernels (out, in / groups, size…).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/dtype.h"
#include "loops/gemm_kernels.h"

namespace weft {

struct Conv {
  int64_t dims = 0, batch = 0, in = 0, out = 0, groups = 1;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, result[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};  // pad: before the image
  bool uneven = false;  // there is other padding behind it: forward only

  int64_t pixels() const { return size[0] * size[1] * size[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t places() const { return result[0] * result[1] * result[2]; }
  // Whether each place reads one pixel, its own: one matrix product of the pixels by the kernel.
  bool is_product() const {
    return groups == 1 && taps() == 1 && places() == pixels() && pad[0] + pad[1] + pad[2] == 0;
  }
};

// The same with its dimensions moved to the end: the one whose pixels lie side by side is then the last.
inline Conv moved_to_end(Conv c) {
  for (auto* each : {c.size, c.kernel, c.result, c.stride, c.dilation, c.pad})
    std::rotate(each, each + c.dims, each + 3);
  return c;
}

// What is made from a kernel for its loop, kept for the next call with the same one.
struct PackedKernel {
  virtual ~PackedKernel() = default;
};

// What happens to a place of the result before it is written: its channel's bias is added, if there is one; what is
// beyond the bounds becomes them. And what happens to it then.
struct Ending {
  const float* bias = nullptr;
  Bounds bounds = {};
  Finish finish = {};
  Ending of_channels_from(int64_t first) const { return {bias ? bias + first : nullptr, bounds, finish}; }
};

// float, by the fastest of the loops below. Images lie channels last, kernels and gradients of
// kernels as their shape says. `packed` may be null.
void conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                  std::shared_ptr<PackedKernel>* packed);
void conv_input(const Conv& c, const float* g, const float* w, float* dx);
void conv_weight(const Conv& c, const float* x, const float* g, float* dw);

// The same where it is one matrix product.
void product_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                          std::shared_ptr<PackedKernel>* packed);
void product_conv_input(const Conv& c, const float* g, const float* w, float* dx);
void product_conv_weight(const Conv& c, const float* x, const float* g, float* dw);

// The same where windows are read as they lie: at most 16 channels of the result, no groups.
void direct_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y);

// The same where every channel has a kernel of its own.
bool depthwise_suits(const Conv& c);
void depthwise_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                            std::shared_ptr<PackedKernel>* packed);
void depthwise_conv_input(const Conv& c, const float* g, const float* w, float* dx);
void depthwise_conv_weight(const Conv& c, const float* x, const float* g, float* dw);

// The same as products whose rows are found by pointers: any convolution.
void indirect_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                           std::shared_ptr<PackedKernel>* packed);
void indirect_conv_input(const Conv& c, const float* g, const float* w, float* dx);
void indirect_conv_weight(const Conv& c, const float* x, const float* g, float* dw);

// The same with a vector of images side by side, where that is faster.
bool joined_suits_forward(const Conv& c);
bool joined_suits_input(const Conv& c);
bool joined_suits_weight(const Conv& c);
void joined_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y);
void joined_conv_input(const Conv& c, const float* g, const float* w, float* dx);
void joined_conv_weight(const Conv& c, const float* x, const float* g, float* dw);

// The same as products over rows of windows, without groups.
void rows_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y);
void rows_conv_input(const Conv& c, const float* g, const float* w, float* dx);
void rows_conv_weight(const Conv& c, const float* x, const float* g, float* dw);

// The same for 3x3 kernels without steps, by Winograd's way: where it suits, faster than the others.
extern bool g_winograd;  // whether it may be taken
bool winograd_suits(const Conv& c);
void winograd_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                           std::shared_ptr<PackedKernel>* packed);
void winograd_conv_input(const Conv& c, const float* g, const float* w, float* dx);
void winograd_conv_weight(const Conv& c, const float* x, const float* g, float* dw);

// Any type, as matrix products over windows laid out in memory; all arrays lie as their shapes say.
void plain_conv_forward(DType type, const Conv& c, const void* x, const void* w, const void* bias, void* y);
void plain_conv_input(DType type, const Conv& c, const void* g, const void* w, void* dx);
void plain_conv_weight(DType type, const Conv& c, const void* x, const void* g, void* dw);

}  // namespace weft
