// Convolutions one behind the other, a few lines of the image at a time: what is between them stays in the cache.
#pragma once

#include <memory>
#include <optional>

#include "loops/conv.h"

namespace weft {

// A convolution of one pixel to one pixel, without groups, before or behind the one in the middle.
struct ChainProduct {
  int64_t in, out;
  const float* w;
  Ending end;
  std::shared_ptr<PackedKernel>* packed;
};

// The one in the middle has a kernel for each channel, and two dimensions.
struct Chain {
  std::optional<ChainProduct> before;
  Conv middle;
  const float* w;
  Ending end;
  std::shared_ptr<PackedKernel>* packed;
  std::optional<ChainProduct> behind;
};

// Gives what the convolutions give one after the other, bit for bit where these have more than eight rows and one
// column.
void chain_conv_forward(const Chain& chain, const float* x, float* y);

}  // namespace weft
