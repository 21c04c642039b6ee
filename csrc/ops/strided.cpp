// Views that a user spells out in strides, windows and diagonals; memory read as another dtype.
#include "ops/strided.h"

#include <algorithm>
#include <vector>

#include "loops/modular.h"
#include "ops/recording.h"
#include "ops/reduced.h"

namespace weft {

Tensor reinterpreted(const Tensor& t, DType dtype, const Dims& sizes, const Dims& strides, int64_t offset) {
  Tensor view = alias(t);
  view->dtype = dtype;
  view->set_geometry(sizes, strides, offset);
  return view;
}

Tensor spread(const Tensor& t, const Dims& strides) {
  static const OpRef back{"as_strided_backward"};
  if (is_dense(t.sizes(), strides)) return layout_as(t, strides);
  return back(t, Dims{span_of(t.sizes(), strides)}, Dims{1}, t.sizes(), strides, 0);
}

namespace {

constexpr int64_t kMostPlaces = int64_t(1) << 62;

// Whether all of these places belong to t. (Asked of tensors without gaps; of others the answer is no.)
bool within(const Tensor& t, const Dims& sizes, const Dims& strides, int64_t offset) {
  int64_t span = span_of(sizes, strides);
  return !span || (is_dense(t.sizes(), t.strides()) && offset >= t->offset && offset + span <= t->offset + t.numel());
}

WEFT_OP{
  .signature = "as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
  .doc = R"(A view with any sizes, strides and offset that stay inside the storage.

>>> weft.arange(4).as_strided((2, 2), (1, 1))
tensor([[0, 1],
        [1, 2]]))",
  .traits = kView | kNoOut | kFromStorage,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        const Dims &sizes = c.ints(1), &strides = c.ints(2);
        int64_t offset = c.has(3) ? c.integer(3) : Size(x->offset);
        if (sizes.size() != strides.size())
          fail("as_strided: mismatch in length of strides and shape: ", strides, " and ", sizes);
        for (int64_t s : sizes)
          if (s < 0) fail("as_strided: negative size in ", sizes);
        check_bounds(*x->storage, x.dtype(), sizes, strides, offset, "as_strided");
        give_view(c, sizes, strides, offset);
        // It sees all of the storage: what it shows beyond its input gets its gradient by way of the base.
        bool recorded = x->base && !x->unrecorded_view && t_modes.grad && wants_grad(*x.get());
        if (!recorded || x.dtype() != x->base->dtype || within(x, sizes, strides, offset)) return;
        if (t_recorder) return t_recorder->lost("as_strided() of elements outside of its input");
        c.arg(3) = Value(offset);
        c.arg(0) = Value(Tensor(x->base));
      },
  .keeps_place = true,
  .back =
      [](Grad& d) {
        static const OpRef back{"as_strided_backward"};
        Place x = d.place();
        int64_t offset = d.arg(3).none() ? Size(0) : Size(d.arg(3).integer()) - x.offset;
        d.give(0, back(d.g(), x.sizes, x.strides, d.arg(1).ints(), d.arg(2).ints(), offset));
      },
};

// The elements of a tensor by the places where they lie, counted from the first.
class ElementAt {
 public:
  ElementAt(const Dims& sizes, const Dims& strides) : numel_(numel_of(sizes)) {
    if (is_dense(sizes, strides)) return;  // each at the place of its own number, in memory that lies alike
    found_.reserve(size_t(numel_));
    Dims at(sizes.size());
    for (int64_t i = 0; i < numel_; ++i) {
      int64_t place = 0;  // the rule has checked that the last place fits in 64 bits
      for (int d = 0; d < sizes.size(); ++d) place = place + at[d] * strides[d];
      found_.emplace_back(place, i);
      for (int d = sizes.size() - 1; d >= 0 && ++at[d] == sizes[d]; --d) at[d] = 0;
    }
    std::sort(found_.begin(), found_.end());
  }
  // Whether n places, `step` apart, are those of elements with the numbers of the places.
  bool holds(int64_t first, int64_t step, int64_t n) const {
    int64_t last = first + (n - 1) * step;  // steps are not negative
    return found_.empty() && first >= 0 && last < numel_;
  }
  // Its number; -1: there is none.
  int64_t operator()(int64_t place) const {
    if (found_.empty()) return place >= 0 && place < numel_ ? place : -1;
    auto it = std::lower_bound(found_.begin(), found_.end(), std::pair(place, int64_t(0)));
    return it != found_.end() && it->first == place ? it->second : -1;
  }

 private:
  int64_t numel_;
  std::vector<std::pair<int64_t, int64_t>> found_;  // where there are gaps: as much memory as elements, not as places
};

