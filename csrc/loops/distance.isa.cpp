#include "loops/distance.h"

#include <cmath>

#include "loops/convert.h"
#include "loops/math.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int kVectors = 4;  // of distances of one row that are made at once
template <class T>
constexpr int64_t kTile = kVectors * kLanes<T>;
constexpr int kRows = 4;       // that share what is read of a tile
constexpr int64_t kRun = 128;  // differences that are summed before they are added to the total: sums stay accurate

template <class V>
V magnitude(V d) {
  return d < 0 ? -d : d;
}

// What each norm does with a difference, on vectors; `total` joins the sums of two runs.
struct Count {
  template <class V>
  static V term(V sum, V d) {
    return sum + (d != 0 ? V{} + 1 : V{});
  }
  template <class V>
  static V total(V a, V b) {
    return a + b;
  }
  template <class T>
  static T end(T sum) {
    return sum;
  }
  template <class V>
  static V slope(V, V, V) {
    return V{};
  }
  template <class T>
  static T factor(T, T) {
    return 0;
  }
};
struct Sum : Count {
  template <class V>
  static V term(V sum, V d) {
    return sum + magnitude(d);
  }
  template <class V>
  static V slope(V factor, V d, V) {
    return factor * (d > 0 ? V{} + 1 : d < 0 ? V{} - 1 : V{});
  }
  template <class T>
  static T factor(T g, T) {
    return g;
  }
};
struct Euclid : Count {
  template <class V>
  static V term(V sum, V d) {
    return sum + d * d;
  }
  template <class T>
  static T end(T sum) {
    return math::sqrt(sum);
  }
  template <class V>
  static V slope(V factor, V d, V) {
    return factor * d;
  }
  template <class T>
  static T factor(T g, T distance) {
    return distance == 0 ? T(0) : g / distance;
  }
};
struct Cube : Count {
  template <class V>
  static V term(V sum, V d) {
    return sum + magnitude(d) * (d * d);
  }
  template <class T>
  static T end(T sum) {
    return math::pow(sum, T(1.0 / 3.0));
  }
  template <class V>
  static V slope(V factor, V d, V) {
    return factor * (d * magnitude(d));
  }
  template <class T>
  static T factor(T g, T distance) {
    return distance == 0 ? T(0) : g / (distance * distance);
  }
};
struct Largest : Sum {
  template <class V>
  static V term(V most, V d) {
    return total(most, magnitude(d));
  }
  template <class V>
  static V total(V a, V b) {  // NaN wins
    return b > a ? b : b == b ? a : b;
  }
  template <class V>
  static V slope(V factor, V d, V distance) {
    return magnitude(d) == distance ? Sum::slope(factor, d, distance) : V{};
  }
};

// y as tiles: the elements k of kTile rows lie together. The last tile is filled up with zeros.
template <class T>
void pack(const T* y, int64_t n, int64_t k, T* tiles) {
  for (int64_t from = 0; from < n; from += kTile<T>) {
    int64_t width = std::min(kTile<T>, n - from);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < width; ++j) tiles[i * kTile<T> + j] = y[(from + j) * k + i];
      for (int64_t j = width; j < kTile<T>; ++j) tiles[i * kTile<T> + j] = 0;
    }
    tiles += k * kTile<T>;
  }
}

template <class Norm, int rows, class T>
void tile_distances(const T* x, const T* tile, int64_t k, T (*out)[kTile<T>]) {
  using V = Vec<T>;
  V total[rows][kVectors] = {};
  for (int64_t from = 0; from < k; from += kRun) {
    int64_t to = std::min(k, from + kRun);
    V sum[rows][kVectors] = {};
    for (int64_t i = from; i < to; ++i) {
      V y[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) y[v] = load<V>(tile + i * kTile<T> + v * kLanes<T>);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        V xr = splat(x[r * k + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[r][v] = Norm::term(sum[r][v], xr - y[v]);
      }
    }
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < kVectors; ++v) total[r][v] = Norm::total(total[r][v], sum[r][v]);
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < kVectors; ++v) store(out[r] + v * kLanes<T>, total[r][v]);
}

