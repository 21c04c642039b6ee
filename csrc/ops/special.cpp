// Elementwise ops that take more than elements, made of others.
#include <cmath>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/api.h"

namespace weft {
namespace {

// The row of that name: the overload without further arguments.
const OpRef logit{"logit"}, lgamma{"lgamma"}, digamma{"digamma"}, zeta{"special_zeta"}, clamp{"clamp"};

WEFT_OP{
  .signature = "logit.eps(Tensor input, float? eps=None) -> Tensor",
  .doc = "log(x / (1 - x)) with x = input kept between eps and 1 - eps.",
  .traits = kInplace | kCastsOut,
  .compose =
      [](Call& c) {
        if (!c.has(1)) return c.give(0, logit(c.tensor(0)));
        Tensor x = is_integral(c.tensor(0).dtype()) ? to_dtype(c.tensor(0), default_dtype()) : c.tensor(0);
        c.give(0, logit(clamp(x, c.real(1), 1 - c.real(1))));
      },
};

WEFT_OP{
  .signature = "positive(Tensor input) -> Tensor",
  .doc = R"(input itself, as +input.

>>> weft.positive(weft.tensor([-1.0]))
tensor([-1.]))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        if (c.tensor(0).dtype() == DType::Bool) fail("positive: the + operator on a bool tensor is not supported.");
        c.give(0, c.tensor(0));
      },
};

// float_power computes in double, or complex double.
Value in_double(const Value& v, bool complex) {
  if (v.is_tensor()) return to_dtype(v.tensor(), complex ? DType::ComplexDouble : DType::Double);
  if (complex) return Value(v.complex());
  return Value(v.real());
}

WEFT_OP{
  .signature = "float_power(Tensor|Scalar input, Tensor|Scalar exponent) -> Tensor",
  .doc = R"(input to the power of exponent, in double precision.

>>> weft.float_power(weft.tensor([2, 3]), 2)
tensor([4., 9.], dtype=torch.float64))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        auto complex = [](const Value& v) {
          return v.is_tensor() ? is_complex(v.tensor().dtype()) : v.tag() == Tag::Complex;
        };
        bool either = complex(c.arg(0)) || complex(c.arg(1));
        DType type = either ? DType::ComplexDouble : DType::Double;
        if (c.inplace && c.tensor(0).dtype() != type)
          fail("float_power_: the base given to float_power_ has dtype ", name_of(c.tensor(0).dtype()),
               " but the operation's result requires dtype ", name_of(type));
        c.give(0, pow(in_double(c.arg(0), either), in_double(c.arg(1), either)));
      },
};

Tensor polygamma(int64_t n, const Tensor& x) {
  if (n < 0) fail("polygamma(n, x) does not support negative n, got ", n);
  if (n == 0) return digamma(x);
  Tensor sum = zeta(double(n + 1), x);
  return n == 1 ? sum : sum * ((n % 2 ? 1 : -1) * std::tgamma(double(n) + 1));
}

WEFT_OP{
  .signature = "polygamma(int n, Tensor input) -> Tensor",
  .doc = R"(The n-th derivative of digamma.

>>> weft.polygamma(1, weft.tensor([1.0]))
tensor([1.6449]))",
  .traits = kCastsOut,
  .compose = [](Call& c) { c.give(0, polygamma(c.integer(0), c.tensor(1))); },
};

WEFT_OP{
  .signature = "polygamma.method(Tensor input, int n) -> Tensor",
  .doc = "The n-th derivative of digamma.",
  .traits = kNoFunction | kInplace | kCastsOut,
  .compose = [](Call& c) { c.give(0, polygamma(c.integer(1), c.tensor(0))); },
};

WEFT_OP{
  .signature = "mvlgamma(Tensor input, int p) -> Tensor",
  .doc = R"(The logarithm of the gamma function of p dimensions.

>>> weft.mvlgamma(weft.tensor([1.0]), 1)
tensor([0.]))",
  .traits = kInplace | kCastsOut,
  .compose =
      [](Call& c) {
        Size p = c.integer(1);
        if (p < 1) fail("mvlgamma: p has to be greater than or equal to 1, got ", p);
        Tensor x = c.tensor(0), sum = lgamma(x);
        for (int64_t j = 1; j < p; ++j) {
          leave_if_interrupted();
          sum = sum + lgamma(x - 0.5 * double(j));
        }
        c.give(0, sum + 0.25 * double(p) * double(p - 1) * std::log(M_PI));
      },
};

template <class T>
void split_numbers(const T* x, int64_t n, T* mantissa, int32_t* exponent) {
  for (int64_t i = 0; i < n; ++i) {
    int e = 0;
    mantissa[i] = std::frexp(x[i], &e);
    exponent[i] = e;
  }
}

WEFT_OP{
  .signature = "frexp(Tensor input) -> (Tensor mantissa, Tensor exponent)",
  .doc = R"(input as mantissa * 2 ** exponent, with 0.5 <= |mantissa| < 1.

>>> weft.frexp(weft.tensor([8.0])).exponent
tensor([4], dtype=torch.int32))",
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (!is_floating(x.dtype()))
          fail("torch.frexp() only supports floating-point dtypes, got ", name_of(x.dtype()));
        c.give(0, meta(x.dtype(), x.sizes()));
        c.give(1, meta(DType::Int32, x.sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int64_t n = x.numel();
        DType type = compute_of(x.dtype());
        Scratch in(n * item_size(type));
        copy_kernels().copy(type, in.as<char>(), contiguous_strides(x.sizes()).data(), x.dtype(), x.data(),
                            x.strides().data(), x.sizes().data(), x.dim());
        int32_t* exponent = c.out[1].data<int32_t>();
        if (type == DType::Float)
          split_numbers(in.as<float>(), n, in.as<float>(), exponent);
        else
          split_numbers(in.as<double>(), n, in.as<double>(), exponent);
        copy_kernels().convert(type, x.dtype(), in.as<char>(), c.out[0].data(), n);
      },
  .keeps = keep::y1,
  .back = [](Grad& d) { d.give(0, d.g(0) / exp2(d.y(1))); },
};

}  // namespace
}  // namespace weft
