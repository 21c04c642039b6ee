// Convolutions of one channel by kernels so large that windows laid out would not fit: rows slide along rows.
#pragma once

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

constexpr int kSlideBytes = 512;  // of the sums that are made at once

struct SlideKernels {
  // sums[j] += the sum over i in [0, count) of u[i * u_step] * v[j + offset + i * step], where v has the numbers [low,
  // high) and kSlideBytes of zeros on both sides of them. `finite`: so is u, and products with these zeros do no harm.
  // float and double.
  void (*slide)(DType type, bool finite, const void* v, int64_t low, int64_t high, const void* u, int64_t u_step,
                int64_t count, int64_t offset, int64_t step, void* sums);
};

WEFT_DECLARE_KERNELS(SlideKernels, slide_kernels)

bool single_suits(DType type, const Conv& c);
void single_conv_forward(DType type, const Conv& c, const void* x, const void* w, const void* bias, void* y);
void single_conv_input(DType type, const Conv& c, const void* g, const void* w, void* dx);
void single_conv_weight(DType type, const Conv& c, const void* x, const void* g, void* dw);

}  // namespace weft
