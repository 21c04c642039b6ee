// Positions are taken in blocks: which elements they read and with which weight is worked out once for all channels.
#include "loops/grid.h"

#include "loops/convert.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kBlock = 64;     // positions
constexpr int64_t kChannels = 16;  // that share the work of finding places, where each plane is written
constexpr int64_t kWork = 16384;   // elements that are worth a thread
constexpr int kMostTerms = 16;     // of a sum: 4 x 4

// Along one axis: the elements that are read (-1: outside), their weights, and how these follow the grid.
template <class T>
struct AxisTerms {
  int count;
  int32_t at[4][kBlock];
  T weight[4][kBlock], slope[4][kBlock];
};

// Where a coordinate of the grid lies, in elements, and how much it moves with the grid.
template <class T>
[[gnu::noinline]] void place(const GridPlan& p, int64_t size, const T* grid, int64_t n, T* __restrict x,
                             T* __restrict slope) {
  const T half = T(size - 1) / 2, all = T(size), rate = p.corners ? half : all / 2;
  const int64_t step = p.dims;
  if (p.corners)
    for (int64_t i = 0; i < n; ++i) x[i] = (grid[i * step] + 1) * half;
  else
    for (int64_t i = 0; i < n; ++i) x[i] = ((grid[i * step] + 1) * all - 1) / 2;
  for (int64_t i = 0; i < n; ++i) slope[i] = rate;
}

inline float round_down(float x) { return __builtin_floorf(x); }
inline double round_down(double x) { return __builtin_floor(x); }
inline float round_near(float x) { return __builtin_rintf(x); }
inline double round_near(double x) { return __builtin_rint(x); }

// Brings coordinates into the image: mirrored at its borders until they are inside, and cut off there. NaN becomes 0.
template <class T>
[[gnu::noinline]] void bring_inside(const GridPlan& p, int64_t size, int64_t n, T* __restrict x, T* __restrict slope) {
  const T last = T(size - 1);
  if (p.outside == GridPlan::reflection) {
    const T low = p.corners ? T(0) : T(-0.5), span = p.corners ? last : T(size);
    for (int64_t i = 0; i < n; ++i) {
      T away = x[i] - low, sign = away < 0 ? T(-1) : T(1);
      away *= sign;
      T flips = span > 0 ? round_down(away / span) : T(0), rest = span > 0 ? away - flips * span : T(0);
      bool odd = flips - 2 * round_down(flips / 2) != 0;
      x[i] = (odd ? span - rest : rest) + low;
      slope[i] *= span > 0 ? odd ? -sign : sign : T(0);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    bool inside = x[i] > 0 && x[i] < last;
    slope[i] = inside ? slope[i] : T(0);
    x[i] = inside ? x[i] : x[i] >= last ? last : T(0);
  }
}

template <class T>
inline int32_t index_of(T whole, T last) {
  bool inside = whole >= 0 && whole <= last;
  return inside ? int32_t(inside ? whole : T(0)) : -1;
}

// Keys' cubic convolution with a = -0.75, and its derivative by the distance.
template <class T>
inline void cubic_term(T x, T* w, T* dw) {
  const T a = T(-0.75), d = x < 0 ? -x : x, sign = x < 0 ? T(-1) : T(1);
  const T near = ((a + 2) * d - (a + 3)) * d * d + 1, far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  const T near_slope = (3 * (a + 2) * d - 2 * (a + 3)) * d, far_slope = (3 * a * d - 10 * a) * d + 8 * a;
  *w = d <= 1 ? near : far;
  *dw = sign * (d <= 1 ? near_slope : far_slope);
}

template <class T>
[[gnu::noinline]] void linear_terms(int64_t size, int64_t n, const T* __restrict x, const T* __restrict slope,
                                    AxisTerms<T>& to) {
  const T last = T(size - 1);
  for (int64_t i = 0; i < n; ++i) {
    T low = round_down(x[i]), share = x[i] - low;
    to.at[0][i] = index_of(low, last), to.at[1][i] = index_of(low + 1, last);
    to.weight[0][i] = 1 - share, to.weight[1][i] = share;
    to.slope[0][i] = -slope[i], to.slope[1][i] = slope[i];
  }
}

template <class T>
void cubic_terms(const GridPlan& p, int64_t size, int64_t n, const T* x, const T* slope, AxisTerms<T>& to) {
  const T last = T(size - 1);
  T at[kBlock], unused[kBlock];
  for (int k = 0; k < 4; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      T low = round_down(x[i]), w, dw;
      cubic_term(x[i] - low - T(k - 1), &w, &dw);
      to.weight[k][i] = w, to.slope[k][i] = dw * slope[i];
      at[i] = low + T(k - 1), unused[i] = 0;
    }
    if (p.outside != GridPlan::zeros) bring_inside(p, size, n, at, unused);
    for (int64_t i = 0; i < n; ++i) to.at[k][i] = index_of(at[i], last);
  }
}

