// Images read at places of a grid. weft.nn.functional names it.
#include "loops/grid.h"

#include <limits>

#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef grid_back{"grid_read_backward"}, grid_back_recorded{"_grid_sample_backward"};

// `at`: the arguments image, grid, mode, padding mode, corners begin there.
GridPlan plan_of(Call& c, int at) {
  constexpr const char* name = "grid_sample";
  const Tensor &x = c.tensor(at), &grid = c.tensor(at + 1);
  const std::string &mode = c.text(at + 2), &outside = c.text(at + 3);
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
    fail_value(name, ": expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '", mode, "'");
  if (outside != "zeros" && outside != "border" && outside != "reflection")
    fail_value(name, ": expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '", outside, "'");
  const int n = x.dim() - 2;
  if (n < 2 || n > 3 || grid.dim() != x.dim())
    fail(name, ": expected 4D or 5D input and grid with same number of dimensions, but got input with sizes ",
         x.sizes(), " and grid with sizes ", grid.sizes());
  if (x.size(0) != grid.size(0))
    fail(name, ": expected grid and input to have same batch size, but got input with sizes ", x.sizes(),
         " and grid with sizes ", grid.sizes());
  if (grid.size(-1) != n)
    fail(name, ": expected grid to have size ", n, " in last dimension, but got grid with sizes ", grid.sizes());
  if (x.dtype() != grid.dtype())
    fail(name, ": expected input and grid to have same dtype, but input has ", name_of(x.dtype()), " and grid has ",
         name_of(grid.dtype()));
  if (!is_floating(x.dtype())) fail_missing(name, ": not implemented for '", name_of(x.dtype()), "'");
  if (mode == "bicubic" && n != 2) fail(name, ": bicubic interpolation only supports 4D input");
  GridPlan p;
  p.mode = mode == "bilinear" ? GridPlan::linear : mode == "nearest" ? GridPlan::nearest : GridPlan::cubic;
  p.outside = outside == "zeros" ? GridPlan::zeros : outside == "border" ? GridPlan::border : GridPlan::reflection;
  p.corners = c.flag(at + 4);
  p.dims = n;
  p.batch = x.size(0), p.channels = x.size(1);
  Size pixels = 1;
  p.positions = 1;
  for (int i = 0; i < n; ++i) {
    if (x.size(2 + i) < 1) fail(name, ": expected input to have non-empty spatial dimensions, got ", x.sizes());
    p.size[3 - n + i] = x.size(2 + i);
    pixels *= x.size(2 + i), p.positions *= grid.size(1 + i);
  }
  if (pixels > std::numeric_limits<int32_t>::max())
    fail(name, ": images of more than 2^31 elements, got shape ", x.sizes());
  return p;
}

Dims read_sizes(const Tensor& x, const Tensor& grid) {
  Dims sizes{x.size(0), x.size(1)};
  for (int i = 1; i + 1 < grid.dim(); ++i) sizes.push(grid.size(i));
  return sizes;
}

WEFT_OP{
  .signature = "grid_read(Tensor input, Tensor grid, str mode, str padding_mode, bool align_corners) -> Tensor",
  .doc = "The elements of images at the places of a grid.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        plan_of(c, 0);
        c.give(0, meta(c.tensor(0).dtype(), read_sizes(c.tensor(0), c.tensor(1))));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        GridPlan p = plan_of(c, 0);
        DType type = work_type(c.tensor(0).dtype());
        LaidOut x(c.tensor(0), type), grid(c.tensor(1), type);
        Written y(c.out[0], type);
        grid_kernels().read(type, p, x.data(), grid.data(), y.data());
      },
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        bool moves = d.needs(1) && d.arg(2).text() != "nearest";
        if (d.needs(1) && !moves) d.give(1, zeros_like(d.x(1)));
        if (!d.needs(0) && !moves) return;
        TensorList got;
        if (d.create_graph) {  // in NumPy's types
          DType type = work_type(d.g().dtype());
          got = grid_back_recorded.list(to_dtype(d.g(), type), to_dtype(d.x(0), type), to_dtype(d.x(1), type), d.arg(2),
                                        d.arg(3), d.arg(4));
        } else {
          got = grid_back.list(d.g(), d.x(0), d.x(1), d.arg(2), d.arg(3), d.arg(4), d.needs(0), moves);
        }
        if (d.needs(0)) d.give(0, got[0]);
        if (moves) d.give(1, got[1]);
      },
};

WEFT_OP{
  .signature =
      "grid_read_backward(Tensor grad, Tensor input, Tensor grid, str mode, str padding_mode, bool align_corners, bool "
      "of_input, bool of_grid) -> (Tensor input_grad, Tensor grid_grad)",
  .doc = "The derivatives of grid_read; zeros for what is not asked for.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        plan_of(c, 1);
        expect_shape(c, 0, read_sizes(c.tensor(1), c.tensor(2)));
        expect_dtype(c, 0, c.tensor(1).dtype());
        c.give(0, meta(c.tensor(1).dtype(), c.flag(6) ? c.tensor(1).sizes() : Dims{0}));
        c.give(1, meta(c.tensor(1).dtype(), c.flag(7) ? c.tensor(2).sizes() : Dims{0}));
      },
  .run =
      [](Call& c) {
        GridPlan p = plan_of(c, 1);
        DType type = work_type(c.tensor(1).dtype());
        LaidOut g(c.tensor(0), type), x(c.tensor(1), type), grid(c.tensor(2), type);
        if (c.flag(6) && c.out[0].numel()) {
          Written dx(c.out[0], type);
          grid_kernels().back_input(type, p, g.data(), grid.data(), dx.data());
        }
        if (c.flag(7) && c.out[1].numel()) {
          Written dgrid(c.out[1], type);
          grid_kernels().back_grid(type, p, g.data(), x.data(), grid.data(), dgrid.data());
        }
      },
  .no_derivative = "_grid_sample_backward is called where one is needed",
};

}  // namespace
}  // namespace weft
