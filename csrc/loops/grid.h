// Images read at places of a grid, and the two derivatives of that.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct GridPlan {
  enum Mode { linear, nearest, cubic } mode = linear;
  enum Outside { zeros, border, reflection } outside = zeros;
  bool corners = false;  // -1 and 1 are the centres of the outer elements, not their edges
  int dims = 2;          // of the images: 2 or 3
  int64_t batch = 0, channels = 0, positions = 0;
  int64_t size[3] = {1, 1, 1};  // of an image: the last `dims` count
  int64_t pixels() const { return size[0] * size[1] * size[2]; }
};

// x is (batch, channels, pixels), grid (batch, positions, dims) with the place along the last dimension first, y and g
// (batch, channels, positions). float and double.
struct GridKernels {
  void (*read)(DType type, const GridPlan& p, const void* x, const void* grid, void* y);
  void (*back_input)(DType type, const GridPlan& p, const void* g, const void* grid, void* dx);
  void (*back_grid)(DType type, const GridPlan& p, const void* g, const void* x, const void* grid, void* dgrid);
};

WEFT_DECLARE_KERNELS(GridKernels, grid_kernels)

}  // namespace weft
