#include "loops/softmax.h"

#include <algorithm>

#include "loops/convert.h"
#include "loops/math.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kColumns = 256;     // lines that are taken together where the axis is not the innermost
constexpr int64_t kTile = 64 * 1024;  // their elements, so that they stay in the cache

// The type computed in.
template <class T>
using Inner = std::conditional_t<sizeof(T) == 2, float, T>;

// Vectors of A from and to elements of T, whole or the first n lanes.
template <class T>
inline Vec<Inner<T>> get(const T* p) {
  if constexpr (sizeof(T) == 2)
    return load_floats(p);
  else
    return load<Vec<T>>(p);
}
template <class T>
inline Vec<Inner<T>> get(const T* p, int64_t n, Inner<T> fill) {
  if constexpr (sizeof(T) == 2)
    return load_some_floats(p, n, fill);
  else
    return load_some(p, n, fill);
}
template <class T>
inline void put(T* p, Vec<Inner<T>> v) {
  if constexpr (sizeof(T) == 2)
    store_halves(p, kLanes<float>, v);
  else
    store(p, v);
}
template <class T>
inline void put(T* p, int64_t n, Vec<Inner<T>> v) {
  if constexpr (sizeof(T) == 2)
    store_halves(p, n, v);
  else
    store_some(p, n, v);
}

template <class A, bool in_range = true>
inline Vec<A> exp_lanes(Vec<A> v) {
  constexpr A low = sizeof(A) == 4 ? A(-87) : A(-708);  // below, the exponential is as good as 0
  alignas(64) A a[kLanes<A>];
  store(a, v);
  for (int i = 0; i < kLanes<A>; ++i) {
    if constexpr (in_range)
      a[i] = a[i] < low ? A(0) : math::exp_in_range(a[i]);
    else
      a[i] = math::exp(a[i]);
  }
  return load<Vec<A>>(a);
}
template <class A>
inline bool is_finite(A x) {
  return math::abs(x) < math::inf<A>;
}
template <class V>
inline V larger(V a, V b) {
  return a > b ? a : b;
}  // NaN is found when exponentials are summed

constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto most = [](auto a, auto b) { return larger(a, b); };

// Walks one line a vector at a time: f(vector index, whole vector or not, lanes).
template <class A, class F>
inline void each_vector(int64_t n, const F& f) {
  constexpr int L = kLanes<A>;
  int64_t i = 0;
  for (; i + L <= n; i += L) f(i, std::true_type{}, int64_t(L));
  if (i < n) f(i, std::false_type{}, n - i);
}

template <class T>
struct Line {
  using A = Inner<T>;
  static constexpr int L = kLanes<A>;

  template <class Whole>
  static Vec<A> at(const T* x, int64_t i, Whole, int64_t m, A fill) {
    if constexpr (Whole::value)
      return get(x + i);
    else
      return get(x + i, m, fill);
  }
  template <class Whole>
  static void set(T* y, int64_t i, Whole, int64_t m, Vec<A> v) {
    if constexpr (Whole::value)
      put(y + i, v);
    else
      put(y + i, m, v);
  }

