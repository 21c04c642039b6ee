// Dimensions joined, split and moved: made of views.
#include "ops/api.h"
#include "ops/rules.h"

namespace weft {
namespace {

Dims one_for(const Dims& sizes, int from, int to, const Dims& others) {  // `others` for the sizes [from, to)
  Dims made;
  for (int i = 0; i < from; ++i) made.push(sizes[i]);
  for (int i = 0; i < others.size(); ++i) made.push(others[i]);
  for (int i = to; i < sizes.size(); ++i) made.push(sizes[i]);
  return made;
}

WEFT_OP{
  .signature = "flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor",
  .doc = R"(The dimensions from start_dim to end_dim joined into one.

>>> weft.ones(2, 3).flatten().shape
torch.Size([6]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int start = wrap_dim(c.integer(1), x.dim(), "flatten"), end = wrap_dim(c.integer(2), x.dim(), "flatten");
        if (start > end) fail("flatten: start_dim (", c.integer(1), ") cannot come after end_dim (", c.integer(2), ")");
        if (x.dim() == 0) return c.give(0, reshape(x, Dims{1}));
        if (start == end) return c.give(0, x);
        int64_t joined = 1;
        for (int d = start; d <= end; ++d) joined *= x.size(d);
        c.give(0, reshape(x, one_for(x.sizes(), start, end + 1, Dims{joined})));
      },
};

WEFT_OP{
  .signature = "ravel(Tensor input) -> Tensor",
  .doc = R"(All dimensions joined into one.

>>> weft.ones(2, 3).ravel().shape
torch.Size([6]))",
  .traits = kNoOut,
  .compose = [](Call& c) { c.give(0, reshape(c.tensor(0), Dims{c.tensor(0).numel()})); },
};

WEFT_OP{
  .signature = "unflatten(Tensor input, int dim, int[] sizes) -> Tensor",
  .doc = R"(Dimension dim split into sizes, of which one may be -1.

>>> weft.ones(6).unflatten(0, (2, 3)).shape
torch.Size([2, 3]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int d = wrap_dim(c.integer(1), x.dim(), "unflatten");
        Dims sizes = c.ints(2);
        if (!sizes.size()) fail("unflatten: sizes must be non-empty");
        if (x.dim() == 0) fail_index("unflatten: a tensor without dimensions has none to split");
        Size known = 1;
        int unknown = -1;
        for (int i = 0; i < sizes.size(); ++i) {
          if (sizes[i] != -1)
            known *= sizes[i];
          else if (unknown >= 0)
            fail("unflatten: only one dimension can be inferred, got sizes ", sizes);
          else
            unknown = i;
        }
        if (unknown >= 0 && known > 0 && x.size(d) % known == 0)
          sizes[unknown] = x.size(d) / known;
        else if (unknown >= 0 || known != x.size(d))
          fail("unflatten: Provided sizes ", sizes, " don't multiply up to the size of dim ", c.integer(1), " (",
               x.size(d), ")");
        c.give(0, view(x, one_for(x.sizes(), d, d + 1, sizes)));
      },
};

WEFT_OP{
  .signature = "movedim(Tensor input, int[] source, int[] destination) -> Tensor",
  .doc = R"(Dimensions at other places; the rest keep their order.

>>> weft.ones(2, 3, 4).movedim(0, -1).shape
torch.Size([3, 4, 2]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        const Dims &from = c.ints(1), &to = c.ints(2);
        if (from.size() != to.size())
          fail("movedim: Invalid source or destination dims: source (", from,
               " dims) should contain the same number of dims as destination (", to, " dims)");
        Dims order(x.dim(), -1);
        uint64_t moved = 0;
        for (int i = 0; i < from.size(); ++i) {
          int at = wrap_dim(from[i], x.dim(), "movedim"), place = wrap_dim(to[i], x.dim(), "movedim");
          if (x.dim() == 0) return c.give(0, view(x, Dims{}));
          if (moved >> at & 1) fail("movedim: repeated dim in `source` (", from, ")");
          if (order[place] >= 0) fail("movedim: repeated dim in `destination` (", to, ")");
          moved |= uint64_t(1) << at;
          order[place] = at;
        }
        for (int i = 0, rest = 0; i < x.dim(); ++i) {
          if (order[i] >= 0) continue;
          while (moved >> rest & 1) ++rest;
          order[i] = rest++;
        }
        c.give(0, permute(x, order));
      },
  .aliases = "moveaxis",
};

}  // namespace
}  // namespace weft
