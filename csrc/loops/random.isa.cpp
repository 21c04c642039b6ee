#include "loops/random.h"

#include "loops/convert.h"
#include "loops/math.h"
#include "loops/parallel.h"
#include "loops/philox.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int kCounters = RandomBlock::counters;
// How many numbers of a type one block gives.
template <class T>
constexpr int kPerBlock = int(4 * sizeof(uint32_t) * kCounters / sizeof(T));

// ---- where they go

template <class To, class From>
void put(const From* from, To* to, int64_t n) {
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    float wide[kPerBlock<float>];
    for (int64_t i = 0; i < n; ++i) wide[i] = float(from[i]);
    narrow(wide, to, n);
  } else {
    convert_loop<To, From>(from, to, n);
  }
}

// Cuts n elements into blocks: draw(block, numbers) turns the bits of a block into numbers of type
// T.
template <class T, class To, class Draw>
uint64_t fill(To* out, int64_t n, uint64_t seed, uint64_t counter, const Draw& draw) {
  constexpr int64_t per_block = kPerBlock<T>;
  int64_t blocks = (n + per_block - 1) / per_block;
  parallel_chunks(blocks, kGrain / per_block / 2, [&](int64_t begin, int64_t end) {
    RandomBlock bits;
    alignas(64) T numbers[per_block];
    for (int64_t b = begin; b < end; ++b) {
      bits.generate(seed, counter + uint64_t(b) * kCounters);
      int64_t first = b * per_block, count = n - first < per_block ? n - first : per_block;
      draw(bits, numbers, first, count);
      put(numbers, out + first, count);
    }
  });
  return uint64_t(blocks) * kCounters;
}

// ---- distributions: `each` makes a number from a unit in (0, 1] or [0, 1), `pair` two from two

template <class Each>
void each_positive(const RandomBlock& b, float* x, const Each& each) {
  const uint32_t* w = b.word[0];
  for (int i = 0; i < kPerBlock<float>; ++i) x[i] = each(positive_unit(w[i]));
}
template <class Each>
void each_positive(const RandomBlock& b, double* x, const Each& each) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < kCounters; ++i)
      x[half * kCounters + i] = each(positive_unit(b.word[2 * half][i], b.word[2 * half + 1][i]));
}

// Box and Muller: the radius from one uniform number, the angle from another.
void normal_pairs(const RandomBlock& b, float* x, float mean, float std) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < kCounters; ++i) {
      float radius = std * math::sqrt(-2 * math::log(positive_unit(b.word[2 * half][i])));
      float angle = float(int32_t(b.word[2 * half + 1][i])) * float(math::pi<double> * 0x1p-31);
      x[2 * half * kCounters + i] = mean + radius * math::cos(angle);
      x[(2 * half + 1) * kCounters + i] = mean + radius * math::sin(angle);
    }
}
void normal_pairs(const RandomBlock& b, double* x, double mean, double std) {
  for (int i = 0; i < kCounters; ++i) {
    double radius = std * math::sqrt(-2 * math::log(positive_unit(b.word[0][i], b.word[1][i])));
    double angle = 2 * math::pi<double> * unit_interval(b.word[2][i], b.word[3][i]);
    x[i] = mean + radius * math::cos(angle);
    x[kCounters + i] = mean + radius * math::sin(angle);
  }
}

// Calls f with a null pointer to the element type of t; every type, or the floating ones.
template <class F>
uint64_t on_real(DType t, const F& f) {
  switch (t) {
    case DType::Bool: return f(static_cast<bool*>(nullptr));
    case DType::UInt8: return f(static_cast<uint8_t*>(nullptr));
    case DType::Int8: return f(static_cast<int8_t*>(nullptr));
    case DType::Int16: return f(static_cast<int16_t*>(nullptr));
    case DType::Int32: return f(static_cast<int32_t*>(nullptr));
    case DType::Int64: return f(static_cast<int64_t*>(nullptr));
    case DType::Half: return f(static_cast<Half*>(nullptr));
    case DType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    case DType::Float: return f(static_cast<float*>(nullptr));
    default: return f(static_cast<double*>(nullptr));
  }
}
template <class F>
uint64_t on_floating(DType t, const F& f) {
  switch (t) {
    case DType::Half: return f(static_cast<Half*>(nullptr));
    case DType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    case DType::Float: return f(static_cast<float*>(nullptr));
    default: return f(static_cast<double*>(nullptr));
  }
}
template <class To>
using Compute = std::conditional_t<std::is_same_v<To, double>, double, float>;

