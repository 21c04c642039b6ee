// Tensors made from a shape: empty, full, arange, eye and others.
#include <cmath>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/api.h"

namespace weft {
namespace {

void check_sizes(const Dims& sizes, const char* op) {
  for (int64_t s : sizes)
    if (s < 0) fail(op, ": Trying to create tensor with negative dimension ", s, ": ", sizes);
}

void check_fill_value(Call& c, const Value& v) {
  if (v.is_tensor() && v.tensor().dim())
    fail_type(c.name(), ": fill_value must be a number or a 0-d tensor, got a tensor of shape ", v.tensor().sizes());
}

void sized(Call& c) {
  check_sizes(c.ints(0), c.name());
  c.give(0, meta(c.dtype_or(1, default_dtype()), c.ints(0)));
}

// "x_like": the shape and, unless dtype is given, the type of the first argument.
void alike(Call& c, int dtype_at) {
  const Tensor& x = c.tensor(0);
  DType t = c.dtype_or(dtype_at, x.dtype());
  bool keep_order = !x.contiguous() && is_dense(x.sizes(), x.strides());
  c.give(0, keep_order ? meta_strided(t, x.sizes(), x.strides()) : meta(t, x.sizes()));
}

void new_sized(Call& c, int dtype_at) {
  check_sizes(c.ints(1), c.name());
  c.give(0, meta(c.dtype_or(dtype_at, c.tensor(0).dtype()), c.ints(1)));
}

constexpr const char* kConstant = "the result does not depend on the input's values";

WEFT_OP{
  .signature = "empty(int... size, *, dtype? dtype=None, object? memory_format=None) -> Tensor",
  .doc = R"(A tensor whose elements are not set.

>>> weft.empty(2, 3).shape
torch.Size([2, 3]))",
  .traits = kCreation | kNoMethod,
  .infer = sized,
  .run = [](Call&) {},
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "zeros(int... size, *, dtype? dtype=None) -> Tensor",
  .doc = R"(A tensor of zeros.

>>> weft.zeros(2)
tensor([0., 0.]))",
  .traits = kCreation | kNoMethod,
  .infer = sized,
  .run = [](Call& c) { fill_data(c.out[0], Value(0)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "ones(int... size, *, dtype? dtype=None) -> Tensor",
  .doc = R"(A tensor of ones.

>>> weft.ones(2)
tensor([1., 1.]))",
  .traits = kCreation | kNoMethod,
  .infer = sized,
  .run = [](Call& c) { fill_data(c.out[0], Value(1)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "full(int[] size, Tensor|Scalar fill_value, *, dtype? dtype=None) -> Tensor",
  .doc = R"(A tensor with every element equal to fill_value.

>>> weft.full((2,), 7)
tensor([7, 7]))",
  .traits = kCreation | kNoMethod,
  .infer =
      [](Call& c) {
        check_sizes(c.ints(0), "full");
        const Value& v = c.arg(1);
        check_fill_value(c, v);
        if (v.is_tensor() && v.tensor().wants_grad())
          fail_type("full: fill_value requires a gradient, which would be lost: expand() it, or detach() it first");
        c.give(0, meta(c.dtype_or(2, v.is_tensor() ? v.tensor().dtype() : v.number_dtype()), c.ints(0)));
      },
  .run = [](Call& c) { fill_data(c.out[0], c.arg(1)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "empty_like(Tensor input, *, dtype? dtype=None, object? memory_format=None) -> Tensor",
  .doc = R"(An unset tensor of input's shape and type.

>>> weft.empty_like(weft.ones(2, 3)).shape
torch.Size([2, 3]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer = [](Call& c) { alike(c, 1); },
  .run = [](Call&) {},
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "zeros_like(Tensor input, *, dtype? dtype=None, object? memory_format=None) -> Tensor",
  .doc = R"(Zeros in input's shape and type.

>>> weft.zeros_like(weft.ones(2))
tensor([0., 0.]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer = [](Call& c) { alike(c, 1); },
  .run = [](Call& c) { fill_data(c.out[0], Value(0)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "ones_like(Tensor input, *, dtype? dtype=None, object? memory_format=None) -> Tensor",
  .doc = R"(Ones in input's shape and type.

>>> weft.ones_like(weft.zeros(2))
tensor([1., 1.]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer = [](Call& c) { alike(c, 1); },
  .run = [](Call& c) { fill_data(c.out[0], Value(1)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature =
      "full_like(Tensor input, Tensor|Scalar fill_value, *, dtype? dtype=None, object? memory_format=None) -> Tensor",
  .doc = R"(fill_value in input's shape and type.

>>> weft.full_like(weft.zeros(2), 7)
tensor([7., 7.]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer =
      [](Call& c) {
        check_fill_value(c, c.arg(1));
        alike(c, 2);
      },
  .run = [](Call& c) { fill_data(c.out[0], c.arg(1)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "new_empty(Tensor input, int... size, *, dtype? dtype=None) -> Tensor",
  .doc = R"(An unset tensor of the given size and input's type.

>>> weft.ones(1).new_empty(2).shape
torch.Size([2]))",
  .traits = kCreation | kNoFunction | kNoOut,
  .infer = [](Call& c) { new_sized(c, 2); },
  .run = [](Call&) {},
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "new_zeros(Tensor input, int... size, *, dtype? dtype=None) -> Tensor",
  .doc = R"(Zeros of the given size and input's type.

>>> weft.ones(1).new_zeros(2)
tensor([0., 0.]))",
  .traits = kCreation | kNoFunction | kNoOut,
  .infer = [](Call& c) { new_sized(c, 2); },
  .run = [](Call& c) { fill_data(c.out[0], Value(0)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "new_ones(Tensor input, int... size, *, dtype? dtype=None) -> Tensor",
  .doc = R"(Ones of the given size and input's type.

>>> weft.zeros(1).new_ones(2)
tensor([1., 1.]))",
  .traits = kCreation | kNoFunction | kNoOut,
  .infer = [](Call& c) { new_sized(c, 2); },
  .run = [](Call& c) { fill_data(c.out[0], Value(1)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "new_full(Tensor input, int[] size, Tensor|Scalar fill_value, *, dtype? dtype=None) -> Tensor",
  .doc = R"(fill_value in the given size and input's type.

>>> weft.zeros(1).new_full((2,), 7)
tensor([7., 7.]))",
  .traits = kCreation | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        check_fill_value(c, c.arg(2));
        new_sized(c, 3);
      },
  .run = [](Call& c) { fill_data(c.out[0], c.arg(2)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "empty_strided(int[] size, int[] stride, *, dtype? dtype=None) -> Tensor",
  .doc = R"(An unset tensor of the given sizes and strides.

>>> weft.empty_strided((2, 3), (1, 2)).stride()
(1, 2))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer =
      [](Call& c) {
        check_sizes(c.ints(0), "empty_strided");
        if (c.ints(0).size() != c.ints(1).size())
          fail("empty_strided: sizes ", c.ints(0), " and strides ", c.ints(1), " differ in length");
        for (int64_t s : c.ints(1))
          if (s < 0) fail("empty_strided: negative strides are not supported: ", c.ints(1));
        c.give(0, meta_strided(c.dtype_or(2, default_dtype()), c.ints(0), c.ints(1)));
      },
  .run = [](Call&) {},
  .no_derivative = kConstant,
};

// Writes f(i) for i in [0, n) into out, whatever its type.
template <class F>
void generate(const Tensor& out, F f) {
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* y = out.data<T>();
    in_pieces(out.numel(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
          y[i] = T(float(f(i, zero)));
        else
          y[i] = T(f(i, zero));
      }
    });
  });
}

DType arange_dtype(Call& c, int dtype_at) {
  if (c.has(dtype_at)) return c.arg(dtype_at).dtype();
  for (int i = 0; i < dtype_at; ++i)
    if (c.arg(i).tag() == Tag::Float) return default_dtype();
  return DType::Int64;
}

void infer_arange(Call& c, const Value& from, const Value& to, const Value& by, DType dtype) {
  double start = from.real(), end = to.real(), step = by.real();
  if (dtype == DType::Bool || is_complex(dtype)) fail_missing("arange: not implemented for '", name_of(dtype), "'");
  if (step == 0) fail("arange: step must be nonzero");
  if (!std::isfinite(start) || !std::isfinite(end)) fail("arange: unsupported range: ", start, " -> ", end);
  if ((step > 0) != (end >= start) && start != end)
    fail("arange: upper bound and lower bound inconsistent with step sign: ", start, " -> ", end, " by ", step);
  if (dtype == DType::Int64) {  // whole numbers are counted with whole numbers, as PyTorch does
    __int128 gap = __int128(to.integer()) - from.integer(), s = by.integer();
    if (s == 0) fail("arange: step must be nonzero, got one that rounds to 0 as int64");
    __int128 n = gap / s + (gap % s != 0 && (gap > 0) == (s > 0));
    if (n > kMaxExtent) fail(ErrorKind::Memory, "out of memory: arange from ", start, " to ", end, " by ", step);
    return c.give(0, meta(dtype, Dims{n > 0 ? int64_t(n) : 0}));
  }
  double n = std::ceil((end - start) / step);
  if (!(n >= 0 && n < double(kMaxExtent))) fail("arange: invalid size, possible overflow");
  c.give(0, meta(dtype, Dims{int64_t(n)}));
}

void run_arange(const Tensor& out, const Value& start, const Value& step) {
  int64_t a = start.integer(), s = step.integer();
  double x = start.real(), dx = step.real();
  if (is_integral(out.dtype()))
    generate(out, [=](int64_t i, auto) { return modular::add(a, modular::mul(i, s)); });
  else
    generate(out, [=](int64_t i, auto) { return x + double(i) * dx; });
}

WEFT_OP{
  .signature = "arange(Scalar end, *, dtype? dtype=None) -> Tensor",
  .doc = R"(Numbers from start (0) up to end (left out), step (1) apart.

>>> weft.arange(3)
tensor([0, 1, 2]))",
  .traits = kCreation | kNoMethod,
  .infer = [](Call& c) { infer_arange(c, Value(0), c.arg(0), Value(1), arange_dtype(c, 1)); },
  .run = [](Call& c) { run_arange(c.out[0], Value(0), Value(1)); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "arange.start(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None) -> Tensor",
  .doc = "Numbers from start up to end (left out), step apart.",
  .traits = kCreation | kNoMethod,
  .infer = [](Call& c) { infer_arange(c, c.arg(0), c.arg(1), c.arg(2), arange_dtype(c, 3)); },
  .run = [](Call& c) { run_arange(c.out[0], c.arg(0), c.arg(2)); },
  .no_derivative = kConstant,
};

// Both ends are met exactly: the upper half counts from the end.
WEFT_OP{
  .signature = "linspace(Tensor|Scalar start, Tensor|Scalar end, int steps, *, dtype? dtype=None) -> Tensor",
  .doc = R"(steps numbers from start to end, both included, evenly spaced.

>>> weft.linspace(0, 1, 3)
tensor([0.0000, 0.5000, 1.0000]))",
  .traits = kCreation | kNoMethod,
  .infer =
      [](Call& c) {
        if (c.integer(2) < 0) fail("linspace: number of steps must be non-negative, got ", c.integer(2));
        for (int i = 0; i < 2; ++i)
          if (c.arg(i).is_tensor() && c.tensor(i).dim())
            fail("linspace: start and end must be numbers or 0-d tensors, got shape ", c.tensor(i).sizes());
        c.give(0, meta(c.dtype_or(3, default_dtype()), Dims{c.integer(2)}));
      },
  .run =
      [](Call& c) {
        auto number = [&](int i) {
          if (!c.arg(i).is_tensor()) return c.arg(i).complex();
          c128 z;
          copy_kernels().convert(c.tensor(i).dtype(), DType::ComplexDouble, c.tensor(i).data(), &z, 1);
          return z;
        };
        c128 a = number(0), b = number(1);
        Size n = c.integer(2);
        generate(c.out[0], [=](int64_t i, auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
            c128 step = n > 1 ? (b - a) / double(n - 1) : c128(0);
            return T(i < n / 2 || n == 1 ? a + step * double(i) : b - step * double(n - 1 - i));
          } else {
            double lo = a.real(), hi = b.real();
            if constexpr (std::is_integral_v<T>) {
              lo = std::trunc(lo), hi = std::trunc(hi);
              double step = n > 1 ? (hi - lo) / double(n - 1) : 0;
              return modular::truncate<int64_t>(i < n / 2 || n == 1 ? lo + step * double(i)
                                                                    : hi - step * double(n - 1 - i));
            } else {
              double step = n > 1 ? (hi - lo) / double(n - 1) : 0;
              return i < n / 2 || n == 1 ? lo + step * double(i) : hi - step * double(n - 1 - i);
            }
          }
        });
      },
  .no_derivative = kConstant,
};

void infer_eye(Call& c, int64_t n, int64_t m, int dtype_at) {
  if (n < 0 || m < 0) fail("eye: n must be greater or equal to 0, got ", n, " and ", m);
  c.give(0, meta(c.dtype_or(dtype_at, default_dtype()), Dims{n, m}));
}

void run_eye(const Tensor& y) {
  fill_data(y, Value(0));
  for (int64_t i = 0; i < std::min(y.size(0), y.size(1)); ++i)
    Value(1).store(y.dtype(), y.data() + (i * y.size(1) + i) * item_size(y.dtype()));
}

WEFT_OP{
  .signature = "eye(int n, *, dtype? dtype=None) -> Tensor",
  .doc = R"(Ones on the diagonal, zeros elsewhere.

>>> weft.eye(2)
tensor([[1., 0.],
        [0., 1.]]))",
  .traits = kCreation | kNoMethod,
  .infer = [](Call& c) { infer_eye(c, c.integer(0), c.integer(0), 1); },
  .run = [](Call& c) { run_eye(c.out[0]); },
  .no_derivative = kConstant,
};

WEFT_OP{
  .signature = "eye.m(int n, int m, *, dtype? dtype=None) -> Tensor",
  .doc = "Ones on the diagonal of n rows and m columns.",
  .traits = kCreation | kNoMethod,
  .infer = [](Call& c) { infer_eye(c, c.integer(0), c.integer(1), 2); },
  .run = [](Call& c) { run_eye(c.out[0]); },
  .no_derivative = kConstant,
};

}  // namespace
}  // namespace weft
