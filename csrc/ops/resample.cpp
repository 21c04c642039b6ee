// Images in other sizes, means of adaptive windows, and padding with elements of the image: separable linear maps of
// the last dimensions. Where each element comes from is worked out once per axis; the adjoint is the same loop over the
// transposed tables.
#include "ops/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/order.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef resample{"resample"}, resample_back{"resample_backward"}, pad_picked{"pad_picked"},
    pad_picked_back{"pad_picked_backward"};
constexpr int64_t kMost = int64_t(1) << 28;  // elements of an axis, and terms of its sums

double scale_of(const Axis& a, double factor, bool corners) {
  if (corners) return a.out > 1 ? double(a.in - 1) / double(a.out - 1) : 0.0;
  return factor > 0 ? 1.0 / factor : double(a.in) / double(a.out);
}

int64_t whole(double x, int64_t most) { return x >= double(most) ? most : x > 0 ? int64_t(x) : 0; }

// R is the type in which places are computed: they decide which element is the nearest.
template <class R>
void nearest(Axis& a, double scale, bool exact) {
  for (int64_t o = 0; o < a.out; ++o)
    a.term(whole(std::floor((R(o) + R(exact ? 0.5 : 0)) * R(scale)), a.in - 1), 1), a.close(o);
}

template <class R>
void linear(Axis& a, double scale, bool corners) {
  for (int64_t o = 0; o < a.out; ++o) {
    R at = corners ? R(o) * R(scale) : R(scale) * (R(o) + R(0.5)) - R(0.5);
    at = at > 0 ? at : R(0);
    int64_t low = whole(at, a.in - 1);
    R share = at - R(low);
    share = share < 0 ? R(0) : share > 1 ? R(1) : share;
    a.term(low, R(1) - share), a.term(low + 1, share), a.close(o);
  }
}

