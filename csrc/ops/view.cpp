// Views: new sizes and strides on the same memory.
#include <algorithm>

#include "core/interpreter.h"
#include "ops/order.h"
#include "ops/strided.h"

namespace weft {

// The strides with which `sizes` can be seen in x's memory; false where a copy is needed.
bool view_strides(const Tensor& x, const Dims& sizes, Dims* strides) {
  if (x.numel() == 0) {
    *strides = x.sizes() == sizes ? x.strides() : contiguous_strides(sizes);
    return true;
  }
  strides->resize(sizes.size());
  int d = sizes.size() - 1;
  Size chunk = 1, wanted = 1;
  int64_t base = x.dim() ? x.stride(x.dim() - 1) : 1;
  for (int i = x.dim() - 1; i >= 0; --i) {
    chunk *= x.size(i);
    bool last_of_run = i == 0 || (x.size(i - 1) != 1 && x.stride(i - 1) != chunk * base);
    if (!last_of_run) continue;
    while (d >= 0 && (wanted < chunk || sizes[d] == 1)) {
      (*strides)[d] = wanted * base;
      wanted *= sizes[d--];
    }
    if (wanted != chunk) return false;
    if (i > 0) {
      base = x.stride(i - 1);
      chunk = wanted = 1;
    }
  }
  for (; d >= 0; --d) (*strides)[d] = 1;  // only ones are left
  return d < 0;
}

Dims infer_sizes(const Dims& asked, int64_t numel, const char* op) {
  Dims sizes = asked;
  int unknown = -1;
  Size known = 1;
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (unknown >= 0) fail(op, ": only one dimension can be inferred, got shape ", asked);
      unknown = i;
    } else if (sizes[i] < 0) {
      fail(op, ": invalid shape dimension ", sizes[i], " in ", asked);
    } else {
      known *= sizes[i];
    }
  }
  if (unknown >= 0) {
    if (known == 0)
      fail(op, ": cannot reshape tensor of ", numel, " elements into shape ", asked,
           " because the unspecified dimension size -1 can be any value and is ambiguous");
    if (numel % known) fail(op, ": shape '", asked, "' is invalid for input of size ", numel);
    sizes[unknown] = numel / known;
  } else if (known != numel) {
    fail(op, ": shape '", asked, "' is invalid for input of size ", numel);
  }
  return sizes;
}

namespace {

void back_to_shape(Grad& d) { d.give(0, reshape(d.g(), d.shape(0))); }

Dims wrapped_dims(const Dims& dims, int n, const char* op) {
  Dims out;
  std::vector<bool> seen(size_t(std::max(n, 1)));
  for (int64_t d : dims) {
    int w = wrap_dim(d, n, op);
    if (seen[size_t(w)]) fail(op, ": dim ", w, " appears multiple times in the list of dims ", dims);
    seen[size_t(w)] = true;
    out.push(w);
  }
  return out;
}

WEFT_OP{
  .signature = "view(Tensor input, int... size) -> Tensor",
  .doc = R"(The same elements seen in another shape, without a copy.

>>> weft.arange(4).view(2, 2)
tensor([[0, 1],
        [2, 3]]))",
  .traits = kView | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Dims sizes = infer_sizes(c.ints(1), x.numel(), "view"), strides;
        if (!view_strides(x, sizes, &strides))
          fail(
              "view: view size is not compatible with input tensor's size and stride (at least one dimension spans "
              "across two "
              "contiguous subspaces). Use .reshape(...) instead. Got size ",
              x.sizes(), ", strides ", x.strides(), ", asked for ", sizes);
        give_view(c, sizes, strides, x->offset);
      },
  .back = back_to_shape,
};

