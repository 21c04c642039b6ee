// The numbers of PyTorch's CPU generator: where a generator follows its stream, the same calls give the same numbers.
// Each function fills out, or does nothing and says false where the generator does not.
#pragma once

#include "ops/random.h"

namespace weft::torch_stream {

bool uniform(Generator& generator, const Tensor& out, double low, double high);
bool normal(Generator& generator, const Tensor& out, double mean, double std);
bool log_normal(Generator& generator, const Tensor& out, double mean, double std);
bool cauchy(Generator& generator, const Tensor& out, double median, double width);
bool exponential(Generator& generator, const Tensor& out, double rate);
bool geometric(Generator& generator, const Tensor& out, double p);
bool bernoulli(Generator& generator, const Tensor& out, double p);
// low + [0, span); span 0 stands for 2^64. `any`: all that out's type holds exactly, as random_() without bounds.
bool integers(Generator& generator, const Tensor& out, int64_t low, uint64_t span, bool any = false);

// n standard normal numbers (float or double) as they come for a contiguous tensor.
bool normal(Generator& generator, DType type, void* out, int64_t n);
// In order: for each of n probabilities (float or double), 1 or 0.
bool bernoulli_each(Generator& generator, DType type, const void* probabilities, uint8_t* out, int64_t n);
// In order: for each of n means, a count of the same type.
bool poisson(Generator& generator, DType type, const void* means, void* out, int64_t n);
bool permutation(Generator& generator, int64_t* out, int64_t n);
// n numbers in order, one after the other: uniform in [0, 1), or of the exponential distribution with rate 1.
bool units(Generator& generator, double* out, int64_t n);
bool waits(Generator& generator, double* out, int64_t n);

}  // namespace weft::torch_stream