template <class T>
void terms_of(const GridPlan& p, int64_t size, const T* grid, int64_t n, AxisTerms<T>& to) {
  T x[kBlock], slope[kBlock];
  place(p, size, grid, n, x, slope);
  to.count = p.mode == GridPlan::linear ? 2 : p.mode == GridPlan::nearest ? 1 : 4;
  if (p.mode == GridPlan::cubic) return cubic_terms(p, size, n, x, slope, to);
  if (p.outside != GridPlan::zeros) bring_inside(p, size, n, x, slope);
  if (p.mode == GridPlan::linear) return linear_terms(size, n, x, slope, to);
  const T last = T(size - 1);
  for (int64_t i = 0; i < n; ++i) {
    to.at[0][i] = index_of(round_near(x[i]), last);
    to.weight[0][i] = 1, to.slope[0][i] = 0;
  }
}

// The terms of all axes together: -1 where one of them is outside.
template <class T>
struct Block {
  int count = 1;
  int32_t at[kMostTerms][kBlock];
  T weight[kMostTerms][kBlock];

  Block(const GridPlan& p, const T* grid, int64_t n, AxisTerms<T>* axes) {
    for (int d = 3 - p.dims; d < 3; ++d) {
      terms_of(p, p.size[d], grid + (2 - d), n, axes[d]);
      d == 3 - p.dims ? first(axes[d], n) : join(axes[d], p.size[d], n);
    }
  }

 private:
  void first(const AxisTerms<T>& a, int64_t n) {
    count = a.count;
    for (int k = 0; k < count; ++k)
      for (int64_t i = 0; i < n; ++i) at[k][i] = a.at[k][i], weight[k][i] = a.weight[k][i];
  }
  // From the last term on, as those in front are still needed.
  [[gnu::noinline]] void join(const AxisTerms<T>& a, int64_t size, int64_t n) {
    for (int k = count - 1; k >= 0; --k)
      for (int j = a.count - 1; j >= 0; --j) {
        int32_t* to = at[k * a.count + j];
        T* w = weight[k * a.count + j];
        for (int64_t i = 0; i < n; ++i) {
          int32_t outer = at[k][i], inner = a.at[j][i];
          to[i] = (outer | inner) < 0 ? -1 : outer * int32_t(size) + inner;
          w[i] = weight[k][i] * a.weight[j][i];
        }
      }
    count *= a.count;
  }
};

template <class T>
inline T value_at(const T* x, int32_t at) {
  T v = x[at < 0 ? 0 : at];
  return at < 0 ? T(0) : v;
}

#if WEFT_SIMD_GATHERS  // compilers do not choose them by themselves
constexpr int W = kLanes<float>;
inline int64_t lanes_of(int64_t n) { return n < W ? n : W; }
#endif

template <class T, int kTerms>
[[gnu::noinline]] void read_some(const Block<T>& b, int64_t n, const T* __restrict x, T* __restrict y) {
#if WEFT_SIMD_GATHERS
  if constexpr (sizeof(T) == 4) {
    for (int64_t i = 0; i < n; i += W) {
      Vec<float> sum{};
      for (int k = 0; k < kTerms; ++k) sum += gather_some(x, b.at[k] + i, n - i) * load<Vec<float>>(b.weight[k] + i);
      store_first(y + i, sum, lanes_of(n - i));
    }
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) {
    T sum = value_at(x, b.at[0][i]) * b.weight[0][i];
    for (int k = 1; k < kTerms; ++k) sum += value_at(x, b.at[k][i]) * b.weight[k][i];
    y[i] = sum;
  }
}
template <class T>
[[gnu::noinline]] void read_one(const Block<T>& b, int64_t n, const T* __restrict x, T* __restrict y) {
#if WEFT_SIMD_GATHERS
  if constexpr (sizeof(T) == 4) {
    for (int64_t i = 0; i < n; i += W) store_first(y + i, gather_some(x, b.at[0] + i, n - i), lanes_of(n - i));
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) y[i] = value_at(x, b.at[0][i]);  // the nearest: no weight that could be NaN
}
template <class T>
[[gnu::noinline]] void add_products(const int32_t* __restrict at, int64_t n, const T* __restrict g,
                                    const T* __restrict x, T* __restrict sum) {
#if WEFT_SIMD_GATHERS
  if constexpr (sizeof(T) == 4) {
    for (int64_t i = 0; i < n; i += W) {
      Vec<float> v = gather_some(x, at + i, n - i) * load_first(g + i, lanes_of(n - i));
      store_first(sum + i, load<Vec<float>>(sum + i) + v, lanes_of(n - i));
    }
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) sum[i] += value_at(x, at[i]) * g[i];
}

// Calls f(image, first position, how many).
template <class F>
void each_block(const GridPlan& p, const F& f) {
  const int64_t blocks = (p.positions + kBlock - 1) / kBlock;
  parallel_chunks(p.batch * blocks, 1 + kWork / (kBlock * (p.channels + 8)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t from = i % blocks * kBlock, rest = p.positions - from;
      f(i / blocks, from, rest < kBlock ? rest : kBlock);
    }
  });
}