WEFT_OP{
  .signature = "reshape(Tensor input, int... shape) -> Tensor",
  .doc = R"(The same elements in another shape: a view where possible, else a copy.

>>> weft.arange(4).reshape(2, -1)
tensor([[0, 1],
        [2, 3]]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Dims sizes = infer_sizes(c.ints(1), x.numel(), "reshape"), strides;
        if (view_strides(x, sizes, &strides)) return c.give(0, view(x, sizes));
        c.give(0, view(contiguous(x), sizes));
      },
};

WEFT_OP{
  .signature = "contiguous(Tensor input, object? memory_format=None) -> Tensor",
  .doc = R"(input itself if its elements lie in order, or in that of memory_format, else a copy that does.

>>> weft.ones(2, 3).t().contiguous().stride()
(2, 1)
>>> weft.ones(1, 2, 2, 2).contiguous(memory_format=weft.channels_last).stride()
(8, 1, 4, 2))",
  .traits = kNoFunction | kNoOut,
  .compose =
      [](Call& c) {
        static const OpRef contiguous_copy{"contiguous_copy"};
        if (c.has(1)) return c.give(0, interpreter::in_format(c.tensor(0), c.arg(1).object()));
        c.give(0, c.tensor(0).contiguous() ? c.tensor(0) : contiguous_copy(c.tensor(0)));
      },
};

WEFT_OP{
  .signature = "contiguous_copy(Tensor input) -> Tensor",
  .doc = "A copy whose elements lie in order.",
  .traits = kHidden,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes())); },
  .run = [](Call& c) { copy_data(c.out[0], c.tensor(0)); },
  .back = [](Grad& d) { d.give(0, d.g()); },
};

WEFT_OP{
  .signature = "permute(Tensor input, int... dims) -> Tensor",
  .doc = R"(The dimensions in another order.

>>> weft.ones(2, 3, 4).permute(2, 0, 1).shape
torch.Size([4, 2, 3]))",
  .traits = kView | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (c.ints(1).size() != x.dim())
          fail("permute: number of dimensions in the tensor input (", x.dim(),
               ") does not match the length of the desired ordering ", c.ints(1));
        Dims order = wrapped_dims(c.ints(1), x.dim(), "permute"), sizes(x.dim()), strides(x.dim());
        for (int i = 0; i < x.dim(); ++i) {
          sizes[i] = x.size(int(order[i]));
          strides[i] = x.stride(int(order[i]));
        }
        give_view(c, sizes, strides, x->offset);
      },
  .back =
      [](Grad& d) {
        const Dims& dims = d.arg(1).ints();
        Dims inverse(dims.size());
        for (int i = 0; i < dims.size(); ++i) inverse[int(dims[i] < 0 ? dims[i] + dims.size() : dims[i])] = i;
        d.give(0, permute(d.g(), inverse));
      },
};

WEFT_OP{
  .signature = "transpose(Tensor input, int dim0, int dim1) -> Tensor",
  .doc = R"(Two dimensions swapped.

>>> weft.ones(2, 3).transpose(0, 1).shape
torch.Size([3, 2]))",
  .traits = kView | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int a = wrap_dim(c.integer(1), x.dim(), "transpose"), b = wrap_dim(c.integer(2), x.dim(), "transpose");
        Dims sizes = x.sizes(), strides = x.strides();
        if (x.dim()) {
          std::swap(sizes[a], sizes[b]);
          std::swap(strides[a], strides[b]);
        }
        give_view(c, sizes, strides, x->offset);
      },
  .back = [](Grad& d) { d.give(0, transpose(d.g(), d.arg(1).integer(), d.arg(2).integer())); },
  .aliases = "swapaxes, swapdims",
};

WEFT_OP{
  .signature = "t(Tensor input) -> Tensor",
  .doc = R"(A matrix transposed; vectors and single elements stay as they are.

>>> weft.ones(2, 3).t().shape
torch.Size([3, 2]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dim() > 2) fail("t() expects a tensor with <= 2 dimensions, but self is ", x.dim(), "D");
        c.give(0, transpose(x, 0, x.dim() < 2 ? 0 : 1));
      },
};

