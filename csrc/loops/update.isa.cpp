#include "loops/update.h"

namespace weft::WEFT_ISA {
namespace {

template <class T>
inline T root_of(T x) {
  return sizeof(T) == 4 ? T(__builtin_sqrtf(float(x))) : T(__builtin_sqrt(double(x)));
}

template <class T, bool kMomentum>
void sgd_of(const SgdStep& s, int64_t n, T* __restrict p, const T* __restrict g, T* __restrict buffer) {
  const T lr = T(s.lr), decay = T(s.weight_decay), momentum = T(s.momentum), rest = T(1 - s.dampening),
          sign = s.maximize ? T(-1) : T(1);
  const bool nesterov = s.nesterov, first = s.first;
  for (int64_t i = 0; i < n; ++i) {
    T d = sign * g[i];
    if (s.weight_decay != 0) d = d + decay * p[i];
    if constexpr (kMomentum) {
      T b = first ? d : momentum * buffer[i] + rest * d;
      buffer[i] = b;
      d = nesterov ? d + momentum * b : b;
    }
    p[i] = p[i] - lr * d;
  }
}

template <class T, bool kTop>
void adam_of(const AdamStep& s, int64_t n, T* __restrict p, const T* __restrict g, T* __restrict m, T* __restrict v,
             T* __restrict top) {
  const T keep = T(1 - s.lr * s.weight_decay), decay = T(s.decoupled ? 0 : s.weight_decay), one = T(1 - s.beta1),
          beta2 = T(s.beta2), two = T(1 - s.beta2), size = T(s.size), per_root = T(1 / s.root), eps = T(s.eps),
          sign = s.maximize ? T(-1) : T(1);
  const bool shrink = s.decoupled && s.weight_decay != 0, penalty = decay != T(0);
  for (int64_t i = 0; i < n; ++i) {
    T x = p[i], d = sign * g[i];
    if (shrink) x = x * keep;
    if (penalty) d = d + decay * x;
    T mean = m[i] + one * (d - m[i]), square = beta2 * v[i] + two * d * d;
    m[i] = mean;
    v[i] = square;
    if constexpr (kTop) top[i] = square = top[i] > square ? top[i] : square;
    p[i] = x - size * (mean / (root_of(square) * per_root + eps));
  }
}

template <class T>
void sgd_typed(const SgdStep& s, int64_t n, void* p, const void* g, void* b) {
  auto f = b ? sgd_of<T, true> : sgd_of<T, false>;
  f(s, n, static_cast<T*>(p), static_cast<const T*>(g), static_cast<T*>(b));
}
template <class T>
void adam_typed(const AdamStep& s, int64_t n, void* p, const void* g, void* m, void* v, void* top) {
  auto f = top ? adam_of<T, true> : adam_of<T, false>;
  f(s, n, static_cast<T*>(p), static_cast<const T*>(g), static_cast<T*>(m), static_cast<T*>(v), static_cast<T*>(top));
}

void sgd(DType type, const SgdStep& s, int64_t n, void* p, const void* g, void* buffer) {
  (type == DType::Float ? sgd_typed<float> : sgd_typed<double>)(s, n, p, g, buffer);
}
void adam(DType type, const AdamStep& s, int64_t n, void* p, const void* g, void* m, void* v, void* top) {
  (type == DType::Float ? adam_typed<float> : adam_typed<double>)(s, n, p, g, m, v, top);
}

}  // namespace

extern const UpdateKernels update_kernels_table;
const UpdateKernels update_kernels_table{sgd, adam};

}  // namespace weft::WEFT_ISA