// The cubic convolution of Keys, with the second derivative a at distance one.
template <class R>
R cubic_near(R x, R a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class R>
R cubic_far(R x, R a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class R>
void cubic(Axis& axis, double scale, bool corners) {
  const R a = R(-0.75);
  for (int64_t o = 0; o < axis.out; ++o) {
    R at = corners ? R(o) * R(scale) : R(scale) * (R(o) + R(0.5)) - R(0.5), low = std::floor(at), t = at - low;
    int64_t first = whole(low + 2, axis.in + 2) - 3;  // from -1 - 2 on, as terms are clamped
    axis.term(first, cubic_far(t + 1, a)), axis.term(first + 1, cubic_near(t, a));
    axis.term(first + 2, cubic_near(1 - t, a)), axis.term(first + 3, cubic_far(2 - t, a));
    axis.close(o);
  }
}

// A filter as wide as the elements of the result, for images that become smaller.
template <class R>
void smooth(Axis& a, double scale, bool is_cubic) {
  double inverse = 1.0 / std::max(scale, 1.0), reach = (is_cubic ? 2.0 : 1.0) / inverse;
  std::vector<double> w;
  for (int64_t o = 0; o < a.out; ++o) {
    double center = scale * (double(o) + 0.5), total = 0;
    int64_t first = whole(center - reach + 0.5, a.in), last = whole(center + reach + 0.5, a.in);
    w.clear();
    for (int64_t i = first; i < last; ++i) {
      double x = std::abs((double(i) - center + 0.5) * inverse);
      w.push_back(!is_cubic ? std::max(1.0 - x, 0.0) : x < 1 ? cubic_near(x, -0.5) : x < 2 ? cubic_far(x, -0.5) : 0.0);
      total += w.back();
    }
    for (int64_t i = first; i < last; ++i) a.term(i, R(w[size_t(i - first)] / (total == 0 ? 1.0 : total)));
    a.close(o);
  }
}

Axis area(int64_t in, int64_t out) {
  return Axis::windows(in, out, [=](int64_t o, int32_t& first, int32_t& last, double& count) {
    first = int32_t(o * in / out), last = int32_t(((o + 1) * in + out - 1) / out);
    count = double(last - first);
  });
}

// The arguments from `at` on: mode, corners, a factor for each dimension or 0.
template <class R>
Axis axis_of(Call& c, int at, int i, int64_t in, int64_t out) {
  std::string_view mode = c.text(at);
  bool corners = c.flag(at + 1);
  double factor = c.real(at + 2 + i);
  if (mode == "area") return area(in, out);
  Axis a(in, out, mode == "cubic" ? 4 : mode == "linear" ? 2 : 1);
  double scale = scale_of(a, factor, corners);
  if (mode == "nearest" || mode == "nearest-exact")
    nearest<R>(a, scale, mode != "nearest");
  else if (mode == "smooth-linear" || mode == "smooth-cubic")
    smooth<R>(a, scale, mode == "smooth-cubic");
  else if (mode == "cubic")
    cubic<R>(a, scale, corners);
  else if (in == out && (corners || !(factor > 0) || factor == 1))
    a.same();
  else
    linear<R>(a, scale, corners);
  return a;
}

// `lead` planes from `sizes` to `result`; each axis has at most kMost terms.
void check_axes(Call& c, int at, const Dims& sizes, const Dims& result) {
  std::string_view mode = c.text(at);
  bool picks = mode == "nearest" || mode == "nearest-exact",
       filters = mode == "smooth-linear" || mode == "smooth-cubic";
  if (!picks && !filters && mode != "linear" && mode != "cubic" && mode != "area")
    fail(c.name(), ": unknown mode '", c.text(at), "'");
  if (!picks && !is_floating(c.tensor(0).dtype()))
    fail_missing("interpolate: not implemented for '", name_of(c.tensor(0).dtype()), "'");
  int n = result.size();
  if (n < 1 || n > 3 || sizes.size() < n)
    fail(c.name(), ": one to three of the dimensions get other sizes, got ", result, " for shape ", sizes);
  for (int i = 0; i < n; ++i) {
    int64_t in = sizes[sizes.size() - n + i], out = result[i];
    if (in < 1 || out < 0 || (out == 0 && mode != "area") || in > kMost / 4 || out > kMost / 4)
      fail("interpolate: Input and output sizes should be greater than 0, but got input ", sizes, " and output ",
           result);
    double factor = c.real(at + 2 + i), scale = factor > 0 ? 1 / factor : double(in) / double(out);
    if (filters && double(out) * std::min(double(in), 4 * std::max(scale, 1.0) + 4) > double(kMost))
      fail(c.name(), ": the filters of ", out, " elements from ", in, " by ", factor, " have too many terms");
  }
}

Dims with_last(Dims sizes, const Dims& last) {
  for (int i = 0; i < last.size(); ++i) sizes[sizes.size() - last.size() + i] = last[i];
  return sizes;
}
Dims last_of(const Dims& sizes, int n) { return Dims(sizes.data() + sizes.size() - n, n); }

void give_like(Call& c, int dims, const Dims& sizes) {
  const Tensor& x = c.tensor(0);
  c.give(0, resamples_last(x, dims) ? meta_last_as(x, x.dtype(), sizes) : meta(x.dtype(), sizes));
}

void need_inexact(Call& c) {
  if (!is_floating(c.tensor(0).dtype()) && !is_complex(c.tensor(0).dtype()))
    refuse(c, 0, "be of a floating or complex dtype");
}

// The tables of the last n dimensions, or the transposed ones: make(i, in, out) gives one.
template <class Make>
void run_map(Call& c, int n, bool transposed, const Make& make) {
  const Tensor &x = c.tensor(0), &y = c.out[0];
  if (x.numel() == 0 || y.numel() == 0) return run_axes(x, y, {});
  std::vector<Axis> axes;
  for (int i = 0; i < n; ++i) {
    int64_t in = x.size(x.dim() - n + i), out = y.size(x.dim() - n + i);
    axes.push_back(transposed ? make(i, out, in) : make(i, in, out));
  }
  run_axes(x, y, std::move(axes), transposed);
}

template <bool kTransposed>
void run_resample(Call& c) {
  bool exact = c.tensor(0).dtype() == DType::Double || c.tensor(0).dtype() == DType::ComplexDouble;
  run_map(c, c.ints(1).size(), kTransposed, [&](int i, int64_t in, int64_t out) {
    return exact ? axis_of<double>(c, 2, i, in, out) : axis_of<float>(c, 2, i, in, out);
  });
}

WEFT_OP{
  .signature =
      "resample(Tensor input, int[] size, str mode, bool corners, float factor0, float factor1, float factor2) -> "
      "Tensor",
  .doc =
      "The last dimensions in another size. Factors say where the elements of the result lie; 0: by the ratio of the "
      "sizes.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        check_axes(c, 2, c.tensor(0).sizes(), c.ints(1));
        give_like(c, c.ints(1).size(), with_last(c.tensor(0).sizes(), c.ints(1)));
      },
  .run = run_resample<false>,
  .any_order = [](Call& c) { return resamples_last(c.tensor(0), c.ints(1).size()); },
  .back =
      [](Grad& d) {
        d.give(0, resample_back(d.g(), last_of(d.shape(0), d.arg(1).ints().size()), d.arg(2), d.arg(3), d.arg(4),
                                d.arg(5), d.arg(6)));
      },
};

WEFT_OP{
  .signature =
      "resample_backward(Tensor grad, int[] size, str mode, bool corners, float factor0, float factor1, float factor2) "
      "-> Tensor",
  .doc = "The adjoint of resample for an input whose last dimensions have the given size.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        need_inexact(c);
        const Dims &g = c.tensor(0).sizes(), &size = c.ints(1);
        if (size.size() > g.size()) refuse(c, 1, "name dimensions of ", g);
        Dims made = with_last(g, size);
        check_axes(c, 2, made, last_of(g, size.size()));
        give_like(c, size.size(), made);
      },
  .run = run_resample<true>,
  .any_order = [](Call& c) { return resamples_last(c.tensor(0), c.ints(1).size()); },
  .back =
      [](Grad& d) {
        d.give(0, resample(d.g(), last_of(d.shape(0), d.arg(1).ints().size()), d.arg(2), d.arg(3), d.arg(4), d.arg(5),
                           d.arg(6)));
      },
};

