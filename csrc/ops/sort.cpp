// Sorting, selecting, searching and counting.
#include "loops/sort.h"

#include <algorithm>
#include <limits>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "loops/reduce.h"
#include "ops/api.h"
#include "ops/index_plan.h"
#include "ops/rules.h"

namespace weft {
namespace {

void refuse_complex(Call& c) {
  if (is_complex(c.tensor(0).dtype()))
    fail_missing("\"", c.name(), "\" not implemented for '", name_of(c.tensor(0).dtype()), "'");
}

void refuse_bool(Call& c) {
  if (c.tensor(0).dtype() == DType::Bool) fail_missing("\"", c.name(), "\" not implemented for 'bool'");
}

int axis_of(Call& c, int at) { return wrap_dim(c.integer(at), c.tensor(0).dim(), c.name()); }

// Calls f(line of x, where its results begin in a contiguous box that has m elements along the axis).
template <class F>
void each_line(const Tensor& x, int axis, int64_t m, F f) {
  int64_t n = x.dim() ? x.size(axis) : 1, inner = 1, outer = 1;
  for (int i = 0; i < x.dim(); ++i) {
    if (i > axis) inner *= x.size(i);
    if (i < axis) outer *= x.size(i);
  }
  int64_t lines = x.numel() ? outer * inner : 0, grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1));
  PerThread scratch(sort_scratch_bytes(x.dtype(), n), lines > grain ? lines : 1);
  parallel_chunks(lines, grain, [&](int64_t begin, int64_t end) {
    char* mine = scratch.mine<char>();
    for (int64_t k = begin; k < end; ++k) {
      int64_t at = k, offset = 0;  // the k-th line in the order of the kept dimensions
      for (int d = x.dim() - 1; d >= 0; --d) {
        if (d == axis) continue;
        offset += at % x.size(d) * x.stride(d);
        at /= x.size(d);
      }
      Line line{x.data() + offset * item_size(x.dtype()), n, x.dim() ? x.stride(axis) : 1};
      f(line, (k / inner) * m * inner + k % inner, inner, mine);
    }
  });
}

SortedLine place(const Tensor& values, const Tensor& indices, int64_t offset, int64_t stride) {
  return {values.data() + offset * item_size(values.dtype()), indices.data<int64_t>() + offset, stride};
}

void gathered_back(Grad& d, int64_t dim, bool squeezed) {
  const Dims& shape = d.shape(0);
  if (shape.empty()) return d.give(0, reshape(d.g(), Dims{}));
  Tensor g = d.g(), index = d.y(1);
  if (squeezed) {
    g = unsqueeze(g, dim);
    index = unsqueeze(index, dim);
  }
  d.give(0, scatter_add.into(zeros(shape, g.dtype()), dim, index, g));
}

WEFT_OP{
  .signature =
      "sort(Tensor input, int dim=-1, bool descending=False, *, bool? stable=None) -> (Tensor values, Tensor indices)",
  .doc = R"(The elements in order along dim, and where they stood. Equal ones keep their order.

>>> weft.tensor([3, 1, 2]).sort().indices
tensor([1, 2, 0]))",
  .infer =
      [](Call& c) {
        refuse_complex(c);
        axis_of(c, 1);
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
        c.give(1, meta(DType::Int64, c.tensor(0).sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int axis = axis_of(c, 1);
        each_line(x, axis, x.dim() ? x.size(axis) : 1,
                  [&](const Line& line, int64_t at, int64_t stride, void* scratch) {
                    sort_kernels().sort(x.dtype(), line, place(c.out[0], c.out[1], at, stride), c.flag(2), scratch);
                  });
      },
  .keeps = keep::y1,
  .back = [](Grad& d) { gathered_back(d, d.arg(1).integer(), false); },
};

WEFT_OP{
  .signature =
      "topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
  .doc = R"(The k largest (or smallest) elements along dim, in order, and where they stood.

>>> weft.tensor([3, 1, 2]).topk(2).values
tensor([3, 2]))",
  .infer =
      [](Call& c) {
        refuse_complex(c);
        const Tensor& x = c.tensor(0);
        if (x.dtype() == DType::Bool) fail("topk: bool has no order worth the name; cast it to uint8 first");
        int axis = axis_of(c, 2);
        int64_t k = c.integer(1), n = x.dim() ? x.size(axis) : 1;
        if (k < 0 || k > n)
          fail("topk: selected index k out of range: k is ", k, ", dimension ", axis, " has size ", n);
        Dims sizes = x.sizes();
        if (x.dim()) sizes[axis] = k;
        c.give(0, meta(x.dtype(), sizes));
        c.give(1, meta(DType::Int64, sizes));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (!c.out[0].numel()) return;
        int64_t k = x.dim() ? c.integer(1) : 1;
        each_line(x, axis_of(c, 2), k, [&](const Line& line, int64_t at, int64_t stride, void* scratch) {
          sort_kernels().topk(x.dtype(), line, place(c.out[0], c.out[1], at, stride), k, c.flag(3), scratch);
        });
      },
  .keeps = keep::y1,
  .back = [](Grad& d) { gathered_back(d, d.arg(2).integer(), false); },
};