WEFT_OP{
  .signature = "expand(Tensor input, int... size, *, bool implicit=False) -> Tensor",
  .doc = R"(Dimensions of size one repeated without a copy; -1 leaves a size as it is.

>>> weft.tensor([[1], [2]]).expand(2, 3)
tensor([[1, 1, 1],
        [2, 2, 2]]))",
  .traits = kView | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Dims sizes = c.ints(1), strides(sizes.size());
        int shift = sizes.size() - x.dim();
        if (shift < 0)
          fail("expand: the number of sizes provided (", sizes.size(),
               ") must be greater or equal to the number of dimensions in the tensor (", x.dim(), ")");
        for (int i = 0; i < sizes.size(); ++i) {
          int64_t have = i < shift ? 1 : x.size(i - shift);
          if (sizes[i] == -1 && i >= shift) sizes[i] = have;
          if (sizes[i] < 0)
            fail("expand: the expanded size (", sizes[i], ") isn't allowed in the leading, non-existing dimension ", i);
          if (have != 1 && have != sizes[i])
            fail("expand: The expanded size of the tensor (", sizes[i], ") must match the existing size (", have,
                 ") at non-singleton dimension ", i, ". Target sizes: ", c.ints(1), ". Tensor sizes: ", x.sizes());
          bool repeats = i < shift || (have == 1 && sizes[i] != 1);
          strides[i] = repeats ? 0 : x.stride(i - shift);
        }
        give_view(c, sizes, strides, x->offset);
      },
  .back = [](Grad& d) { d.give(0, d.g()); },
};

WEFT_OP{
  .signature = "squeeze(Tensor input) -> Tensor",
  .doc = R"(Without the dimensions of size one (or those among dim).

>>> weft.ones(1, 2, 1).squeeze().shape
torch.Size([2]))",
  .traits = kView | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Dims sizes, strides;
        for (int i = 0; i < x.dim(); ++i) {
          if (x.size(i) == 1) continue;
          sizes.push(x.size(i));
          strides.push(x.stride(i));
        }
        give_view(c, sizes, strides, x->offset);
      },
  .back = back_to_shape,
};

WEFT_OP{
  .signature = "squeeze.dim(Tensor input, int[] dim) -> Tensor",
  .doc = "Without the dimensions among dim that have size one.",
  .traits = kView | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Dims dims = wrapped_dims(c.ints(1), x.dim(), "squeeze"), sizes, strides;
        for (int i = 0; i < x.dim(); ++i) {
          if (x.size(i) == 1 && std::find(dims.begin(), dims.end(), i) != dims.end()) continue;
          sizes.push(x.size(i));
          strides.push(x.stride(i));
        }
        give_view(c, sizes, strides, x->offset);
      },
  .back = back_to_shape,
};

WEFT_OP{
  .signature = "unsqueeze(Tensor input, int dim) -> Tensor",
  .doc = R"(With a new dimension of size one at dim.

>>> weft.ones(2).unsqueeze(0).shape
torch.Size([1, 2]))",
  .traits = kView | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int at = wrap_dim(c.integer(1), x.dim() + 1, "unsqueeze");
        Dims sizes = x.sizes(), strides = x.strides();
        strides.insert(at, at < x.dim() ? sizes[at] * strides[at] : 1);
        sizes.insert(at, 1);
        give_view(c, sizes, strides, x->offset);
      },
  .back = back_to_shape,
};

// What select and slice show of a tensor; their numbers are the arguments from `at` on.
struct Selected : Place {
  // Inlined, since x[i] takes a tenth longer otherwise.
  [[gnu::always_inline]] Selected(Call& c, const Dims& of_sizes, const Dims& of_strides, int at)
      : Place{of_sizes, of_strides} {
    if (sizes.empty()) fail_index("select: cannot be applied to a 0-dim tensor.");
    int dim = wrap_dim(c.integer(at), sizes.size(), "select");
    Size i = c.integer(at + 1), n = sizes[dim];
    if (i < -n || i >= n) fail_index("select: index ", i, " is out of bounds for dimension ", dim, " with size ", n);
    offset = (i < 0 ? i + n : i) * strides[dim];
    sizes.erase(dim);
    strides.erase(dim);
  }
};

