// Pooling: the largest or the mean of each window. weft.nn.functional names it.
#include "loops/pool.h"

#include <cmath>
#include <limits>

#include "ops/order.h"
#include "ops/reduced.h"
#include "ops/resample.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef pool_mean{"pool_mean"}, pool_mean_back{"pool_mean_backward"}, pool_pick{"pool_pick"}, pool_put{"pool_put"};

// `sizes`: (…, plane); the window arguments begin at `at`: kernel, stride, padding, dilation, result.
Pool pool_of(Call& c, const Dims& sizes, int at) {
  const Dims &kernel = c.ints(at), &stride = c.ints(at + 1), &padding = c.ints(at + 2), &dilation = c.ints(at + 3),
             &result = c.ints(at + 4);
  int n = kernel.size();
  if (n < 1 || n > 3 || sizes.size() < n || stride.size() != n || padding.size() != n || dilation.size() != n ||
      result.size() != n)
    fail(c.name(), ": expected as many numbers for each argument, got ", kernel, ", ", stride, ", ", padding, ", ",
         dilation, ", ", result, " for shape ", sizes);
  Pool p;
  p.planes = numel_of(Dims(sizes.data(), sizes.size() - n));
  Size window = 1;  // what it may divide by
  for (int i = 0; i < n; ++i) {
    int d = 3 - n + i;
    p.size[d] = sizes[sizes.size() - n + i];
    p.kernel[d] = kernel[i], p.stride[d] = stride[i], p.pad[d] = padding[i], p.dilation[d] = dilation[i];
    p.result[d] = result[i];
    bool reads = __int128(result[i] - 1) * stride[i] - padding[i] < p.size[d] &&
                 2 * __int128(padding[i]) <= __int128(dilation[i]) * (kernel[i] - 1) + 1;
    if (p.size[d] < 0 || kernel[i] < 1 || stride[i] < 1 || padding[i] < 0 || dilation[i] < 1 || result[i] < 0 ||
        (result[i] > 0 && !reads) || std::max(__int128(stride[i]), __int128(dilation[i]) * kernel[i]) > kMaxExtent)
      fail(c.name(), ": windows of ", kernel, " by ", stride, " with padding ", padding, " and dilation ", dilation,
           " do not fit ", result, " times into ", sizes);
    window *= kernel[i];
  }
  if (window > kMaxExtent) fail(c.name(), ": windows of ", kernel, " have more than 2^56 elements");
  return p;
}

void need_real(Call& c) {
  DType t = c.tensor(0).dtype();
  if (t == DType::Bool || is_complex(t)) fail_missing(c.name(), ": not implemented for '", name_of(t), "'");
}

// Whether input i is (batch, channels, plane) and lies channels last; then it is taken as it lies.
bool takes_last(Call& c, int i, int dims) {
  const Tensor& x = c.tensor(i);
  return x.dtype() == DType::Float && x.dim() == dims + 2 && is_last(x);
}
const float* floats(const char* p) { return reinterpret_cast<const float*>(p); }
float* floats(char* p) { return reinterpret_cast<float*>(p); }

Dims with_planes(const Dims& sizes, const Dims& plane) {
  Dims out = sizes;
  for (int i = 0; i < plane.size(); ++i) out[out.size() - plane.size() + i] = plane[i];
  return out;
}