void infer_pick(Call& c, int dim_at, bool keepdim) {
  refuse_complex(c);
  const Tensor& x = c.tensor(0);
  int axis = axis_of(c, dim_at);
  if (x.dim() && x.size(axis) == 0)
    fail_index(c.name(), "(): Expected reduction dim ", axis, " to have non-zero size.");
  Dims sizes = x.sizes();
  if (x.dim()) {
    if (keepdim)
      sizes[axis] = 1;
    else
      sizes.erase(axis);
  }
  c.give(0, meta(x.dtype(), sizes));
  c.give(1, meta(DType::Int64, sizes));
}

void run_pick(Call& c, int dim_at, Pick what, int64_t k) {
  const Tensor& x = c.tensor(0);
  each_line(x, axis_of(c, dim_at), 1, [&](const Line& line, int64_t at, int64_t stride, void* scratch) {
    sort_kernels().pick(x.dtype(), line, place(c.out[0], c.out[1], at, stride), what, k, scratch);
  });
}

WEFT_OP{
  .signature = "kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
  .doc = R"(The k-th smallest element along dim (from 1), and where it stood.

>>> weft.tensor([3, 1, 2]).kthvalue(2).values
tensor(2))",
  .infer =
      [](Call& c) {
        refuse_bool(c);
        infer_pick(c, 2, c.flag(3));
        check_out_apart(c);
        int64_t n = c.tensor(0).dim() ? c.tensor(0).size(axis_of(c, 2)) : 1;
        if (c.integer(1) < 1 || c.integer(1) > n)
          fail("kthvalue(): selected number k out of range for dimension ", c.integer(2), ": k is ", c.integer(1),
               ", the size ", n);
      },
  .run = [](Call& c) { run_pick(c, 2, Pick::kth, c.integer(1) - 1); },
  .keeps = keep::y1,
  .back = [](Grad& d) { gathered_back(d, d.arg(2).integer(), !d.arg(3).flag()); },
};

WEFT_OP{
  .signature = "median.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
  .doc = "The lower median along dim, and where it stood.",
  .infer =
      [](Call& c) {
        refuse_bool(c);
        infer_pick(c, 1, c.flag(2));
      },
  .run = [](Call& c) { run_pick(c, 1, Pick::median, 0); },
  .keeps = keep::y1,
  .back = [](Grad& d) { gathered_back(d, d.arg(1).integer(), !d.arg(2).flag()); },
};

WEFT_OP{
  .signature = "nanmedian.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
  .doc = "The lower median of the numbers along dim, and where it stood.",
  .infer =
      [](Call& c) {
        refuse_bool(c);
        infer_pick(c, 1, c.flag(2));
      },
  .run = [](Call& c) { run_pick(c, 1, Pick::nanmedian, 0); },
  .keeps = keep::y1,
  .back = [](Grad& d) { gathered_back(d, d.arg(1).integer(), !d.arg(2).flag()); },
};

void infer_flat_median(Call& c) {
  refuse_bool(c);
  refuse_complex(c);
  c.give(0, meta(c.tensor(0).dtype(), Dims{}));
}

void run_flat_median(Call& c, Pick what) {
  const Tensor& x = c.tensor(0);
  if (x.numel() == 0) return fill_data(c.out[0], Value(std::numeric_limits<double>::quiet_NaN()));
  InOrder flat(x, x.sizes());
  Scratch scratch(sort_scratch_bytes(x.dtype(), x.numel()));
  int64_t place;
  sort_kernels().pick(x.dtype(), {flat.data(), x.numel(), 1}, {c.out[0].data(), &place, 1}, what, 0,
                      scratch.as<char>());
}

// Equal medians share the gradient evenly.
void flat_median_back(Grad& d) {
  Tensor x = d.x(0), y = d.y();
  Tensor mask = to_dtype((x == y) || (isnan(x) && isnan(y)), d.g().dtype());
  d.give(0, d.g() * mask / sum_all(mask));
}

