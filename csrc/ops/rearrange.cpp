// Elements reordered or repeated: flips, rolls, repeats, triangles, diagonals, and copies with one part replaced.
#include <algorithm>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/index_plan.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef roll_dim{"roll.dim"}, repeat{"repeat"};

// ---- flips and rolls

uint64_t dims_as_bits(const Dims& dims, int n, const char* op) {
  uint64_t bits = 0;
  for (int64_t d : dims) {
    int w = wrap_dim(d, n, op);
    if (n && bits >> w & 1) fail(op, ": dim ", w, " appears multiple times in the list of dims ", dims);
    bits |= uint64_t(1) << w;
  }
  return bits;
}

WEFT_OP{
  .signature = "flip(Tensor input, int... dims) -> Tensor",
  .doc = R"(A copy in which the given dimensions run backwards.

>>> weft.flip(weft.tensor([[1, 2], [3, 4]]), (1,))
tensor([[2, 1],
        [4, 3]]))",
  .traits = kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        dims_as_bits(c.ints(1), x.dim(), "flip");
        c.give(0, x.contiguous() ? meta(x.dtype(), x.sizes())
                                 : meta_strided(x.dtype(), x.sizes(), strides_like(x.sizes(), x.strides())));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        if (!y.numel()) return;
        uint64_t flipped = dims_as_bits(c.ints(1), x.dim(), "flip");
        if (x.contiguous())
          return index_kernels().flip(item_size(x.dtype()), y.data(), x.data(), x.dim(), x.sizes().data(), flipped);
        Dims strides = x.strides();
        const char* from = x.data();
        for (int d = 0; d < x.dim(); ++d) {
          if (!(flipped >> d & 1)) continue;
          from += (x.size(d) - 1) * strides[d] * item_size(x.dtype());
          strides[d] = -strides[d];
        }
        copy_kernels().copy(x.dtype(), y.data(), y.strides().data(), x.dtype(), from, strides.data(), x.sizes().data(),
                            x.dim());
      },
  .back = [](Grad& d) { d.give(0, flip(d.g(), d.arg(1))); },
};

WEFT_OP{
  .signature = "fliplr(Tensor input) -> Tensor",
  .doc = R"(A copy with the columns in reverse order.

>>> weft.fliplr(weft.tensor([[1, 2], [3, 4]]))
tensor([[2, 1],
        [4, 3]]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        if (c.tensor(0).dim() < 2) fail("fliplr: Input must be >= 2-d, got ", c.tensor(0).dim(), "-d");
        c.give(0, flip(c.tensor(0), Dims{1}));
      },
};

WEFT_OP{
  .signature = "flipud(Tensor input) -> Tensor",
  .doc = R"(A copy with the rows in reverse order.

>>> weft.flipud(weft.tensor([1, 2]))
tensor([2, 1]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        if (c.tensor(0).dim() < 1) fail("flipud: Input must be >= 1-d, got 0-d");
        c.give(0, flip(c.tensor(0), Dims{0}));
      },
};