// The same for any p, by loops that the compiler vectorises.
template <class T>
void tile_powers(const T* x, const T* tile, int64_t k, T p, T* out) {
  T total[kTile<T>] = {};
  for (int64_t from = 0; from < k; from += kRun) {
    T sum[kTile<T>] = {};
    for (int64_t i = from; i < std::min(k, from + kRun); ++i)
      for (int64_t j = 0; j < kTile<T>; ++j) sum[j] += math::general_pow(math::abs(x[i] - tile[i * kTile<T> + j]), p);
    for (int64_t j = 0; j < kTile<T>; ++j) total[j] += sum[j];
  }
  for (int64_t j = 0; j < kTile<T>; ++j) out[j] = math::pow(total[j], 1 / p);
}

struct Sizes {
  int64_t batch, m, n, k;
  int64_t tiles(int64_t tile) const { return (n + tile - 1) / tile; }
};

// Calls f(b, i, rows) for all rows of all matrices, kRows at a time where it can.
template <class F>
void for_rows(const Sizes& s, const F& f) {
  int64_t groups = (s.m + kRows - 1) / kRows;
  int64_t work = std::max<int64_t>(1, s.n * std::max<int64_t>(1, s.k) * kRows);
  parallel_shares(s.batch * groups, std::max<int64_t>(1, kGrain / work), 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      int64_t i = at % groups * kRows;
      f(at / groups, i, std::min<int64_t>(kRows, s.m - i));
    }
  });
}

// The matrices y, packed.
template <class T>
class Tiles {
 public:
  Tiles(const Sizes& s, const T* y)
      : each_(s.tiles(kTile<T>) * kTile<T> * s.k), memory_(s.batch * each_ * int64_t(sizeof(T))) {
    parallel_each(s.batch, [&](int64_t b) { pack(y + b * s.n * s.k, s.n, s.k, memory_.as<T>() + b * each_); });
  }
  const T* of(int64_t b) const { return memory_.as<T>() + b * each_; }

 private:
  int64_t each_;
  Scratch memory_;
};

template <class Norm, class T>
void distances(const Sizes& s, const T* x, const T* y, T* out) {
  Tiles<T> tiles(s, y);
  for_rows(s, [&](int64_t b, int64_t i, int64_t rows) {
    const T* tile = tiles.of(b);
    const T* from = x + (b * s.m + i) * s.k;
    T sums[kRows][kTile<T>];
    for (int64_t j = 0; j < s.n; j += kTile<T>, tile += kTile<T> * s.k) {
      if (rows == kRows)
        tile_distances<Norm, kRows>(from, tile, s.k, sums);
      else
        for (int64_t r = 0; r < rows; ++r) tile_distances<Norm, 1>(from + r * s.k, tile, s.k, sums + r);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < std::min(kTile<T>, s.n - j); ++c)
          out[(b * s.m + i + r) * s.n + j + c] = Norm::end(sums[r][c]);
    }
  });
}

template <class T>
void powers(const Sizes& s, T p, const T* x, const T* y, T* out) {
  Tiles<T> tiles(s, y);
  for_rows(s, [&](int64_t b, int64_t i, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* tile = tiles.of(b);
      for (int64_t j = 0; j < s.n; j += kTile<T>, tile += kTile<T> * s.k) {
        T sums[kTile<T>];
        tile_powers(x + (b * s.m + i + r) * s.k, tile, s.k, p, sums);
        for (int64_t c = 0; c < std::min(kTile<T>, s.n - j); ++c) out[(b * s.m + i + r) * s.n + j + c] = sums[c];
      }
    }
  });
}

