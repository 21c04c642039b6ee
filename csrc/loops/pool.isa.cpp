#include "loops/pool.h"

#include <limits>

#include "loops/convert.h"
#include "loops/modular.h"
#include "loops/parallel.h"
#include "simd/simd.h"

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

// The places [first, last) of a row whose window reads inside with this tap.
struct Reach {
  int64_t first = 0, last = 0;
  Reach() = default;
  Reach(const Pool& p, int64_t tap) {
    int64_t shift = tap * p.dilation[2] - p.pad[2], s = p.stride[2];
    if (shift < 0) first = (-shift + s - 1) / s;
    int64_t room = p.size[2] - 1 - shift;
    if (room >= 0) last = room / s + 1 < p.result[2] ? room / s + 1 : p.result[2];
  }
};
// The same for all taps. Those of windows of a usual width are computed once, since they take two divisions each.
class Reaches {
 public:
  explicit Reaches(const Pool& p) : p_(p) {
    for (int64_t k = 0; k < kKept && k < p.kernel[2]; ++k) kept_[k] = Reach(p, k);
  }
  Reach operator[](int64_t tap) const { return tap < kKept ? kept_[tap] : Reach(p_, tap); }

 private:
  static constexpr int64_t kKept = 16;
  const Pool& p_;
  Reach kept_[kKept];
};

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

// The windows of the places [begin, begin + n) of a row, n <= kRow.
template <class T>
void largest_of_row(const Pool& p, const Reaches& reaches, const T* in, int64_t row, int64_t begin, int64_t n, T* out,
                    int64_t* to) {
  const auto take = p.stride[2] == 1 ? take_larger<T, 1> : p.stride[2] == 2 ? take_larger<T, 2> : take_larger<T, 0>;
  T best[kRow];
  int32_t where[kRow];
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
      auto [first, last] = reaches[k];
      if (first < begin) first = begin;
      if (last > begin + n) last = begin + n;
      if (first >= last) continue;
      int64_t from = line + first * p.stride[2] + k * p.dilation[2] - p.pad[2], i = first - begin;
      take(in + from, p.stride[2], last - first, from, best + i, where + i);
    }
  });
  for (int64_t e = 0; e < n; ++e) out[e] = best[e], to[e] = where[e];
}

// The same for any stretch of places.
template <class T>
void largest_of_row_any(const Pool& p, const Reaches& reaches, const T* in, int64_t row, int64_t begin, int64_t end,
                        T* out, int64_t* to) {
  for (int64_t e = begin; e < end; e += kRow)
    largest_of_row(p, reaches, in, row, e, end - e < kRow ? end - e : kRow, out + e, to + e);
}