// ---- kernels

// As many random bits as the type has digits, so that rounding never reaches 1.
template <class To>
constexpr int kDigits = 24;
template <>
constexpr int kDigits<Half> = 11;
template <>
constexpr int kDigits<BFloat16> = 8;

template <class To>
void uniform_block(const RandomBlock& b, float* x, float low, float high) {
  constexpr float step = 1.0f / float(1 << kDigits<To>);
  const uint32_t* w = b.word[0];
  for (int i = 0; i < kPerBlock<float>; ++i) {
    float y = low + float(int32_t(w[i] >> (32 - kDigits<To>))) * step * (high - low);
    x[i] = y < high ? y : low;
  }
}
template <class To>
void uniform_block(const RandomBlock& b, double* x, double low, double high) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < kCounters; ++i) {
      double y = low + unit_interval(b.word[2 * half][i], b.word[2 * half + 1][i]) * (high - low);
      x[half * kCounters + i] = y < high ? y : low;
    }
}

uint64_t uniform(DType t, void* out, int64_t n, double low, double high, uint64_t seed, uint64_t counter) {
  return on_floating(t, [=](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    using T = Compute<To>;
    return fill<T>(static_cast<To*>(out), n, seed, counter,
                   [=](const RandomBlock& b, T* x, int64_t, int64_t) { uniform_block<To>(b, x, T(low), T(high)); });
  });
}

template <bool Exponent>
uint64_t normal(DType t, void* out, int64_t n, double mean, double std, uint64_t seed, uint64_t counter) {
  return on_floating(t, [=](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    using T = Compute<To>;
    return fill<T>(static_cast<To*>(out), n, seed, counter, [=](const RandomBlock& b, T* x, int64_t, int64_t) {
      normal_pairs(b, x, T(mean), T(std));
      if constexpr (Exponent)
        for (int i = 0; i < kPerBlock<T>; ++i) x[i] = math::exp(x[i]);
    });
  });
}

// Distributions whose inverse function is known: law(unit, a, b).
template <class Law>
uint64_t inverted(DType t, void* out, int64_t n, double a, double b, uint64_t seed, uint64_t counter) {
  return on_real(t, [=](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    using T = std::conditional_t<std::is_same_v<To, float> || sizeof(To) == 2, float, double>;
    return fill<T>(static_cast<To*>(out), n, seed, counter, [=](const RandomBlock& bits, T* x, int64_t, int64_t) {
      T p = T(a), q = T(b);
      each_positive(bits, x, [=](T u) { return Law{}(u, p, q); });
    });
  });
}
struct Exponential {
  template <class T>
  T operator()(T u, T rate, T) const {
    return -math::log(u) / rate;
  }
};
struct Cauchy {
  template <class T>
  T operator()(T u, T median, T width) const {
    return median + width * math::tan(math::pi<T> * (u - T(0.5)));
  }
};
struct Geometric {
  template <class T>
  T operator()(T u, T p, T) const {
    T trials = math::ceil(math::log(u) / math::log1p(-p));
    return trials < 1 ? T(1) : trials;
  }
};

uint64_t bernoulli(DType t, void* out, int64_t n, double p, double, uint64_t seed, uint64_t counter) {
  uint64_t odds = uint64_t(p * 0x1p32);
  return on_real(t, [=](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    return fill<uint32_t>(static_cast<To*>(out), n, seed, counter,
                          [=](const RandomBlock& b, uint32_t* x, int64_t, int64_t) {
                            const uint32_t* w = b.word[0];
                            for (int i = 0; i < kPerBlock<uint32_t>; ++i) x[i] = w[i] < odds;
                          });
  });
}