// ---- padding with elements of the image: pad is (before, after) of the last dimension, then of the one before it

enum class Pad { reflect, replicate, circular };
Pad pad_mode(std::string_view mode) {
  return mode == "reflect" ? Pad::reflect : mode == "replicate" ? Pad::replicate : Pad::circular;
}

// A dimension that is padded.
struct PadAxis {
  Pad mode = Pad::replicate;
  int64_t in = 1, out = 1, before = 0, after = 0;

  // Where element o of the result comes from.
  int64_t from(int64_t o) const {
    int64_t i = o - before;
    if (mode == Pad::replicate) return i < 0 ? 0 : i >= in ? in - 1 : i;
    if (mode == Pad::reflect) {
      i = i < 0 ? -i : i;
      return in - 1 - (in - 1 - i < 0 ? i - (in - 1) : in - 1 - i);
    }
    // Circular: what is cut off does not come back.
    int64_t first = before < 0 ? -before : 0, length = in - first - (after < 0 ? -after : 0);
    i -= first;
    return first + (i < 0 ? i + length : i >= length ? i - length : i);
  }
  // Those from begin() to end() lie as in the input.
  int64_t begin() const { return std::min(std::max<int64_t>(before, 0), out); }
  int64_t end() const { return std::max(begin(), out - std::max<int64_t>(after, 0)); }
};

PadAxis pad_axis(Call& c, int at, int i, int64_t in, int64_t out) {
  const Dims& pad = c.ints(at);
  int last = pad.size() - 2 * i - 2;
  return {pad_mode(c.text(at + 1)), in, out, pad[last], pad[last + 1]};
}

Dims padded_sizes(Call& c, int at, Dims sizes) {
  const Dims& pad = c.ints(at);
  std::string_view mode = c.text(at + 1);
  int n = pad.size() / 2;
  if (mode != "reflect" && mode != "replicate" && mode != "circular") fail("pad: unknown mode '", c.text(at + 1), "'");
  if (pad.size() % 2 || pad.size() > 2 * sizes.size())
    fail("pad: Padding length must be even and at most twice the number of dimensions, got ", pad.size(), " for ",
         sizes.size(), " dimensions");
  if (n < 1 || n > 3 || (sizes.size() != n + 1 && sizes.size() != n + 2))
    fail_missing("pad: modes other than constant pad the last one to three of two to five dimensions");
  for (int d = sizes.size() - n - 1; d < sizes.size(); ++d)
    if (sizes[d] == 0) fail("pad: Expected input without empty dimensions but the batch, got ", sizes);
  for (int i = 0; i < n; ++i) {
    int d = sizes.size() - 1 - i;
    int64_t before = pad[2 * i], after = pad[2 * i + 1], size = sizes[d];
    if (std::abs(before) > kMost || std::abs(after) > kMost || size > kMost)
      fail("pad: sizes of more than 2^28 at dimension ", d);
    if (size + before + after < 1)
      fail("pad: dimension ", d, " of size ", size, " would have no elements left after padding (", before, ", ", after,
           ")");
    if (mode == "circular") {
      int64_t left = size - (before < 0 ? -before : 0) - (after < 0 ? -after : 0);
      if (left < 1 || before > left || after > left)
        fail("pad: Padding value causes wrapping around more than once: ", before, ", ", after, " at dimension ", d,
             " of size ", size);
    }
    if (mode == "reflect" && (before >= size || after >= size))
      fail("pad: Padding size should be less than the corresponding input dimension, but got: padding (", before, ", ",
           after, ") at dimension ", d, " of size ", size);
    sizes[d] = size + before + after;
  }
  return sizes;
}

