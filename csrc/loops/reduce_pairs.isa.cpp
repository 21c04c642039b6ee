// Reductions that carry more than one number along: an extreme with its index, a mean with its squares.
#include "loops/reduce_lanes.h"

namespace weft::WEFT_ISA {
namespace {

template <class T>
inline bool is_nan(T x) {
  return x != x;
}

template <class T, bool largest>
struct Extreme {
  using Index = mask_type<T>;  // within a block
  static constexpr int L = kLanes<T>;
  struct Wide {
    T value;
    int64_t index;
  };

  // Whether a goes before b, when b came first.
  template <class V>
  static auto beats(V a, V b) {
    if constexpr (std::is_floating_point_v<T>)
      return (largest ? a > b : a < b) | ((a != a) & (b == b));
    else
      return largest ? a > b : a < b;
  }
  struct Best : Operation {
    using In = T;
    using Acc = T;
    using Wide = T;
    static constexpr T fill(double) { return largest ? lowest<T>() : highest<T>(); }
    static Vec<T> map(Vec<T> x, double) { return x; }
    template <class V>
    static V join(V a, V b) {
      return beats(b, a) ? b : a;
    }
    static T widen(T a) { return a; }
  };

  static int64_t first_equal(const T* x, int64_t n, T value) {
    constexpr int step = 4 * L;
    int64_t i = 0;
    Vec<T> wanted = splat(value);
    bool nan = is_nan(value);
    for (; i + step <= n; i += step) {
      Vec<Index> found{};
#pragma GCC unroll 4
      for (int k = 0; k < step; k += L) {
        Vec<T> v = load<Vec<T>>(x + i + k);
        found |= (v == wanted) | (v != v);
      }
      if (any_lane(found)) break;
    }
    while (!(x[i] == value || (nan && is_nan(x[i])))) ++i;
    return i;
  }

  static void take(Wide& best, T value, int64_t index) {
    if (best.index < 0 || beats(value, best.value)) best = {value, index};
  }

  static void rows(void* acc, const void* data, int64_t rows, int64_t stride, int64_t n, const Reducer::Where& w) {
    constexpr int64_t block = 1024;
    const T* x = static_cast<const T*>(data);
    for (int64_t i = 0; i < rows; ++i, x += stride) {
      Wide& best = static_cast<Wide*>(acc)[i];
      for (int64_t k = 0; k < n; k += block) {
        int64_t len = std::min(block, n - k);
        T value = Loops<Best>::block(x + k, len, 0);
        if (best.index < 0 || beats(value, best.value)) best = {value, w.at + k + first_equal(x + k, len, value)};
      }
    }
  }

  // Carries the best value and its row through G rows, from the k-th on.
  template <int G>
  static void add_rows(T* best, Index* index, const T* x, int64_t stride, int64_t width, Index k) {
    auto add = [&](int64_t j, auto&& fetch) {
      Vec<T> b = load<Vec<T>>(best + j);
      Vec<Index> at = load<Vec<Index>>(index + j);
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) {
        Vec<T> v = fetch(x + g * stride + j);
        auto better = beats(v, b);
        b = better ? v : b;
        at = better ? splat(Index(k + g)) : at;
      }
      store(best + j, b);
      store(index + j, at);
    };
    int64_t j = 0;
    for (; j + L <= width; j += L) add(j, [](const T* p) { return load<Vec<T>>(p); });
    if (j < width) add(j, [&](const T* p) { return load_some(p, width - j, Best::fill(0)); });
  }

  static void columns(void* acc, const void* data, int64_t n, int64_t stride, int64_t width, const Reducer::Where& w) {
    const T* x = static_cast<const T*>(data);
    alignas(64) T best[kMaxColumns + 64];
    alignas(64) Index index[kMaxColumns + 64];
    for (int64_t from = 0; from < n; from += kColumnBlock) {
      int64_t m = std::min(kColumnBlock, n - from), k = 1;
      for (int64_t j = 0; j < width; ++j) best[j] = x[from * stride + j], index[j] = 0;
      for (; k + 4 <= m; k += 4) add_rows<4>(best, index, x + (from + k) * stride, stride, width, Index(k));
      for (; k < m; ++k) add_rows<1>(best, index, x + (from + k) * stride, stride, width, Index(k));
      for (int64_t j = 0; j < width; ++j) take(static_cast<Wide*>(acc)[j], best[j], w.at + from + index[j]);
    }
  }

