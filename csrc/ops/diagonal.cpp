// Diagonals, blocks along them, and copies with one part replaced.
#include <algorithm>

#include "loops/copy.h"
#include "ops/api.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef diagonal{"diagonal"}, diag_embed{"diag_embed"};

WEFT_OP{
  .signature = "diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
  .doc = R"(Matrices in dim1 and dim2 that have the last dimension of input on a diagonal, zeros elsewhere.

>>> weft.diag_embed(weft.tensor([1, 2]))
tensor([[1, 0],
        [0, 2]]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        static const OpRef on_diagonal{"diagonal_backward"};
        const Tensor& x = c.tensor(0);
        if (x.dim() == 0) fail("diag_embed: the input must have at least one dimension");
        int n = x.dim() + 1, a = wrap_dim(c.integer(2), n, "diag_embed"), b = wrap_dim(c.integer(3), n, "diag_embed");
        if (a == b) fail("diag_embed: diagonal dimensions cannot be identical ", c.integer(2), ", ", c.integer(3));
        Size offset = c.integer(1), side = x.size(-1) + (offset < 0 ? -offset : offset);
        Dims sizes = x.sizes();
        sizes.pop();
        sizes.insert(std::min(a, b), side);
        sizes.insert(std::max(a, b), side);
        c.give(0, on_diagonal(x, sizes, offset, a, b));
      },
};

WEFT_OP{
  .signature = "diag(Tensor input, int diagonal=0) -> Tensor",
  .doc = R"(The diagonal of a matrix, or the matrix with a vector on its diagonal.

>>> weft.diag(weft.tensor([1, 2]))
tensor([[1, 0],
        [0, 2]]))",
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dim() != 1 && x.dim() != 2) fail("diag(): Supports 1D or 2D tensors. Got ", x.dim(), "D");
        c.give(0, x.dim() == 1 ? diag_embed(x, c.arg(1)) : clone_of(diagonal(x, c.arg(1))));
      },
};

WEFT_OP{
  .signature = "diagflat(Tensor input, int offset=0) -> Tensor",
  .doc = R"(A matrix with all elements of input on its diagonal.

>>> weft.diagflat(weft.tensor([[1], [2]]))
tensor([[1, 0],
        [0, 2]]))",
  .traits = kNoOut,
  .compose = [](Call& c) { c.give(0, diag_embed(reshape(c.tensor(0), Dims{-1}), c.arg(1))); },
};

WEFT_OP{
  .signature = "trace(Tensor input) -> Tensor",
  .doc = R"(The sum of the diagonal of a matrix.

>>> weft.trace(weft.tensor([[1., 2.], [3., 4.]]))
tensor(5.))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        if (c.tensor(0).dim() != 2) fail("trace: expected a matrix, but got tensor with dim ", c.tensor(0).dim());
        c.give(0, sum_all(diagonal(c.tensor(0))));
      },
};

// ---- a copy with the part that a view shows replaced

// `part` is that view of x, which lies in order.
Tensor replace_part(const Tensor& x, const Tensor& part, const Tensor& src, const char* op) {
  if (!(src.sizes() == part.sizes()))
    fail(op, ": expected src to have a size equal to the slice of self. src size = ", src.sizes(),
         ", slice size = ", part.sizes());
  return replace_strided(x, to_dtype(src, x.dtype()), part.sizes(), part.strides(), part->offset - x->offset);
}

// The input in order, and the view of it that `show` makes; only the geometry of the view counts.
template <class F>
void compose_replacement(Call& c, const F& show) {
  Tensor x = contiguous_of(c.tensor(0)), part;
  {
    GradMode off(false);
    part = show(x);
  }
  c.give(0, replace_part(x, part, c.tensor(1), c.name()));
}

WEFT_OP{
  .signature = "select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor",
  .doc = R"(A copy of input with src as its slice at index along dim.

>>> weft.select_scatter(weft.zeros(2, 2), weft.ones(2), 0, 1)
tensor([[0., 0.],
        [1., 1.]]))",
  .compose = [](Call& c) { compose_replacement(c, [&](const Tensor& x) { return select(x, c.arg(2), c.arg(3)); }); },
};

WEFT_OP{
  .signature =
      "slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
  .doc = R"(A copy of input with src as its slice from start to end along dim.

>>> weft.slice_scatter(weft.zeros(3), weft.ones(2), 0, 1)
tensor([0., 1., 1.]))",
  .compose =
      [](Call& c) {
        compose_replacement(c, [&](const Tensor& x) { return slice(x, c.arg(2), c.arg(3), c.arg(4), c.arg(5)); });
      },
};

WEFT_OP{
  .signature = "diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
  .doc = R"(A copy of input with src on the diagonal of two dimensions.

>>> weft.diagonal_scatter(weft.zeros(2, 2), weft.ones(2))
tensor([[1., 0.],
        [0., 1.]]))",
  .compose =
      [](Call& c) {
        compose_replacement(c, [&](const Tensor& x) { return diagonal(x, c.arg(2), c.arg(3), c.arg(4)); });
      },
};

WEFT_OP{
  .signature = "block_diagonal(Tensor[] tensors, int[] rows, int[] columns) -> Tensor",
  .doc = "Matrices of these sizes along the diagonal of one, zeros elsewhere.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const TensorList& list = c.tensors(0);
        if (list.empty()) refuse(c, 0, "have a tensor");
        Size rows = 0, columns = 0;
        DType type = list[0].dtype();
        for (int i = 0; i < int(list.size()); ++i) {
          const Tensor& x = list[size_t(i)];
          if (x.dim() != 2) refuse(c, 0, "be matrices");
          for (int d : {0, 1})
            if (c.ints(1 + d).size() != int(list.size()) || c.ints(1 + d)[i] != x.size(d))
              refuse(c, 1 + d, "be the sizes of the matrices");
          type = promote(type, x.dtype());
          rows = rows + x.size(0), columns = columns + x.size(1);
        }
        c.give(0, meta(type, Dims{rows, columns}));
      },
  .run =
      [](Call& c) {
        const Tensor& y = c.out[0];
        const int64_t item = item_size(y.dtype()), width = y.size(1) * item;
        int64_t top = 0, left = 0;
        for (const Tensor& x : c.tensors(0)) {
          const int64_t own = x.size(1) * item, right = left + own;
          char* first = y.data() + top * width;
          for (int64_t i = 0; i < x.size(0); ++i) {
            if (left) std::memset(first + i * width, 0, size_t(left));
            if (right < width) std::memset(first + i * width + right, 0, size_t(width - right));
          }
          const Dims strides{y.size(1), 1};
          if (x.numel())
            copy_kernels().copy(y.dtype(), first + left, strides.data(), x.dtype(), x.data(), x.strides().data(),
                                x.sizes().data(), 2);
          top += x.size(0), left = right;
        }
      },
  .back =
      [](Grad& d) {
        Size top = 0, left = 0;
        const Dims &rows = d.arg(1).ints(), &columns = d.arg(2).ints();
        for (int i = 0; i < rows.size(); ++i) {
          const Size bottom = top + rows[i], right = left + columns[i];
          if (d.needs(i)) d.give(i, slice(slice(d.g(), int64_t(0), top, bottom), int64_t(1), left, right));
          top = bottom, left = right;
        }
      },
};

}  // namespace
}  // namespace weft
