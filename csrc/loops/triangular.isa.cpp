#include "loops/triangular.h"

#include <complex>
#include <utility>

#include "loops/convert.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

template <class T>
constexpr bool is_pair = false;
template <class R>
constexpr bool is_pair<std::complex<R>> = true;

// The neighbours of complex numbers exchanged: their imaginary parts first.
template <class V, int... I>
inline V turned(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ 1)...);
}

// The same for complex numbers, in lanes as wide on all machines.
template <class R>
inline std::complex<R> dot_pairs(const std::complex<R>* a, const std::complex<R>* x, int64_t n) {
  constexpr int L = kPackBytes / int(sizeof(R)) / 4;
  using V = Vec<R, L>;
  constexpr std::make_integer_sequence<int, L> lanes;
  const R *p = reinterpret_cast<const R*>(a), *q = reinterpret_cast<const R*>(x);
  V straight[2] = {}, crossed[2] = {};  // of (re re, im im) and of (re im, im re)
  int64_t i = 0;
  for (; i + 2 * L <= 2 * n; i += 2 * L)
    for (int u = 0; u < 2; ++u) {
      const V left = load<V>(p + i + u * L), right = load<V>(q + i + u * L);
      straight[u] += left * right, crossed[u] += left * turned(right, lanes);
    }
  R parts[2][L];
  store(parts[0], straight[0] + straight[1]), store(parts[1], crossed[0] + crossed[1]);
  R re = 0, im = 0;
  for (int k = 0; k < L; k += 2) re += parts[0][k] - parts[0][k + 1], im += parts[1][k] + parts[1][k + 1];
  for (; i < 2 * n; i += 2) {
    re += p[i] * q[i] - p[i + 1] * q[i + 1];
    im += p[i] * q[i + 1] + p[i + 1] * q[i];
  }
  return {re, im};
}

template <class T>
inline T dot(const T* a, const T* x, int64_t n) {
  if constexpr (is_pair<T>) return dot_pairs(a, x, n);
  T rest = T(0);
  int64_t i = 0;
  if constexpr (is_vectorizable<T>) {
    constexpr int L = kPackBytes / int(sizeof(T)) / 4;
    Vec<T, L> sum[2] = {};
    for (; i + 2 * L <= n; i += 2 * L)
      for (int u = 0; u < 2; ++u) sum[u] += load<Vec<T, L>>(a + i + u * L) * load<Vec<T, L>>(x + i + u * L);
    for (; i + L <= n; i += L) sum[0] += load<Vec<T, L>>(a + i) * load<Vec<T, L>>(x + i);
    rest = join_lanes<T, L>(sum[0] + sum[1], [](auto p, auto q) { return p + q; });
  }
  for (; i < n; ++i) rest += a[i] * x[i];
  return rest;
}

// x -= by * a
template <class T>
inline void subtract(T* __restrict x, const T* __restrict a, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] -= by * a[i];
}
template <class R>
inline void subtract(std::complex<R>* __restrict x, const std::complex<R>* __restrict a, std::complex<R> by,
                     int64_t n) {
  constexpr int L = kPackBytes / int(sizeof(R)) / 4;
  using V = Vec<R, L>;
  constexpr std::make_integer_sequence<int, L> lanes;
  R* to = reinterpret_cast<R*>(x);
  const R* from = reinterpret_cast<const R*>(a);
  R pattern[L];
  for (int k = 0; k < L; k += 2) pattern[k] = -by.imag(), pattern[k + 1] = by.imag();
  const V im = load<V>(pattern), re = V{} + by.real();
  int64_t i = 0;
  for (; i + L <= 2 * n; i += L) {
    const V v = load<V>(from + i);
    store(to + i, load<V>(to + i) - (re * v + im * turned(v, lanes)));
  }
  for (; i < 2 * n; i += 2) {
    to[i] -= by.real() * from[i] - by.imag() * from[i + 1];
    to[i + 1] -= by.real() * from[i + 1] + by.imag() * from[i];
  }
}

// x /= by. A complex row is multiplied by the reciprocal: a division each would take longer than all the rest.
template <class T>
inline void divide(T* x, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] /= by;
}
template <class R>
inline void divide(std::complex<R>* x, std::complex<R> by, int64_t n) {
  const std::complex<R> one = std::complex<R>(1) / by;
  for (int64_t i = 0; i < n; ++i) {
    const R re = x[i].real(), im = x[i].imag();
    x[i] = {re * one.real() - im * one.imag(), re * one.imag() + im * one.real()};
  }
}

// The order in which the unknowns are found, and those found before number i: [from(i), to(i)).
struct Order {
  bool upper;
  int64_t n;
  int64_t at(int64_t k) const { return upper ? n - 1 - k : k; }
  int64_t from(int64_t i) const { return upper ? i + 1 : 0; }
  int64_t to(int64_t i) const { return upper ? n : i; }
  int64_t next(int64_t i) const { return upper ? 0 : i + 1; }  // the first of those still to be found
};

template <class T>
void vectors_of(const Triangle& t, int64_t n, T* x, int64_t count) {
  const T* a = reinterpret_cast<const T*>(t.data);
  const Order order{t.upper, n};
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = order.at(k);
    const T* line = a + i * (t.column == 1 ? t.row : t.column);
    for (int64_t v = 0; v < count; ++v) {
      T* to = x + v * n;
      if (t.column == 1) to[i] -= dot(line + order.from(i), to + order.from(i), order.to(i) - order.from(i));
      if (!t.unit) to[i] /= line[i];
      if (t.column != 1) subtract(to + order.next(i), line + order.next(i), to[i], n - 1 - k);
    }
  }
}

template <class T>
void rows_of(const Triangle& t, int64_t n, T* x, int64_t width, int64_t step) {
  const T* a = reinterpret_cast<const T*>(t.data);
  const Order order{t.upper, n};
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = order.at(k);
    T* to = x + i * step;
    for (int64_t j = order.from(i); j < order.to(i); ++j)
      subtract(to, x + j * step, a[i * t.row + j * t.column], width);
    if (t.unit) continue;
    divide(to, a[i * (t.row + t.column)], width);
  }
}

template <class F>
void by_type(DType type, const F& f) {
  switch (type) {
    case DType::Float: return f(float());
    case DType::Double: return f(double());
    case DType::ComplexFloat: return f(std::complex<float>());
    default: return f(std::complex<double>());
  }
}

void vectors(DType type, const Triangle& a, int64_t n, void* x, int64_t count) {
  by_type(type, [&]<class T>(T) { vectors_of(a, n, static_cast<T*>(x), count); });
}
void rows(DType type, const Triangle& a, int64_t n, void* x, int64_t width, int64_t step) {
  by_type(type, [&]<class T>(T) { rows_of(a, n, static_cast<T*>(x), width, step); });
}

}  // namespace

extern const TriangularKernels triangular_kernels_table;
const TriangularKernels triangular_kernels_table{vectors, rows};

}  // namespace weft::WEFT_ISA
