// See losses.h.
#include "loops/losses.h"

#include "loops/convert.h"
#include "loops/math.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using math::inf;

// ---- margins

template <class T>
double margin_sum(const T* x, int64_t n, T offset, bool squared) {
  using V = Vec<T>;
  constexpr int L = kLanes<T>;
  V sum = {}, zero = {};
  T rest = 0;
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    V z = load<V>(x + i) + offset;
    z = z > zero ? z : zero;
    sum += squared ? z * z : z;
  }
  for (; i < n; ++i) {
    T z = x[i] + offset;
    z = z > 0 ? z : T(0);
    rest += squared ? z * z : z;
  }
  return double(join_lanes<T>(sum, [](auto a, auto b) { return a + b; }) + rest);
}

template <class T>
double margin_slope(const T* x, int64_t n, T offset, bool squared, T scale, T* slope) {
  constexpr int L = kLanes<T>;
  T sums[L] = {}, rest = 0;
  auto at = [=](T v) {
    T z = v + offset;
    return z > 0 ? (squared ? 2 * z * scale : scale) : T(0);
  };
  int64_t i = 0;
  for (; i + L <= n; i += L)
    for (int k = 0; k < L; ++k) sums[k] += slope[i + k] = at(x[i + k]);
  for (; i < n; ++i) rest += slope[i] = at(x[i]);
  for (T s : sums) rest += s;
  return double(rest);
}

template <class T>
int64_t margin_count(const T* x, int64_t n, T offset, int32_t* counts) {
  int32_t all = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    int32_t one = x[i] + offset > 0;
    counts[i] += one;
    all += one;
  }
  return all;
}

// ---- CTC

// log(e^a + e^b + e^c)
template <class T>
WEFT_MATH T log_sum(T a, T b, T c) {
  T top = a > b ? a : b;
  top = top > c ? top : c;
  top = top == -inf<T> ? T(0) : top;
  return math::log(math::exp(a - top) + math::exp(b - top) + math::exp(c - top)) + top;
}

// next[s] = log_sum(row[s], row[s + one], row[s + two] + skip[s]) + emitted[s]
template <class T>
[[gnu::noinline]] void ctc_step(const T* row, int one, int two, const T* skip, const T* emitted, T* next,
                                int64_t groups) {
  constexpr int64_t L = CtcSample::kLanes;
  for (int64_t g = 0; g < groups; ++g, row += L, skip += L, emitted += L, next += L)
#pragma GCC ivdep
    for (int64_t i = 0; i < L; ++i) next[i] = log_sum(row[i], row[i + one], row[i + two] + skip[i]) + emitted[i];
}

// Scores of the states at one frame; those that fill up a group cannot be.
template <class T>
void emit(const CtcSample& s, const T* logs, T* emitted) {
  for (int64_t i = 0; i < s.states; ++i) emitted[i] = logs[s.symbol[i]];
}

// 0 where a state may follow the second one before it: both are labels, and differ.
template <class T>
void may_skip(const CtcSample& s, T* skip, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    skip[i] = i % 2 && i > 1 && i < s.states && s.symbol[i] != s.symbol[i - 2] ? T(0) : -inf<T>;
}

template <class T>
double ctc(const CtcSample& s, const T* logs, T* room, T* alpha) {
  constexpr int64_t front = CtcSample::kFront;
  const T never = -inf<T>;
  if (s.frames == 0) return s.states == 1 ? 0 : double(inf<T>);
  int64_t width = s.width(), n = width - front;
  T *row = alpha + front, *skip = room, *emitted = room + width;
  for (int64_t i = 0; i < width; ++i) alpha[i] = never;
  for (int64_t i = 0; i < 2 && i < s.states; ++i) row[i] = logs[s.symbol[i]];
  may_skip(s, skip, n);
  for (int64_t i = 0; i < n; ++i) emitted[i] = never;
  for (int64_t t = 1; t < s.frames; ++t) {
    T* next = row + width;
    next[-1] = next[-2] = never;
    emit(s, logs + t * s.step, emitted);
    ctc_step(row, -1, -2, skip, emitted, next, n / CtcSample::kLanes);
    row = next;
  }
  T last = row[s.states - 1], before = s.states > 1 ? row[s.states - 2] : never;
  return -double(log_sum(last, before, never));
}