// The derivative by x of one row: `factors` and `tile_slopes` say what a tile adds to the sums, which are kept for each
// lane until all tiles are done.
template <class T, class Factor, class Slope>
void gradients(const Sizes& s, const T* g, const T* x, const T* y, const T* distances, T* dx, const Factor& factor,
               const Slope& slope) {
  using V = Vec<T>;
  Tiles<T> tiles(s, y);
  PerThread lanes(s.k * int64_t(sizeof(V)), PerThread::kMany);
  for_rows(s, [&](int64_t b, int64_t i, int64_t rows) {
    T* sums = lanes.mine<T>();
    for (int64_t r = 0; r < rows; ++r) {
      int64_t row = b * s.m + i + r;
      const T* tile = tiles.of(b);
      std::memset(sums, 0, size_t(s.k) * sizeof(V));
      for (int64_t j = 0; j < s.n; j += kTile<T>, tile += kTile<T> * s.k) {
        T factors[kTile<T>] = {}, far[kTile<T>] = {};
        for (int64_t c = 0; c < std::min(kTile<T>, s.n - j); ++c) {
          far[c] = distances[row * s.n + j + c];
          factors[c] = factor(g[row * s.n + j + c], far[c]);
        }
        for (int64_t k = 0; k < s.k; ++k)
          slope(x[row * s.k + k], tile + k * kTile<T>, factors, far, sums + k * kLanes<T>);
      }
      for (int64_t k = 0; k < s.k; ++k) {
        T sum = 0;
        for (int64_t l = 0; l < kLanes<T>; ++l) sum += sums[k * kLanes<T> + l];
        dx[row * s.k + k] = sum;
      }
    }
  });
}

template <class Norm, class T>
void norm_gradients(const Sizes& s, const T* g, const T* x, const T* y, const T* distances, T* dx) {
  using V = Vec<T>;
  gradients(
      s, g, x, y, distances, dx, [](T g, T far) { return Norm::factor(g, far); },
      [](T x, const T* tile, const T* factors, const T* far, T* sums) {
        V sum = load<V>(sums), xs = splat(x);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          int64_t at = v * kLanes<T>;
          sum = sum + Norm::slope(load<V>(factors + at), xs - load<V>(tile + at), load<V>(far + at));
        }
        store(sums, sum);
      });
}

template <class T>
void power_gradients(const Sizes& s, T p, const T* g, const T* x, const T* y, const T* distances, T* dx) {
  gradients(
      s, g, x, y, distances, dx, [p](T g, T far) { return far == 0 ? T(0) : g / math::pow(far, p - 1); },
      [p](T x, const T* tile, const T* factors, const T*, T* sums) {
        T terms[kTile<T>];
        for (int64_t c = 0; c < kTile<T>; ++c) {
          T d = x - tile[c], size = math::general_pow(math::abs(d), p - 1);
          terms[c] = d == 0 ? T(0) : factors[c] * (d < 0 ? -size : size);
        }
        for (int64_t c = 0; c < kTile<T>; ++c) sums[c % kLanes<T>] += terms[c];
      });
}

template <class F>
void with_type(DType type, const F& f) {
  if (type == DType::Float)
    f(float());
  else
    f(double());
}

void between(DType type, int64_t batch, int64_t m, int64_t n, int64_t k, double p, const void* x, const void* y,
             void* out) {
  Sizes s{batch, m, n, k};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T *a = static_cast<const T*>(x), *b = static_cast<const T*>(y);
    T* to = static_cast<T*>(out);
    if (p == 0) return distances<Count>(s, a, b, to);
    if (p == 1) return distances<Sum>(s, a, b, to);
    if (p == 2) return distances<Euclid>(s, a, b, to);
    if (p == 3) return distances<Cube>(s, a, b, to);
    if (std::isinf(p)) return distances<Largest>(s, a, b, to);
    powers(s, T(p), a, b, to);
  });
}

void back(DType type, int64_t batch, int64_t m, int64_t n, int64_t k, double p, const void* g, const void* x,
          const void* y, const void* distances, void* dx) {
  Sizes s{batch, m, n, k};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T *gs = static_cast<const T*>(g), *a = static_cast<const T*>(x), *b = static_cast<const T*>(y),
            *d = static_cast<const T*>(distances);
    T* to = static_cast<T*>(dx);
    if (p == 0) return norm_gradients<Count>(s, gs, a, b, d, to);
    if (p == 1) return norm_gradients<Sum>(s, gs, a, b, d, to);
    if (p == 2) return norm_gradients<Euclid>(s, gs, a, b, d, to);
    if (p == 3) return norm_gradients<Cube>(s, gs, a, b, d, to);
    if (std::isinf(p)) return norm_gradients<Largest>(s, gs, a, b, d, to);
    power_gradients(s, T(p), gs, a, b, d, to);
  });
}

}  // namespace

extern const DistanceKernels distance_kernels_table = {between, back};

}  // namespace weft::WEFT_ISA
