#include "loops/scan.h"

#include <algorithm>
#include <cmath>

#include "loops/convert.h"
#include "loops/math.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kColumns = 256;  // columns that are carried together

// Calls line(x, y, n) for every line where the axis is innermost, else columns(x, y, n, inner, width) for groups of
// neighbouring lines. x and y come as offsets.
template <class Line, class Columns>
void for_lines(const Lines& l, const Line& line, const Columns& columns) {
  int64_t per_line = std::max<int64_t>(1, l.n);
  if (l.inner == 0) return;
  if (l.inner == 1) {
    parallel_shares(l.outer, std::max<int64_t>(1, kGrain / per_line), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) line(i * l.n, l.n);
    });
    return;
  }
  int64_t groups = (l.inner + kColumns - 1) / kColumns, width = std::min(l.inner, kColumns);
  parallel_shares(l.outer * groups, std::max<int64_t>(1, kGrain / (per_line * width)), 1,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      int64_t from = i % groups * kColumns;
                      columns(i / groups * l.n * l.inner + from, l.n, l.inner, std::min(kColumns, l.inner - from));
                    }
                  });
}

// The type that carries the running value.
template <class T>
constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
struct Carried {
  using type = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
};
template <>
struct Carried<Half> {
  using type = float;
};
template <>
struct Carried<BFloat16> {
  using type = float;
};
template <>
struct Carried<Complex<float>> {
  using type = Complex<double>;
};
template <>
struct Carried<Complex<double>> {
  using type = Complex<double>;
};

struct Plus {
  template <class V>
  static V join(V a, V b) {
    return modular::add(a, b);
  }
  template <class A>
  static A start() {
    return A{};
  }
};
struct Times {
  template <class V>
  static V join(V a, V b) {
    return modular::mul(a, b);
  }
  template <class A>
  static A start() {
    return cast<A>(1.0f);
  }
};

// Moves lanes up by `by`; those that come free are taken from fill.
template <int by, int lanes, class V, int... I>
inline V lanes_up(V v, V fill, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(fill, v, (I < by ? I : lanes + I - by)...);
}

// Running joins within a vector: each step joins lanes twice as far apart.
template <class Op, int by = 1, class V>
inline V scan_lanes(V v, V fill) {
  constexpr int L = kLanes<double>;  // all carried types have 8 bytes
  if constexpr (by >= L) {
    return v;
  } else {
    constexpr auto lanes = std::make_integer_sequence<int, L>{};
    return scan_lanes<Op, 2 * by>(Op::join(v, lanes_up<by, L>(v, fill, lanes)), fill);
  }
}

// Sums are made in vectors; so are products of floats, since double has room for any order of them.
template <class T, class Op, class A>
void scan_line(const T* x, T* y, int64_t n, A& carry) {
  constexpr bool by_vector = std::is_same_v<T, float> || std::is_same_v<T, int64_t> ||
                             (std::is_same_v<T, double> && std::is_same_v<Op, Plus>);
  int64_t i = 0;
  if constexpr (by_vector) {
    constexpr int L = kLanes<A>;
    Vec<A> fill = splat(Op::template start<A>());
    for (; i + L <= n; i += L) {
      auto v = scan_lanes<Op>(convert_lanes<A, T, L>(load<Vec<T, L>>(x + i)), fill);
      store(y + i, convert_lanes<T, A, L>(Op::join(splat(carry), v)));
      carry = Op::join(carry, A(v[L - 1]));
    }
  }
  for (; i < n; ++i) {
    carry = Op::join(carry, cast<A>(x[i]));
    y[i] = cast<T>(carry);
  }
}

template <class T, class Op>
void scan_line(const T* x, T* y, int64_t n) {
  using A = typename Carried<T>::type;
  A carry = Op::template start<A>();
  if constexpr (is_half_type<T>) {
    alignas(64) float in[256], out[256];
    double wide = carry;
    for (int64_t i = 0; i < n; i += 256) {
      int64_t m = std::min<int64_t>(256, n - i);
      widen(x + i, in, m);
      scan_line<float, Op>(in, out, m, wide);
      narrow(out, y + i, m);
    }
  } else {
    in_pieces(n, [&](int64_t begin, int64_t end) { scan_line<T, Op>(x + begin, y + begin, end - begin, carry); });
  }
}