WEFT_OP{
  .signature = "rot90(Tensor input, int k=1, int[] dims=[0, 1]) -> Tensor",
  .doc = R"(A copy turned k times by 90 degrees, from the first of dims towards the second.

>>> weft.rot90(weft.tensor([[1, 2], [3, 4]]))
tensor([[2, 4],
        [1, 3]]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        const Dims& dims = c.ints(2);
        if (dims.size() != 2) fail("rot90: expected total rotation dims == 2, but got dims = ", dims.size());
        if (x.dim() < 2) fail("rot90: expected total dims >= 2, but got total dims = ", x.dim());
        int a = wrap_dim(dims[0], x.dim(), "rot90"), b = wrap_dim(dims[1], x.dim(), "rot90");
        if (a == b)
          fail("rot90: expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
        switch (((c.integer(1) % 4) + 4) % 4) {
          case 0: return c.give(0, clone_of(x));
          case 1: return c.give(0, transpose(flip(x, Dims{b}), a, b));
          case 2: return c.give(0, flip(x, dims));
          default: return c.give(0, transpose(flip(x, Dims{a}), a, b));
        }
      },
};

WEFT_OP{
  .signature = "roll.dim(Tensor input, int shift, int dim) -> Tensor",
  .doc = "A copy with the elements moved by shift along dim; what leaves at the end comes in at the beginning.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_axis(c, 2, c.tensor(0).dim());
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        if (!y.numel()) return;
        int dim = wrap_dim(c.integer(2), x.dim(), "roll");
        InOrder ordered(x, x.sizes());
        int64_t n = x.size(dim), shift = ((c.integer(1) % n) + n) % n, rows = 1, inner = item_size(x.dtype());
        for (int d = 0; d < dim; ++d) rows *= x.size(d);
        for (int d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
        JoinPart parts[2] = {{ordered.data() + (n - shift) * inner, shift * inner, n * inner},
                             {ordered.data(), (n - shift) * inner, n * inner}};
        index_kernels().join(y.data(), parts + !shift, 2 - !shift, rows);
      },
  .back =
      [](Grad& d) {
        d.give(0, roll_dim(d.g(), -(d.arg(1).integer() % std::max<int64_t>(1, d.g().size(int(d.arg(2).integer())))),
                           d.arg(2)));
      },
};

WEFT_OP{
  .signature = "roll(Tensor input, int[] shifts, int[] dims=[]) -> Tensor",
  .doc =
      R"(A copy with the elements moved by shifts along dims, around the end; without dims, in the order of the elements.

>>> weft.roll(weft.arange(4), 1)
tensor([3, 0, 1, 2]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        const Dims &shifts = c.ints(1), &dims = c.ints(2);
        if (shifts.empty()) fail("roll: `shifts` required");
        if (dims.empty() && shifts.size() == 1)
          return c.give(0, view(roll_dim(reshape(x, Dims{-1}), shifts[0], 0), x.sizes()));
        if (shifts.size() != dims.size())
          fail("roll: shifts and dimensions must align. shifts: ", shifts.size(), ", dims: ", dims.size());
        if (x.dim() == 0) fail_index("roll: Dimension specified as ", dims[0], " but tensor has no dimensions");
        Tensor y = x;
        for (int i = 0; i < dims.size(); ++i) y = roll_dim(y, shifts[i], wrap_dim(dims[i], x.dim(), "roll"));
        c.give(0, y);
      },
};

// ---- repeats

// [r0, s0, r1, s1, …]: the repeats of each dimension in front of it. Ones are left out, so that there are not more
// dimensions than a tensor may have; `repeated` receives where the repeats are.
Dims interleaved(const Dims& repeats, const Dims& sizes, Dims* repeated) {
  Dims out;
  int shift = repeats.size() - sizes.size();
  for (int d = 0; d < repeats.size(); ++d) {
    if (repeats[d] != 1) repeated->push(out.size()), out.push(repeats[d]);
    if (d >= shift && sizes[d - shift] != 1) out.push(sizes[d - shift]);
  }
  return out;
}

WEFT_OP{
  .signature = "repeat(Tensor input, int... repeats) -> Tensor",
  .doc = R"(input as many times along each dimension as repeats says.

>>> weft.tensor([1, 2]).repeat(2, 2)
tensor([[1, 2, 1, 2],
        [1, 2, 1, 2]]))",
  .traits = kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        const Dims& repeats = c.ints(1);
        int shift = repeats.size() - x.dim();
        if (shift < 0)
          fail(
              "repeat: Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor, "
              "got ",
              repeats, " for shape ", x.sizes());
        Dims sizes(repeats.size());
        for (int d = 0; d < sizes.size(); ++d) {
          if (repeats[d] < 0) fail("repeat: Trying to create tensor with negative dimension: repeats ", repeats);
          sizes[d] = repeats[d] * (d < shift ? 1 : x.size(d - shift));
        }
        c.give(0, meta(x.dtype(), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        if (!y.numel()) return;
        Dims repeated, sizes = interleaved(c.ints(1), x.sizes(), &repeated), to = contiguous_strides(sizes), from;
        for (int d = 0, k = 0, next = 0; d < sizes.size(); ++d) {
          bool repeats = next < repeated.size() && repeated[next] == d;
          if (repeats) ++next;
          while (!repeats && x.size(k) == 1) ++k;
          from.push(repeats ? 0 : x.stride(k++));
        }
        copy_kernels().copy(y.dtype(), y.data(), to.data(), x.dtype(), x.data(), from.data(), sizes.data(),
                            sizes.size());
      },
  .back =
      [](Grad& d) {
        const Dims& repeats = d.arg(1).ints();
        if (d.g().numel() == 0) return d.give(0, zeros(d.shape(0), d.g().dtype()));
        Dims repeated, sizes = interleaved(repeats, d.shape(0), &repeated);
        Tensor parts = reshape(d.g(), sizes);
        d.give(0, reshape(repeated.empty() ? parts : sum_dim(parts, repeated), d.shape(0)));
      },
};

WEFT_OP{
  .signature = "tile(Tensor input, int... dims) -> Tensor",
  .doc = R"(Like repeat, with ones for the dimensions that dims does not name.

>>> weft.tile(weft.tensor([[1], [2]]), (2,))
tensor([[1, 1],
        [2, 2]]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        Dims dims = c.ints(1);
        while (dims.size() < c.tensor(0).dim()) dims.insert(0, 1);
        c.give(0, repeat(c.tensor(0), dims));
      },
};

WEFT_OP{
  .signature = "repeat_index(Tensor repeats, int? output_size=None) -> Tensor",
  .doc = "Every position of repeats as many times as its element says.",
  .traits = kHidden | kDynamic,
  .infer =
      [](Call& c) {
        const Tensor& repeats = c.tensor(0);
        if (repeats.dim() > 1) fail("repeat_interleave only accept 1D vector as repeat, got shape ", repeats.sizes());
        if (repeats.dtype() != DType::Int64 && repeats.dtype() != DType::Int32)
          fail("repeat_interleave: repeats has to be Long or Int tensor, got ", name_of(repeats.dtype()));
        Tensor wide = to_dtype(repeats, DType::Int64);
        InOrder counts(wide, wide.sizes());
        Size total = 0;
        for (int64_t i = 0; i < repeats.numel(); ++i) {
          int64_t n = reinterpret_cast<const int64_t*>(counts.data())[i];
          if (n < 0) fail("repeat_interleave: repeats can not be negative, got ", n);
          total += n;
        }
        if (c.has(1) && c.integer(1) != total)
          fail("repeat_interleave: allocated size ", c.integer(1), " does not match required size ", total);
        c.give(0, meta(DType::Int64, Dims{total}));
      },
  .run =
      [](Call& c) {
        const Tensor& repeats = c.tensor(0);
        Scratch counts(repeats.numel() * 8);
        int64_t flat = 1, stride = repeats.dim() ? repeats.stride(0) : 1, n = repeats.numel();
        copy_kernels().copy(DType::Int64, counts.as<char>(), &flat, repeats.dtype(), repeats.data(), &stride, &n, 1);
        index_kernels().repeat_index(c.out[0].data<int64_t>(), counts.as<int64_t>(), n);
      },
  .no_derivative = "the result is made of indices",
};

WEFT_OP{
  .signature = "repeat_interleave(Tensor repeats, *, int? output_size=None) -> Tensor",
  .doc = R"(Every element of input repeated, one after the other; of repeats alone, its positions.

>>> weft.repeat_interleave(weft.tensor([5, 6]), 2)
tensor([5, 5, 6, 6]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        static const OpRef repeat_index{"repeat_index"};
        if (c.tensor(0).dim() == 0) fail("repeat_interleave only accept 1D vector as repeat");
        c.give(0, repeat_index(c.tensor(0), c.arg(1)));
      },
};

// What is repeated, and along which dim: without one, its elements in order.
std::pair<Tensor, int> interleaved(const Tensor& given, const Value& along) {
  Tensor x = along.none() ? reshape(given, Dims{-1}) : given.dim() ? given : view(given, Dims{1});
  return {x, along.none() ? 0 : wrap_dim(along.integer(), given.dim(), "repeat_interleave")};
}

Tensor interleave(const Tensor& given, const Tensor& counts, const Value& along, const Value& size) {
  static const OpRef repeat_index{"repeat_index"};
  auto [x, dim] = interleaved(given, along);
  Tensor repeats = counts;
  if (repeats.numel() == 1 && repeats.dim() <= 1) repeats = expand(reshape(repeats, Dims{1}), Dims{x.size(dim)});
  if (repeats.dim() == 1 && repeats.size(0) != x.size(dim))
    fail("repeat_interleave: repeats must have the same size as input along dim, but got repeats.size(0) = ",
         repeats.size(0), " and input.size(", dim, ") = ", x.size(dim));
  return index_select(x, dim, repeat_index(repeats, size));
}

WEFT_OP{
  .signature = "repeat_interleave.int(Tensor input, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
  .doc = "Every element of input repeated, one after the other.",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        auto [x, dim] = interleaved(c.tensor(0), c.arg(2));
        Size n = c.integer(1);
        if (n < 0) fail("repeat_interleave: repeats can not be negative, got ", n);
        Size total = x.size(dim) * n;
        if (c.has(3) && c.integer(3) != total)
          fail("repeat_interleave: allocated size ", c.integer(3), " does not match required size ", total);
        if (n == 1) return c.give(0, clone_of(x));
        Dims result = x.sizes(), repeated = result;
        result[dim] = total;
        repeated.insert(dim + 1, n);
        c.give(0, view(contiguous_of(expand(unsqueeze(x, int64_t(dim) + 1), repeated)), result));
      },
};

