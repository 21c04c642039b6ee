// Sums, which every broadcast gradient needs.
#include <algorithm>

#include "loops/reduce.h"
#include "ops/api.h"

namespace weft {
namespace {

DType sum_dtype(Call& c, int at) {
  DType t = c.tensor(0).dtype();
  return c.dtype_or(at, is_integral(t) ? DType::Int64 : t);
}

void run_sum(const Tensor& x, const Dims& dims, const Tensor& out) {
  Dims ks, kt, rs, rt;
  for (int i = 0; i < x.dim(); ++i) {
    bool reduced = false;
    for (int64_t d : dims) reduced = reduced || d == i;
    (reduced ? rs : ks).push(x.size(i));
    (reduced ? rt : kt).push(x.stride(i));
  }
  reduce(Reduce::sum, x.dtype(), x.data(), {ks.size(), ks.data(), kt.data()}, {rs.size(), rs.data(), rt.data()}, out.data());
}

Dims all_dims(const Tensor& x) {
  Dims d;
  for (int i = 0; i < x.dim(); ++i) d.push(i);
  return d;
}

Dims wrapped(const Dims& dims, int n) {
  if (dims.empty()) { Dims d; for (int i = 0; i < n; ++i) d.push(i); return d; }
  Dims out;
  if (n == 0) return out;
  for (int64_t d : dims) out.push(wrap_dim(d, n, "sum"));
  return out;
}

WEFT_OP {
  .signature = "sum_plain(Tensor input, int[] dim, bool keepdim) -> Tensor",
  .doc = "The sum over dim.",
  .traits = kHidden,
  .infer = [](Call& c) {
    const Tensor& x = c.tensor(0);
    Dims dims = wrapped(c.ints(1), x.dim()), sizes;
    for (int i = 0; i < x.dim(); ++i) {
      bool reduced = std::find(dims.begin(), dims.end(), i) != dims.end();
      if (!reduced) sizes.push(x.size(i));
      else if (c.flag(2)) sizes.push(1);
    }
    c.give(0, meta(is_integral(x.dtype()) ? DType::Int64 : x.dtype(), sizes));
  },
  .run = [](Call& c) { run_sum(c.tensor(0), wrapped(c.ints(1), c.tensor(0).dim()), c.out[0]); },
  .back = [](Grad& d) {
    Tensor g = d.g();
    const Dims& shape = d.shape(0);
    if (!d.arg(2).flag()) {
      Dims sizes = shape;
      for (int64_t i : wrapped(d.arg(1).ints(), shape.size())) sizes[int(i)] = 1;
      g = view(g, sizes);
    }
    d.give(0, expand(g, shape));
  },
};

const OpRef plain{"sum_plain"};

WEFT_OP {
  .signature = "sum(Tensor input, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The sum of all elements, or over dim.

>>> weft.ones(2, 3).sum()
tensor(6.))",
  .compose = [](Call& c) { c.give(0, plain(to_dtype(c.tensor(0), sum_dtype(c, 1)), all_dims(c.tensor(0)), false)); },
};

WEFT_OP {
  .signature = "sum.dim(Tensor input, int[]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
  .doc = "The sum over dim.",
  .compose = [](Call& c) {
    const Tensor& x = c.tensor(0);
    c.give(0, plain(to_dtype(x, sum_dtype(c, 3)), c.has(1) ? wrapped(c.ints(1), x.dim()) : all_dims(x), c.flag(2)));
  },
};

}  // namespace
}  // namespace weft
