#include "ops/random_torch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loops/copy.h"
#include "loops/parallel.h"

namespace weft::torch_stream {

namespace {

// Puts numbers where out lies, in the order in which PyTorch writes them: that of memory.
void store(const Tensor& out, DType type, const char* numbers) {
  DType real = real_of(out.dtype());
  int64_t n = out.numel() * (is_complex(out.dtype()) ? 2 : 1);
  if (out.contiguous() || is_dense(out.sizes(), out.strides()))
    return copy_kernels().convert(type, real, numbers, out.data(), n);
  Scratch elements(Size(n) * item_size(real));
  copy_kernels().convert(type, real, numbers, elements.as<char>(), n);
  int dims = out.dim();
  std::vector<int> order(static_cast<size_t>(dims));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return out.stride(a) > out.stride(b); });
  Dims sizes(dims), strides(dims);
  for (int d = 0; d < dims; ++d) {
    sizes[d] = out.size(order[size_t(d)]);
    strides[d] = out.stride(order[size_t(d)]);
  }
  copy_kernels().copy(out.dtype(), out.data(), strides.data(), out.dtype(), elements.as<char>(),
                      contiguous_strides(sizes).data(), sizes.data(), dims);
}

template <class T>
T unit_of(MersenneTwister& twister) {
  if constexpr (sizeof(T) == 8)
    return twister.unit64();
  else
    return twister.unit32();
}

// out[i] = next(twister). The generator is held for a block at a time: between two, there is a look for Ctrl-C, which
// needs the interpreter's lock. False where the generator does not, or no longer, follow the stream.
template <class T, class Next>
bool fill(Generator& generator, T* out, int64_t n, Next next) {
  constexpr int64_t block = 1 << 16;
  bool drawn = generator.stream() == Generator::Stream::Torch;
  for (int64_t i = 0; drawn && i < n;) {
    leave_if_interrupted();
    drawn = generator.draw_torch([&](MersenneTwister& twister) {
      for (int64_t end = std::min(n, i + block); i < end; ++i) out[i] = next(twister);
    });
  }
  return drawn;
}

// Fills out with next(twister), computed as T.
template <class T, class Next>
bool fill_with(Generator& generator, const Tensor& out, const Next& next) {
  if (generator.stream() != Generator::Stream::Torch) return false;
  int64_t n = out.numel() * (is_complex(out.dtype()) ? 2 : 1);
  Scratch numbers(Size(n) * int64_t(sizeof(T)));
  if (!fill(generator, numbers.as<T>(), n, next)) return false;
  if (n) store(out, dtype_of<T>, numbers.as<char>());
  return true;
}

// x as a half type holds it.
template <class T>
T rounded(DType type, T x) {
  if (!is_half(type)) return x;
  uint16_t half;
  float wide = float(x);
  copy_kernels().convert(DType::Float, type, &wide, &half, 1);
  copy_kernels().convert(type, DType::Float, &half, &wide, 1);
  return T(wide);
}

// Numbers that rounding takes to the upper end, which is left out, become the lower end.
template <class T, class Unit>
bool uniform_as(Generator& generator, const Tensor& out, double low, double high, const Unit& unit) {
  DType type = real_of(out.dtype());
  T from = T(low), span = T(high) - from, end = rounded(type, T(high));
  return fill_with<T>(generator, out, [=](MersenneTwister& twister) {
    T x = rounded(type, unit(twister) * span + from);
    return x < end ? x : from;
  });
}

bool doubles(const Tensor& t) { return real_of(t.dtype()) == DType::Double; }

// Box and Muller over sixteen numbers at a time: the first eight give radii, the others angles. PyTorch rounds each
// step to T, which shows most in the angle.
template <class T>
void to_normal(T* u, T mean, T std) {
  for (int k = 0; k < 8; ++k) {
    T radius = std::sqrt(-2 * T(std::log(double(1 - u[k])))), angle = T(2 * M_PI) * u[k + 8];
    u[k] = radius * T(std::cos(double(angle))) * std + mean;
    u[k + 8] = radius * T(std::sin(double(angle))) * std + mean;
  }
}

// Contiguous numbers come in blocks of sixteen, where there are as many; `half` numbers draw none for what is drawn
// again.
template <class T>
bool fill_normal(Generator& generator, T* out, int64_t n, double mean, double std, bool contiguous, bool half = false) {
  if (n < 16 || !contiguous)
    return fill(generator, out, n, [=](MersenneTwister& twister) { return T(twister.normal() * std + mean); });
  if (!fill(generator, out, half ? n - n % 16 : n, unit_of<T>)) return false;
  for (int64_t i = 0; i + 16 <= n; i += 16) to_normal(out + i, T(mean), T(std));
  if (n % 16 == 0) return true;
  if (!fill(generator, out + n - 16, 16, unit_of<T>)) return false;  // the last sixteen, again
  to_normal(out + n - 16, T(mean), T(std));
  return true;
}

