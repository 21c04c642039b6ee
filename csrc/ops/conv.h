// The shape rule that ops with windows share.
#pragma once

#include "loops/conv.h"
#include "ops/op.h"

namespace weft {

// From the shapes of input and kernel, and the arguments from number `at` on: stride, padding, dilation, groups.
// convolve_ending may say how much padding is before the image, and then how much is behind it.
Conv conv_of(Call& c, const Dims& x, const Dims& w, int at);
Dims result_sizes(const Conv& v);
// The convolution of a float image as it lies.
void convolve_image(const Conv& v, const Tensor& x, const float* w, const Ending& end, float* y,
                    std::shared_ptr<PackedKernel>* packed);

}  // namespace weft