WEFT_OP{
  .signature =
      "pool_largest(Tensor input, int[] kernel, int[] stride, int[] padding, int[] dilation, int[] result) -> (Tensor "
      "values, Tensor indices)",
  .doc = "The largest element of each window, and where in its plane it is.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Pool p = pool_of(c, x.sizes(), 1);
        if (p.pixels() > std::numeric_limits<int32_t>::max())
          fail(c.name(), ": planes of more than 2^31 elements, got shape ", x.sizes());
        need_real(c);
        Dims sizes = with_planes(x.sizes(), c.ints(5));
        bool last = takes_last(c, 0, c.ints(1).size());
        c.give(0, last ? meta_last_as(x, x.dtype(), sizes) : meta(x.dtype(), sizes));
        c.give(1, last ? meta_last_as(x, DType::Int64, sizes) : meta(DType::Int64, sizes));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        if (takes_last(c, 0, c.ints(1).size())) {
          const Tensor& x = c.tensor(0);
          Last from(x);
          LastWritten y(c.out[0]), at(c.out[1]);
          return pool_kernels().largest_last(pool_of(c, x.sizes(), 1), x.size(1), floats(from.data()), floats(y.data()),
                                             reinterpret_cast<int64_t*>(at.data()));
        }
        DType type = work_type(c.tensor(0).dtype());
        LaidOut x(c.tensor(0), type);
        Written y(c.out[0], type);
        pool_kernels().largest(type, pool_of(c, c.tensor(0).sizes(), 1), x.data(), y.data(), c.out[1].data<int64_t>());
      },
  .any_order = [](Call& c) { return takes_last(c, 0, c.ints(1).size()); },
  .keeps = keep::y1,
  .back = [](Grad& d) { d.give(0, pool_put(d.g(), d.y(1), d.shape(0), int64_t(d.arg(1).ints().size()))); },
};

// The planes of `sizes` as the kernels of pick and put see them: `at` has a place of each plane.
Pool places_of(Call& c, const Dims& sizes, const Tensor& at, int64_t dims) {
  if (dims < 1 || dims > sizes.size()) fail(c.name(), ": planes of ", dims, " dimensions in shape ", sizes);
  int n = int(dims);
  Pool p;
  p.planes = numel_of(Dims(sizes.data(), sizes.size() - n));
  p.size[2] = numel_of(Dims(sizes.data() + sizes.size() - n, n));
  p.result[2] = p.planes ? at.numel() / p.planes : 0;
  if (at.dtype() != DType::Int64 || Size(p.planes) * p.result[2] != at.numel())
    fail(c.name(), ": indices of shape ", at.sizes(), " do not fit planes of ", sizes);
  return p;
}

void need_inside(Call& c, const Pool& p, bool inside) {
  if (!inside) fail_index(c.name(), ": indices must name places of a plane of ", p.pixels(), " elements");
}

// Places that lie channels last say that the image did.
bool puts_last(Call& c) {
  const Tensor &g = c.tensor(0), &at = c.tensor(1);
  return g.dtype() == DType::Float && g.sizes() == at.sizes() && at.dim() == c.integer(3) + 2 && is_last(at);
}

WEFT_OP{
  .signature = "pool_put(Tensor grad, Tensor indices, int[] sizes, int dims) -> Tensor",
  .doc = "Adds each element to the place of its plane that indices name; the planes are the last dims dimensions.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_not_negative(c, 2);
        need_real(c);
        places_of(c, c.ints(2), c.tensor(1), c.integer(3));
        if (c.tensor(0).numel() != c.tensor(1).numel())
          fail(c.name(), ": a gradient of shape ", c.tensor(0).sizes(), " for indices of shape ", c.tensor(1).sizes());
        DType type = c.tensor(0).dtype();
        c.give(0, puts_last(c) ? meta_last_as(c.tensor(1), type, c.ints(2)) : meta(type, c.ints(2)));
      },
  .run =
      [](Call& c) {
        Pool p = places_of(c, c.ints(2), c.tensor(1), c.integer(3));
        if (puts_last(c)) {
          Last g(c.tensor(0)), at(c.tensor(1));
          LastWritten dx(c.out[0]);
          return need_inside(c, p,
                             pool_kernels().put_last(p, c.ints(2)[1], floats(g.data()),
                                                     reinterpret_cast<const int64_t*>(at.data()), floats(dx.data())));
        }
        DType type = work_type(c.tensor(0).dtype());
        LaidOut g(c.tensor(0), type), at(c.tensor(1), DType::Int64);
        Written dx(c.out[0], type);
        need_inside(c, p,
                    pool_kernels().put(type, p, g.data(), reinterpret_cast<const int64_t*>(at.data()), dx.data()));
      },
  .any_order = puts_last,
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, pool_pick(d.g(), d.x(1), d.arg(3))); },
};

