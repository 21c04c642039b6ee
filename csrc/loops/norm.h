// Elements brought to mean zero and variance one: by rows (layer norm), by channels (batch norm) and by groups of
// channels (group norm). float and double.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// `outer` blocks of `channels` lines of `inner` elements.
struct Channels {
  int64_t outer, channels, inner;
};

// `outer` examples of `groups` rows, each of `channels` lines of `inner` elements. `last`: channels lie last, the
// elements of a line apart.
struct Groups {
  int64_t outer, groups, channels, inner;
  bool last = false;
};

struct NormKernels {
  // y = (x - mean) rstd w + b, with mean and 1 / sqrt(variance + eps) of each row of n; w and b (n each) may be null.
  void (*rows)(DType type, int64_t rows, int64_t n, const void* x, const void* w, const void* b, double eps, void* y,
               void* mean, void* rstd);
  // Its derivative; dw and db may be null.
  void (*rows_back)(DType type, int64_t rows, int64_t n, const void* g, const void* x, const void* w, const void* mean,
                    const void* rstd, void* dx, void* dw, void* db);
  // Mean and variance (divided by the count) of each channel.
  void (*moments)(DType type, const Channels& c, const void* x, void* mean, void* variance);
  // y = (x - mean) rstd w + b by channel; w and b may be null.
  void (*channels)(DType type, const Channels& c, const void* x, const void* w, const void* b, const void* mean,
                   const void* rstd, void* y);
  // Its derivative, where mean and rstd are of x itself (`own`) or given; dx, dw and db may be null.
  void (*channels_back)(DType type, const Channels& c, bool own, const void* g, const void* x, const void* w,
                        const void* mean, const void* rstd, void* dx, void* dw, void* db);
  // y = (x - mean) rstd w + b, with mean and 1 / sqrt(variance + eps) of each row, and w and b, which may be null, by
  // channel.
  void (*groups)(DType type, const Groups& c, const void* x, const void* w, const void* b, double eps, void* y,
                 void* mean, void* rstd);
  // Its derivative; dx, dw and db may be null.
  void (*groups_back)(DType type, const Groups& c, const void* g, const void* x, const void* w, const void* mean,
                      const void* rstd, void* dx, void* dw, void* db);
};

WEFT_DECLARE_KERNELS(NormKernels, norm_kernels)

}  // namespace weft