uint64_t bernoulli_each(DType t, void* out, int64_t n, DType type, const void* probabilities, uint64_t seed,
                        uint64_t counter) {
  auto draw = [=](auto* target, const auto* p) {
    return fill<uint32_t>(target, n, seed, counter,
                          [=](const RandomBlock& b, uint32_t* x, int64_t first, int64_t count) {
                            const uint32_t* w = b.word[0];
                            for (int64_t i = 0; i < count; ++i) x[i] = unit_interval(w[i]) < p[first + i];
                          });
  };
  return on_real(t, [=](auto* target) {
    using To = std::remove_pointer_t<decltype(target)>;
    To* to = static_cast<To*>(out);
    return type == DType::Float ? draw(to, static_cast<const float*>(probabilities))
                                : draw(to, static_cast<const double*>(probabilities));
  });
}

// ---- dropout

// At most one block, y may be x.
template <class T>
void scale_kept(const T* x, const uint8_t* kept, T* y, int64_t n, T scale) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * (T(kept[i] != 0) * scale);
}
template <class To>
  requires(sizeof(To) == 2)
void scale_kept(const To* x, const uint8_t* kept, To* y, int64_t n, float scale) {
  float wide[kPerBlock<float>];
  widen(x, wide, n);
  scale_kept<float>(wide, kept, wide, n, scale);
  narrow(wide, y, n);
}

uint64_t drop(DType t, const void* x, void* y, uint8_t* kept, int64_t n, double p, double scale, uint64_t seed,
              uint64_t counter) {
  constexpr int64_t per_block = kPerBlock<uint32_t>;
  uint64_t odds = uint64_t(p * 0x1p32);
  uint32_t most = odds ? uint32_t(odds - 1) : 0;  // without odds the scale is zero, whatever is drawn
  return on_floating(t, [=](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    int64_t blocks = (n + per_block - 1) / per_block;
    parallel_chunks(blocks, kGrain / per_block / 2, [&](int64_t begin, int64_t end) {
      RandomBlock bits;
      uint8_t marks[per_block];
      for (int64_t b = begin; b < end; ++b) {
        bits.generate(seed, counter + uint64_t(b) * kCounters);
        int64_t first = b * per_block, count = n - first < per_block ? n - first : per_block;
        const uint32_t* w = bits.word[0];
        for (int i = 0; i < per_block; ++i) marks[i] = w[i] <= most;
        if (kept) __builtin_memcpy(kept + first, marks, size_t(count));
        scale_kept(static_cast<const To*>(x) + first, marks, static_cast<To*>(y) + first, count, Compute<To>(scale));
      }
    });
    return uint64_t(blocks) * kCounters;
  });
}

void drop_again(DType t, const void* x, const uint8_t* kept, void* y, int64_t n, double scale) {
  constexpr int64_t per_block = kPerBlock<float>;
  on_floating(t, [=](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    parallel_shares(n, kGrain, per_block, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += per_block)
        scale_kept(static_cast<const To*>(x) + i, kept + i, static_cast<To*>(y) + i,
                   end - i < per_block ? end - i : per_block, Compute<To>(scale));
    });
    return uint64_t(0);
  });
}

template <class Span>
void integer_block(const RandomBlock& b, int64_t* x, int64_t low, Span span) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < kCounters; ++i)
      x[half * kCounters + i] = int64_t(uint64_t(low) + below(b.word[2 * half][i], b.word[2 * half + 1][i], span));
}
void any_integer_block(const RandomBlock& b, int64_t* x, int64_t low) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < kCounters; ++i)
      x[half * kCounters + i] = int64_t(uint64_t(low) +
                                        (uint64_t(b.word[2 * half][i]) << 32 | b.word[2 * half + 1][i]));
}