WEFT_OP{
  .signature = "pool_pick(Tensor input, Tensor indices, int dims) -> Tensor",
  .doc = "The element of each plane that indices name.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        need_real(c);
        places_of(c, c.tensor(0).sizes(), c.tensor(1), c.integer(2));
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(1).sizes()));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(0).dtype());
        Pool p = places_of(c, c.tensor(0).sizes(), c.tensor(1), c.integer(2));
        LaidOut x(c.tensor(0), type), at(c.tensor(1), DType::Int64);
        Written y(c.out[0], type);
        need_inside(c, p,
                    pool_kernels().pick(type, p, x.data(), reinterpret_cast<const int64_t*>(at.data()), y.data()));
      },
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, pool_put(d.g(), d.x(1), d.shape(0), d.arg(2))); },
};

WEFT_OP{
  .signature = "pool_set(Tensor input, Tensor indices, int[] sizes, int dims) -> Tensor",
  .doc = "Zeros with each element at the place of its plane that indices name; of several, the last one.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_not_negative(c, 2);
        need_real(c);
        expect_dtype(c, 1, DType::Int64), expect_shape(c, 1, c.tensor(0).sizes());
        places_of(c, c.ints(2), c.tensor(1), c.integer(3));
        c.give(0, meta(c.tensor(0).dtype(), c.ints(2)));
      },
  .run =
      [](Call& c) {
        Pool p = places_of(c, c.ints(2), c.tensor(1), c.integer(3));
        DType type = work_type(c.tensor(0).dtype());
        LaidOut x(c.tensor(0), type), at(c.tensor(1), DType::Int64);
        Written y(c.out[0], type);
        if (!pool_kernels().set(type, p, x.data(), reinterpret_cast<const int64_t*>(at.data()), y.data()))
          fail("max_unpool: Found an invalid max index: output planes are of size ", p.pixels());
      },
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, pool_pick(d.g(), d.x(1), d.arg(3))); },
};

Pool mean_pool_of(Call& c, const Dims& sizes, int at) {
  Pool p = pool_of(c, sizes, at);
  p.count_padding = c.flag(at + 5);
  p.divisor = c.integer(at + 6);
  return p;
}

// How much the mean of a window is divided by, along one dimension.
int64_t extent(const Pool& p, int d, int64_t place) {
  int64_t begin = place * p.stride[d] - p.pad[d], end = begin + p.kernel[d];
  if (p.count_padding) return std::min(end, p.size[d] + p.pad[d]) - begin;
  return std::min(end, p.size[d]) - std::max<int64_t>(begin, 0);
}

// Floating means as sums along each axis, unless windows are so large that their tables would be.
bool separable(const Tensor& x, const Pool& p) {
  constexpr double kMost = 1 << 24;
  for (int d = 0; d < 3; ++d)
    if (double(p.result[d]) * double(std::min(p.kernel[d], p.size[d])) > kMost || p.size[d] > (1 << 28)) return false;
  return is_floating(x.dtype());
}
void give_mean(Call& c, const Pool& p, int dims, const Dims& sizes) {
  const Tensor& x = c.tensor(0);
  bool last = resamples_last(x, dims) && separable(x, p);
  c.give(0, last ? meta_last_as(x, x.dtype(), sizes) : meta(x.dtype(), sizes));
}
std::vector<Axis> mean_axes(const Pool& p, int n) {
  std::vector<Axis> axes;
  for (int d = 3 - n; d < 3; ++d)
    axes.push_back(Axis::windows(
        p.size[d], p.result[d], [&p, d, in = p.size[d]](int64_t o, int32_t& first, int32_t& last, double& count) {
          int64_t begin = o * p.stride[d] - p.pad[d];
          first = int32_t(std::max<int64_t>(begin, 0)), last = int32_t(std::min(begin + p.kernel[d], in));
          count = p.divisor ? d == 2 ? double(p.divisor) : 1.0 : double(extent(p, d, o));
        }));
  return axes;
}