template <class T, class Op>
void scan_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width) {
  using A = typename Carried<T>::type;
  alignas(64) A carry[kColumns];
  for (int64_t j = 0; j < width; ++j) carry[j] = Op::template start<A>();
  for (int64_t k = 0; k < n; ++k, x += stride, y += stride) {
    const T* __restrict in = x;
    T* __restrict out = y;
    for (int64_t j = 0; j < width; ++j) {
      carry[j] = Op::join(carry[j], cast<A>(in[j]));
      out[j] = cast<T>(carry[j]);
    }
  }
}

template <class Op>
void scan(DType dtype, const void* from, void* to, const Lines& lines) {
  visit(dtype, [&](auto zero) {
    using T = typename Stored<decltype(zero)>::type;
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    for_lines(
        lines, [&](int64_t at, int64_t n) { scan_line<T, Op>(x + at, y + at, n); },
        [&](int64_t at, int64_t n, int64_t stride, int64_t width) {
          scan_columns<T, Op>(x + at, y + at, n, stride, width);
        });
  });
}

// Calls f with the C++ type of a real dtype.
template <class F>
void visit_real(DType dtype, const F& f) {
  if (is_complex(dtype)) return;
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex(dtype_of<T>)) f(typename Stored<T>::type{});
  });
}

// Whether x takes the place of best, which came earlier.
template <bool largest, class V>
inline auto replaces(V x, V best) {
  return (largest ? x >= best : x <= best) | (x != x);
}

template <class T, class A>
inline Vec<A> load_as(const T* x) {
  if constexpr (is_half_type<T>)
    return load_floats(x);
  else
    return load<Vec<A>>(x);
}

// Mostly nothing in a vector takes the place of the best so far: then the best is all there is to write.
template <bool largest, class A, class T>
void extreme_line(const T* x, T* y, int64_t* indices, int64_t n) {
  constexpr int L = kLanes<A>;
  A best = A(x[0]);
  int64_t index = 0;
  auto step = [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      A v = A(x[i]);
      if (replaces<largest>(v, best)) best = v, index = i;
      y[i] = T(best);
      indices[i] = index;
    }
  };
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    if (any_lane(replaces<largest>(load_as<T, A>(x + i), splat(best)))) {
      step(i, i + L);
    } else {
      for (int k = 0; k < L; ++k) y[i + k] = T(best);
      for (int k = 0; k < L; ++k) indices[i + k] = index;
    }
  }
  step(i, n);
}

template <bool largest>
void scan_extreme(DType dtype, const void* from, void* to, int64_t* indices, const Lines& lines) {
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = std::conditional_t<is_half_type<T>, float, T>;
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    auto line = [&](int64_t at, int64_t n) { extreme_line<largest, A>(x + at, y + at, indices + at, n); };
    auto columns = [&](int64_t at, int64_t n, int64_t stride, int64_t width) {
      A best[kColumns];
      int64_t index[kColumns];
      for (int64_t j = 0; j < width; ++j) best[j] = A(x[at + j]), index[j] = 0;
      for (int64_t k = 0; k < n; ++k, at += stride)
        for (int64_t j = 0; j < width; ++j) {
          A v = A(x[at + j]);
          bool better = replaces<largest>(v, best[j]);
          best[j] = better ? v : best[j];
          index[j] = better ? k : index[j];
          y[at + j] = T(best[j]);
          indices[at + j] = index[j];
        }
    };
    if (lines.n > 0) for_lines(lines, line, columns);
  });
}

// log(e^x1 + e^x2 + ...) is kept as m + log(s), m the largest x so far. Where m is not finite it is the result.
template <class A>
inline A finite_or_zero(A m) {
  return math::abs(m) < math::inf<A> ? m : A(0);
}
template <class A>
inline A larger(A x, A m) {
  return (x > m) | (x != x) ? x : m;
}
template <class A>
inline A log_of_sum(A m, A s) {
  return math::abs(m) < math::inf<A> ? m + math::log(s) : m;
}

