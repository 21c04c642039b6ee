// Random draws: distributions given by tensors, permutations and choices.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/random_torch.h"
#include "ops/reduced.h"

namespace weft {
namespace {

// Fills contiguous memory of out's type by draw(memory), then puts it where out lies.
template <class Draw>
void draw_into(const Tensor& out, const Draw& draw) {
  if (out.contiguous()) return draw(out.data());
  Scratch memory(out.numel() * item_size(out.dtype()));
  draw(memory.as<char>());
  store_elements(out, memory.as<char>());
}

// ---- bernoulli

void check_probability(double p, const char* op) {
  if (!(p >= 0 && p <= 1)) fail(op, " expects p to be in [0, 1], but got p=", p);
}

void run_bernoulli(Call& c, double p, int generator_at) {
  Generator& generator = generator_of(c, generator_at);
  if (torch_stream::bernoulli(generator, c.out[0], p)) return;
  fill_random(c.out[0], generator, [=](DType t, void* out, int64_t n, uint64_t seed, uint64_t counter) {
    random_kernels().bernoulli(t, out, n, p, 0, seed, counter);
  });
}

void run_bernoulli_each(Call& c, const Tensor& p, int generator_at) {
  const Tensor& out = c.out[0];
  int64_t n = out.numel();
  if (n == 0) return;
  DType type = p.dtype() == DType::Double ? DType::Double : DType::Float;
  Elements probabilities(p, out.sizes(), type);
  auto check = [&](auto* at) {
    for (int64_t i = 0; i < n; ++i)
      if (!(at[i] >= 0 && at[i] <= 1))
        fail(c.name(), ": Expected p_in >= 0 && p_in <= 1 to be true, but got p = ", at[i]);
  };
  if (type == DType::Float)
    check(probabilities.as<float>());
  else
    check(probabilities.as<double>());
  Generator& generator = generator_of(c, generator_at);
  draw_into(out, [&](char* to) {
    if (generator.stream() == Generator::Stream::Torch) {
      Scratch drawn(n);
      if (torch_stream::bernoulli_each(generator, type, probabilities.as<char>(), drawn.as<uint8_t>(), n))
        return copy_kernels().convert(DType::UInt8, out.dtype(), drawn.as<char>(), to, n);
    }
    auto [seed, counter] = generator.take(n);
    random_kernels().bernoulli_each(out.dtype(), to, n, type, probabilities.as<char>(), seed, counter);
  });
}

WEFT_OP{
  .signature = "bernoulli(Tensor input, *, Generator? generator=None) -> Tensor",
  .doc = R"(Random zeros and ones: each element of input is the probability of a one.

>>> weft.bernoulli(weft.tensor([0.0, 1.0]))
tensor([0., 1.]))",
  .traits = kCastsOut,
  .infer =
      [](Call& c) {
        if (!is_floating(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run = [](Call& c) { run_bernoulli_each(c, c.tensor(0), 1); },
  .back = no_influence,
};

WEFT_OP{
  .signature = "bernoulli.p(Tensor input, float p, *, Generator? generator=None) -> Tensor",
  .doc = "Random zeros and ones in the shape of input: p is the probability of a one.",
  .traits = kCastsOut,
  .infer =
      [](Call& c) {
        check_probability(c.real(1), "bernoulli");
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run = [](Call& c) { run_bernoulli(c, c.real(1), 2); },
  .back = no_influence,
};

WEFT_OP{
  .signature = "bernoulli_.tensor(Tensor input, Tensor p, *, Generator? generator=None) -> Tensor",
  .doc =
      R"(Fills the tensor with zeros and ones: p is the probability of a one, or a tensor of them.

>>> weft.empty(2).bernoulli_(weft.tensor([0.0, 1.0]))
tensor([0., 1.]))",
  .traits = kInplaceOnly | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        const Tensor& self = c.tensor(0);
        if (!is_floating(c.tensor(1).dtype())) refuse_type(c.tensor(1).dtype(), c.name());
        Dims joint = broadcast(self.sizes(), c.tensor(1).sizes(), "bernoulli_");
        if (!(joint == self.sizes()))
          fail("bernoulli_: p of shape ", c.tensor(1).sizes(), " does not fit a tensor of shape ", self.sizes());
        c.give(0, meta(self.dtype(), self.sizes()));
      },
  .run = [](Call& c) { run_bernoulli_each(c, c.tensor(1), 2); },
  .back = no_influence,
};

WEFT_OP{
  .signature = "bernoulli_(Tensor input, float p=0.5, *, Generator? generator=None) -> Tensor",
  .doc = R"(Fills the tensor with zeros and ones: p is the probability of a one.

>>> weft.empty(2).bernoulli_(1.0)
tensor([1., 1.]))",
  .traits = kInplaceOnly | kOverwrites | kNoFunction | kNoOut,
  .infer =
      [](Call& c) {
        check_probability(c.real(1), "bernoulli_");
        if (is_complex(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run = [](Call& c) { run_bernoulli(c, c.real(1), 2); },
  .back = no_influence,
};

// ---- normal, with tensors for its parameters

// out = mean + std * z with standard normal z; mean and std are tensors or numbers.
template <class T>
void run_normal(Call& c, T* out, const Value& mean, const Value& std, Generator& generator) {
  int64_t n = c.out[0].numel();
  const Dims& sizes = c.out[0].sizes();
  if (!torch_stream::normal(generator, dtype_of<T>, out, n)) {
    auto [seed, counter] = generator.take(n);
    random_kernels().normal(dtype_of<T>, out, n, 0, 1, seed, counter);
  }
  if (std.is_tensor()) {
    Elements deviations(std.tensor(), sizes, dtype_of<T>);
    const T* s = deviations.as<T>();
    for (int64_t i = 0; i < n; ++i)
      if (!(s[i] >= 0)) fail("normal expects all elements of std >= 0.0, but found std ", s[i]);
    for (int64_t i = 0; i < n; ++i) out[i] *= s[i];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] *= T(std.real());
  }
  if (mean.is_tensor()) {
    Elements means(mean.tensor(), sizes, dtype_of<T>);
    for (int64_t i = 0; i < n; ++i) out[i] += means.as<T>()[i];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] += T(mean.real());
  }
}

void run_normal(Call& c) {
  const Tensor& out = c.out[0];
  int64_t n = out.numel();
  if (n == 0) return;
  Generator& generator = generator_of(c, 2);
  DType type = compute_of(out.dtype());
  Scratch memory(n * item_size(type));
  if (type == DType::Float)
    run_normal(c, memory.as<float>(), c.arg(0), c.arg(1), generator);
  else
    run_normal(c, memory.as<double>(), c.arg(0), c.arg(1), generator);
  copy_kernels().copy(out.dtype(), out.data(), out.strides().data(), type, memory.as<char>(),
                      contiguous_strides(out.sizes()).data(), out.sizes().data(), out.dim());
}

void infer_normal(Call& c, int like) {
  DType t = c.tensor(like).dtype();
  if (!is_floating(t)) refuse_type(t, c.name());
  if (!c.arg(1).is_tensor() && !(c.real(1) >= 0)) fail("normal expects std >= 0.0, but found std ", c.real(1));
  Dims sizes = c.tensor(like).sizes();
  if (c.arg(0).is_tensor() && c.arg(1).is_tensor())
    sizes = broadcast(c.tensor(0).sizes(), c.tensor(1).sizes(), "normal");
  c.give(0, meta(t, sizes));
}

WEFT_OP{
  .signature = "normal.tensors(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
  .doc = "Random numbers of the normal distribution, each with its own mean and standard deviation.",
  .traits = kNoMethod | kCastsOut,
  .infer = [](Call& c) { infer_normal(c, 0); },
  .run = [](Call& c) { run_normal(c); },
  .back = no_influence,
};

WEFT_OP{
  .signature = "normal.mean(Tensor mean, float std=1.0, *, Generator? generator=None) -> Tensor",
  .doc = "Random numbers of the normal distribution, each with its own mean.",
  .traits = kNoMethod | kCastsOut,
  .infer = [](Call& c) { infer_normal(c, 0); },
  .run = [](Call& c) { run_normal(c); },
  .back = no_influence,
};

WEFT_OP{
  .signature = "normal.std(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
  .doc = "Random numbers of the normal distribution, each with its own standard deviation.",
  .traits = kNoMethod | kCastsOut,
  .infer = [](Call& c) { infer_normal(c, 1); },
  .run = [](Call& c) { run_normal(c); },
  .back = no_influence,
};

// ---- poisson

WEFT_OP{
  .signature = "poisson(Tensor input, *, Generator? generator=None) -> Tensor",
  .doc = R"(Random counts of the Poisson distribution: each element of input is the mean.

>>> weft.poisson(weft.zeros(2))
tensor([0., 0.]))",
  .traits = kNoMethod | kNoOut,
  .infer =
      [](Call& c) {
        if (!is_floating(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor& out = c.out[0];
        int64_t n = out.numel();
        if (n == 0) return;
        DType type = compute_of(out.dtype());
        Elements means(c.tensor(0), out.sizes(), type);
        for (int64_t i = 0; i < n; ++i) {
          double mean = type == DType::Float ? double(means.as<float>()[i]) : means.as<double>()[i];
          if (!(mean >= 0)) fail("poisson: invalid Poisson rate, expected rate to be non-negative, got ", mean);
        }
        Generator& generator = generator_of(c, 1);
        Scratch counts(n * item_size(type));
        if (!torch_stream::poisson(generator, type, means.as<char>(), counts.as<char>(), n)) {
          auto [seed, counter] = generator.take(1);
          random_kernels().poisson(type, counts.as<char>(), n, means.as<char>(), seed, counter);
        }
        copy_kernels().convert(type, out.dtype(), counts.as<char>(), out.data(), n);
      },
  .back = no_influence,
};

// ---- permutations

// Fisher and Yates: element i changes places with one of those from i on.
template <class T>
void shuffle(T* p, int64_t n, const uint64_t* bits) {
  using Wide = unsigned __int128;
  for (int64_t i = 0; i < n; ++i) p[i] = T(i);
  for (int64_t i = 0; i + 1 < n; ++i) std::swap(p[i], p[i + int64_t(Wide(bits[i]) * uint64_t(n - i) >> 64)]);
}

WEFT_OP{
  .signature = "randperm(int n, *, Generator? generator=None, dtype? dtype=None) -> Tensor",
  .doc = R"(The integers from 0 to n - 1 in random order.

>>> weft.randperm(4).sort().values
tensor([0, 1, 2, 3]))",
  .traits = kCreation | kNoMethod,
  .infer =
      [](Call& c) {
        Size n = c.integer(0);
        DType t = c.dtype_or(2, DType::Int64);
        if (n < 0) fail("randperm: n must be non-negative, got ", n);
        if (is_complex(t) || t == DType::Bool) refuse_type(t, c.name());
        double most = t == DType::Half ? 2049
                      : t == DType::BFloat16
                          ? 257
                          : std::ldexp(1, t == DType::Float    ? 24
                                          : t == DType::Double ? 53
                                                               : int(8 * item_size(t)) - (t != DType::UInt8)) +
                                1;
        if (double(n) > most) fail("randperm: n is too large for result tensor type ", name_of(t), ", got ", n);
        c.give(0, meta(t, Dims{n}));
      },
  .run =
      [](Call& c) {
        const Tensor& out = c.out[0];
        int64_t n = out.numel();
        if (n == 0) return;
        Generator& generator = generator_of(c, 1);
        Scratch order(n * 8);
        if (!torch_stream::permutation(generator, order.as<int64_t>(), n)) {
          Scratch bits(n * 8);
          auto [seed, counter] = generator.take(n);
          random_kernels().integers(DType::Int64, bits.as<char>(), n, 0, 0, seed, counter);
          shuffle(order.as<int64_t>(), n, bits.as<uint64_t>());
        }
        copy_kernels().convert(DType::Int64, out.dtype(), order.as<char>(), out.data(), n);
      },
  .no_derivative = kRandom,
};

// ---- choices

template <class T>
struct Weights {
  const T* at;
  int64_t count;

  // Fails where one is not a weight, or too few are left to choose from.
  void check(int64_t choices, bool replacement) const {
    constexpr T inf = std::numeric_limits<T>::infinity();
    bool valid = true;
    int64_t positive = 0;
    for (int64_t i = 0; i < count; ++i) {
      valid &= at[i] >= 0 && at[i] < inf;
      positive += at[i] > 0;
    }
    for (int64_t i = 0; !valid && i < count; ++i)
      if (!(at[i] >= 0 && at[i] < inf))
        fail("multinomial: probability tensor contains either `inf`, `nan` or element < 0: got ", at[i]);
    if (positive == 0) fail("multinomial: invalid multinomial distribution (sum of probabilities <= 0)");
    if (!replacement && positive < choices)
      fail(
          "multinomial: invalid multinomial distribution (with replacement=False, not enough "
          "non-negative category to "
          "sample): ",
          choices, " wanted, ", positive, " there");
  }
};

// Each uniform number falls between two partial sums: those of blocks are kept, those in a block are recomputed.
template <class T>
void choose_with_replacement(Weights<T> w, const double* units, int64_t n, int64_t* out) {
  constexpr int64_t block = 64, lanes = 8;
  std::vector<double> ends(static_cast<size_t>((w.count + block - 1) / block));
  double total = 0;
  for (int64_t b = 0; b * block < w.count; ++b) {
    double sums[lanes] = {};
    int64_t i = b * block, end = std::min(w.count, i + block);
    for (; i + lanes <= end; i += lanes)
      for (int64_t k = 0; k < lanes; ++k) sums[k] += double(w.at[i + k]);
    for (; i < end; ++i) sums[0] += double(w.at[i]);
    for (double s : sums) total += s;
    ends[size_t(b)] = total;
  }
  int64_t last = w.count - 1;
  while (w.at[last] == 0) --last;
  for (int64_t k = 0; k < n; ++k) {
    double target = units[k] * total;
    int64_t b = std::upper_bound(ends.begin(), ends.end(), target) - ends.begin();
    int64_t i = b * block, end = std::min(last, i + block - 1);
    for (double sum = b ? ends[size_t(b - 1)] : 0; i < end && (sum += double(w.at[i])) <= target;) ++i;
    for (i = std::min(i, last); w.at[i] == 0;) --i;  // only where rounding has left no more than zeros
    out[k] = i;
  }
}

// The largest of weight / exponential number come first with the right odds, one after the other.
template <class T>
void choose_without_replacement(Weights<T> w, double* waits, int64_t n, int64_t* out) {
  for (int64_t i = 0; i < w.count; ++i)
    waits[i] = w.at[i] > 0 ? waits[i] / double(w.at[i]) : std::numeric_limits<double>::infinity();
  std::vector<int64_t> order(static_cast<size_t>(w.count));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + n, order.end(),
                    [&](int64_t a, int64_t b) { return waits[a] < waits[b] || (waits[a] == waits[b] && a < b); });
  std::copy_n(order.begin(), n, out);
}

// The same as PyTorch rounds them, from its numbers: partial sums, and weight / exponential number, in the type of the
// weights.
template <class T>
void choose_as_torch(Weights<T> w, const double* numbers, int64_t n, bool replacement, int64_t* out) {
  std::vector<T> scores(w.at, w.at + w.count);
  if (replacement) {
    std::partial_sum(scores.begin(), scores.end(), scores.begin());
    T total = scores.back();
    for (T& s : scores) s /= total;
    scores.back() = 1;
    for (int64_t k = 0; k < n; ++k)
      out[k] = std::lower_bound(scores.begin(), scores.end(), numbers[k]) - scores.begin();
    return;
  }
  for (int64_t i = 0; i < w.count; ++i) scores[size_t(i)] /= T(numbers[i]);
  std::vector<int64_t> order(static_cast<size_t>(w.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[size_t(a)] > scores[size_t(b)]; });
  std::copy_n(order.begin(), n, out);
}

WEFT_OP{
  .signature =
      "multinomial(Tensor input, int num_samples, bool replacement=False, *, Generator? "
      "generator=None) -> Tensor",
  .doc = R"(Indices drawn at random from each row of input, which holds their weights.

>>> weft.multinomial(weft.tensor([0.0, 3.0]), 2, replacement=True)
tensor([1, 1]))",
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        Size n = c.integer(1);
        if (x.dim() != 1 && x.dim() != 2) fail("multinomial: prob_dist must be 1 or 2 dim, got ", x.dim());
        if (!is_floating(x.dtype()))
          fail("multinomial only supports floating-point dtypes for input, got: ", name_of(x.dtype()));
        if (n <= 0) fail("multinomial: cannot sample n_sample <= 0 samples, got ", n);
        if (!c.flag(2) && n > x.size(-1))
          fail(
              "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without "
              "replacement: ",
              n, " > ", x.size(-1));
        if (x.size(-1) > 1 << 24) fail("multinomial: number of categories cannot exceed 2^24, got ", x.size(-1));
        c.give(0, meta(DType::Int64, x.dim() == 1 ? Dims{n} : Dims{x.size(0), n}));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int64_t count = x.size(-1), rows = x.dim() == 2 ? x.size(0) : 1, n = c.integer(1);
        bool replacement = c.flag(2);
        // PyTorch takes a single choice from exponential numbers too.
        Generator& generator = generator_of(c, 3);
        if (n == 1 && generator.stream() == Generator::Stream::Torch) replacement = false;
        int64_t draws = replacement ? n : count;
        if (rows == 0) return;
        DType type = x.dtype() == DType::Double ? DType::Double : DType::Float;
        LaidOut weights(x, type);
        auto choose = [&](auto* at) {
          for (int64_t r = 0; r < rows; ++r) Weights{at + r * count, count}.check(n, replacement);
          int64_t all = Size(rows) * draws;
          Scratch numbers(Size(all) * 8);
          bool torch = replacement ? torch_stream::units(generator, numbers.as<double>(), all)
                                   : torch_stream::waits(generator, numbers.as<double>(), all);
          if (!torch) {
            auto draw = replacement ? random_kernels().uniform : random_kernels().exponential;
            auto [seed, counter] = generator.take(all);
            draw(DType::Double, numbers.as<char>(), all, replacement ? 0 : 1, 1, seed, counter);
          }
          draw_into(c.out[0], [&](char* to) {
            parallel_each(rows, [&](int64_t r) {
              Weights w{at + r * count, count};
              double* number = numbers.as<double>() + r * draws;
              int64_t* out = reinterpret_cast<int64_t*>(to) + r * n;
              if (torch)
                choose_as_torch(w, number, n, replacement, out);
              else if (replacement)
                choose_with_replacement(w, number, n, out);
              else
                choose_without_replacement(w, number, n, out);
            });
          });
        };
        if (type == DType::Double)
          choose(reinterpret_cast<const double*>(weights.data()));
        else
          choose(reinterpret_cast<const float*>(weights.data()));
      },
  .no_derivative = kRandom,
};

}  // namespace
}  // namespace weft