struct Sliced : Place {
  Sliced(Call& c, const Dims& of_sizes, const Dims& of_strides, int at) : Place{of_sizes, of_strides} {
    if (sizes.empty()) fail("slice: cannot be applied to a 0-dim tensor.");
    int dim = wrap_dim(c.integer(at), sizes.size(), "slice");
    Size n = sizes[dim], step = c.integer(at + 3), start = c.has(at + 1) ? c.integer(at + 1) : Size(0),
         end = c.has(at + 2) ? c.integer(at + 2) : n;
    if (step <= 0) fail_value("slice: step must be greater than zero, got ", step);
    start = std::clamp<int64_t>(start < 0 ? start + n : start, 0, n);
    end = std::clamp<int64_t>(end < 0 ? end + n : end, start, n);
    sizes[dim] = (end - start) / step + ((end - start) % step != 0);
    offset = sizes[dim] ? start * strides[dim] : Size(0);
    if (sizes[dim] > 1) strides[dim] = Size(strides[dim]) * step;
  }
};

WEFT_OP{
  .signature = "select(Tensor input, int dim, int index) -> Tensor",
  .doc = R"(The slice at index along dim, which goes away.

>>> weft.arange(4).view(2, 2).select(0, 1)
tensor([2, 3]))",
  .traits = kView | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Selected shown(c, x.sizes(), x.strides(), 1);
        give_view(c, shown.sizes, shown.strides, x->offset + shown.offset);
      },
  .back =
      [](Grad& d) {
        static const OpRef select_back{"select_backward"};
        d.give(0, select_back(d.g(), d.shape(0), d.arg(1).integer(), d.arg(2).integer()));
      },
};

WEFT_OP{
  .signature = "slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
  .doc = "The elements from start to end along dim, each step-th.",
  .traits = kView | kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Sliced shown(c, x.sizes(), x.strides(), 1);
        give_view(c, shown.sizes, shown.strides, x->offset + shown.offset);
      },
  .back =
      [](Grad& d) {
        static const OpRef slice_back{"slice_backward"};
        d.give(0, slice_back(d.g(), d.shape(0), d.arg(1), d.arg(2), d.arg(3), d.arg(4)));
      },
};

// The derivatives of select, slice and diagonal: zeros with the gradient written into the part that was seen.

WEFT_OP{
  .signature = "select_backward(Tensor grad, int[] sizes, int dim, int index) -> Tensor",
  .doc = "Zeros of the given sizes with grad at index along dim.",
  .traits = kHidden,
  .infer = infer_part<Selected>,
  .run = run_part<Selected>,
  .back = [](Grad& d) { d.give(0, select(d.g(), d.arg(2).integer(), d.arg(3).integer())); },
};

WEFT_OP{
  .signature = "slice_backward(Tensor grad, int[] sizes, int dim, int? start, int? end, int step) -> Tensor",
  .doc = "Zeros of the given sizes with grad in a slice along dim.",
  .traits = kHidden,
  .infer = infer_part<Sliced>,
  .run = run_part<Sliced>,
  .back = [](Grad& d) { d.give(0, slice(d.g(), d.arg(2), d.arg(3), d.arg(4), d.arg(5))); },
};

WEFT_OP{
  .signature = "detach(Tensor input) -> Tensor",
  .doc = R"(The same elements, cut off from the graph.

>>> weft.ones(2, requires_grad=True).detach().requires_grad
False)",
  .traits = kView | kNoOut,
  .infer = [](Call& c) { c.give(0, alias(c.tensor(0))); },
  .no_derivative = "it cuts the graph",
};

}  // namespace
}  // namespace weft