WEFT_OP{
  .signature =
      "repeat_interleave.tensor(Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor",
  .doc = "Every element of input repeated as often as repeats says, one after the other.",
  .traits = kNoOut,
  .compose = [](Call& c) { c.give(0, interleave(c.tensor(0), c.tensor(1), c.arg(2), c.arg(3))); },
};

// ---- triangles

void infer_triangle(Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.dim() < 2) fail(c.name(), ": input tensor must have at least 2 dimensions, got shape ", x.sizes());
  c.give(0, meta(x.dtype(), x.sizes()));
}

void run_triangle(Call& c, bool upper) {
  const Tensor &x = c.tensor(0), &y = c.out[0];
  if (!y.numel()) return;
  InOrder ordered(x, x.sizes());
  int64_t rows = x.size(-2), cols = x.size(-1);
  index_kernels().triangle(item_size(x.dtype()), y.data(), ordered.data(), x.numel() / (rows * cols), rows, cols,
                           c.integer(1), upper);
}

WEFT_OP{
  .signature = "tril(Tensor input, int diagonal=0) -> Tensor",
  .doc = R"(The lower triangle of matrices: zeros above the given diagonal.

>>> weft.tril(weft.ones(2, 2))
tensor([[1., 0.],
        [1., 1.]]))",
  .traits = kInplace,
  .infer = infer_triangle,
  .run = [](Call& c) { run_triangle(c, false); },
  .back = [](Grad& d) { d.give(0, tril(d.g(), d.arg(1))); },
};

