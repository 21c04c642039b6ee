// Random tensors: filled with numbers of one distribution.
#include "ops/random.h"

#include <cmath>
#include <limits>

#include "loops/copy.h"
#include "ops/random_torch.h"

namespace weft {

Generator& generator_of(Call& c, int i) {
  return c.has(i) ? interpreter::generator_of(c.arg(i).object()) : default_generator();
}

Elements::Elements(const Tensor& t, const Dims& sizes, DType type) : memory_(numel_of(sizes) * item_size(type)) {
  Dims from(sizes.size());
  int shift = sizes.size() - t.dim();
  for (int d = shift; d < sizes.size(); ++d) from[d] = t.size(d - shift) == 1 ? 0 : t.stride(d - shift);
  copy_kernels().copy(type, memory_.as<char>(), contiguous_strides(sizes).data(), t.dtype(), t.data(), from.data(),
                      sizes.data(), sizes.size());
}

void store_elements(const Tensor& out, const void* elements) {
  copy_kernels().copy(out.dtype(), out.data(), out.strides().data(), out.dtype(), static_cast<const char*>(elements),
                      contiguous_strides(out.sizes()).data(), out.sizes().data(), out.dim());
}

void no_influence(Grad& d) {
  for (int i = 0; i < d.inputs(); ++i)
    if (d.needs(i)) d.give(i, zeros(d.shape(i), d.dtype(i)));
}

void refuse_type(DType t, const char* op) { fail_missing("\"", op, "\" not implemented for '", name_of(t), "'"); }

namespace {

void check_sizes(const Dims& sizes, const char* op) {
  for (int64_t s : sizes)
    if (s < 0) fail(op, ": Trying to create tensor with negative dimension ", s, ": ", sizes);
}

void sized(Call& c, int size_at, DType dtype) {
  check_sizes(c.ints(size_at), c.name());
  c.give(0, meta(dtype, c.ints(size_at)));
}

void sized_floating(Call& c, int size_at, int dtype_at) {
  DType t = c.dtype_or(dtype_at, default_dtype());
  if (is_integral(t)) refuse_type(t, c.name());
  sized(c, size_at, t);
}

void alike(Call& c, DType t) {
  const Tensor& x = c.tensor(0);
  c.give(0, x.contiguous() ? meta(t, x.sizes()) : meta_strided(t, x.sizes(), strides_like(x.sizes(), x.strides())));
}

void alike_floating(Call& c, int dtype_at) {
  DType t = c.dtype_or(dtype_at, c.tensor(0).dtype());
  if (is_integral(t)) refuse_type(t, c.name());
  alike(c, t);
}

// In place: self keeps its shape and type, and what came before has no influence.
void same(Call& c) { c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes())); }
void same_floating(Call& c) {
  if (!is_floating(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
  same(c);
}

// ---- uniform and normal numbers

void fill_uniform(Call& c, int generator_at, double low, double high) {
  Generator& generator = generator_of(c, generator_at);
  if (torch_stream::uniform(generator, c.out[0], low, high)) return;
  fill_random(c.out[0], generator, [=](DType t, void* out, int64_t n, uint64_t seed, uint64_t counter) {
    random_kernels().uniform(t, out, n, low, high, seed, counter);
  });
}

// A complex number has half of the variance in each part.
void fill_normal(Call& c, int generator_at, double mean, double std) {
  if (is_complex(c.out[0].dtype())) std *= std::sqrt(0.5);
  Generator& generator = generator_of(c, generator_at);
  if (torch_stream::normal(generator, c.out[0], mean, std)) return;
  fill_random(c.out[0], generator, [=](DType t, void* out, int64_t n, uint64_t seed, uint64_t counter) {
    random_kernels().normal(t, out, n, mean, std, seed, counter);
  });
}

WEFT_OP{
  .signature = "rand(int... size, *, Generator? generator=None, dtype? dtype=None) -> Tensor",
  .doc = R"(Uniform random numbers in [0, 1).

>>> x = weft.rand(2, 3)
>>> bool((x >= 0).all() and (x < 1).all())
True)",
  .traits = kCreation | kNoMethod,
  .infer = [](Call& c) { sized_floating(c, 0, 2); },
  .run = [](Call& c) { fill_uniform(c, 1, 0, 1); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature = "randn(int... size, *, Generator? generator=None, dtype? dtype=None) -> Tensor",
  .doc = R"(Random numbers of the normal distribution with mean 0 and standard deviation 1.

>>> weft.randn(2, 3).shape
torch.Size([2, 3]))",
  .traits = kCreation | kNoMethod,
  .infer = [](Call& c) { sized_floating(c, 0, 2); },
  .run = [](Call& c) { fill_normal(c, 1, 0, 1); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature =
      "rand_like(Tensor input, *, Generator? generator=None, dtype? dtype=None, object? "
      "memory_format=None) -> Tensor",
  .doc = R"(Uniform random numbers in [0, 1), in the shape and type of input.

>>> weft.rand_like(weft.zeros(2, 3)).shape
torch.Size([2, 3]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer = [](Call& c) { alike_floating(c, 2); },
  .run = [](Call& c) { fill_uniform(c, 1, 0, 1); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature =
      "randn_like(Tensor input, *, Generator? generator=None, dtype? dtype=None, object? "
      "memory_format=None) -> Tensor",
  .doc = R"(Random numbers of the standard normal distribution, in the shape and type of input.

>>> weft.randn_like(weft.zeros(2, 3)).shape
torch.Size([2, 3]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer = [](Call& c) { alike_floating(c, 2); },
  .run = [](Call& c) { fill_normal(c, 1, 0, 1); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature =
      "uniform_(Tensor input, float from=0.0, float to=1.0, *, Generator? generator=None) -> "
      "Tensor",
  .doc = R"(Fills the tensor with uniform random numbers in [from, to).

>>> x = weft.empty(100).uniform_(2, 3)
>>> bool((x >= 2).all() and (x < 3).all())
True)",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (is_integral(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
        if (!(c.real(1) <= c.real(2)))
          fail("uniform_ expects to return a [from, to) range, but found from=", c.real(1), " > to=", c.real(2));
        same(c);
      },
  .run = [](Call& c) { fill_uniform(c, 3, c.real(1), c.real(2)); },
  .back = no_influence,
};

void check_std(double std, const char* op) {
  if (!(std >= 0)) fail(op, " expects std >= 0.0, but found std ", std);
}

WEFT_OP{
  .signature =
      "normal_(Tensor input, float mean=0.0, float std=1.0, *, Generator? generator=None) -> "
      "Tensor",
  .doc = R"(Fills the tensor with random numbers of the normal distribution.

>>> weft.empty(2).normal_(5.0, 0.0)
tensor([5., 5.]))",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (is_integral(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
        check_std(c.real(2), "normal_");
        same(c);
      },
  .run = [](Call& c) { fill_normal(c, 3, c.real(1), c.real(2)); },
  .back = no_influence,
};

WEFT_OP{
  .signature =
      "normal.sized(float mean, float std, int[] size, *, Generator? generator=None, dtype? "
      "dtype=None) -> Tensor",
  .doc =
      R"(Random numbers of the normal distribution; mean and std are numbers or tensors of them.

>>> weft.normal(5.0, 0.0, (2,))
tensor([5., 5.]))",
  .traits = kCreation | kNoMethod,
  .infer =
      [](Call& c) {
        check_std(c.real(1), "normal");
        sized_floating(c, 2, 4);
      },
  .run = [](Call& c) { fill_normal(c, 3, c.real(0), c.real(1)); },
  .no_derivative = kRandom,
};

// ---- integers

struct Range {
  int64_t least, most;
};

// What a type can hold; of the floating ones, the integers that all are exact.
Range integers_of(DType t) {
  switch (t) {
    case DType::Bool: return {0, 1};
    case DType::UInt8: return {0, 255};
    case DType::Int8: return {-128, 127};
    case DType::Int16: return {-32768, 32767};
    case DType::Int32: return {INT32_MIN, INT32_MAX};
    case DType::Half: return {-2048, 2048};
    case DType::BFloat16: return {-256, 256};
    case DType::Float: return {-(1 << 24), 1 << 24};
    case DType::Double: return {-(int64_t(1) << 53), int64_t(1) << 53};
    default: return {INT64_MIN, INT64_MAX};
  }
}

void check_range(int64_t from, int64_t to, DType t, const char* op) {
  if (is_complex(t)) refuse_type(t, op);
  if (from >= to) fail(op, " expects 'from' to be less than 'to', but got from=", from, " >= to=", to);
  Range r = integers_of(t);
  if (!is_integral(t)) return;
  if (from < r.least || from > r.most) fail(op, ": from is out of bounds for ", name_of(t), ", got ", from);
  if (to - 1 > r.most) fail(op, ": to - 1 is out of bounds for ", name_of(t), ", got to = ", to);
}

void fill_integers(Call& c, int generator_at, int64_t low, uint64_t span, bool any = false) {
  Generator& generator = generator_of(c, generator_at);
  if (torch_stream::integers(generator, c.out[0], low, span, any)) return;
  fill_random(c.out[0], generator, [=](DType t, void* out, int64_t n, uint64_t seed, uint64_t counter) {
    random_kernels().integers(t, out, n, low, span, seed, counter);
  });
}

WEFT_OP{
  .signature = "randint(int high, int[] size, *, Generator? generator=None, dtype? dtype=None) -> Tensor",
  .doc = R"(Random integers from low (0) up to high, which is left out.

>>> x = weft.randint(3, 6, (100,))
>>> int(x.min()), int(x.max())
(3, 5))",
  .traits = kCreation | kNoMethod,
  .infer =
      [](Call& c) {
        DType t = c.dtype_or(3, DType::Int64);
        check_range(0, c.integer(0), t, "random_");
        sized(c, 1, t);
      },
  .run = [](Call& c) { fill_integers(c, 2, 0, uint64_t(c.integer(0))); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature =
      "randint.low(int low, int high, int[] size, *, Generator? generator=None, dtype? "
      "dtype=None) -> Tensor",
  .doc = "Random integers from low up to high, which is left out.",
  .traits = kCreation | kNoMethod,
  .infer =
      [](Call& c) {
        DType t = c.dtype_or(4, DType::Int64);
        check_range(c.integer(0), c.integer(1), t, "random_");
        sized(c, 2, t);
      },
  .run = [](Call& c) { fill_integers(c, 3, c.integer(0), uint64_t(c.integer(1)) - uint64_t(c.integer(0))); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature =
      "randint_like(Tensor input, int high, *, Generator? generator=None, dtype? dtype=None, "
      "object? memory_format=None) -> Tensor",
  .doc = R"(Random integers from low (0) up to high, in the shape and type of input.

>>> weft.randint_like(weft.zeros(2), 1)
tensor([0., 0.]))",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer =
      [](Call& c) {
        DType t = c.dtype_or(3, c.tensor(0).dtype());
        check_range(0, c.integer(1), t, "random_");
        alike(c, t);
      },
  .run = [](Call& c) { fill_integers(c, 2, 0, uint64_t(c.integer(1))); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature =
      "randint_like.low(Tensor input, int low, int high, *, Generator? generator=None, dtype? "
      "dtype=None, object? memory_format=None) -> Tensor",
  .doc = "Random integers from low up to high, in the shape and type of input.",
  .traits = kCreation | kNoMethod | kNoOut,
  .infer =
      [](Call& c) {
        DType t = c.dtype_or(4, c.tensor(0).dtype());
        check_range(c.integer(1), c.integer(2), t, "random_");
        alike(c, t);
      },
  .run = [](Call& c) { fill_integers(c, 3, c.integer(1), uint64_t(c.integer(2)) - uint64_t(c.integer(1))); },
  .no_derivative = kRandom,
};

WEFT_OP{
  .signature = "random_(Tensor input, *, Generator? generator=None) -> Tensor",
  .doc =
      R"(Fills the tensor with random integers: from `from` (0) up to `to`, which is left out; without bounds,
any that the type holds exactly and that is not negative.

>>> weft.empty(2).random_(4, 5)
tensor([4., 4.]))",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (is_complex(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
        same(c);
      },
  .run = [](Call& c) { fill_integers(c, 1, 0, uint64_t(integers_of(c.out[0].dtype()).most) + 1, true); },
  .back = no_influence,
};