template <class T>
void read_of(const GridPlan& p, const T* x, const T* grid, T* y) {
  each_block(p, [&](int64_t image, int64_t from, int64_t n) {
    AxisTerms<T> axes[3];
    const Block<T> b(p, grid + (image * p.positions + from) * p.dims, n, axes);
    const auto some = b.count == 1   ? read_one<T>
                      : b.count == 4 ? read_some<T, 4>
                      : b.count == 8 ? read_some<T, 8>
                                     : read_some<T, 16>;
    for (int64_t c = image * p.channels; c < (image + 1) * p.channels; ++c)
      some(b, n, x + c * p.pixels(), y + c * p.positions + from);
  });
}

template <class T, int kTerms>
[[gnu::noinline]] void add_some(const Block<T>& b, int64_t n, const T* __restrict g, T* __restrict dx) {
  const int terms = kTerms ? kTerms : b.count;
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < terms; ++k)
      if (b.at[k][i] >= 0) dx[b.at[k][i]] += b.weight[k][i] * g[i];
}

template <class T>
void back_input_of(const GridPlan& p, const T* g, const T* grid, T* dx) {
  const int64_t groups = (p.channels + kChannels - 1) / kChannels;
  parallel_each(p.batch * groups, [&](int64_t group) {
    const int64_t image = group / groups, first = image * p.channels + group % groups * kChannels,
                  limit = (image + 1) * p.channels, last = first + kChannels < limit ? first + kChannels : limit;
    for (int64_t i = first * p.pixels(); i < last * p.pixels(); ++i) dx[i] = 0;
    for (int64_t from = 0; from < p.positions; from += kBlock) {
      const int64_t n = p.positions - from < kBlock ? p.positions - from : kBlock;
      if (from % (64 * kBlock) == 0) leave_if_interrupted();
      AxisTerms<T> axes[3];
      const Block<T> b(p, grid + (image * p.positions + from) * p.dims, n, axes);
      for (int64_t c = first; c < last; ++c) {
        T* to = dx + c * p.pixels();
        const T* in = g + c * p.positions + from;
        b.count == 4 ? add_some<T, 4>(b, n, in, to) : add_some<T, 0>(b, n, in, to);
      }
    }
  });
}

template <class T>
void back_grid_of(const GridPlan& p, const T* g, const T* x, const T* grid, T* dgrid) {
  each_block(p, [&](int64_t image, int64_t from, int64_t n) {
    AxisTerms<T> axes[3];
    const int64_t start = (image * p.positions + from) * p.dims;
    const Block<T> b(p, grid + start, n, axes);
    T dot[kMostTerms][kBlock];  // of gradients and elements read, for each term
    for (int k = 0; k < b.count; ++k)
      for (int64_t i = 0; i < n; ++i) dot[k][i] = 0;
    for (int64_t c = image * p.channels; c < (image + 1) * p.channels; ++c)
      for (int k = 0; k < b.count; ++k)
        add_products(b.at[k], n, g + c * p.positions + from, x + c * p.pixels(), dot[k]);
    for (int d = 3 - p.dims; d < 3; ++d) {
      T sum[kBlock] = {};
      for (int k = 0; k < b.count; ++k) {
        int rest = k, which[3] = {0, 0, 0};
        for (int e = 2; e >= 3 - p.dims; --e) which[e] = rest % axes[e].count, rest /= axes[e].count;
        for (int64_t i = 0; i < n; ++i) {
          T w = axes[d].slope[which[d]][i];
          for (int e = 3 - p.dims; e < 3; ++e)
            if (e != d) w *= axes[e].weight[which[e]][i];
          sum[i] += w * dot[k][i];
        }
      }
      for (int64_t i = 0; i < n; ++i) dgrid[start + i * p.dims + 2 - d] = sum[i];
    }
  });
}

template <class F>
void by_type(DType type, const F& f) {
  type == DType::Double ? f(double()) : f(float());
}
void read(DType type, const GridPlan& p, const void* x, const void* grid, void* y) {
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    read_of(p, static_cast<const T*>(x), static_cast<const T*>(grid), static_cast<T*>(y));
  });
}
void back_input(DType type, const GridPlan& p, const void* g, const void* grid, void* dx) {
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    back_input_of(p, static_cast<const T*>(g), static_cast<const T*>(grid), static_cast<T*>(dx));
  });
}
void back_grid(DType type, const GridPlan& p, const void* g, const void* x, const void* grid, void* dgrid) {
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    back_grid_of(p, static_cast<const T*>(g), static_cast<const T*>(x), static_cast<const T*>(grid),
                 static_cast<T*>(dgrid));
  });
}

}  // namespace

extern const GridKernels grid_kernels_table;
const GridKernels grid_kernels_table = {read, back_input, back_grid};

}  // namespace weft::WEFT_ISA