template <class T>
[[gnu::noinline]] void add_run(T* to, int64_t step, const T* from, int64_t n) {
  if (step == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = modular::add(to[i], from[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i * step] = modular::add(to[i * step], from[i]);
}

// Adds each element of g, contiguous and of these sizes, which strides and offset put at a place, to the element that
// lies there, if one does.
template <class T>
void add_at(T* elements, const ElementAt& element_at, const T* from, const Dims& sizes, const Dims& strides,
            int64_t offset) {
  const int last = sizes.size() - 1;
  const int64_t n = last < 0 ? 1 : int64_t(sizes[last]), step = last < 0 ? 0 : int64_t(strides[last]);
  const int64_t rows = numel_of(sizes) / n;
  Dims at(sizes.size());
  for (int64_t r = 0; r < rows; ++r, from += n) {
    int64_t place = offset;  // the rule has checked that the last place fits in 64 bits
    for (int d = 0; d < last; ++d) place = place + at[d] * strides[d];
    if (element_at.holds(place, step, n))
      add_run(elements + place, step, from, n);
    else
      for (int64_t i = 0; i < n; ++i)
        if (int64_t to = element_at(place + i * step); to >= 0) elements[to] = modular::add(elements[to], from[i]);
    for (int d = last - 1; d >= 0 && ++at[d] == sizes[d]; --d) at[d] = 0;
  }
}

// The same where places are those of the elements themselves: along the longest dimension in one loop.
template <class T>
void add_dense(T* elements, const Tensor& g, const Dims& strides, int64_t offset) {
  int inner = 0;
  for (int d = 1; d < g.dim(); ++d)
    if (g.size(d) >= g.size(inner)) inner = d;
  const int64_t n = g.size(inner), from_step = g.stride(inner), to_step = strides[inner];
  Dims at(g.dim());
  for (int64_t i = 0; i < g.numel() / n; ++i) {
    int64_t here = 0, place = offset;
    for (int d = 0; d < g.dim(); ++d) {
      here = here + at[d] * g.stride(d);
      place = place + at[d] * strides[d];
    }
    const T* from = g.data<T>() + here;
    T* to = elements + place;
    for (int64_t k = 0; k < n; ++k) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        to[k * to_step] = T(float(to[k * to_step]) + float(from[k * from_step]));
      else
        to[k * to_step] = modular::add(to[k * to_step], from[k * from_step]);
    }
    for (int d = g.dim() - 1; d >= 0; --d) {
      if (d == inner) continue;
      if (++at[d] < g.size(d)) break;
      at[d] = 0;
    }
  }
}

// Whether what as_strided showed lies among the elements of its input, which have no holes.
bool dense_inside(Call& c) {
  const Tensor& g = c.tensor(0);
  return g.dim() && g.numel() && c.integer(5) >= 0 && is_dense(c.ints(1), c.ints(2)) &&
         c.integer(5) + span_of(g.sizes(), c.ints(4)) <= c.out[0].numel();
}

WEFT_OP{
  .signature =
      "as_strided_backward(Tensor grad, int[] input_size, int[] input_stride, int[] size, int[] stride, int offset) -> "
      "Tensor",
  .doc = "Adds each element of grad to the place of the input that as_strided showed it from.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Dims &sizes = c.ints(1), &strides = c.ints(2), &shown = c.ints(3);
        expect_not_negative(c, 1), expect_count(c, 2, sizes.size()), expect_not_negative(c, 2);
        expect_shape(c, 0, shown);
        expect_count(c, 4, shown.size()), expect_not_negative(c, 4);
        expect_range(c, 5, -kMostPlaces, kMostPlaces);
        Size furthest = c.integer(5);
        furthest += span_of(shown, c.ints(4));
        if (overlaps_itself(sizes, strides))
          fail("as_strided: no derivative for an input whose elements share memory (shape ", sizes, ", strides ",
               strides, "); clone() it first");
        span_of(sizes, strides);  // fits in 64 bits
        bool dense = is_dense(sizes, strides);
        c.give(0, dense ? meta_strided(c.tensor(0).dtype(), sizes, strides) : meta(c.tensor(0).dtype(), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &g = c.tensor(0), &y = c.out[0];
        fill_data(y, Value(0));
        if (!is_half(g.dtype()) && dense_inside(c)) {
          visit(g.dtype(), [&](auto zero) { add_dense(y.data<decltype(zero)>(), g, c.ints(4), c.integer(5)); });
          return;
        }
        if (g.numel() == 0) return;
        ElementAt element_at(c.ints(1), c.ints(2));
        DType type = work_type(g.dtype());  // half types are rounded once, at the end
        LaidOut from(g, type);
        Written to(y, type);
        visit(type, [&](auto zero) {
          using T = decltype(zero);
          T* elements = static_cast<T*>(to.data());
          if (type != y.dtype()) std::fill_n(elements, y.numel(), T());
          if constexpr (!is_half(dtype_of<T>))
            add_at(elements, element_at, reinterpret_cast<const T*>(from.data()), g.sizes(), c.ints(4), c.integer(5));
        });
      },
  .back =
      [](Grad& d) {
        d.give(0, as_strided(spread(d.g(), d.arg(2).ints()), d.arg(3).ints(), d.arg(4).ints(), d.arg(5).integer()));
      },
};

WEFT_OP{
  .signature = "replace_strided(Tensor input, Tensor src, int[] size, int[] stride, int offset) -> Tensor",
  .doc = "A copy of input, laid out alike, with src at the places that lie so from its first element.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (!(c.tensor(1).sizes() == c.ints(2)))
          fail("as_strided_scatter: expected src to have a size equal to the slice of self. src size = ",
               c.tensor(1).sizes(), ", slice size = ", c.ints(2));
        expect_dtype(c, 1, x.dtype());
        expect_count(c, 3, c.ints(2).size());
        Tensor y = is_dense(x.sizes(), x.strides()) ? meta_strided(x.dtype(), x.sizes(), x.strides())
                                                    : meta(x.dtype(), x.sizes());
        Storage extent;
        extent.bytes = y.numel() * item_size(y.dtype());
        check_bounds(extent, y.dtype(), c.ints(2), c.ints(3), c.integer(4), "as_strided_scatter");
        c.give(0, y);
      },
  .run =
      [](Call& c) {
        const Tensor& y = c.out[0];
        copy_data(y, c.tensor(0));
        if (c.tensor(1).numel())
          copy_box(y.data() + c.integer(4) * item_size(y.dtype()), c.ints(3), c.tensor(1), c.ints(2));
      },
  .keeps_place = true,
  .back =
      [](Grad& d) {
        Place x = d.place();
        const Dims &sizes = d.arg(2).ints(), &strides = d.arg(3).ints();
        Tensor g = is_dense(x.sizes, x.strides) ? layout_as(d.g(), x.strides) : contiguous_of(d.g());
        if (d.needs(0)) d.give(0, replace_strided(g, zeros(sizes, g.dtype()), sizes, strides, d.arg(4)));
        if (d.needs(1)) d.give(1, as_strided(g, sizes, strides, g->offset + Size(d.arg(4).integer())));
      },
};

WEFT_OP{
  .signature =
      "as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
  .doc = R"(A copy of input with src written into the part that as_strided would show.

>>> weft.as_strided_scatter(weft.zeros(4), weft.ones(2), (2,), (2,))
tensor([1., 0., 1., 0.]))",
  .compose =
      [](Call& c) {
        Tensor x = c.tensor(0);
        for (int i = 0; i < x.dim(); ++i)
          if (x.stride(i) == 0 && x.size(i) > 1) x = contiguous_of(c.tensor(0));  // expanded: a place for each element
        Tensor src = to_dtype(c.tensor(1), x.dtype());
        Value offset = c.has(4) ? c.arg(4) : Value(x->offset);
        int64_t places = x->storage->bytes / item_size(x.dtype());
        if (x->offset == 0 && places == x.numel() && is_dense(x.sizes(), x.strides()))
          return c.give(0, replace_strided(x, src, c.arg(2), c.arg(3), offset));
        // What it is cut from is copied too: size, stride and offset count in the whole storage.
        Tensor all = as_strided(x, Dims{places}, Dims{1}, 0);
        Tensor copy = replace_strided(all, src, c.arg(2), c.arg(3), offset);
        c.give(0, as_strided(copy, x.sizes(), x.strides(), x->offset));
      },
};