WEFT_OP{
  .signature = "random_.to(Tensor input, int to, *, Generator? generator=None) -> Tensor",
  .doc = "Fills the tensor with random integers from 0 up to `to`, which is left out.",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        check_range(0, c.integer(1), c.tensor(0).dtype(), "random_");
        same(c);
      },
  .run = [](Call& c) { fill_integers(c, 2, 0, uint64_t(c.integer(1))); },
  .back = no_influence,
};

WEFT_OP{
  .signature = "random_.from(Tensor input, int from, int? to, *, Generator? generator=None) -> Tensor",
  .doc =
      "Fills the tensor with random integers from `from` up to `to`, which is left out; None: "
      "all that the type holds.",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (c.has(2)) check_range(c.integer(1), c.integer(2), c.tensor(0).dtype(), "random_");
        same(c);
      },
  .run =
      [](Call& c) {
        Size low = c.integer(1);
        uint64_t end = c.has(2) ? uint64_t(c.integer(2)) : uint64_t(integers_of(c.out[0].dtype()).most) + 1;
        fill_integers(c, 3, low, end - uint64_t(low));
      },
  .back = no_influence,
};

// ---- further distributions

template <RandomKernels::Reals RandomKernels::* Kernel>
void fill_with(Call& c, Generator& generator, double a, double b = 0) {
  fill_random(c.out[0], generator, [=](DType t, void* out, int64_t n, uint64_t seed, uint64_t counter) {
    (random_kernels().*Kernel)(t, out, n, a, b, seed, counter);
  });
}

