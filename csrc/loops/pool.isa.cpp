#include "loops/pool.h"

#include <limits>

#include "loops/lanes.h"
#include "loops/modular.h"
#include "loops/parallel.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kWork = 16384;  // elements of windows that are worth a thread
constexpr int64_t kRow = 256;     // places of a row that are looked at together

template <class T>
constexpr T kLeast = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();

template <class F>
void each_plane(const Pool& p, const F& f) {
  parallel_chunks(p.planes, 1 + int64_t(kWork / (p.work() + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// The places [first, last) of a dimension whose window reads inside with this tap.
inline void reach(const Pool& p, int d, int64_t tap, int64_t* first, int64_t* last) {
  int64_t shift = tap * p.dilation[d] - p.pad[d], s = p.stride[d];
  *first = shift < 0 ? (-shift + s - 1) / s : 0;
  int64_t room = p.size[d] - 1 - shift;
  *last = room < 0 ? 0 : room / s + 1;
  if (*last > p.result[d]) *last = p.result[d];
}

// The taps that read inside of the plane for one of the places [from, to). All taps are taken, unless the window is
// much larger than the plane.
struct Taps {
  int64_t first = 0, last;
  Taps(const Pool& p, int d, int64_t from, int64_t to) : last(p.kernel[d]) {
    if (last <= 2 * p.size[d] + 64) [[likely]]
      return;
    int64_t before = p.pad[d] - (to - 1) * p.stride[d], behind = p.size[d] + p.pad[d] - from * p.stride[d];
    if (before > 0) first = (before + p.dilation[d] - 1) / p.dilation[d];
    int64_t inside = behind > 0 ? (behind + p.dilation[d] - 1) / p.dilation[d] : 0;
    if (last > inside) last = inside;
  }
};

// Windows so large that a row of them takes long are left between two of them when Ctrl-C comes.
inline void pause(const Pool& p, int64_t place) {
  constexpr int64_t kLong = 1 << 12;
  if (p.kernel[0] * p.kernel[1] * p.kernel[2] >= kLong || place % kLong == 0) leave_if_interrupted();
}

// Calls f(tap's row of the plane, where it begins) for the rows that the windows of result row (a, b) read.
template <class F>
inline void each_row(const Pool& p, int64_t a, int64_t b, const F& f) {
  const Taps planes(p, 0, a, a + 1), rows(p, 1, b, b + 1);
  for (int64_t i = planes.first; i < planes.last; ++i) {
    int64_t x0 = a * p.stride[0] + i * p.dilation[0] - p.pad[0];
    if (x0 < 0 || x0 >= p.size[0]) continue;
    for (int64_t j = rows.first; j < rows.last; ++j) {
      int64_t x1 = b * p.stride[1] + j * p.dilation[1] - p.pad[1];
      if (x1 >= 0 && x1 < p.size[1]) f((x0 * p.size[1] + x1) * p.size[2]);
    }
  }
}

template <class T, int64_t kStride>
inline void take_larger(const T* in, int64_t stride, int64_t n, int64_t from, T* best, int32_t* where) {
  const int64_t s = kStride ? kStride : stride;
  for (int64_t e = 0; e < n; ++e) {
    T v = in[e * s];
    bool better = v > best[e] || v != v;
    best[e] = better ? v : best[e];
    where[e] = better ? int32_t(from + e * s) : where[e];
  }
}

template <class T>
void largest_of(const Pool& p, const T* x, T* y, int64_t* at) {
  each_plane(p, [&](int64_t plane) {
    const T* in = x + plane * p.pixels();
    T* out = y + plane * p.places();
    int64_t* to = at + plane * p.places();
    T best[kRow];
    int32_t where[kRow];
    for (int64_t row = 0; row < p.result[0] * p.result[1]; ++row)
      for (int64_t begin = 0; begin < p.result[2]; begin += kRow) {
        int64_t n = p.result[2] - begin < kRow ? p.result[2] - begin : kRow;
        for (int64_t e = 0; e < n; ++e) best[e] = kLeast<T>, where[e] = 0;  // what a window of padding alone has
        bool fresh = true;  // the first element of a window is taken, whatever it is
        pause(p, begin);
        const Taps taps(p, 2, begin, begin + n);
        each_row(p, row / p.result[1], row % p.result[1], [&](int64_t line) {
          for (int64_t e = 0; fresh && e < n; ++e) {
            int64_t x2 = (begin + e) * p.stride[2] - p.pad[2];
            if (x2 < 0) x2 += (-x2 + p.dilation[2] - 1) / p.dilation[2] * p.dilation[2];
            if (x2 >= p.size[2]) continue;
            where[e] = int32_t(line + x2);
            best[e] = in[line + x2];
          }
          fresh = false;
          for (int64_t k = taps.first; k < taps.last; ++k) {
            int64_t first, last;
            reach(p, 2, k, &first, &last);
            if (first < begin) first = begin;
            if (last > begin + n) last = begin + n;
            if (first >= last) continue;
            int64_t from = line + first * p.stride[2] + k * p.dilation[2] - p.pad[2], i = first - begin;
            auto take = p.stride[2] == 1 ? take_larger<T, 1> : p.stride[2] == 2 ? take_larger<T, 2> : take_larger<T, 0>;
            take(in + from, p.stride[2], last - first, from, best + i, where + i);
          }
        });
        for (int64_t e = 0; e < n; ++e) {
          out[row * p.result[2] + begin + e] = best[e];
          to[row * p.result[2] + begin + e] = where[e];
        }
      }
  });
}

// How much the mean of a window is divided by: its extent, with the padding or without.
inline int64_t extent(const Pool& p, int d, int64_t place) {
  int64_t begin = place * p.stride[d] - p.pad[d], end = begin + p.kernel[d];
  if (p.count_padding) {
    int64_t limit = p.size[d] + p.pad[d];
    return (end < limit ? end : limit) - begin;
  }
  if (begin < 0) begin = 0;
  if (end > p.size[d]) end = p.size[d];
  return end - begin;
}

// Calls f(place, pixel, divisor) for every element of every window of a plane.
template <class F>
inline void each_pair(const Pool& p, const F& f) {
  for (int64_t a = 0; a < p.result[0]; ++a)
    for (int64_t b = 0; b < p.result[1]; ++b) {
      int64_t place = (a * p.result[1] + b) * p.result[2], ab = extent(p, 0, a) * extent(p, 1, b);
      each_row(p, a, b, [&](int64_t line) {
        for (int64_t e = 0; e < p.result[2]; ++e) {
          int64_t divisor = p.divisor ? p.divisor : ab * extent(p, 2, e), begin = e * p.stride[2] - p.pad[2];
          pause(p, e + 1);
          const Taps taps(p, 2, e, e + 1);
          for (int64_t k = taps.first; k < taps.last; ++k)
            if (begin + k >= 0 && begin + k < p.size[2]) f(place + e, line + begin + k, divisor);
        }
      });
    }
}

// Whole numbers are divided as whole numbers: the divisor may not fit the element type.
template <class T>
inline T share(T x, int64_t divisor) {
  if constexpr (std::is_floating_point_v<T>)
    return x / T(divisor);
  else
    return divisor == -1 ? modular::neg(x) : T(int64_t(x) / divisor);
}

template <class T>
void mean_of(const Pool& p, const T* x, T* y) {
  each_plane(p, [&](int64_t plane) {
    const T* in = x + plane * p.pixels();
    T* out = y + plane * p.places();
    for (int64_t i = 0; i < p.places(); ++i) out[i] = T(0);
    each_pair(p, [&](int64_t place, int64_t pixel, int64_t) { out[place] = modular::add(out[place], in[pixel]); });
    for (int64_t a = 0, i = 0; a < p.result[0]; ++a)
      for (int64_t b = 0; b < p.result[1]; ++b)
        for (int64_t e = 0; e < p.result[2]; ++e, ++i)
          out[i] = share(out[i], p.divisor ? p.divisor : extent(p, 0, a) * extent(p, 1, b) * extent(p, 2, e));
  });
}
template <class T>
void mean_back_of(const Pool& p, const T* g, T* dx) {
  each_plane(p, [&](int64_t plane) {
    const T* in = g + plane * p.places();
    T* out = dx + plane * p.pixels();
    for (int64_t i = 0; i < p.pixels(); ++i) out[i] = T(0);
    each_pair(p, [&](int64_t place, int64_t pixel, int64_t divisor) {
      out[pixel] = modular::add(out[pixel], share(in[place], divisor));
    });
  });
}

// Whether a place lies in a plane; many threads may find that one does not.
class Inside {
 public:
  explicit Inside(const Pool& p) : pixels_(uint64_t(p.pixels())) {}
  bool operator()(int64_t at) {
    if (uint64_t(at) < pixels_) return true;
    __atomic_store_n(&all_, false, __ATOMIC_RELAXED);
    return false;
  }
  bool all() const { return all_; }

 private:
  uint64_t pixels_;
  bool all_ = true;
};

template <class T>
bool pick_of(const Pool& p, const T* x, const int64_t* at, T* y) {
  Inside inside(p);
  each_plane(p, [&](int64_t plane) {
    for (int64_t i = plane * p.places(); i < (plane + 1) * p.places(); ++i)
      if (inside(at[i])) y[i] = x[plane * p.pixels() + at[i]];
  });
  return inside.all();
}
template <class T>
bool put_of(const Pool& p, const T* g, const int64_t* at, T* dx) {
  Inside inside(p);
  each_plane(p, [&](int64_t plane) {
    T* out = dx + plane * p.pixels();
    for (int64_t i = 0; i < p.pixels(); ++i) out[i] = T(0);
    for (int64_t i = plane * p.places(); i < (plane + 1) * p.places(); ++i)
      if (inside(at[i])) out[at[i]] = modular::add(out[at[i]], g[i]);
  });
  return inside.all();
}

template <class F>
void by_type(DType type, const F& f) {
  switch (type) {
    case DType::Float: return f(float());
    case DType::Double: return f(double());
    case DType::UInt8: return f(uint8_t());
    case DType::Int8: return f(int8_t());
    case DType::Int16: return f(int16_t());
    case DType::Int32: return f(int32_t());
    case DType::Int64: return f(int64_t());
    default: return;
  }
}

void largest(DType type, const Pool& p, const void* x, void* y, int64_t* at) {
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    largest_of(p, static_cast<const T*>(x), static_cast<T*>(y), at);
  });
}
void mean(DType type, const Pool& p, const void* x, void* y) {
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    mean_of(p, static_cast<const T*>(x), static_cast<T*>(y));
  });
}
void mean_back(DType type, const Pool& p, const void* g, void* dx) {
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    mean_back_of(p, static_cast<const T*>(g), static_cast<T*>(dx));
  });
}
bool pick(DType type, const Pool& p, const void* x, const int64_t* at, void* y) {
  bool inside = true;
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    inside = pick_of(p, static_cast<const T*>(x), at, static_cast<T*>(y));
  });
  return inside;
}
bool put(DType type, const Pool& p, const void* g, const int64_t* at, void* dx) {
  bool inside = true;
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    inside = put_of(p, static_cast<const T*>(g), at, static_cast<T*>(dx));
  });
  return inside;
}

