// Convolutions of images of very few channels, which lie as their shape says: one channel behind the other.
#pragma once

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

constexpr int64_t kPlaneColumns = 32;  // channels of the result that are made at a time

// One line of the result: `places` of them, `step` numbers apart in x. Number k of a window is at offsets[k].
struct PlaneLine {
  int64_t places, step, count;
  const int64_t* offsets;
  int64_t columns, out;  // columns: of the result that are made, at most kPlaneColumns; out: all of them
};

struct PlaneKernels {
  // `weights` are (count, kPlaneColumns).
  void (*line)(const PlaneLine& d, const float* x, const float* weights, Ending end, float* y);
};

WEFT_DECLARE_KERNELS(PlaneKernels, plane_kernels)

// Whether it suits a convolution that indirect_conv_forward would be taken for; it gives the same bits.
bool planes_suit(const Conv& c);
// Results lie channels last.
void planes_conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                         std::shared_ptr<PackedKernel>* packed);

}  // namespace weft