WEFT_OP{
  .signature = "exponential_(Tensor input, float lambd=1.0, *, Generator? generator=None) -> Tensor",
  .doc =
      R"(Fills the tensor with random numbers of the exponential distribution lambd * exp(-lambd * x).

>>> bool((weft.empty(9).exponential_() >= 0).all())
True)",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (!(c.real(1) > 0)) fail("exponential_ expects lambda > 0.0, but found lambda=", c.real(1));
        same_floating(c);
      },
  .run =
      [](Call& c) {
        Generator& generator = generator_of(c, 2);
        if (!torch_stream::exponential(generator, c.out[0], c.real(1)))
          fill_with<&RandomKernels::exponential>(c, generator, c.real(1));
      },
  .back = no_influence,
};

WEFT_OP{
  .signature =
      "cauchy_(Tensor input, float median=0.0, float sigma=1.0, *, Generator? generator=None) -> "
      "Tensor",
  .doc = R"(Fills the tensor with random numbers of the Cauchy distribution.

>>> weft.empty(2).cauchy_().shape
torch.Size([2]))",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (!(c.real(2) > 0)) fail("cauchy_ expects sigma > 0.0, but found sigma=", c.real(2));
        same_floating(c);
      },
  .run =
      [](Call& c) {
        Generator& generator = generator_of(c, 3);
        if (!torch_stream::cauchy(generator, c.out[0], c.real(1), c.real(2)))
          fill_with<&RandomKernels::cauchy>(c, generator, c.real(1), c.real(2));
      },
  .back = no_influence,
};