WEFT_OP{
  .signature = "median(Tensor input) -> Tensor",
  .doc = R"(The lower median of all elements, or along dim with where it stood.

>>> weft.tensor([3, 1, 2]).median()
tensor(2))",
  .infer = infer_flat_median,
  .run = [](Call& c) { run_flat_median(c, Pick::median); },
  .keeps = keep::x0 | keep::y0,
  .back = flat_median_back,
};

WEFT_OP{
  .signature = "nanmedian(Tensor input) -> Tensor",
  .doc = R"(The lower median of all elements that are numbers.

>>> weft.tensor([3.0, float("nan"), 2.0]).nanmedian()
tensor(2.))",
  .infer = infer_flat_median,
  .run = [](Call& c) { run_flat_median(c, Pick::nanmedian); },
  .keeps = keep::x0 | keep::y0,
  .back = flat_median_back,
};

WEFT_OP{
  .signature = "mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
  .doc = R"(The most frequent element along dim, the smallest of several, and its last place.

>>> weft.tensor([1, 2, 2]).mode().values
tensor(2))",
  .infer = [](Call& c) { infer_pick(c, 1, c.flag(2)); },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        each_line(x, axis_of(c, 1), 1, [&](const Line& line, int64_t at, int64_t stride, void* scratch) {
          sort_kernels().mode(x.dtype(), line, place(c.out[0], c.out[1], at, stride), scratch);
        });
      },
  .keeps = keep::y1,
  .back = [](Grad& d) { gathered_back(d, d.arg(1).integer(), !d.arg(2).flag()); },
};

// A sorter names places of its own row.
void check_sorter(const Tensor& sorter) {
  int64_t n = sorter.dim() ? sorter.size(-1) : 1;
  for (int64_t i = 0; i < sorter.numel(); ++i)
    if (int64_t at = sorter.data<int64_t>()[i]; at < 0 || at >= n)
      fail("searchsorted(): sorter index out of range: ", at, " in a row of ", n);
}

WEFT_OP{
  .signature = "search_sorted(Tensor sorted, Tensor values, bool right, Tensor? sorter=None) -> Tensor",
  .doc = "Where values would go among sorted rows.",
  .traits = kHidden,
  .infer =
      [](Call& c) {  // sorted is a vector or has values' leading dimensions
        const Tensor &sorted = c.tensor(0), &values = c.tensor(1);
        refuse_complex(c);
        if (is_half(sorted.dtype())) refuse(c, 0, "be of no half type");
        expect_dtype(c, 1, sorted.dtype());
        if (sorted.dim() > 1) {
          Dims sizes = sorted.sizes();
          if (values.dim()) sizes[sizes.size() - 1] = values.size(-1);
          expect_shape(c, 1, sizes);
        }
        for (int i : {0, 1}) expect_contiguous(c, i);
        expect_plain(c, 3, DType::Int64, sorted.sizes());
        c.give(0, meta(DType::Int64, values.sizes()));
      },
  .run =
      [](Call& c) {
        if (c.has(3)) check_sorter(c.tensor(3));
        const Tensor &s = c.tensor(0), &v = c.tensor(1), &y = c.out[0];
        int64_t n = s.dim() ? s.size(-1) : 1, m = v.dim() ? v.size(-1) : 1, size = item_size(s.dtype());
        if (!y.numel()) return;
        bool shared = s.dim() <= 1;
        int64_t rows = shared ? 1 : v.numel() / m;
        if (shared) m = v.numel();
        for (int64_t i = 0; i < rows; ++i)
          sort_kernels().search(s.dtype(), s.data() + i * n * size,
                                c.has(3) ? c.tensor(3).data<int64_t>() + i * n : nullptr, n, v.data() + i * m * size, m,
                                c.flag(2), y.data<int64_t>() + i * m);
      },
  .no_derivative = "an index has no derivative",
};

const OpRef search_sorted{"search_sorted"};

// The checks that searchsorted and bucketize share, and the search.
Tensor place_among(Call& c, const Tensor& sorted, const Value& given, bool right, const Value& sorter, bool narrow) {
  bool number = !given.is_tensor();
  if (number && sorted.dim() != 1)
    fail(c.name(),
         "(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor ",
         sorted.sizes());
  Tensor values = number ? scalar_tensor(given, given.number_dtype()) : given.tensor();
  if (!sorter.none()) {
    const Tensor& order = sorter.tensor();
    if (!(order.sizes() == sorted.sizes()))
      fail(c.name(), "(): boundary and sorter must have the same size, but got boundary ", sorted.sizes(),
           " and sorter ", order.sizes());
    if (order.dtype() != DType::Int64)
      fail(c.name(), "(): sorter must be a tensor of long dtype but got dtype ", name_of(order.dtype()));
  }
  DType type = promote(sorted.dtype(), values.dtype());
  if (is_complex(type)) fail_missing("\"", c.name(), "\" not implemented for '", name_of(type), "'");
  if (is_half(type)) type = DType::Float;
  auto as = [&](const Tensor& t) { return contiguous_of(to_dtype(detach(t), type)); };
  Tensor at = search_sorted(as(sorted), as(values), right,
                            sorter.none() ? Value() : Value(contiguous_of(sorter.tensor())));
  return narrow ? to_dtype(at, DType::Int32) : at;
}