template <class T>
[[gnu::noinline]] void exp_row(const T* x, int64_t n, T* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i]);
}
// The probability of each state: paths to it, and from it on.
template <class T>
[[gnu::noinline]] void shares(const T* alpha, const T* beta, T loss, int64_t groups, T* p) {
  constexpr int64_t L = CtcSample::kLanes;
  for (int64_t g = 0; g < groups; ++g, alpha += L, beta += L, p += L)
#pragma GCC ivdep
    for (int64_t i = 0; i < L; ++i) p[i] = math::exp(alpha[i] + beta[i] + loss);
}

// beta: the logarithms of the probability of all frames after, from each state on.
template <class T>
void ctc_slope(const CtcSample& s, const T* logs, const T* alpha, T loss, T scale, T* room, T* slope) {
  constexpr int64_t front = CtcSample::kFront;
  const T never = -inf<T>;
  int64_t width = s.width(), n = width - front, groups = n / CtcSample::kLanes;
  T *beta = room, *ahead = beta + width, *skip = ahead + width, *p = skip + width, *nothing = p + width;
  for (int64_t i = 0; i < 4 * width; ++i) room[i] = never;
  for (int64_t i = 0; i < width; ++i) nothing[i] = 0;
  may_skip(s, skip, n);
  for (int64_t i = 0; i < n; ++i) skip[i] = i + 2 < n ? skip[i + 2] : never;
  for (int64_t i = s.states > 1 ? s.states - 2 : 0; i < s.states; ++i) beta[i] = 0;
  for (int64_t t = s.frames - 1; t >= 0; --t) {
    const T* x = logs + t * s.step;
    T* out = slope + t * s.step;
    // ahead: beta and what is emitted, at the frame after this one
    if (t < s.frames - 1) ctc_step(ahead, 1, 2, skip, nothing, beta, groups);
    shares(alpha + t * width + front, beta, loss, groups, p);
    exp_row(x, s.classes, out);
    for (int64_t i = 0; i < s.states; ++i) out[s.symbol[i]] -= p[i];
    for (int64_t i = 0; i < s.classes; ++i) out[i] *= scale;
    for (int64_t i = 0; i < s.states; ++i) ahead[i] = beta[i] + x[s.symbol[i]];
  }
}

// ---- the table

#define WEFT_TYPED(call)      \
  if (type == DType::Float) { \
    using T = float;          \
    return call;              \
  } else {                    \
    using T = double;         \
    return call;              \
  }
double margin_sum_of(DType type, const void* x, int64_t n, double offset, bool squared) {
  WEFT_TYPED(margin_sum(static_cast<const T*>(x), n, T(offset), squared))
}
double margin_slope_of(DType type, const void* x, int64_t n, double offset, bool squared, double scale, void* slope){
  WEFT_TYPED(margin_slope(static_cast<const T*>(x), n, T(offset), squared, T(scale), static_cast<T*>(slope)))} int64_t
    margin_count_of(DType type, const void* x, int64_t n, double offset, int32_t* counts) {
  WEFT_TYPED(margin_count(static_cast<const T*>(x), n, T(offset), counts))
}
double ctc_of(DType type, const CtcSample& s, const void* logs, void* room, void* alpha) {
  WEFT_TYPED(ctc(s, static_cast<const T*>(logs), static_cast<T*>(room), static_cast<T*>(alpha)))
}
void ctc_slope_of(DType type, const CtcSample& s, const void* logs, const void* alpha, double loss, double scale,
                  void* room, void* slope) {
  WEFT_TYPED(ctc_slope(s, static_cast<const T*>(logs), static_cast<const T*>(alpha), T(loss), T(scale),
                       static_cast<T*>(room), static_cast<T*>(slope)))
}
#undef WEFT_TYPED

}  // namespace

extern const LossKernels loss_kernels_table;
const LossKernels loss_kernels_table{margin_sum_of, margin_slope_of, margin_count_of, ctc_of, ctc_slope_of};

}  // namespace weft::WEFT_ISA