WEFT_OP{
  .signature = "unfold(Tensor input, int dimension, int size, int step) -> Tensor",
  .doc = R"(Windows of size elements along dimension, step apart, as a new last dimension.

>>> weft.arange(4).unfold(0, 2, 1)
tensor([[0, 1],
        [1, 2],
        [2, 3]]))",
  .traits = kView | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int dim = wrap_dim(c.integer(1), x.dim(), "unfold");
        Size size = c.integer(2), step = c.integer(3), n = x.dim() ? x.size(dim) : 1;
        if (size < 0 || size > n)
          fail("unfold: maximum size for tensor at dimension ", dim, " is ", n, " but size is ", size);
        if (step <= 0) fail("unfold: step is ", step, " but must be > 0");
        Dims sizes = x.sizes(), strides = x.strides();
        int64_t stride = x.dim() ? strides[dim] : 1;
        if (x.dim()) {
          sizes[dim] = (n - size) / step + 1;
          strides[dim] = stride * step;
        }
        sizes.push(size);
        strides.push(stride);
        give_view(c, sizes, strides, x->offset);
      },
  .back =
      [](Grad& d) {
        static const OpRef back{"as_strided_backward"};
        const Dims& shape = d.shape(0);
        int dim = wrap_dim(d.arg(1).integer(), shape.size(), "unfold");
        Dims flat = contiguous_strides(shape), strides = flat;
        int64_t stride = shape.empty() ? 1 : flat[dim];
        if (!shape.empty()) strides[dim] = Size(stride) * d.arg(3).integer();
        strides.push(stride);
        d.give(0, back(d.g(), shape, flat, d.g().sizes(), strides, 0));
      },
};