WEFT_OP{
  .signature = "triu(Tensor input, int diagonal=0) -> Tensor",
  .doc = R"(The upper triangle of matrices: zeros below the given diagonal.

>>> weft.triu(weft.ones(2, 2))
tensor([[1., 1.],
        [0., 1.]]))",
  .traits = kInplace,
  .infer = infer_triangle,
  .run = [](Call& c) { run_triangle(c, true); },
  .back = [](Grad& d) { d.give(0, triu(d.g(), d.arg(1))); },
};

// The columns [first, last) of row r that lie in the triangle.
struct TriangleRow {
  int64_t first, last;
  TriangleRow(Size r, Size cols, Size offset, bool upper) {
    int64_t border = std::clamp<int64_t>(r + offset + !upper, 0, cols);
    first = upper ? border : 0;
    last = upper ? int64_t(cols) : border;
  }
};

// How many of the first `rows` rows' columns lie at or left of the diagonal: 0, then one more in each row, then all.
Size count_lower(Size rows, Size cols, Size offset) {
  Size empty = std::clamp<int64_t>(-offset, 0, rows), full = std::clamp<int64_t>(cols - offset - 1, empty, rows);
  Size growing = full - empty, first = empty + offset + 1;
  return growing * first + growing * (growing - 1) / 2 + (rows - full) * cols;
}