template <class T>
void largest_of(const Pool& p, const T* x, T* y, int64_t* at) {
  const Reaches reaches(p);
  each_plane(p, [&](int64_t plane) {
    for (int64_t row = 0; row < p.result[0] * p.result[1]; ++row) {
      int64_t to = plane * p.places() + row * p.result[2];
      largest_of_row_any(p, reaches, x + plane * p.pixels(), row, 0, p.result[2], y + to, at + to);
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

// Whether places lie in their plane; many threads may find that one does not.
class Inside {
 public:
  explicit Inside(const Pool& p) : last_(uint64_t(p.pixels()) - 1) {}
  bool operator()(const int64_t* at, int64_t n) {
    uint64_t signs = 0;  // the sign bit is set where one is negative or beyond the last
    for (int64_t i = 0; i < n; ++i) signs |= uint64_t(at[i]) | (last_ - uint64_t(at[i]));
    bool inside = int64_t(signs) >= 0;
    if (!inside) __atomic_store_n(&all_, false, __ATOMIC_RELAXED);
    return inside;
  }
  bool all() const { return all_; }

 private:
  uint64_t last_;
  bool all_ = true;
};

template <class T>
bool pick_of(const Pool& p, const T* x, const int64_t* at, T* y) {
  Inside inside(p);
  const int64_t n = p.places();
  each_plane(p, [&](int64_t plane) {
    const T* in = x + plane * p.pixels();
    const int64_t* from = at + plane * n;
    if (!inside(from, n)) return;
    for (int64_t i = 0; i < n; ++i) y[plane * n + i] = in[from[i]];
  });
  return inside.all();
}
template <bool kAdds, class T>
bool put_of(const Pool& p, const T* g, const int64_t* at, T* dx) {
  Inside inside(p);
  const int64_t n = p.places();
  each_plane(p, [&](int64_t plane) {
    T* out = dx + plane * p.pixels();
    const T* in = g + plane * n;
    const int64_t* to = at + plane * n;
    for (int64_t i = 0; i < p.pixels(); ++i) out[i] = T(0);
    if (!inside(to, n)) return;
    for (int64_t i = 0; i < n; ++i) out[to[i]] = kAdds ? modular::add(out[to[i]], in[i]) : in[i];
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

void mean(DType type, const Pool& p, const void* x, void* y) {
  by_type(type, [&]<class T>(T) { mean_of(p, static_cast<const T*>(x), static_cast<T*>(y)); });
}
void mean_back(DType type, const Pool& p, const void* g, void* dx) {
  by_type(type, [&]<class T>(T) { mean_back_of(p, static_cast<const T*>(g), static_cast<T*>(dx)); });
}
bool pick(DType type, const Pool& p, const void* x, const int64_t* at, void* y) {
  bool inside = true;
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    inside = pick_of(p, static_cast<const T*>(x), at, static_cast<T*>(y));
  });
  return inside;
}
template <bool kAdds>
bool put(DType type, const Pool& p, const void* g, const int64_t* at, void* dx) {
  bool inside = true;
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    inside = put_of<kAdds>(p, static_cast<const T*>(g), at, static_cast<T*>(dx));
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

// Integers as wide as T, in which places are counted.
template <class T>
using Place = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// Writes n numbers, at most a vector of them, as int64.
inline void store_places(int64_t* at, Vec<int64_t> where, int64_t n) {
  n >= kLanes<int64_t> ? store(at, where) : store_some(at, n, where);
}
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

  int64_t begin[3], end[3];  // the places whose windows lie inside

  static bool suit(const Pool& p) { return p.kernel[0] * p.kernel[1] * p.kernel[2] <= kMost; }
  InnerWindows(const Pool& p, int64_t channels) {
    for (int64_t i = 0; i < p.kernel[0]; ++i)
      for (int64_t j = 0; j < p.kernel[1]; ++j)
        for (int64_t k = 0; k < p.kernel[2]; ++k) {
          int64_t at = (i * p.dilation[0] * p.size[1] + j * p.dilation[1]) * p.size[2] + k * p.dilation[2];
          pixel[taps] = int32_t(at), offset[taps++] = at * channels;
        }
    for (int d = 0; d < 3; ++d) {
      int64_t room = p.size[d] - 1 + p.pad[d] - (p.kernel[d] - 1) * p.dilation[d];
      begin[d] = (p.pad[d] + p.stride[d] - 1) / p.stride[d];
      end[d] = room < 0 ? 0 : room / p.stride[d] + 1;
      if (end[d] > p.result[d]) end[d] = p.result[d];
      if (begin[d] > end[d]) begin[d] = end[d];
    }
  }
  bool inside(int d, int64_t place) const { return place >= begin[d] && place < end[d]; }
  // The first pixel of the window at (a, b, e).
  static int64_t first_of(const Pool& p, int64_t a, int64_t b, int64_t e) {
    return ((a * p.stride[0] - p.pad[0]) * p.size[1] + b * p.stride[1] - p.pad[1]) * p.size[2] + e * p.stride[2] -
           p.pad[2];
  }
  // n windows, at most a vector of them: get(t) has tap t of each, `first` the pixel where each begins.
  template <bool whole, class T, class Get>
  void largest(const Get& get, Vec<Place<T>> first, int64_t n, T* y, int64_t* at) const {
    Vec<T> best = get(0);
    Vec<Place<T>> where = {};
    for (int64_t t = 1; t < taps; ++t) {
      Vec<T> v = get(t);
      auto better = (v > best) | (v != v);
      best = better ? v : best;
      where = better ? splat(Place<T>(pixel[t])) : where;
    }
    if constexpr (whole)
      store(y, best);
    else
      store_some(y, n, best);
    store_places(at, where + first, whole ? kLanes<T> : n);
  }
  // The channels [0, n) of the window that begins at x.
  template <bool whole>
  void largest_of_channels(const float* x, int64_t first, int64_t n, float* y, int64_t* at) const {
    auto get = [&](int64_t t) {
      if constexpr (whole)
        return load<Vec<float>>(x + offset[t]);
      else
        return load_some(x + offset[t], n, 0.0f);
    };
    largest<whole>(get, splat(int32_t(first)), n, y, at);
  }
};

// n numbers of a row, at most a vector of them: all, or every second one. Reads none behind the last.
template <int step, bool whole, class T, int... I>
inline Vec<T> row_of(const T* x, int64_t n, std::integer_sequence<int, I...>) {
  constexpr int64_t L = kLanes<T>;
  if constexpr (step == 1 && whole) {
    return load<Vec<T>>(x);
  } else if constexpr (step == 1) {
    return load_some(x, n, T(0));
  } else {
    static_assert(step == 2);
    Vec<T> low, high;  // the second begins with the last of the first, so as to end with the last number
    if constexpr (whole) {
      low = load<Vec<T>>(x), high = load<Vec<T>>(x + L - 1);
    } else {
      int64_t span = 2 * n - 1;
      low = load_some(x, span < L ? span : L, T(0));
      high = span > L ? load_some(x + L - 1, span - (L - 1), T(0)) : low;
    }
    return __builtin_shufflevector(low, high, (2 * I)..., (L + 2 * I + 1)...);
  }
}

// Windows that lie inside their plane, a vector of neighbours at a time; the others one by one.
template <int step, class T>
void largest_inside(const Pool& p, const T* x, T* y, int64_t* at) {
  constexpr int64_t L = kLanes<T>;
  constexpr auto half = std::make_integer_sequence<int, L / 2>{};
  const InnerWindows windows(p, 1);
  const Reaches reaches(p);
  Vec<Place<T>> steps;
  for (int i = 0; i < L; ++i) steps[i] = i * step;
  each_plane(p, [&](int64_t plane) {
    const T* in = x + plane * p.pixels();
    int64_t to = plane * p.places(), n = p.result[2];
    for (int64_t a = 0; a < p.result[0]; ++a)
      for (int64_t b = 0; b < p.result[1]; ++b, to += n) {
        leave_if_interrupted();
        auto any = [&](int64_t begin, int64_t end) {
          if (begin < end) largest_of_row_any(p, reaches, in, a * p.result[1] + b, begin, end, y + to, at + to);
        };
        if (!windows.inside(0, a) || !windows.inside(1, b)) {
          any(0, n);
          continue;
        }
        any(0, windows.begin[2]), any(windows.end[2], n);
        int64_t line = InnerWindows::first_of(p, a, b, 0), e = windows.begin[2], end = windows.end[2];
        auto from = [&](int64_t e) { return splat(Place<T>(line + e * step)) + steps; };
        auto all = [&](int64_t t) { return row_of<step, true>(in + line + e * step + windows.pixel[t], L, half); };
        for (; e + L <= end; e += L) windows.largest<true>(all, from(e), L, y + to + e, at + to + e);
        auto rest = [&](int64_t t) {
          return row_of<step, false>(in + line + e * step + windows.pixel[t], end - e, half);
        };
        if (e < end) windows.largest<false>(rest, from(e), end - e, y + to + e, at + to + e);
      }
  });
}

void largest(DType type, const Pool& p, const void* x, void* y, int64_t* at) {
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      if (p.stride[2] <= 2 && InnerWindows::suit(p)) {
        auto inside = p.stride[2] == 1 ? largest_inside<1, T> : largest_inside<2, T>;
        return inside(p, static_cast<const T*>(x), static_cast<T*>(y), at);
      }
    largest_of(p, static_cast<const T*>(x), static_cast<T*>(y), at);
  });
}

void largest_last(const Pool& p, int64_t channels, const float* x, float* y, int64_t* at) {
  constexpr int64_t L = kLanes<float>;
  const bool suit = InnerWindows::suit(p);
  const InnerWindows windows(suit ? p : Pool(), channels);
  each_image(p, channels, [&](int64_t image) {
    const float* in = x + image * p.pixels() * channels;
    each_place(p, [&](int64_t place, int64_t a, int64_t b, int64_t e) {
      int64_t to = (image * p.places() + place) * channels, c = 0;
      if (suit && windows.inside(0, a) && windows.inside(1, b) && windows.inside(2, e)) {
        int64_t first = InnerWindows::first_of(p, a, b, e);
        const float* from = in + first * channels;
        for (; c + L <= channels; c += L)
          windows.largest_of_channels<true>(from + c, first, L, y + to + c, at + to + c);
        if (c < channels) windows.largest_of_channels<false>(from + c, first, channels - c, y + to + c, at + to + c);
        return;
      }
      for (; c + L <= channels; c += L)
        largest_of_window<true>(p, channels, a, b, e, in + c, L, y + to + c, at + to + c);
      if (c < channels) largest_of_window<false>(p, channels, a, b, e, in + c, channels - c, y + to + c, at + to + c);
    });
  });
}

bool put_last(const Pool& p, int64_t channels, const float* g, const int64_t* at, float* dx) {
  Inside inside(p);
  each_image(p, channels, [&](int64_t image) {
    float* out = dx + image * p.pixels() * channels;
    const int64_t n = p.places() * channels;
    const float* in = g + image * n;
    const int64_t* to = at + image * n;
    for (int64_t i = 0; i < p.pixels() * channels; ++i) out[i] = 0;
    if (!inside(to, n)) return;
    for (int64_t i = 0; i < n; i += channels)
      for (int64_t c = 0; c < channels; ++c) out[to[i + c] * channels + c] += in[i + c];
  });
  return inside.all();
}

// ---- windows between bounds

// The largest of the n elements from in[from] on, and where it is, if it is larger than `best` or NaN.
template <class T>
inline void larger_of_run(const T* in, int64_t from, int64_t n, T& best, int64_t& where) {
  const T* x = in + from;
  auto look = [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      if (x[i] > best || x[i] != x[i]) best = x[i], where = from + i;  // NaN wins
  };
  if (n <= 6) return look(0, n);  // too few to ask all lanes first
  for (int64_t i = 0, end; i < n; i = end) {
    end = i + kLanes<T> < n ? i + kLanes<T> : n;
    if constexpr (std::is_floating_point_v<T>) {  // is there anything to find?
      Vec<T> v = end - i == kLanes<T> ? load<Vec<T>>(x + i) : load_some(x + i, end - i, best);
      if (!any_lane((v > best) | (v != v))) continue;
    }
    look(i, end);
  }
}

template <class T>
void largest_between_of(const Pool& p, const int32_t* bounds, bool each, const T* x, T* y, int64_t* at) {
  const int64_t numbers = 2 * (p.result[0] + p.result[1] + p.result[2]);
  each_plane(p, [&](int64_t plane) {
    const T* in = x + plane * p.pixels();
    const int32_t *z = bounds + (each ? plane * numbers : 0), *r = z + 2 * p.result[0], *c = r + 2 * p.result[1];
    int64_t to = plane * p.places();
    for (int64_t a = 0; a < p.result[0]; ++a)
      for (int64_t b = 0; b < p.result[1]; ++b) {
        leave_if_interrupted();
        for (int64_t e = 0; e < p.result[2]; ++e, ++to) {
          const int64_t first = c[2 * e], end = c[2 * e + 1];
          int64_t where = (z[2 * a] * p.size[1] + r[2 * b]) * p.size[2] + first;
          T best = in[where];
          for (int64_t i = z[2 * a]; i < z[2 * a + 1]; ++i)
            for (int64_t j = r[2 * b]; j < r[2 * b + 1]; ++j)
              larger_of_run(in, (i * p.size[1] + j) * p.size[2] + first, end - first, best, where);
          y[to] = best, at[to] = where;
        }
      }
  });
}
void largest_between(DType type, const Pool& p, const int32_t* bounds, bool each, const void* x, void* y, int64_t* at) {
  by_type(type,
          [&]<class T>(T) { largest_between_of(p, bounds, each, static_cast<const T*>(x), static_cast<T*>(y), at); });
}

}  // namespace

extern const PoolKernels pool_kernels_table;
const PoolKernels pool_kernels_table{largest,    mean,         mean_back, pick,           put<true>,
                                     put<false>, largest_last, put_last,  largest_between};

}  // namespace weft::WEFT_ISA