uint64_t integers(DType t, void* out, int64_t n, int64_t low, uint64_t span, uint64_t seed, uint64_t counter) {
  return on_real(t, [=](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    return fill<int64_t>(static_cast<To*>(out), n, seed, counter,
                         [=](const RandomBlock& b, int64_t* x, int64_t, int64_t) {
                           if (span == 0)
                             any_integer_block(b, x, low);
                           else if (span >> 32)
                             integer_block(b, x, low, span);
                           else
                             integer_block(b, x, low, uint32_t(span));
                         });
  });
}

// Small means: the first count whose distribution function exceeds a uniform number. `none` is exp(-mean).
double small_poisson(double mean, double none, double uniform) {
  constexpr int most = 96;  // beyond, the probability is below the last digit of a uniform number
  double p = none, count = 0;
  for (int k = 1; uniform >= p && k < most; ++k) {
    uniform -= p;
    p *= mean * (1.0 / k);
    count = k;
  }
  return count;
}
// Large ones: Hoermann's transformed rejection.
double large_poisson(double mean, RandomSequence& random) {
  double root = math::sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2), log_mean = math::log(mean);
  for (;;) {
    double u = random.unit() - 0.5, v = random.unit(), us = 0.5 - math::abs(u);
    double k = math::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    double left = math::log(v) + math::log(inverse_alpha) - math::log(a / (us * us) + b);
    if (left <= k * log_mean - mean - math::lgamma(k + 1)) return k;
  }
}

template <class T>
[[gnu::noinline]] void exp_of_minus(const T* mean, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = math::exp(-double(mean[i]));
}
// What RandomSequence(seed, counter, index).unit() gives first, for n indices.
[[gnu::noinline]] void first_units(uint64_t seed, uint64_t counter, uint64_t index, int64_t n, double* y) {
  constexpr int lanes = kLanes<uint64_t>;
  Vec<uint64_t> at, none = {};
  for (int i = 0; i < lanes; ++i) at[i] = index + uint64_t(i);
  for (int64_t first = 0; first < n; first += lanes, at += lanes) {
    Philox<Vec<uint64_t>> p{{none + counter, none + (counter >> 32), at, (at >> 32) << 20 | 1}};
    p.mix(uint32_t(seed), uint32_t(seed >> 32));
    for (int i = 0; i < lanes; ++i) y[first + i] = unit_interval(uint32_t(p.word[2][i]), uint32_t(p.word[3][i]));
  }
}

uint64_t poisson(DType t, void* out, int64_t n, const void* means, uint64_t seed, uint64_t counter) {
  constexpr int64_t kPart = 1024;
  auto draw = [=](auto* to) {
    auto* mean = static_cast<decltype(to)>(const_cast<void*>(means));
    parallel_chunks(n, kPart, [=](int64_t begin, int64_t end) {
      alignas(64) double none[kPart], unit[kPart];
      exp_of_minus(mean + begin, end - begin, none);
      first_units(seed, counter, uint64_t(begin), end - begin, unit);
      for (int64_t i = begin; i < end; ++i) {
        double m = double(mean[i]), y = m;
        if (m >= 10) {
          RandomSequence random(seed, counter, uint64_t(i));
          y = large_poisson(m, random);
        } else if (m > 0) {
          y = small_poisson(m, none[i - begin], unit[i - begin]);
        }
        to[i] = std::remove_pointer_t<decltype(to)>(y);
      }
    });
    return uint64_t(1);
  };
  return t == DType::Float ? draw(static_cast<float*>(out)) : draw(static_cast<double*>(out));
}

}  // namespace

extern const RandomKernels random_kernels_table;
const RandomKernels random_kernels_table = {uniform,
                                            normal<false>,
                                            normal<true>,
                                            inverted<Cauchy>,
                                            inverted<Exponential>,
                                            inverted<Geometric>,
                                            bernoulli,
                                            bernoulli_each,
                                            drop,
                                            drop_again,
                                            integers,
                                            poisson};

}  // namespace weft::WEFT_ISA