  static A top(const T* x, int64_t n) {
    constexpr A low = -math::inf<A>;
    Vec<A> a[4] = {splat(low), splat(low), splat(low), splat(low)};
    int64_t i = 0;
    for (; i + 4 * L <= n; i += 4 * L) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) a[k] = larger(get(x + i + k * L), a[k]);
    }
    each_vector<A>(n - i, [&](int64_t j, auto whole, int64_t m) { a[0] = larger(at(x + i, j, whole, m, low), a[0]); });
    return join_lanes<A>(larger(larger(a[0], a[1]), larger(a[2], a[3])), most);
  }

  // The sum of f over the vectors of a line, in blocks that are added in double.
  template <class F>
  static double total(int64_t n, const F& f) {
    constexpr int64_t block = 4096;
    double all = 0;
    for (int64_t from = 0; from < n; from += block) {
      Vec<A> sum = {};
      each_vector<A>(std::min(block, n - from),
                     [&](int64_t j, auto whole, int64_t m) { sum += f(from + j, whole, m); });
      all += double(join_lanes<A>(sum, plus));
    }
    return all;
  }

  template <bool in_range = true>
  static double sum_of_exps(const T* x, int64_t n, A shift) {
    return total(n, [&](int64_t i, auto whole, int64_t m) {
      return exp_lanes<A, in_range>(at(x, i, whole, m, -math::inf<A>) - shift);
    });
  }

  static void softmax(const T* x, T* y, int64_t n) {
    A shift = top(x, n);
    if constexpr (sizeof(T) == 2) {  // y is too narrow to hold exponentials: they are taken twice
      A scale = A(1 / sum_of_exps(x, n, shift));
      each_vector<A>(n, [&](int64_t i, auto whole, int64_t m) {
        set(y, i, whole, m, exp_lanes<A>(at(x, i, whole, m, 0) - shift) * scale);
      });
    } else {
      double sum = total(n, [&](int64_t i, auto whole, int64_t m) {
        Vec<A> e = exp_lanes<A>(at(x, i, whole, m, -math::inf<A>) - shift);
        set(y, i, whole, m, e);
        return e;
      });
      A scale = A(1 / sum);
      each_vector<A>(n, [&](int64_t i, auto whole, int64_t m) { set(y, i, whole, m, at(y, i, whole, m, 0) * scale); });
    }
  }

  static void log_softmax(const T* x, T* y, int64_t n) {
    A shift = top(x, n), log_sum = A(std::log(sum_of_exps(x, n, shift)));
    each_vector<A>(
        n, [&](int64_t i, auto whole, int64_t m) { set(y, i, whole, m, (at(x, i, whole, m, 0) - shift) - log_sum); });
  }

  static T logsumexp(const T* x, int64_t n) {
    A shift = top(x, n);
    if (is_finite(shift)) return T(A(shift + std::log(sum_of_exps(x, n, shift))));
    return T(A(std::log(sum_of_exps<false>(x, n, 0))));
  }

  static void softmax_backward(const T* dy, const T* y, T* dx, int64_t n) {
    A mean = A(
        total(n, [&](int64_t i, auto whole, int64_t m) { return at(dy, i, whole, m, 0) * at(y, i, whole, m, 0); }));
    each_vector<A>(n, [&](int64_t i, auto whole, int64_t m) {
      set(dx, i, whole, m, (at(dy, i, whole, m, 0) - mean) * at(y, i, whole, m, 0));
    });
  }

  static void log_softmax_backward(const T* dy, const T* y, T* dx, int64_t n) {
    A sum = A(total(n, [&](int64_t i, auto whole, int64_t m) { return at(dy, i, whole, m, 0); }));
    each_vector<A>(n, [&](int64_t i, auto whole, int64_t m) {
      set(dx, i, whole, m, at(dy, i, whole, m, 0) - exp_lanes<A>(at(y, i, whole, m, 0)) * sum);
    });
  }
};

// The same for `width` neighbouring lines, whose elements are `stride` apart.
template <class T>
struct Columns {
  using A = Inner<T>;
  struct Shape {
    int64_t n, stride, width;
  };
  template <class F>
  static void each(const Shape& s, const F& f) {  // f(offset of a row's vector, its first column, ...)
    for (int64_t k = 0; k < s.n; ++k)
      each_vector<A>(s.width, [&](int64_t j, auto whole, int64_t m) { f(k * s.stride + j, j, whole, m); });
  }
  static void fill(A* a, A value) {  // also of columns that are not there, which vectors touch
    for (int64_t j = 0; j < kColumns; ++j) a[j] = value;
  }
  template <class Whole>
  static Vec<A> at(const T* x, int64_t i, Whole w, int64_t m) {
    return Line<T>::at(x, i, w, m, A(0));
  }
  template <class Whole>
  static void set(T* y, int64_t i, Whole w, int64_t m, Vec<A> v) {
    Line<T>::set(y, i, w, m, v);
  }

  static void tops(const T* x, const Shape& s, A* top) {
    fill(top, -math::inf<A>);
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      store(top + j, larger(at(x, i, whole, m), load<Vec<A>>(top + j)));
    });
  }
  // Adds the exponentials up, and keeps them in y if it is given.
  template <bool in_range = true>
  static void sums_of_exps(const T* x, const Shape& s, const A* shift, A* sum, T* y) {
    fill(sum, 0);
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      Vec<A> e = exp_lanes<A, in_range>(at(x, i, whole, m) - load<Vec<A>>(shift + j));
      if (y) set(y, i, whole, m, e);
      store(sum + j, load<Vec<A>>(sum + j) + e);
    });
  }

  static void softmax(const T* x, T* y, const Shape& s) {
    alignas(64) A top[kColumns], sum[kColumns];
    constexpr bool wide = sizeof(T) > 2;
    tops(x, s, top);
    sums_of_exps(x, s, top, sum, wide ? y : nullptr);
    for (int64_t j = 0; j < kColumns; ++j) sum[j] = 1 / sum[j];
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      Vec<A> e;
      if constexpr (wide)
        e = at(y, i, whole, m);
      else
        e = exp_lanes<A>(at(x, i, whole, m) - load<Vec<A>>(top + j));
      set(y, i, whole, m, e * load<Vec<A>>(sum + j));
    });
  }

  static void log_softmax(const T* x, T* y, const Shape& s) {
    alignas(64) A top[kColumns], sum[kColumns];
    tops(x, s, top);
    sums_of_exps(x, s, top, sum, nullptr);
    for (int64_t j = 0; j < kColumns; ++j) sum[j] = math::log(sum[j]);
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      set(y, i, whole, m, (at(x, i, whole, m) - load<Vec<A>>(top + j)) - load<Vec<A>>(sum + j));
    });
  }

  static void logsumexp(const T* x, T* y, const Shape& s) {
    alignas(64) A top[kColumns], sum[kColumns];
    tops(x, s, top);
    bool finite = true;
    for (int64_t j = 0; j < s.width; ++j) {
      finite &= is_finite(top[j]);
      top[j] = is_finite(top[j]) ? top[j] : A(0);
    }
    if (finite)
      sums_of_exps(x, s, top, sum, nullptr);
    else
      sums_of_exps<false>(x, s, top, sum, nullptr);
    for (int64_t j = 0; j < s.width; ++j) y[j] = T(A(top[j] + math::log(sum[j])));
  }

  static void softmax_backward(const T* dy, const T* y, T* dx, const Shape& s) {
    alignas(64) A sum[kColumns];
    fill(sum, 0);
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      store(sum + j, load<Vec<A>>(sum + j) + at(dy, i, whole, m) * at(y, i, whole, m));
    });
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      set(dx, i, whole, m, (at(dy, i, whole, m) - load<Vec<A>>(sum + j)) * at(y, i, whole, m));
    });
  }

  static void log_softmax_backward(const T* dy, const T* y, T* dx, const Shape& s) {
    alignas(64) A sum[kColumns];
    fill(sum, 0);
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      store(sum + j, load<Vec<A>>(sum + j) + at(dy, i, whole, m));
    });
    each(s, [&](int64_t i, int64_t j, auto whole, int64_t m) {
      set(dx, i, whole, m, at(dy, i, whole, m) - exp_lanes<A>(at(y, i, whole, m)) * load<Vec<A>>(sum + j));
    });
  }
};

