// Discrete Fourier transforms. Three primitives carry all: complex to complex, real to half a spectrum (or a whole
// one), and back. They scale by the factor they are given; norm= decides it.
#include "loops/fft.h"

#include <cmath>
#include <optional>

#include "core/memory.h"
#include "ops/api.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef c2c{"_fft_c2c"}, r2c{"_fft_r2c"}, c2r{"_fft_c2r"}, cat{"cat"};

// ---- the primitives

// Dimensions to transform: some, each once, with elements.
void expect_axes(Call& c, int at, const Tensor& x) {
  const Dims& dims = c.ints(at);
  bool fits = !dims.empty() && dims.size() <= x.dim();
  uint64_t seen = 0;
  for (int64_t d : dims) {
    fits = fits && d >= 0 && d < x.dim() && !(seen >> d & 1) && x.size(int(d)) > 0;
    if (fits) seen |= uint64_t(1) << d;
  }
  if (!fits) refuse(c, at, "name dimensions of a tensor of shape ", x.sizes(), ", each once, with elements");
}
void expect_complex(Call& c) {
  if (!is_complex(c.tensor(0).dtype())) refuse(c, 0, "be complex64 or complex128");
}

FftBox box_of(const Tensor& t) { return {t.data(), t.strides()}; }

// Transforms complex numbers along all but the last `less` of dims: from `from` into `to`, and there. The last scales.
void transform(const Dims& sizes, const Dims& dims, int less, bool forward, double scale, DType real, FftBox from,
               const FftBox& to) {
  for (int i = dims.size() - 1 - less; i >= 0; --i) {
    fft_along({real, Fft::complex, forward, i == 0 ? scale : 1.0, 1.0}, sizes, int(dims[i]), from, to);
    from = to;
  }
}

WEFT_OP{
  .signature = "_fft_c2c(Tensor input, int[] dim, float scale, bool forward) -> Tensor",
  .doc = "The transform of complex numbers along some dimensions, forward or back.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_complex(c);
        expect_axes(c, 1, c.tensor(0));
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        transform(x.sizes(), c.ints(1), 0, c.flag(3), c.real(2), real_of(x.dtype()), box_of(x), box_of(c.out[0]));
      },
  .back = [](Grad& d) { d.give(0, c2c(d.g(), d.arg(1).ints(), d.arg(2).real(), !d.arg(3).flag())); },
};

// The half of a spectrum that mirrors the other: out[n - k] = conj(out[k]) along the last dimension given, at the
// opposite places along the others.
template <class R>
void mirror(const Tensor& out, const Dims& dims) {
  auto* y = out.data<std::complex<R>>();
  int last = int(dims.back()), rank = out.dim();
  int64_t n = out.size(last), step = out.stride(last), lines = out.numel() / n;
  Dims at(rank);
  std::vector<bool> turned(size_t(rank), false);
  for (int64_t d : dims) turned[size_t(d)] = true;
  for (int64_t l = 0; l < lines; ++l) {
    int64_t to = 0, from = 0;
    for (int i = 0; i < rank; ++i) {
      if (i == last) continue;
      to += at[i] * out.stride(i);
      from += (turned[size_t(i)] ? (out.size(i) - at[i]) % out.size(i) : at[i]) * out.stride(i);
    }
    for (int64_t k = n / 2 + 1; k < n; ++k) y[to + k * step] = std::conj(y[from + (n - k) * step]);
    for (int i = rank - 1; i >= 0; --i) {
      if (i == last) continue;
      if (++at.data()[i] < out.size(i)) break;
      at.data()[i] = 0;
    }
  }
}

