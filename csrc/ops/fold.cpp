// Windows of images as columns (im2col), and columns added up into images (col2im): each is the other's adjoint.
#include "loops/fold.h"

#include <limits>

#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef unfold_windows{"unfold_windows"}, fold_windows{"fold_windows"};

// One number for both dimensions, or one for each.
void read_pair(Call& c, const char* name, const char* what, int i, int64_t least, int64_t* to) {
  const Dims& given = c.ints(i);
  if (given.size() != 1 && given.size() != 2)
    fail(name, ": ", what, " must be an int or a tuple of 2 ints, got ", given);
  for (int d = 0; d < 2; ++d) {
    to[d] = given[given.size() == 2 ? d : 0];
    if (to[d] < least || to[d] > std::numeric_limits<int32_t>::max())
      fail(name, ": ", what, " should be at least ", least, ", but got ", given);
  }
}

// The arguments from `at` on: kernel, dilation, padding, stride. Windows that do not fit are negative or none.
FoldPlan plan_of(Call& c, const char* name, int at, int64_t height, int64_t width) {
  FoldPlan p;
  p.size[0] = height, p.size[1] = width;
  read_pair(c, name, "kernel", at, 1, p.kernel), read_pair(c, name, "dilation", at + 1, 1, p.dilation);
  read_pair(c, name, "padding", at + 2, 0, p.pad), read_pair(c, name, "stride", at + 3, 1, p.stride);
  for (int d = 0; d < 2; ++d) {
    int64_t room = p.size[d] + 2 * p.pad[d] - p.dilation[d] * (p.kernel[d] - 1) - 1;
    p.windows[d] = room < 0 ? 0 : room / p.stride[d] + 1;
  }
  return p;
}

FoldPlan unfold_plan(Call& c) {
  const Tensor& x = c.tensor(0);
  int n = x.dim();
  if ((n != 3 && n != 4) || x.size(-1) == 0 || x.size(-2) == 0 || x.size(-3) == 0)
    fail("unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for ",
         "input, but got: ", x.sizes());
  FoldPlan p = plan_of(c, "unfold", 1, x.size(-2), x.size(-1));
  if (p.windows[0] < 1 || p.windows[1] < 1)
    fail("unfold: Given input with spatial size ", Dims{x.size(-2), x.size(-1)}, ", kernel_size=", c.ints(1),
         ", dilation=", c.ints(2), ", padding=", c.ints(3), ", stride=", c.ints(4),
         ", calculated shape of the array of sliding blocks as ", Dims{p.windows[0], p.windows[1]},
         ", but its components must be at least one.");
  p.planes = numel_of(Dims(x.sizes().data(), n - 2));
  return p;
}

FoldPlan fold_plan(Call& c) {
  const Tensor& x = c.tensor(0);
  int n = x.dim();
  if ((n != 2 && n != 3) || x.size(-1) == 0 || x.size(-2) == 0)
    fail(
        "fold: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for ",
        "input, but got: ", x.sizes());
  int64_t size[2];
  read_pair(c, "fold", "output_size", 1, 0, size);
  FoldPlan p = plan_of(c, "fold", 2, size[0], size[1]);
  Size area = p.kernel[0];
  area *= p.kernel[1];
  if (x.size(-2) % int64_t(area))
    fail("fold: Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got ",
         "input.size(1)=", x.size(-2), " and kernel_size=", c.ints(2), ".");
  Size windows = p.windows[0];
  windows *= p.windows[1];
  if (windows < 1 || windows != x.size(-1))
    fail("fold: Given output_size=", c.ints(1), ", kernel_size=", c.ints(2), ", dilation=", c.ints(3),
         ", padding=", c.ints(4), ", stride=", c.ints(5),
         ", expected size of input's dimension 2 to match the calculated number of sliding blocks ",
         Dims{p.windows[0], p.windows[1]}, ", but got input.size(2)=", x.size(-1), ".");
  p.planes = (n == 3 ? x.size(0) : 1) * (x.size(-2) / int64_t(area));
  return p;
}

WEFT_OP{
  .signature = "unfold_windows(Tensor input, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
  .doc = "The windows of images as columns.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        FoldPlan p = unfold_plan(c);
        Size rows = x.size(-3), windows = p.windows[0];
        rows *= p.kernel[0], rows *= p.kernel[1], windows *= p.windows[1];
        c.give(0, meta(x.dtype(), x.dim() == 4 ? Dims{x.size(0), rows, windows} : Dims{rows, windows}));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        LaidOut x(c.tensor(0), c.tensor(0).dtype());
        fold_kernels().unfold(item_size(c.tensor(0).dtype()), unfold_plan(c), x.data(), c.out[0].data());
      },
  .back =
      [](Grad& d) {
        const Dims& s = d.shape(0);
        d.give(0, fold_windows(d.g(), Dims{s[s.size() - 2], s[s.size() - 1]}, d.arg(1), d.arg(2), d.arg(3), d.arg(4)));
      },
};

WEFT_OP{
  .signature =
      "fold_windows(Tensor input, int[] size, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
  .doc = "Columns added up into images of the given size, where their windows overlap.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        FoldPlan p = fold_plan(c);
        int64_t channels = x.size(-2) / (p.kernel[0] * p.kernel[1]);
        if (x.dtype() == DType::Bool) fail_missing("fold: not implemented for '", name_of(x.dtype()), "'");
        c.give(0, meta(x.dtype(), x.dim() == 3 ? Dims{x.size(0), channels, p.size[0], p.size[1]}
                                               : Dims{channels, p.size[0], p.size[1]}));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        DType type = work_type(c.tensor(0).dtype());
        LaidOut x(c.tensor(0), type);
        Written y(c.out[0], type);
        fold_kernels().fold(type, fold_plan(c), x.data(), y.data());
      },
  .back = [](Grad& d) { d.give(0, unfold_windows(d.g(), d.arg(2), d.arg(3), d.arg(4), d.arg(5))); },
};

}  // namespace
}  // namespace weft
