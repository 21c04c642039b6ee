// Loops of losses between scores and classes: margins, and labels without alignment. Contiguous float or double.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// One sample of CTC (Graves et al., 2006): blank, label, blank, ..., blank are its states.
struct CtcSample {
  static constexpr int64_t kLanes = 16;  // states are computed in groups of these
  static constexpr int64_t kFront = 2;   // states before the first, which cannot be
  static constexpr int64_t kRoom = 5;
  int64_t frames, states, classes;
  int64_t step;           // from one frame of the scores to the next, in elements
  const int64_t* symbol;  // of each state
  int64_t width() const { return (states + kLanes - 1) / kLanes * kLanes + kFront; }  // of a row of alpha
};

struct LossKernels {
  // The sum of max(0, x + offset), or of their squares.
  double (*margin_sum)(DType type, const void* x, int64_t n, double offset, bool squared);
  // Its derivative by x, times scale; returns the sum.
  double (*margin_slope)(DType type, const void* x, int64_t n, double offset, bool squared, double scale, void* slope);
  // Adds one to counts where x + offset is positive; returns how many are.
  int64_t (*margin_count)(DType type, const void* x, int64_t n, double offset, int32_t* counts);
  // Minus the log probability of a sample; alpha has `frames` rows of `width` elements, the logarithms of the
  // probability of being in a state with all frames before. room: kRoom rows more.
  double (*ctc)(DType type, const CtcSample& s, const void* logs, void* room, void* alpha);
  // exp(logs) less the probability of each class at each frame, times scale.
  void (*ctc_slope)(DType type, const CtcSample& s, const void* logs, const void* alpha, double loss, double scale,
                    void* room, void* slope);
};

WEFT_DECLARE_KERNELS(LossKernels, loss_kernels)

}  // namespace weft