// ---- channels last: every step is taken by all channels of a pixel

// Calls f(image) on several threads.
template <class F>
void each_image(const Pool& p, int64_t channels, const F& f) {
  double work = p.work() * double(channels);
  parallel_chunks(p.planes / channels, 1 + int64_t(kWork / (work + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// Calls f(pixel) for the pixels of the window of place (a, b, e).
template <class F>
inline void each_pixel(const Pool& p, int64_t a, int64_t b, int64_t e, const F& f) {
  pause(p, e + 1);
  const Taps taps(p, 2, e, e + 1);
  each_row(p, a, b, [&](int64_t line) {
    for (int64_t k = taps.first; k < taps.last; ++k) {
      int64_t x2 = e * p.stride[2] + k * p.dilation[2] - p.pad[2];
      if (x2 >= 0 && x2 < p.size[2]) f(line + x2);
    }
  });
}

// Calls f(place, a, b, e) for all places.
template <class F>
inline void each_place(const Pool& p, const F& f) {
  int64_t place = 0;
  for (int64_t a = 0; a < p.result[0]; ++a)
    for (int64_t b = 0; b < p.result[1]; ++b)
      for (int64_t e = 0; e < p.result[2]; ++e) f(place++, a, b, e);
}

// The channels [0, n) of one window, at most a vector of them.
template <bool whole>
inline void largest_of_window(const Pool& p, int64_t channels, int64_t a, int64_t b, int64_t e, const float* x,
                              int64_t n, float* y, int64_t* at) {
  Vec<float> best = splat(kLeast<float>);  // what a window of padding alone has
  Vec<int32_t> where = {};
  bool fresh = true;  // the first element of a window is taken, whatever it is
  each_pixel(p, a, b, e, [&](int64_t pixel) {
    const float* from = x + pixel * channels;
    Vec<float> v;
    if constexpr (whole)
      v = load<Vec<float>>(from);
    else
      v = load_some(from, n, 0.0f);
    auto better = fresh ? Vec<int32_t>{} == 0 : (v > best) | (v != v);
    best = better ? v : best;
    where = better ? splat(int32_t(pixel)) : where;
    fresh = false;
  });
  alignas(64) int32_t places[kLanes<int32_t>];
  store(places, where);
  if constexpr (whole) {
    store(y, best);
    for (int64_t i = 0; i < kLanes<float>; ++i) at[i] = places[i];
  } else {
    store_some(y, n, best);
    for (int64_t i = 0; i < n; ++i) at[i] = places[i];
  }
}

// Writes n numbers, at most a vector of them, as int64.
inline void store_places(int64_t* at, Vec<int32_t> where, int64_t n) {
  constexpr int L = kLanes<int64_t>;
  constexpr auto half = std::make_integer_sequence<int, L>{};
  auto low = __builtin_convertvector(lanes_from<0>(where, half), Vec<int64_t>);
  auto high = __builtin_convertvector(lanes_from<L>(where, half), Vec<int64_t>);
  n >= L ? store(at, low) : store_some(at, n, low);
  if (n >= 2 * L)
    store(at + L, high);
  else if (n > L)
    store_some(at + L, n - L, high);
}

// Windows that lie inside the image, all alike.
struct InnerWindows {
  static constexpr int64_t kMost = 64;
  int64_t taps = 0;
  int32_t pixel[kMost];   // from the first one of a window
  int64_t offset[kMost];  // where its channels begin

  static bool suit(const Pool& p) {
    for (int d = 0; d < 3; ++d)
      if (p.pad[d] || (p.result[d] - 1) * p.stride[d] + (p.kernel[d] - 1) * p.dilation[d] >= p.size[d]) return false;
    return p.kernel[0] * p.kernel[1] * p.kernel[2] <= kMost;
  }
  InnerWindows(const Pool& p, int64_t channels) {
    each_pixel(p, 0, 0, 0, [&](int64_t i) { pixel[taps] = int32_t(i), offset[taps++] = i * channels; });
  }
  // The channels [0, n) of the window that begins at x, at most a vector of them.
  template <bool whole>
  void largest(const float* x, int64_t first, int64_t n, float* y, int64_t* at) const {
    auto get = [&](int64_t t) {
      if constexpr (whole)
        return load<Vec<float>>(x + offset[t]);
      else
        return load_some(x + offset[t], n, 0.0f);
    };
    Vec<float> best = get(0);
    Vec<int32_t> where = {};
    for (int64_t t = 1; t < taps; ++t) {
      Vec<float> v = get(t);
      auto better = (v > best) | (v != v);
      best = better ? v : best;
      where = better ? splat(pixel[t]) : where;
    }
    if constexpr (whole)
      store(y, best);
    else
      store_some(y, n, best);
    store_places(at, where + splat(int32_t(first)), whole ? kLanes<float> : n);
  }
};

void largest_last(const Pool& p, int64_t channels, const float* x, float* y, int64_t* at) {
  constexpr int64_t L = kLanes<float>;
  const bool inside = InnerWindows::suit(p);
  each_image(p, channels, [&](int64_t image) {
    const float* in = x + image * p.pixels() * channels;
    if (inside) {
      const InnerWindows windows(p, channels);
      each_place(p, [&](int64_t place, int64_t a, int64_t b, int64_t e) {
        int64_t to = (image * p.places() + place) * channels;
        int64_t first = (a * p.stride[0] * p.size[1] + b * p.stride[1]) * p.size[2] + e * p.stride[2];
        const float* from = in + first * channels;
        int64_t c = 0;
        for (; c + L <= channels; c += L) windows.largest<true>(from + c, first, L, y + to + c, at + to + c);
        if (c < channels) windows.largest<false>(from + c, first, channels - c, y + to + c, at + to + c);
      });
      return;
    }
    each_place(p, [&](int64_t place, int64_t a, int64_t b, int64_t e) {
      int64_t from = (image * p.places() + place) * channels, c = 0;
      for (; c + L <= channels; c += L)
        largest_of_window<true>(p, channels, a, b, e, in + c, L, y + from + c, at + from + c);
      if (c < channels)
        largest_of_window<false>(p, channels, a, b, e, in + c, channels - c, y + from + c, at + from + c);
    });
  });
}

bool put_last(const Pool& p, int64_t channels, const float* g, const int64_t* at, float* dx) {
  Inside inside(p);
  each_image(p, channels, [&](int64_t image) {
    float* out = dx + image * p.pixels() * channels;
    for (int64_t i = 0; i < p.pixels() * channels; ++i) out[i] = 0;
    for (int64_t place = image * p.places(); place < (image + 1) * p.places(); ++place)
      for (int64_t c = 0; c < channels; ++c)
        if (int64_t pixel = at[place * channels + c]; inside(pixel))
          out[pixel * channels + c] += g[place * channels + c];
  });
  return inside.all();
}

inline float divisor_of(const Pool& p, int64_t a, int64_t b, int64_t e) {
  return float(p.divisor ? p.divisor : extent(p, 0, a) * extent(p, 1, b) * extent(p, 2, e));
}

void mean_last(const Pool& p, int64_t channels, const float* x, float* y) {
  each_image(p, channels, [&](int64_t image) {
    const float* in = x + image * p.pixels() * channels;
    each_place(p, [&](int64_t place, int64_t a, int64_t b, int64_t e) {
      float* out = y + (image * p.places() + place) * channels;
      float divisor = divisor_of(p, a, b, e);
      for (int64_t c = 0; c < channels; ++c) out[c] = 0;
      each_pixel(p, a, b, e, [&](int64_t pixel) {
        for (int64_t c = 0; c < channels; ++c) out[c] += in[pixel * channels + c];
      });
      for (int64_t c = 0; c < channels; ++c) out[c] /= divisor;
    });
  });
}

void mean_back_last(const Pool& p, int64_t channels, const float* g, float* dx) {
  each_image(p, channels, [&](int64_t image) {
    float* out = dx + image * p.pixels() * channels;
    for (int64_t i = 0; i < p.pixels() * channels; ++i) out[i] = 0;
    each_place(p, [&](int64_t place, int64_t a, int64_t b, int64_t e) {
      const float* in = g + (image * p.places() + place) * channels;
      float divisor = divisor_of(p, a, b, e);
      each_pixel(p, a, b, e, [&](int64_t pixel) {
        for (int64_t c = 0; c < channels; ++c) out[pixel * channels + c] += in[c] / divisor;
      });
    });
  });
}

}  // namespace

extern const PoolKernels pool_kernels_table;
const PoolKernels pool_kernels_table{largest,      mean,     mean_back, pick,          put,
                                     largest_last, put_last, mean_last, mean_back_last};

}  // namespace weft::WEFT_ISA