void infer_triangle_indices(Call& c, bool upper) {
  Size rows = c.integer(0), cols = c.integer(1);
  if (rows < 0) fail(c.name(), ": row must be non-negative, got ", rows);
  if (cols < 0) fail(c.name(), ": col must be non-negative, got ", cols);
  Size offset = std::clamp<int64_t>(c.integer(2), -rows, cols);
  Size n = upper ? rows * cols - count_lower(rows, cols, offset - 1) : count_lower(rows, cols, offset);
  DType t = c.dtype_or(3, DType::Int64);
  if (t != DType::Int64 && t != DType::Int32) fail_missing(c.name(), ": not implemented for '", name_of(t), "'");
  c.give(0, meta(t, Dims{2, n}));
}

template <class T>
void write_triangle_indices(Call& c, bool upper) {
  const Tensor& y = c.out[0];
  Size rows = c.integer(0), cols = c.integer(1), offset = std::clamp<int64_t>(c.integer(2), -rows, cols);
  int64_t n = y.size(1);
  T *row_of = y.data<T>(), *column_of = row_of + n;
  // Rows without a column in the triangle, of which there may be very many, are not visited.
  Size r = upper ? Size(0) : Size(std::clamp<int64_t>(-offset, 0, rows));
  for (int64_t k = 0; k < n; ++r) {
    TriangleRow row(r, cols, offset, upper);
    int64_t count = row.last - row.first;
    in_pieces(count, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) row_of[k + j] = T(int64_t(r)), column_of[k + j] = T(row.first + j);
    });
    leave_if_interrupted();
    k += count;
  }
}

void run_triangle_indices(Call& c, bool upper) {
  if (c.out[0].dtype() == DType::Int64)
    write_triangle_indices<int64_t>(c, upper);
  else
    write_triangle_indices<int32_t>(c, upper);
}

constexpr const char* kIndices = "the result is made of indices";

WEFT_OP{
  .signature = "tril_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The rows and columns of the lower triangle of a matrix.

>>> weft.tril_indices(2, 2)
tensor([[0, 1, 1],
        [0, 0, 1]]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer = [](Call& c) { infer_triangle_indices(c, false); },
  .run = [](Call& c) { run_triangle_indices(c, false); },
  .no_derivative = kIndices,
};

WEFT_OP{
  .signature = "triu_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor",
  .doc = R"(The rows and columns of the upper triangle of a matrix.

>>> weft.triu_indices(2, 2)
tensor([[0, 0, 1],
        [0, 1, 1]]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer = [](Call& c) { infer_triangle_indices(c, true); },
  .run = [](Call& c) { run_triangle_indices(c, true); },
  .no_derivative = kIndices,
};

}  // namespace
}  // namespace weft