WEFT_OP{
  .signature =
      "log_normal_(Tensor input, float mean=1.0, float std=2.0, *, Generator? generator=None) -> "
      "Tensor",
  .doc =
      R"(Fills the tensor with numbers whose logarithms have the normal distribution with this mean and std.

>>> bool((weft.empty(9).log_normal_() > 0).all())
True)",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (!(c.real(2) > 0)) fail("log_normal_ expects std > 0.0, but found std=", c.real(2));
        same_floating(c);
      },
  .run =
      [](Call& c) {
        Generator& generator = generator_of(c, 3);
        if (!torch_stream::log_normal(generator, c.out[0], c.real(1), c.real(2)))
          fill_with<&RandomKernels::log_normal>(c, generator, c.real(1), c.real(2));
      },
  .back = no_influence,
};

WEFT_OP{
  .signature = "geometric_(Tensor input, float p, *, Generator? generator=None) -> Tensor",
  .doc =
      R"(Fills the tensor with the number of trials until the first success, whose probability is p.

>>> bool((weft.empty(9).geometric_(0.5) >= 1).all())
True)",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        if (!(c.real(1) > 0 && c.real(1) < 1)) fail("geometric_ expects p to be in (0, 1), but got p=", c.real(1));
        DType t = c.tensor(0).dtype();
        if (is_complex(t) || t == DType::Bool) refuse_type(t, c.name());
        same(c);
      },
  .run =
      [](Call& c) {
        Generator& generator = generator_of(c, 2);
        if (!torch_stream::geometric(generator, c.out[0], c.real(1)))
          fill_with<&RandomKernels::geometric>(c, generator, c.real(1));
      },
  .back = no_influence,
};

}  // namespace
}  // namespace weft