// Planes of pixels of `bytes` each, as one T or (char) as so many of them.
template <class T>
void pad_planes(const PadAxis* axes, int64_t planes, int64_t bytes, const char* x, char* y) {
  const PadAxis &d = axes[0], &h = axes[1], &w = axes[2];
  const int64_t rows = d.out * h.out, in = w.in * bytes, out = w.out * bytes, begin = w.begin(), end = w.end();
  std::vector<int64_t> starts, edges;  // of rows in a plane; of the pixels at both ends in a row
  for (int64_t a = 0; a < d.out; ++a)
    for (int64_t b = 0; b < h.out; ++b) starts.push_back((d.from(a) * h.in + h.from(b)) * in);
  for (int64_t o = 0; o < begin; ++o) edges.push_back(w.from(o) * bytes);
  for (int64_t o = end; o < w.out; ++o) edges.push_back(w.from(o) * bytes);
  auto copy = [&](char* to, const char* from) { std::memcpy(to, from, sizeof(T) > 1 ? sizeof(T) : size_t(bytes)); };
  parallel_chunks(planes * rows, 1 + kGrain / w.out, [&](int64_t first, int64_t last) {
    int64_t plane = first / rows, at = first % rows;
    for (int64_t r = first; r < last; ++r) {
      const char* row = x + plane * d.in * h.in * in + starts[size_t(at)];
      const int64_t* from = edges.data();
      char* to = y + r * out;
      for (int64_t o = 0; o < begin; ++o) copy(to + o * bytes, row + *from++);
      if (end > begin) std::memcpy(to + begin * bytes, row + (begin - w.before) * bytes, size_t((end - begin) * bytes));
      for (int64_t o = end; o < w.out; ++o) copy(to + o * bytes, row + *from++);
      if (++at == rows) at = 0, ++plane;
    }
  });
}

void run_padding(Call& c) {
  const Tensor &x = c.tensor(0), &y = c.out[0];
  if (y.numel() == 0) return;
  const int n = c.ints(1).size() / 2;
  PadAxis axes[3];
  for (int i = 0; i < n; ++i) axes[3 - n + i] = pad_axis(c, 1, i, x.size(x.dim() - n + i), y.size(x.dim() - n + i));
  const int64_t planes = numel_of(Dims(x.sizes().data(), x.dim() - n)), item = item_size(x.dtype());
  if (resamples_last(x, n)) {
    Last from(x);
    LastWritten to(y);
    return pad_planes<char>(axes, planes / x.size(1), item * x.size(1), from.data(), to.data());
  }
  LaidOut from(x, x.dtype());
  switch (item) {
    case 2: return pad_planes<uint16_t>(axes, planes, item, from.data(), y.data());
    case 4: return pad_planes<uint32_t>(axes, planes, item, from.data(), y.data());
    case 8: return pad_planes<uint64_t>(axes, planes, item, from.data(), y.data());
    default: return pad_planes<char>(axes, planes, item, from.data(), y.data());
  }
}

void run_padding_back(Call& c) {
  run_map(c, c.ints(2).size() / 2, true, [&](int i, int64_t in, int64_t out) {
    Axis a(in, out, 1);
    PadAxis pad = pad_axis(c, 2, i, in, out);
    for (int64_t o = 0; o < out; ++o) a.term(pad.from(o), 1), a.close(o);
    return a;
  });
}

WEFT_OP{
  .signature = "pad_picked(Tensor input, int[] pad, str mode) -> Tensor",
  .doc = "The last dimensions widened by elements of the input: reflect, replicate or circular.",
  .traits = kHidden,
  .infer = [](Call& c) { give_like(c, c.ints(1).size() / 2, padded_sizes(c, 1, c.tensor(0).sizes())); },
  .run = run_padding,
  .any_order = [](Call& c) { return resamples_last(c.tensor(0), c.ints(1).size() / 2); },
  .back = [](Grad& d) { d.give(0, pad_picked_back(d.g(), d.shape(0), d.arg(1), d.arg(2))); },
};