WEFT_OP{
  .signature =
      "searchsorted(Tensor sorted_sequence, Tensor|Scalar input, *, bool out_int32=False, bool right=False, "
      "str? side=None, Tensor? sorter=None) -> Tensor",
  .doc = R"(Where each element of input would go in the sorted rows so that they stay sorted.

>>> weft.searchsorted(weft.tensor([1, 3, 5]), weft.tensor([3, 4]))
tensor([1, 2]))",
  .traits = kNoMethod,
  .compose =
      [](Call& c) {
        const Tensor& sorted = c.tensor(0);
        bool right = c.flag(3);
        if (c.has(4)) {
          const std::string& side = c.text(4);
          if (side != "left" && side != "right")
            fail("searchsorted(): side can only be 'left' or 'right' but got ", side);
          if (side == "left" && right)
            fail("searchsorted(): side and right can't be set to opposites, got side of left while right was True");
          right = side == "right";
        }
        if (sorted.dim() == 0)
          fail("searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
        if (c.arg(1).is_tensor()) {
          const Tensor& values = c.tensor(1);
          bool fits = sorted.dim() == 1 || sorted.dim() == values.dim();
          for (int i = 0; fits && sorted.dim() > 1 && i < sorted.dim() - 1; ++i)
            fits = sorted.size(i) == values.size(i);
          if (!fits)
            fail(
                "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                "tensor and "
                "input value tensor must match, but we got boundaries tensor ",
                sorted.sizes(), " and input value tensor ", values.sizes());
        }
        c.give(0, place_among(c, sorted, c.arg(1), right, c.arg(5), c.flag(2)));
      },
  .no_derivative = "an index has no derivative",
};

WEFT_OP{
  .signature = "bucketize(Tensor|Scalar input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
  .doc = R"(The bucket between sorted boundaries that each element falls into.

>>> weft.bucketize(weft.tensor([1.5, 4.0]), weft.tensor([1.0, 2.0, 3.0]))
tensor([1, 3]))",
  .traits = kNoMethod,
  .compose =
      [](Call& c) {
        const Tensor& boundaries = c.tensor(1);
        if (boundaries.dim() != 1)
          fail("bucketize(): boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
        c.give(0, place_among(c, boundaries, c.arg(0), c.flag(3), Value(), c.flag(2)));
      },
  .no_derivative = "an index has no derivative",
};

WEFT_OP{
  .signature =
      "unique_flat(Tensor input, bool consecutive) -> (Tensor values, Tensor inverse, Tensor counts, Tensor places)",
  .doc =
      "The different elements of a contiguous vector, in order or as they follow, where the first of each stood, and "
      "which of them each element is.",
  .traits = kHidden | kDynamic,
  .infer =
      [](Call& c) {  // counting the results is most of the work: it is finished here
        refuse_complex(c);
        const Tensor& x = c.tensor(0);
        expect_dim(c, 0, 1, 1), expect_contiguous(c, 0);
        int64_t n = x.numel(), size = item_size(x.dtype());
        bool sorts = !c.flag(1);
        Scratch starts((n + 1) * 8), sorted(sorts ? n * size : 0), order(sorts ? n * 8 : 0),
            room(sorts ? sort_scratch_bytes(x.dtype(), n) : 0);
        int64_t *start = starts.as<int64_t>(), *at = order.as<int64_t>();
        const char* data = sorts ? sorted.as<char>() : x.data();
        if (sorts && n)
          sort_kernels().sort(x.dtype(), {x.data(), n, 1}, {sorted.as<char>(), at, 1}, false, room.as<char>());
        int64_t runs = n ? sort_kernels().runs(x.dtype(), data, n, start) : 0;
        start[runs] = n;
        Tensor values = empty({runs}, x.dtype()), inverse = empty({n}, DType::Int64),
               counts = empty({runs}, DType::Int64);
        Tensor places = empty({runs}, DType::Int64);
        for (int64_t r = 0; r < runs; ++r) {
          std::copy_n(data + start[r] * size, size, values.data() + r * size);
          counts.data<int64_t>()[r] = start[r + 1] - start[r];
          places.data<int64_t>()[r] = sorts ? at[start[r]] : start[r];
          for (int64_t i = start[r]; i < start[r + 1]; ++i) inverse.data<int64_t>()[sorts ? at[i] : i] = r;
        }
        c.give(0, values);
        c.give(1, inverse);
        c.give(2, counts);
        c.give(3, places);
      },
  .no_derivative = "which elements are equal has no derivative",
};