  static void start(void* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<Wide*>(acc)[i] = {T(0), -1};
  }
  static void merge(void* acc, const void* other, int64_t n) {
    const Wide* b = static_cast<const Wide*>(other);
    for (int64_t i = 0; i < n; ++i)
      if (b[i].index >= 0) take(static_cast<Wide*>(acc)[i], b[i].value, b[i].index);
  }
  template <class Out>
  static void finish(const void* acc, int64_t n, const Reducer::Result& r) {
    auto* index = reinterpret_cast<int64_t*>(r.y);
    auto* value = reinterpret_cast<typename Stored<Out>::type*>(r.second);
    for (int64_t i = 0; i < n; ++i) {
      const Wide& w = static_cast<const Wide*>(acc)[i];
      index[i * r.stride] = w.index;
      if (value) value[i * r.stride] = cast<typename Stored<Out>::type>(w.value);
    }
  }
};

template <class T, bool largest>
const Reducer* extreme() {
  using In = loop_type<T>;
  using E = Extreme<In, largest>;
  static constexpr bool must_pack = !std::is_same_v<In, typename Stored<T>::type>;
  static constexpr Reducer r{sizeof(typename E::Wide),
                             sizeof(In),
                             8,
                             sizeof(typename Stored<T>::type),
                             true,
                             E::start,
                             E::rows,
                             E::columns,
                             E::merge,
                             E::template finish<T>,
                             pack<T, Plain>,
                             must_pack};
  return &r;
}

// Count, mean and the sum of squared deviations from it. Each block is gone through twice while it is in
// the cache: once for its mean, once for the deviations; blocks are joined in double (Chan's formula).
template <class T>
struct Moments {
  using Total = Loops<Sum<T, T, double>>;
  static constexpr int L = kLanes<T>;
  struct Wide {
    double n, mean, squares;
  };

  // `share` is b's part of all elements; it is the same for all columns, so the caller divides once.
  static void join(Wide& a, const Wide& b, double share) {
    double delta = b.mean - a.mean;
    a.squares += b.squares + delta * delta * a.n * share;
    a.mean += delta * share;
    a.n += b.n;
  }
  static double share_of(const Wide& a, double n) { return n / (a.n + n); }
  static Wide about(T centre, double n, double sum, double squares) {
    return {n, centre + sum / n, std::max(0.0, squares - sum * sum / n)};
  }

  static Wide block(const T* x, int64_t n) {
    T centre = T(Total::block(x, n, 0) / n);
    Vec<T> c = splat(centre), sum[2] = {}, squares[2] = {};
    auto add = [&](int k, Vec<T> v) {
      Vec<T> d = v - c;
      sum[k] += d;
      squares[k] += d * d;
    };
    int64_t i = 0;
    for (; i + 2 * L <= n; i += 2 * L) add(0, load<Vec<T>>(x + i)), add(1, load<Vec<T>>(x + i + L));
    if (i + L <= n) add(0, load<Vec<T>>(x + i)), i += L;
    if (i < n) add(1, load_some(x + i, n - i, centre));
    auto plus = [](auto a, auto b) { return a + b; };
    return about(centre, double(n), join_lanes<T>(sum[0] + sum[1], plus), join_lanes<T>(squares[0] + squares[1], plus));
  }

  static void rows(void* acc, const void* data, int64_t rows, int64_t stride, int64_t n, const Reducer::Where&) {
    const T* x = static_cast<const T*>(data);
    for (int64_t i = 0; i < rows; ++i, x += stride) {
      Wide& wide = static_cast<Wide*>(acc)[i];
      for (int64_t k = 0; k < n; k += kRowBlock / 4) {
        Wide b = block(x + k, std::min(kRowBlock / 4, n - k));
        join(wide, b, share_of(wide, b.n));
      }
    }
  }