WEFT_OP{
  .signature =
      "_fft_r2c(Tensor input, int[] dim, float scale, bool forward=True, bool onesided=True, float edge=1.0) -> Tensor",
  .doc = R"(The transform of real numbers; of the last dimension given, only the first half if onesided.
The frequencies of a half that stand for one of the whole, 0 and the middle of an even length, are multiplied by edge.)",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dtype() != DType::Float && x.dtype() != DType::Double) refuse(c, 0, "be float32 or float64");
        expect_axes(c, 1, x);
        if (!c.flag(4) && c.real(5) != 1) refuse(c, 5, "be 1 for a whole spectrum");
        Dims sizes = x.sizes();
        int last = int(c.ints(1).back());
        if (c.flag(4)) sizes[last] = x.size(last) / 2 + 1;
        c.give(0, meta(complex_of(x.dtype()), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        const Dims& dims = c.ints(1);
        int last = int(dims.back());
        bool forward = c.flag(3);
        double scale = c.real(2);
        FftBox to = box_of(y);
        fft_along({x.dtype(), Fft::real_to_complex, forward, dims.size() == 1 ? scale : 1.0, c.real(5)}, x.sizes(),
                  last, box_of(x), to);
        Dims half = x.sizes();
        half[last] = half[last] / 2 + 1;
        transform(half, dims, 1, forward, scale, x.dtype(), to, to);
        if (!c.flag(4) && y.numel()) x.dtype() == DType::Float ? mirror<float>(y, dims) : mirror<double>(y, dims);
      },
  .back =
      [](Grad& d) {
        const Dims& dims = d.arg(1).ints();
        double scale = d.arg(2).real(), edge = d.arg(5).real();
        bool forward = d.arg(3).flag();
        if (d.arg(4).flag())  // a frequency within stands for two, of which only one had a gradient
          d.give(0, c2r(d.g(), dims, scale / 2, int64_t(d.shape(0)[int(dims.back())]), !forward, 2 * edge));
        else
          d.give(0, real_part(c2c(d.g(), dims, scale, !forward)));
      },
};