WEFT_OP{
  .signature = "pad_picked_backward(Tensor grad, int[] size, int[] pad, str mode) -> Tensor",
  .doc = "The adjoint of pad_picked for an input of the given size.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_not_negative(c, 1);
        need_inexact(c);
        expect_shape(c, 0, padded_sizes(c, 2, c.ints(1)));
        give_like(c, c.ints(2).size() / 2, c.ints(1));
      },
  .run = run_padding_back,
  .any_order = [](Call& c) { return resamples_last(c.tensor(0), c.ints(2).size() / 2); },
  .back = [](Grad& d) { d.give(0, pad_picked(d.g(), d.arg(2), d.arg(3))); },
};

}  // namespace

Axis Axis::transposed() const {
  const ResampleAxis from = view();
  Axis t(out, in, 0);
  t.index.resize(size_t(terms)), t.weight.resize(size_t(terms));
  t.terms = terms;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t k = from.begin[o]; k < from.end[o]; ++k) ++t.begin[size_t(from.at(k)) + 1];
  for (int64_t i = 0; i < in; ++i) t.begin[size_t(i) + 1] += t.begin[size_t(i)];
  std::vector<int32_t> next(t.begin.begin(), t.begin.end() - 1);
  t.single = single && in == out;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t k = from.begin[o]; k < from.end[o]; ++k) {
      size_t to = size_t(next[size_t(from.at(k))]++);
      t.index[to] = int32_t(o);
      t.weight[to] = from.by(k) / (count.empty() ? 1.0 : count[size_t(o)]);
      t.single = t.single && t.weight[to] == 1;
    }
  for (int64_t i = 0; i < in; ++i) t.single = t.single && t.begin[size_t(i)] == i;
  return t;
}

bool resamples_last(const Tensor& x, int dims) {
  return x.dtype() == DType::Float && x.dim() == dims + 2 && is_last(x);
}

// Whether the last axis of an adjoint map is better done by its own tables than by transposed ones: where most elements
// of the result get nothing, or where the tables would serve a few rows only.
static bool worth_scattering(const Tensor& x, const Tensor& y, const Axis& last, int n) {
  constexpr int64_t kFewRows = 4, kSparse = 4;
  if (resamples_last(x, n) || is_complex(x.dtype())) return false;
  return last.terms * kSparse <= last.in || y.numel() <= kFewRows * last.in;
}

void run_axes(const Tensor& x, const Tensor& y, std::vector<Axis> axes, bool adjoint) {
  if (y.numel() == 0) return;
  if (x.numel() == 0) return fill_data(y, Value(0));
  const int n = int(axes.size());
  const bool scatters = adjoint && worth_scattering(x, y, axes.back(), n);
  if (adjoint)
    for (Axis& a : axes)
      if (&a != &axes.back() || !scatters) a = a.transposed();
  const bool counts = !adjoint && !axes[0].count.empty();
  static const int32_t begin[2] = {0, 1}, index[1] = {0};
  static const double one[1] = {1};
  ResampleAxis views[3];
  bool single = !counts && !scatters;
  for (int i = 0; i < 3; ++i) {
    views[i] = i < 3 - n ? ResampleAxis{1, 1, begin, begin + 1, index, one, counts ? one : nullptr}
                         : axes[size_t(i - 3 + n)].view();
    single = single && (i < 3 - n || axes[size_t(i - 3 + n)].single);
  }
  if (scatters) views[2] = axes.back().adjoint_view();
  const int64_t planes = numel_of(Dims(x.sizes().data(), x.dim() - n));
  if (resamples_last(x, n)) {
    Last from(x);
    LastWritten to(y);
    int64_t channels = x.size(1);
    if (single)
      resample_kernels().pick(item_size(x.dtype()), views, planes / channels, channels, from.data(), to.data());
    else
      resample_kernels().sum(DType::Float, views, planes / channels, channels, from.data(), to.data());
    return;
  }
  if (single) {
    LaidOut from(x, x.dtype());
    return resample_kernels().pick(item_size(x.dtype()), views, planes, 1, from.data(), y.data());
  }
  DType type = work_type(x.dtype());
  LaidOut from(x, type);
  Written to(y, type);
  DType part = type == DType::ComplexDouble ? DType::Double : type == DType::ComplexFloat ? DType::Float : type;
  resample_kernels().sum(part, views, planes, part == type ? 1 : 2, from.data(), to.data());
}

}  // namespace weft