// A block at a time, so that exponentials and logarithms are taken of whole vectors.
template <class T, class A>
void logcumsumexp_line(const T* x, T* y, int64_t n) {
  constexpr int64_t block = 256;
  alignas(64) A v[block], top[block + 1], grown[block], sums[block];
  A sum = 0;
  top[0] = -math::inf<A>;
  for (int64_t from = 0; from < n; from += block) {
    if ((from & 0xffff) == 0) leave_if_interrupted();
    int64_t m = std::min(block, n - from);
    for (int64_t i = 0; i < m; ++i) {
      v[i] = A(x[from + i]);
      top[i + 1] = larger(v[i], top[i]);
    }
    for (int64_t i = 0; i < m; ++i) {
      A now = finite_or_zero(top[i + 1]);
      grown[i] = math::exp(top[i] - now);
      v[i] = math::exp(v[i] - now);
    }
    for (int64_t i = 0; i < m; ++i) sums[i] = sum = sum * grown[i] + v[i];
    for (int64_t i = 0; i < m; ++i) sums[i] = log_of_sum(top[i + 1], sums[i]);
    for (int64_t i = 0; i < m; ++i) y[from + i] = T(sums[i]);
    top[0] = top[m];
  }
}

template <class T, class A>
void logcumsumexp_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width) {
  alignas(64) A top[kColumns], sum[kColumns], row[kColumns];
  for (int64_t j = 0; j < width; ++j) top[j] = -math::inf<A>, sum[j] = 0;
  for (int64_t k = 0; k < n; ++k, x += stride, y += stride) {
    for (int64_t j = 0; j < width; ++j) row[j] = A(x[j]);
    for (int64_t j = 0; j < width; ++j) {
      A next = larger(row[j], top[j]), now = finite_or_zero(next);
      sum[j] = sum[j] * math::exp(top[j] - now) + math::exp(row[j] - now);
      top[j] = next;
      row[j] = log_of_sum(next, sum[j]);
    }
    for (int64_t j = 0; j < width; ++j) y[j] = T(row[j]);
  }
}

// log(e^a + e^b) of complex numbers, counted from the one with the larger real part.
inline Complex<double> log_add_exp(Complex<double> a, Complex<double> b) {
  if (b.re > a.re || b.re != b.re) std::swap(a, b);
  if (!(b.re > -math::inf<double>)) return a;
  if (a.re == math::inf<double>) return {a.re, a.im + b.im};
  double size = std::exp(b.re - a.re), re = 1 + size * std::cos(b.im - a.im), im = size * std::sin(b.im - a.im);
  return {a.re + std::log(std::hypot(re, im)), a.im + std::atan2(im, re)};
}

template <class R>
void logcumsumexp_complex(const Complex<R>* x, Complex<R>* y, int64_t n, int64_t stride) {
  Complex<double> sum{-math::inf<double>, 0};
  for (int64_t i = 0; i < n * stride; i += stride) {
    sum = log_add_exp(sum, {x[i].re, x[i].im});
    y[i] = {R(sum.re), R(sum.im)};
  }
}

template <class R>
void logcumsumexp_complex(const void* from, void* to, const Lines& lines) {
  parallel_chunks(lines.outer * lines.inner, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = i / lines.inner * lines.n * lines.inner + i % lines.inner;
      logcumsumexp_complex(static_cast<const Complex<R>*>(from) + at, static_cast<Complex<R>*>(to) + at, lines.n,
                           lines.inner);
    }
  });
}

void logcumsumexp(DType dtype, const void* from, void* to, const Lines& lines) {
  if (dtype == DType::ComplexFloat) return logcumsumexp_complex<float>(from, to, lines);
  if (dtype == DType::ComplexDouble) return logcumsumexp_complex<double>(from, to, lines);
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (is_floating(dtype_of<T>)) {
      using A = std::conditional_t<is_half_type<T>, float, T>;
      const T* x = static_cast<const T*>(from);
      T* y = static_cast<T*>(to);
      for_lines(
          lines, [&](int64_t at, int64_t n) { logcumsumexp_line<T, A>(x + at, y + at, n); },
          [&](int64_t at, int64_t n, int64_t stride, int64_t width) {
            logcumsumexp_columns<T, A>(x + at, y + at, n, stride, width);
          });
    }
  });
}

}  // namespace

extern const ScanKernels scan_kernels_table;
const ScanKernels scan_kernels_table{scan<Plus>, scan<Times>, logcumsumexp, scan_extreme<true>, scan_extreme<false>};

}  // namespace weft::WEFT_ISA