// line(offset of a line, its number) or columns(offset of the first line, its number, shape).
template <class T, class OneLine, class Group>
void for_lines(const Lines& l, const OneLine& line, const Group& columns) {
  constexpr int64_t grain = kGrain / 4;  // exponentials are not light work
  int64_t n = std::max<int64_t>(1, l.n);
  if (l.inner == 0) return;
  if (l.inner == 1) {
    parallel_shares(l.outer, std::max<int64_t>(1, grain / n), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) line(i * l.n, i);
    });
    return;
  }
  constexpr int64_t L = kLanes<Inner<T>>;
  int64_t width = std::clamp(kTile / n / L * L, 2 * L, kColumns);
  int64_t groups = (l.inner + width - 1) / width;
  int64_t work = n * std::min(width, l.inner);
  parallel_shares(l.outer * groups, std::max<int64_t>(1, grain / work), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t o = i / groups, from = i % groups * width;
      typename Columns<T>::Shape s{l.n, l.inner, std::min(width, l.inner - from)};
      columns(o * l.n * l.inner + from, o * l.inner + from, s);
    }
  });
}

template <class F>
void visit_floating(DType dtype, const F& f) {
  switch (dtype) {
    case DType::Half: return f(Half{});
    case DType::BFloat16: return f(BFloat16{});
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    default: return;
  }
}

#define WEFT_ALONG(name)                                                               \
  void name(DType dtype, const void* from, void* to, const Lines& lines) {             \
    visit_floating(dtype, [&](auto zero) {                                             \
      using T = decltype(zero);                                                        \
      const T* x = static_cast<const T*>(from);                                        \
      T* y = static_cast<T*>(to);                                                      \
      for_lines<T>(                                                                    \
          lines, [&](int64_t at, int64_t) { Line<T>::name(x + at, y + at, lines.n); }, \
          [&](int64_t at, int64_t, auto& s) { Columns<T>::name(x + at, y + at, s); }); \
    });                                                                                \
  }
#define WEFT_BACK_ALONG(name)                                                                    \
  void name(DType dtype, const void* g, const void* result, void* to, const Lines& lines) {      \
    visit_floating(dtype, [&](auto zero) {                                                       \
      using T = decltype(zero);                                                                  \
      const T *dy = static_cast<const T*>(g), *y = static_cast<const T*>(result);                \
      T* dx = static_cast<T*>(to);                                                               \
      for_lines<T>(                                                                              \
          lines, [&](int64_t at, int64_t) { Line<T>::name(dy + at, y + at, dx + at, lines.n); }, \
          [&](int64_t at, int64_t, auto& s) { Columns<T>::name(dy + at, y + at, dx + at, s); }); \
    });                                                                                          \
  }
WEFT_ALONG(softmax)
WEFT_ALONG(log_softmax)
WEFT_BACK_ALONG(softmax_backward)
WEFT_BACK_ALONG(log_softmax_backward)

void logsumexp(DType dtype, const void* from, void* to, const Lines& lines) {
  visit_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    for_lines<T>(
        lines, [&](int64_t at, int64_t i) { y[i] = Line<T>::logsumexp(x + at, lines.n); },
        [&](int64_t at, int64_t i, auto& s) { Columns<T>::logsumexp(x + at, y + i, s); });
  });
}

}  // namespace

extern const SoftmaxKernels softmax_kernels_table;
const SoftmaxKernels softmax_kernels_table{softmax, log_softmax, logsumexp, softmax_backward, log_softmax_backward};

}  // namespace weft::WEFT_ISA