WEFT_OP{
  .signature =
      "pool_mean(Tensor input, int[] kernel, int[] stride, int[] padding, int[] dilation, int[] result, bool "
      "count_padding, int divisor) -> Tensor",
  .doc = "The mean of each window; or its sum over divisor, unless that is 0.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        need_real(c);
        Pool p = mean_pool_of(c, c.tensor(0).sizes(), 1);
        give_mean(c, p, c.ints(1).size(), with_planes(c.tensor(0).sizes(), c.ints(5)));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        Pool p = mean_pool_of(c, c.tensor(0).sizes(), 1);
        if (separable(c.tensor(0), p)) return run_axes(c.tensor(0), c.out[0], mean_axes(p, c.ints(1).size()));
        DType type = work_type(c.tensor(0).dtype());
        LaidOut x(c.tensor(0), type);
        Written y(c.out[0], type);
        pool_kernels().mean(type, p, x.data(), y.data());
      },
  .any_order =
      [](Call& c) {
        return takes_last(c, 0, c.ints(1).size()) && separable(c.tensor(0), pool_of(c, c.tensor(0).sizes(), 1));
      },
  .back =
      [](Grad& d) {
        d.give(0,
               pool_mean_back(d.g(), d.shape(0), d.arg(1), d.arg(2), d.arg(3), d.arg(4), d.arg(5), d.arg(6), d.arg(7)));
      },
};

WEFT_OP{
  .signature =
      "pool_mean_backward(Tensor grad, int[] sizes, int[] kernel, int[] stride, int[] padding, int[] dilation, int[] "
      "result, bool count_padding, int divisor) -> Tensor",
  .doc = "The derivative of pool_mean for an input of the given sizes.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        need_real(c);
        Pool p = mean_pool_of(c, c.ints(1), 2);
        Dims made = with_planes(c.ints(1), c.ints(6));
        if (!(c.tensor(0).sizes() == made))
          fail(c.name(), ": expected a gradient of shape ", made, ", got ", c.tensor(0).sizes());
        give_mean(c, p, c.ints(2).size(), c.ints(1));
      },
  .run =
      [](Call& c) {
        Pool p = mean_pool_of(c, c.ints(1), 2);
        if (separable(c.tensor(0), p)) return run_axes(c.tensor(0), c.out[0], mean_axes(p, c.ints(2).size()), true);
        DType type = work_type(c.tensor(0).dtype());
        LaidOut g(c.tensor(0), type);
        Written dx(c.out[0], type);
        pool_kernels().mean_back(type, p, g.data(), dx.data());
      },
  .any_order =
      [](Call& c) { return takes_last(c, 0, c.ints(2).size()) && separable(c.tensor(0), pool_of(c, c.ints(1), 2)); },
  .back =
      [](Grad& d) {
        d.give(0, pool_mean(d.g(), d.arg(2), d.arg(3), d.arg(4), d.arg(5), d.arg(6), d.arg(7), d.arg(8)));
      },
};

// ---- windows between bounds of their own

// The planes of x and as many windows along each of the last dimensions as `result` says.
Pool planes_of(Call& c, const Dims& result) {
  const Dims& sizes = c.tensor(0).sizes();
  int n = result.size();
  if (n < 1 || n > 3 || sizes.size() < n)
    fail(c.name(), ": windows of one to three dimensions are expected, got ", result, " for shape ", sizes);
  Pool p;
  p.planes = numel_of(Dims(sizes.data(), sizes.size() - n));
  for (int i = 0; i < n; ++i) {
    p.size[3 - n + i] = sizes[sizes.size() - n + i];
    p.result[3 - n + i] = result[i];
    if (result[i] < 0 || p.size[3 - n + i] < 1 || result[i] > std::numeric_limits<int32_t>::max())
      fail(c.name(), ": ", result, " windows do not fit into ", sizes);
  }
  if (p.pixels() > std::numeric_limits<int32_t>::max())
    fail(c.name(), ": planes of more than 2^31 elements, got shape ", sizes);
  need_real(c);
  return p;
}

void give_largest(Call& c, const Dims& result) {
  Dims sizes = with_planes(c.tensor(0).sizes(), result);
  c.give(0, meta(c.tensor(0).dtype(), sizes));
  c.give(1, meta(DType::Int64, sizes));
}