// Where a diagonal lies; its offset and two dimensions are the arguments from `at` on.
struct Diagonal : Place {
  Diagonal(Call& c, const Dims& of_sizes, const Dims& of_strides, int at) : Place{of_sizes, of_strides} {
    int a = wrap_dim(c.integer(at + 1), sizes.size(), "diagonal"),
        b = wrap_dim(c.integer(at + 2), sizes.size(), "diagonal");
    if (a == b) fail("diagonal: dimensions cannot be identical ", c.integer(at + 1), ", ", c.integer(at + 2));
    Size k = c.integer(at), down = sizes[a], across = sizes[b];
    int64_t n = std::max<int64_t>(
        0, k >= 0 ? std::min(down, across - std::min(k, across)) : std::min(down + std::max(k, -down), across));
    if (n) offset = k >= 0 ? k * strides[b] : -k * strides[a];
    int64_t step = strides[a] + strides[b];
    for (int d : {std::max(a, b), std::min(a, b)}) sizes.erase(d), strides.erase(d);
    sizes.push(n), strides.push(step);
  }
};

WEFT_OP{
  .signature = "diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor",
  .doc = R"(The diagonal of two dimensions, as the last one.

>>> weft.arange(4).view(2, 2).diagonal()
tensor([0, 3]))",
  .traits = kView | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Diagonal shown(c, x.sizes(), x.strides(), 1);
        give_view(c, shown.sizes, shown.strides, x->offset + shown.offset);
      },
  .back =
      [](Grad& d) {
        static const OpRef back{"diagonal_backward"};
        d.give(0, back(d.g(), d.shape(0), d.arg(1), d.arg(2), d.arg(3)));
      },
};

WEFT_OP{
  .signature = "diagonal_backward(Tensor grad, int[] sizes, int offset, int dim1, int dim2) -> Tensor",
  .doc = "Zeros of the given sizes with grad on a diagonal.",
  .traits = kHidden,
  .infer = infer_part<Diagonal>,
  .run = run_part<Diagonal>,
  .back =
      [](Grad& d) {
        static const OpRef diagonal{"diagonal"};
        d.give(0, diagonal(d.g(), d.arg(2), d.arg(3), d.arg(4)));
      },
};

WEFT_OP{
  .signature = "view.dtype(Tensor input, dtype dtype) -> Tensor",
  .doc = R"(The same bytes read as another dtype.

>>> weft.ones(1).view(weft.int32)
tensor([1065353216], dtype=torch.int32))",
  .traits = kView | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        DType to = c.dtype_or(1, c.tensor(0).dtype());
        int64_t have = item_size(x.dtype()), want = item_size(to), offset = x->offset;
        Dims sizes = x.sizes(), strides = x.strides();
        if (have != want) {
          if (!x.dim())
            fail("view: self.dim() cannot be 0 to view ", name_of(x.dtype()), " as ", name_of(to),
                 " (different element sizes)");
          int last = x.dim() - 1;
          if (strides[last] != 1 && sizes[last] != 1)
            fail("view: self.stride(-1) must be 1 to view ", name_of(x.dtype()), " as ", name_of(to),
                 " (different element sizes), but got ", strides[last]);
          int64_t bytes = sizes[last] * have;
          if (bytes % want || (offset * have) % want)
            fail("view: ", bytes, " bytes in the last dimension are no multiple of ", want);
          for (int i = 0; i < last; ++i) {
            if (strides[i] * have % want)
              fail("view: stride ", strides[i], " does not fit elements of ", want, " bytes");
            strides[i] = strides[i] * have / want;
          }
          sizes[last] = bytes / want;
          strides[last] = 1;
          offset = offset * have / want;
        }
        c.give(0, reinterpreted(x, to, sizes, strides, offset));
      },
  .no_derivative = "bits have no gradient",
};

}  // namespace
}  // namespace weft