template <class T>
bool normal_as(Generator& generator, const Tensor& out, double mean, double std) {
  if (generator.stream() != Generator::Stream::Torch) return false;
  int64_t n = out.numel() * (is_complex(out.dtype()) ? 2 : 1);
  Scratch numbers(Size(n) * int64_t(sizeof(T)));
  if (!fill_normal(generator, numbers.as<T>(), n, mean, std, out.contiguous(), is_half(out.dtype()))) return false;
  if (n) store(out, dtype_of<T>, numbers.as<char>());
  return true;
}

double exponential_of(MersenneTwister& twister) { return -std::log1p(-twister.unit64()); }

// Few are expected: products of uniform numbers until they are small enough (Knuth). Many: Hörmann's transformed
// rejection (1993).
double poisson_of(MersenneTwister& twister, double mean) {
  if (mean == 0) return 0;
  if (mean < 10) {
    double least = std::exp(-mean), product = twister.unit64();
    int64_t count = 0;
    for (; product > least; ++count) product *= twister.unit64();
    return double(count);
  }
  double root = std::sqrt(mean), log_mean = std::log(mean);
  double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = twister.unit64() - 0.5, v = twister.unit64(), us = 0.5 - std::fabs(u);
    double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -mean + k * log_mean - std::lgamma(k + 1))
      return k;
  }
}

}  // namespace

bool uniform(Generator& generator, const Tensor& out, double low, double high) {
  if (doubles(out)) return uniform_as<double>(generator, out, low, high, unit_of<double>);
  return uniform_as<float>(generator, out, low, high, unit_of<float>);
}

bool normal(Generator& generator, const Tensor& out, double mean, double std) {
  return doubles(out) ? normal_as<double>(generator, out, mean, std) : normal_as<float>(generator, out, mean, std);
}

bool log_normal(Generator& generator, const Tensor& out, double mean, double std) {
  return fill_with<double>(generator, out, [=](auto& t) { return std::exp(t.normal() * std + mean); });
}

bool cauchy(Generator& generator, const Tensor& out, double median, double width) {
  return fill_with<double>(generator, out,
                           [=](auto& t) { return median + width * std::tan(M_PI * (t.unit64() - 0.5)); });
}

bool exponential(Generator& generator, const Tensor& out, double rate) {
  return fill_with<double>(generator, out, [=](auto& t) { return exponential_of(t) / rate; });
}

bool geometric(Generator& generator, const Tensor& out, double p) {
  return fill_with<double>(generator, out, [=](auto& t) { return std::ceil(std::log(t.unit64()) / std::log1p(-p)); });
}

bool bernoulli(Generator& generator, const Tensor& out, double p) {
  return fill_with<uint8_t>(generator, out, [=](auto& t) { return uint8_t(t.unit64() < p); });
}

bool integers(Generator& generator, const Tensor& out, int64_t low, uint64_t span, bool any) {
  bool wide = any ? out.dtype() == DType::Int64 || doubles(out) : span == 0 || span >= 1u << 28;
  return fill_with<int64_t>(generator, out, [=](auto& t) {
    uint64_t bits = wide ? t.bits64() : t.bits32();
    return int64_t(uint64_t(low) + (span ? bits % span : bits));
  });
}

bool normal(Generator& generator, DType type, void* out, int64_t n) {
  if (type == DType::Double) return fill_normal(generator, static_cast<double*>(out), n, 0, 1, true);
  return fill_normal(generator, static_cast<float*>(out), n, 0, 1, true);
}

bool bernoulli_each(Generator& generator, DType type, const void* probabilities, uint8_t* out, int64_t n) {
  auto each = [&](auto* p) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(p)>>;
    return fill(generator, out, n,
                [=](MersenneTwister& twister) mutable { return uint8_t(unit_of<T>(twister) < *p++); });
  };
  return type == DType::Double ? each(static_cast<const double*>(probabilities))
                               : each(static_cast<const float*>(probabilities));
}

bool poisson(Generator& generator, DType type, const void* means, void* out, int64_t n) {
  auto each = [&](auto* mean, auto* to) {
    using T = std::remove_pointer_t<decltype(to)>;
    return fill(generator, to, n,
                [=](MersenneTwister& twister) mutable { return T(poisson_of(twister, double(*mean++))); });
  };
  return type == DType::Double ? each(static_cast<const double*>(means), static_cast<double*>(out))
                               : each(static_cast<const float*>(means), static_cast<float*>(out));
}

bool permutation(Generator& generator, int64_t* out, int64_t n) {
  if (generator.stream() != Generator::Stream::Torch) return false;
  Scratch bits(Size(n) * 8);
  bool wide = n >= int64_t(UINT32_MAX / 20);
  auto next = [=](MersenneTwister& twister) { return wide ? twister.bits64() : uint64_t(twister.bits32()); };
  if (!fill(generator, bits.as<uint64_t>(), n - 1, next)) return false;
  std::iota(out, out + n, int64_t{0});
  for (int64_t i = 0; i + 1 < n; ++i) std::swap(out[i], out[i + int64_t(bits.as<uint64_t>()[i] % uint64_t(n - i))]);
  return true;
}

bool units(Generator& generator, double* out, int64_t n) { return fill(generator, out, n, unit_of<double>); }

bool waits(Generator& generator, double* out, int64_t n) { return fill(generator, out, n, exponential_of); }

}  // namespace weft::torch_stream