  // The deviations from c[j] of m rows; c is exact enough if it is near the mean.
  static void deviations(const T* x, int64_t m, int64_t stride, int64_t width, const T* c, T* sum, T* squares) {
    for (int64_t k = 0; k < m; k += 4) {
      const T* row[4];
      T used[4];
      for (int g = 0; g < 4; ++g) {
        row[g] = x + std::min(k + g, m - 1) * stride;
        used[g] = k + g < m;
      }
      for (int64_t j = 0; j < width; ++j) {
        T a = (row[0][j] - c[j]) * used[0], b = (row[1][j] - c[j]) * used[1];
        T e = (row[2][j] - c[j]) * used[2], f = (row[3][j] - c[j]) * used[3];
        sum[j] += (a + b) + (e + f);
        squares[j] += (a * a + b * b) + (e * e + f * f);
      }
    }
  }

  static void columns(void* acc, const void* data, int64_t n, int64_t stride, int64_t width, const Reducer::Where&) {
    const T* x = static_cast<const T*>(data);
    Wide* wide = static_cast<Wide*>(acc);
    alignas(64) T centre[kMaxColumns + 64], sum[kMaxColumns], squares[kMaxColumns];
    for (int64_t from = 0; from < n; from += kColumnBlock / 2) {
      int64_t m = std::min(kColumnBlock / 2, n - from);
      const T* block = x + from * stride;
      Total::join_rows(centre, block, m, stride, width, 0);
      for (int64_t j = 0; j < width; ++j) centre[j] = centre[j] / T(m), sum[j] = squares[j] = 0;
      deviations(block, m, stride, width, centre, sum, squares);
      double share = share_of(wide[0], double(m));
      for (int64_t j = 0; j < width; ++j) join(wide[j], about(centre[j], double(m), sum[j], squares[j]), share);
    }
  }

  static void start(void* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<Wide*>(acc)[i] = {0, 0, 0};
  }
  static void merge(void* acc, const void* other, int64_t n) {
    const Wide* b = static_cast<const Wide*>(other);
    if (b[0].n == 0) return;
    double share = share_of(*static_cast<Wide*>(acc), b[0].n);
    for (int64_t i = 0; i < n; ++i) join(static_cast<Wide*>(acc)[i], b[i], share);
  }
  template <class Out, bool root>
  static void finish(const void* acc, int64_t n, const Reducer::Result& r) {
    double divisor = std::max(0.0, double(r.count) - r.p);
    for (int64_t i = 0; i < n; ++i) {
      const Wide& w = static_cast<const Wide*>(acc)[i];
      double var = w.squares / divisor;
      reinterpret_cast<Out*>(r.y)[i * r.stride] = Out(root ? std::sqrt(var) : var);
      if (r.second) reinterpret_cast<Out*>(r.second)[i * r.stride] = Out(w.n > 0 ? w.mean : NAN);
    }
  }
};

template <class T, bool root>
const Reducer* moments() {
  using In = loop_type<T>;
  using M = Moments<In>;
  static constexpr Reducer r{sizeof(typename M::Wide),
                             sizeof(In),
                             sizeof(T),
                             sizeof(T),
                             false,
                             M::start,
                             M::rows,
                             M::columns,
                             M::merge,
                             M::template finish<T, root>,
                             pack<T, Plain>,
                             !std::is_same_v<In, T>};
  return &r;
}

}  // namespace

const Reducer* find_indexed(Reduce op, DType dtype) {
#define WEFT_EXTREME(T) return op == Reduce::argmax ? extreme<T, true>() : extreme<T, false>()
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: WEFT_EXTREME(uint8_t);
    case DType::Int8: WEFT_EXTREME(int8_t);
    case DType::Int16: WEFT_EXTREME(int16_t);
    case DType::Int32: WEFT_EXTREME(int32_t);
    case DType::Int64: WEFT_EXTREME(int64_t);
    case DType::Half: WEFT_EXTREME(Half);
    case DType::BFloat16: WEFT_EXTREME(BFloat16);
    case DType::Float: WEFT_EXTREME(float);
    case DType::Double: WEFT_EXTREME(double);
    default: return nullptr;
  }
#undef WEFT_EXTREME
}

const Reducer* find_moments(Reduce op, DType dtype) {
  bool root = op == Reduce::std;
  switch (dtype) {
    case DType::Half: return root ? moments<Half, true>() : moments<Half, false>();
    case DType::BFloat16: return root ? moments<BFloat16, true>() : moments<BFloat16, false>();
    case DType::Float: return root ? moments<float, true>() : moments<float, false>();
    case DType::Double: return root ? moments<double, true>() : moments<double, false>();
    default: return nullptr;
  }
}

}  // namespace weft::WEFT_ISA
