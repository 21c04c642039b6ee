// Random numbers into contiguous memory. Every kernel is a function of (seed, counter) and returns
// how many counters it used up; the next call must start behind them.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

struct RandomKernels {
  // (type, out, n, two parameters of the distribution, seed, counter)
  using Reals = uint64_t (*)(DType, void*, int64_t, double, double, uint64_t, uint64_t);
  Reals uniform;      // [low, high)
  Reals normal;       // mean, standard deviation
  Reals log_normal;   // mean and standard deviation of the logarithm
  Reals cauchy;       // median, half width
  Reals exponential;  // rate, -
  Reals geometric;    // probability of success, -; trials until it comes: 1, 2, ...
  Reals bernoulli;    // probability of 1, -
  // The same with a probability for each element, in `probabilities` (float or double).
  uint64_t (*bernoulli_each)(DType, void* out, int64_t n, DType type, const void* probabilities, uint64_t seed,
                             uint64_t counter);
  // y = x scale with probability p, else x times 0; `kept`, unless null, is which. Floating types; y may be x.
  uint64_t (*drop)(DType, const void* x, void* y, uint8_t* kept, int64_t n, double p, double scale, uint64_t seed,
                   uint64_t counter);
  // The same where it is known which.
  void (*drop_again)(DType, const void* x, const uint8_t* kept, void* y, int64_t n, double scale);
  // low + [0, span); span 0 stands for 2^64
  uint64_t (*integers)(DType, void* out, int64_t n, int64_t low, uint64_t span, uint64_t seed, uint64_t counter);
  // counts with the given means (float or double)
  uint64_t (*poisson)(DType, void* out, int64_t n, const void* means, uint64_t seed, uint64_t counter);
};

WEFT_DECLARE_KERNELS(RandomKernels, random_kernels)

}  // namespace weft