// `bounds` as the kernel reads them.
void run_bounded(Call& c, const Pool& p, const std::vector<int32_t>& bounds, bool each) {
  DType type = work_type(c.tensor(0).dtype());
  LaidOut x(c.tensor(0), type);
  Written y(c.out[0], type);
  pool_kernels().largest_between(type, p, bounds.data(), each, x.data(), y.data(), c.out[1].data<int64_t>());
}

WEFT_OP{
  .signature = "pool_adaptive(Tensor input, int[] result) -> (Tensor values, Tensor indices)",
  .doc = "The largest element of so many windows as equal as can be, and where in its plane it is.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        planes_of(c, c.ints(1));
        give_largest(c, c.ints(1));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        Pool p = planes_of(c, c.ints(1));
        std::vector<int32_t> bounds;
        for (int d = 0; d < 3; ++d)
          for (int64_t o = 0; o < p.result[d]; ++o) {
            bounds.push_back(int32_t(o * p.size[d] / p.result[d]));
            bounds.push_back(int32_t(((o + 1) * p.size[d] + p.result[d] - 1) / p.result[d]));
          }
        run_bounded(c, p, bounds, false);
      },
  .keeps = keep::y1,
  .back = [](Grad& d) { d.give(0, pool_put(d.g(), d.y(1), d.shape(0), int64_t(d.arg(1).ints().size()))); },
};

// First elements of windows whose distances follow a random number u (Graham, Fractional Max-Pooling).
template <class R>
void add_bounds(std::vector<int32_t>& bounds, R u, int64_t size, int64_t count, int64_t kernel) {
  R step = count > 1 ? R(double(size - kernel) / double(count - 1)) : R(0);
  for (int64_t i = 0; i < count; ++i) {
    R at = std::floor((R(i) + u) * step) - std::floor(u * step);
    int64_t first = i == count - 1 || !(at < R(size - kernel)) ? size - kernel : at > 0 ? int64_t(at) : 0;
    bounds.push_back(int32_t(first)), bounds.push_back(int32_t(first + kernel));
  }
}

WEFT_OP{
  .signature =
      "pool_fractional(Tensor input, Tensor samples, int[] kernel, int[] result) -> (Tensor values, Tensor indices)",
  .doc = "The largest element of windows whose distances follow samples, one number for each dimension of each plane.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        Pool p = planes_of(c, c.ints(3));
        int n = c.ints(3).size();
        expect_count(c, 2, n);
        expect_dtype(c, 1, c.tensor(0).dtype());
        expect_floating(c, 1);
        expect_numel(c, 1, p.planes * n);
        for (int i = 0; i < n; ++i) {
          Size last = c.ints(2)[i];
          last += c.ints(3)[i];
          if (c.ints(2)[i] < 1 || c.ints(3)[i] < 1 || last - 1 > p.size[3 - n + i])
            fail(c.name(), ": windows of ", c.ints(2), " do not fit ", c.ints(3), " times into ", c.tensor(0).sizes());
        }
        give_largest(c, c.ints(3));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        const Dims &kernel = c.ints(2), &result = c.ints(3);
        Pool p = planes_of(c, result);
        int n = kernel.size();
        LaidOut u(c.tensor(1), DType::Double);
        const double* share = reinterpret_cast<const double*>(u.data());
        bool exact = c.tensor(0).dtype() == DType::Double;
        std::vector<int32_t> bounds;
        for (int64_t plane = 0; plane < p.planes; ++plane, share += n)
          for (int d = 0; d < 3; ++d) {
            int i = d - (3 - n);
            if (i < 0) {
              bounds.push_back(0), bounds.push_back(1);
              continue;
            }
            double at = share[n == 2 ? 1 - i : i];  // of images, that of the width comes first
            exact ? add_bounds<double>(bounds, at, p.size[d], result[i], kernel[i])
                  : add_bounds<float>(bounds, float(at), p.size[d], result[i], kernel[i]);
          }
        run_bounded(c, p, bounds, true);
      },
  .keeps = keep::y1,
  .back = [](Grad& d) { d.give(0, pool_put(d.g(), d.y(1), d.shape(0), int64_t(d.arg(3).ints().size()))); },
};

}  // namespace
}  // namespace weft