// The smallest or largest of a vector of integers.
int64_t element_at(const Tensor& x, Reduce which, int64_t n, int64_t step) {
  alignas(8) char found[8];
  reduce(which, x.dtype(), x.data(), {0, nullptr, nullptr}, {1, &n, &step}, found);
  int64_t value;
  copy_kernels().convert(x.dtype(), DType::Int64, found, &value, 1);
  return value;
}

WEFT_OP{
  .signature = "bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor",
  .doc = R"(How often each whole number occurs, or the sum of the weights there.

>>> weft.bincount(weft.tensor([0, 1, 1]))
tensor([1, 2]))",
  .traits = kNoOut | kDynamic | kKeepsLock,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dim() != 1 || !is_integral(x.dtype()) || x.dtype() == DType::Bool)
          fail("bincount: bincount only supports 1-d non-negative integral inputs, got ", name_of(x.dtype()),
               x.sizes());
        if (c.integer(2) < 0) fail("bincount: minlength should be >= 0, got ", c.integer(2));
        if (c.has(1) && !(c.tensor(1).sizes() == x.sizes()))
          fail("bincount: weights should be 1-d and have the same length as input, got ", c.tensor(1).sizes(), " for ",
               x.sizes());
        int64_t size = c.integer(2);
        if (x.numel()) {
          int64_t n = x.numel(), step = x.stride(0), low = element_at(x, Reduce::min, n, step),
                  high = element_at(x, Reduce::max, n, step);
          if (low < 0) fail("bincount: bincount only supports 1-d non-negative integral inputs, got ", low);
          size = std::max(size, checked_add(high, 1));
        }
        DType t = c.has(1) ? (c.tensor(1).dtype() == DType::Float ? DType::Float : DType::Double) : DType::Int64;
        c.give(0, meta(t, Dims{size}));
      },
  .run =
      [](Call& c) {
        Tensor x = contiguous_of(c.tensor(0));
        const Tensor& y = c.out[0];
        if (!c.has(1)) {
          fill_data(y, Value(0));
          sort_kernels().bincount(x.dtype(), x.data(), x.numel(), y.numel(), nullptr, y.data());
          return;
        }
        Tensor weights = contiguous_of(to_dtype(detach(c.tensor(1)), DType::Double)),
               sums = zeros(y.sizes(), DType::Double);
        sort_kernels().bincount(x.dtype(), x.data(), x.numel(), y.numel(), weights.data<double>(), sums.data());
        copy_data(y, sums);
      },
  .no_derivative = "a count has no derivative",
};

WEFT_OP{
  .signature = "histogram_counts(Tensor input, int bins, float low, float high) -> Tensor",
  .doc = "How many elements lie in each of bins equal parts of [low, high].",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        refuse_complex(c);
        expect_contiguous(c, 0);
        expect_range(c, 1, 1, std::numeric_limits<int64_t>::max());
        c.give(0, meta(c.tensor(0).dtype(), Dims{c.integer(1)}));
      },
  .run =
      [](Call& c) {
        fill_data(c.out[0], Value(0));
        const Tensor& x = c.tensor(0);
        double low = c.real(2), high = c.real(3);
        if (low == high && x.numel()) {  // the range of the elements
          low = std::numeric_limits<double>::infinity();
          high = -low;
          visit(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            if constexpr (std::is_convertible_v<T, double>)
              for (int64_t i = 0; i < x.numel(); ++i) {
                double v = double(x.data<T>()[i]);
                low = std::min(low, v);
                high = std::max(high, v);
              }
          });
        }
        if (low == high) {
          low -= 1;
          high += 1;
        }
        if (!(low < high && high - low < std::numeric_limits<double>::infinity()))
          fail("histc: range of [", low, ", ", high, "] is not finite or max is less than min");
        sort_kernels().histogram(x.dtype(), x.data(), x.numel(), c.integer(1), low, high, c.out[0].data());
      },
  .no_derivative = "a count has no derivative",
};

}  // namespace
}  // namespace weft