WEFT_OP{
  .signature = "_fft_c2r(Tensor input, int[] dim, float scale, int n, bool forward=False, float edge=1.0) -> Tensor",
  .doc = "The way from half a spectrum to n real numbers in the last dimension given. edge is that of _fft_r2c.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        expect_complex(c);
        expect_axes(c, 1, x);
        int last = int(c.ints(1).back());
        Size n = c.integer(3);
        if (n < 1 || x.size(last) != n / 2 + 1) refuse(c, 3, "be such that input has n // 2 + 1 elements along dim");
        Dims sizes = x.sizes();
        sizes[last] = n;
        c.give(0, meta(real_of(x.dtype()), sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        const Dims& dims = c.ints(1);
        bool forward = c.flag(4);
        FftBox from = box_of(x);
        std::optional<Scratch> between;
        if (dims.size() > 1) {
          between.emplace(x.numel() * item_size(x.dtype()));
          FftBox to{between->as<char>(), contiguous_strides(x.sizes())};
          transform(x.sizes(), dims, 1, forward, 1.0, y.dtype(), from, to);
          from = to;
        }
        fft_along({y.dtype(), Fft::complex_to_real, forward, c.real(2), c.real(5)}, y.sizes(), int(dims.back()), from,
                  box_of(y));
      },
  .back =
      [](Grad& d) {
        d.give(0, r2c(d.g(), d.arg(1).ints(), d.arg(2).real() * 2, !d.arg(4).flag(), true, d.arg(5).real() / 2));
      },
};

// ---- arguments

// "fft.rfft2" for fft_rfft2.
std::string name_of(Call& c) {
  std::string s = c.name();
  s[3] = '.';
  return s;
}

// n elements along a dimension: cut, or filled up with zeros.
Tensor resized(const Tensor& x, int dim, int64_t n) {
  int64_t have = x.size(dim);
  if (n == have) return x;
  if (n < have) return slice(x, int64_t(dim), int64_t(0), n);
  Dims more = x.sizes();
  more[dim] = n - have;
  return cat(TensorList{x, zeros(more, x.dtype())}, int64_t(dim));
}

double scale_of(Call& c, int at, double n, bool forward) {
  std::string norm = c.has(at) ? c.text(at) : "backward";
  if (norm != "backward" && norm != "ortho" && norm != "forward")
    fail("Invalid normalization mode: \"", norm, "\" (", name_of(c), ")");
  if (norm == "ortho") return 1 / std::sqrt(n);
  return (norm == "forward") == forward ? 1 / n : 1.0;
}

Tensor as_floating(Call& c) {
  const Tensor& x = c.tensor(0);
  if (is_half(x.dtype())) fail(name_of(c), ": unsupported dtype ", name_of(x.dtype()));
  return is_inexact(x.dtype()) ? x : to_dtype(x, default_dtype());
}
Tensor as_complex(Call& c) {
  Tensor x = as_floating(c);
  return to_dtype(x, complex_of(x.dtype()));
}
Tensor as_real(Call& c) {
  const Tensor& x = c.tensor(0);
  if (is_complex(x.dtype())) fail(name_of(c), " expects a real input tensor, but got ", name_of(x.dtype()));
  return as_floating(c);
}

int axis_of(Call& c, int64_t dim) {
  int n = c.tensor(0).dim(), most = std::max(n, 1);
  if (n == 0 || dim < -n || dim >= n)
    fail_index(name_of(c), ": Dimension out of range (expected to be in range of [", -most, ", ", most - 1,
               "], but got ", dim, ")");
  return int(dim < 0 ? dim + n : dim);
}
int64_t points(Call& c, int64_t n) {
  if (n < 1) fail(name_of(c), ": Invalid number of data points (", n, ") specified");
  return n;
}

// What is asked for: dimensions, and along them sizes (-1: as they are).
struct Asked {
  Dims sizes, dims;
};
Asked one_asked(Call& c) {  // n, dim
  int d = axis_of(c, c.integer(2));
  return {Dims{c.has(1) ? points(c, c.integer(1)) : -1}, Dims{d}};
}
Asked many_asked(Call& c) {  // s, dim
  Asked a;
  int rank = c.tensor(0).dim();
  if (c.has(2)) {
    for (int64_t d : c.ints(2)) a.dims.push(axis_of(c, d));
  } else {
    int count = c.has(1) ? c.ints(1).size() : rank;
    if (count > rank)
      fail(name_of(c), ": Got shape with ", count, " values but input tensor only has ", rank, " dimensions.");
    for (int d = rank - count; d < rank; ++d) a.dims.push(d);
  }
  uint64_t seen = 0;
  for (int64_t d : a.dims) {
    if (seen >> d & 1) fail(name_of(c), ": FFT dims must be unique");
    seen |= uint64_t(1) << d;
  }
  a.sizes = Dims(a.dims.size(), -1);
  if (!c.has(1)) return a;
  if (c.ints(1).size() != a.dims.size())
    fail(name_of(c), ": When given, dim and shape arguments must have the same length");
  for (int i = 0; i < a.dims.size(); ++i)
    if (c.ints(1)[i] != -1) a.sizes[i] = points(c, c.ints(1)[i]);
  return a;
}

// x cut or filled up as asked, and the product of its sizes along the dimensions.
struct Ready {
  Tensor x;
  double total = 1;
};
Ready ready(Call& c, Tensor x, const Asked& a) {
  Ready r{std::move(x)};
  for (int i = 0; i < a.dims.size(); ++i) {
    int d = int(a.dims[i]);
    int64_t n = points(c, a.sizes[i] < 0 ? r.x.size(d) : int64_t(a.sizes[i]));
    r.x = resized(r.x, d, n);
    r.total *= double(n);
  }
  return r;
}

// ---- the families

void complex_transform(Call& c, const Asked& a, bool forward) {
  Tensor x = as_floating(c);
  if (a.dims.empty()) {
    scale_of(c, 3, 1, forward);
    return c.give(0, clone_of(as_complex(c)));
  }
  Ready r = ready(c, x, a);
  double scale = scale_of(c, 3, r.total, forward);
  c.give(0, is_complex(r.x.dtype()) ? c2c(r.x, a.dims, scale, forward) : r2c(r.x, a.dims, scale, forward, false));
}
void real_transform(Call& c, const Asked& a, bool forward) {
  if (a.dims.empty()) fail(name_of(c), " must transform at least one axis");
  Ready r = ready(c, as_real(c), a);
  c.give(0, r2c(r.x, a.dims, scale_of(c, 3, r.total, forward), forward));
}
void half_transform(Call& c, Asked a, bool forward) {
  if (a.dims.empty()) fail(name_of(c), " must transform at least one axis");
  Tensor x = as_complex(c);
  int last = a.dims.size() - 1;
  int64_t n = points(c, a.sizes[last] < 0 ? 2 * (x.size(int(a.dims[last])) - 1) : int64_t(a.sizes[last]));
  a.sizes[last] = n / 2 + 1;
  Ready r = ready(c, x, a);
  double total = r.total / double(n / 2 + 1) * double(n);
  c.give(0, c2r(r.x, a.dims, scale_of(c, 3, total, forward), n, forward));
}

// f, f2 over the last two dimensions, fn over all by default.
#define WEFT_FFT(name, transform, forward, text, one, two, many)                                             \
  WEFT_OP{                                                                                                   \
    .signature = "fft_" name "(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor",            \
    .doc = text " along a dimension.\n\n>>> weft.fft." name one,                                             \
    .traits = kNoMethod,                                                                                     \
    .compose = [](Call& c) { transform(c, one_asked(c), forward); },                                         \
  };                                                                                                         \
  WEFT_OP{                                                                                                   \
    .signature = "fft_" name "2(Tensor input, int[]? s=None, int[] dim=(-2, -1), str? norm=None) -> Tensor", \
    .doc = text " along the last two dimensions.\n\n>>> weft.fft." name "2" two,                             \
    .traits = kNoMethod,                                                                                     \
    .compose = [](Call& c) { transform(c, many_asked(c), forward); },                                        \
  };                                                                                                         \
  WEFT_OP {                                                                                                  \
    .signature = "fft_" name "n(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor",    \
    .doc = text " along several dimensions.\n\n>>> weft.fft." name "n" many, .traits = kNoMethod,            \
    .compose = [](Call& c) { transform(c, many_asked(c), forward); },                                        \
  }
#define WEFT_COMPLEX_PLANE "(weft.ones(1, 1) + 0j)\ntensor([[1.+0.j]])"
#define WEFT_PLANE "(weft.ones(1, 1))\ntensor([[1.+0.j]])"
WEFT_FFT("fft", complex_transform, true, "The discrete Fourier transform", "(weft.ones(2))\ntensor([2.+0.j, 0.+0.j])",
         WEFT_PLANE, WEFT_PLANE);
WEFT_FFT("ifft", complex_transform, false, "The inverse of the discrete Fourier transform",
         "(weft.tensor([2 + 0j, 0j]))\ntensor([1.+0.j, 1.+0.j])", WEFT_COMPLEX_PLANE, WEFT_COMPLEX_PLANE);
WEFT_FFT("rfft", real_transform, true, "The first half of the transform of real numbers, which the other half mirrors,",
         "(weft.ones(4))\ntensor([4.+0.j, 0.+0.j, 0.+0.j])", WEFT_PLANE, WEFT_PLANE);
WEFT_FFT("ihfft", real_transform, false,
         "The inverse of hfft: half the transform of real numbers, the other way round,",
         "(weft.tensor([4.0, 4.0]))\ntensor([4.-0.j, 0.-0.j])", "(weft.ones(1, 1))\ntensor([[1.-0.j]])",
         "(weft.ones(1, 1))\ntensor([[1.-0.j]])");
WEFT_FFT("irfft", half_transform, false, "The real numbers whose transform begins with input",
         "(weft.tensor([4.0, 0.0, 0.0]))\ntensor([1., 1., 1., 1.])", "(weft.ones(1, 2))\ntensor([[1., 0.]])",
         "(weft.ones(1, 2))\ntensor([[1., 0.]])");
WEFT_FFT("hfft", half_transform, true,
         "The real transform of a signal that mirrors its own conjugate, given its first half,",
         "(weft.tensor([4.0, 0.0, 0.0]))\ntensor([4., 4., 4., 4.])", "(weft.ones(1, 2))\ntensor([[2., 0.]])",
         "(weft.ones(1, 2))\ntensor([[2., 0.]])");

}  // namespace
}  // namespace weft
