// Rows first: the rows that a row of the result is made of are added up along the contiguous axis, then the sums along
// the row are taken, by gathers where they are short.
#include "loops/resample.h"

#include <cstring>

#include "loops/convert.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr double kWork = 16384;  // elements that are worth a thread
constexpr int kFew = 8;          // terms of a sum along a row that are gathered

template <class T, int kRows, bool kFresh>
[[gnu::noinline]] void sum_rows(const T* const* rows, const T* w, int64_t n, T* __restrict to) {
  const T *a = rows[0], *b = rows[kRows > 1 ? 1 : 0], *c = rows[kRows > 2 ? 2 : 0], *d = rows[kRows > 3 ? 3 : 0];
  const T wa = w[0], wb = w[1], wc = w[2], wd = w[3];
  for (int64_t i = 0; i < n; ++i) {
    T sum = a[i] * wa;
    if constexpr (kRows > 1) sum += b[i] * wb;
    if constexpr (kRows > 2) sum += c[i] * wc;
    if constexpr (kRows > 3) sum += d[i] * wd;
    to[i] = kFresh ? sum : to[i] + sum;
  }
}

// Weighted rows added up, four at a time.
template <class T>
class Rows {
 public:
  Rows(T* to, int64_t n) : to_(to), n_(n) {}
  void add(const T* row, T weight) {
    rows_[have_] = row, w_[have_] = weight;
    if (++have_ == 4) flush();
  }
  void finish() {
    if (have_) flush();
    if (fresh_)
      for (int64_t i = 0; i < n_; ++i) to_[i] = 0;
  }

 private:
  void flush() {
    switch (have_) {
      case 1: fresh_ ? sum_rows<T, 1, true>(rows_, w_, n_, to_) : sum_rows<T, 1, false>(rows_, w_, n_, to_); break;
      case 2: fresh_ ? sum_rows<T, 2, true>(rows_, w_, n_, to_) : sum_rows<T, 2, false>(rows_, w_, n_, to_); break;
      case 3: fresh_ ? sum_rows<T, 3, true>(rows_, w_, n_, to_) : sum_rows<T, 3, false>(rows_, w_, n_, to_); break;
      default: fresh_ ? sum_rows<T, 4, true>(rows_, w_, n_, to_) : sum_rows<T, 4, false>(rows_, w_, n_, to_);
    }
    have_ = 0, fresh_ = false;
  }
  T* to_;
  int64_t n_;
  const T* rows_[4];
  T w_[4] = {};
  int have_ = 0;
  bool fresh_ = true;
};

template <class T, int kTerms>
[[gnu::noinline]] void gather_row(const int32_t* __restrict index, const T* __restrict w, int64_t n,
                                  const T* __restrict row, T* __restrict y) {
  for (int64_t o = 0; o < n; ++o) {
    T sum = w[o] * row[index[o]];
    for (int k = 1; k < kTerms; ++k) sum += w[k * n + o] * row[index[k * n + o]];
    y[o] = sum;
  }
}

template <class T>
using GatherRow = void (*)(const int32_t*, const T*, int64_t, const T*, T*);
template <class T>
constexpr GatherRow<T> kGather[kFew] = {gather_row<T, 1>, gather_row<T, 2>, gather_row<T, 3>, gather_row<T, 4>,
                                        gather_row<T, 5>, gather_row<T, 6>, gather_row<T, 7>, gather_row<T, 8>};

template <class T>
[[gnu::noinline]] T dot(const T* x, const T* w, int64_t n) {
  constexpr int L = kPackBytes / int(sizeof(T)) / 4;
  Vec<T, L> sum = {};
  int64_t i = 0;
  for (; i + L <= n; i += L) sum += load<Vec<T, L>>(x + i) * load<Vec<T, L>>(w + i);
  T rest = 0;
  for (; i < n; ++i) rest += x[i] * w[i];
  return rest + join_lanes<T, L>(sum, [](auto a, auto b) { return a + b; });
}

// x[0] + ... + x[n - 1], in lanes as wide on all machines.
template <class T>
[[gnu::noinline]] T sum_window(const T* x, int64_t n) {
  constexpr int L = kPackBytes / int(sizeof(T)) / 4;
  const auto add = [](auto a, auto b) { return a + b; };
  Vec<T, L> sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    for (int j = 0; j < 4; ++j) sum[j] += load<Vec<T, L>>(x + i + j * L);
  for (; i + L <= n; i += L) sum[0] += load<Vec<T, L>>(x + i);
  T rest = 0;
  for (; i < n; ++i) rest += x[i];
  return rest + join_lanes<T, L>((sum[0] + sum[1]) + (sum[2] + sum[3]), add);
}

// y[o] = the sum of `length` neighbours from x[o * step] on, for o in [0, n).
template <class T, int kStep>
[[gnu::noinline]] void sum_windows(const T* __restrict x, int64_t step, int64_t length, int64_t n, T* __restrict y) {
  constexpr int64_t kPart = 256;
  const int64_t s = kStep ? kStep : step;
  for (int64_t from = 0; from < n; from += kPart, x += kPart * s, y += kPart) {
    const int64_t part = n - from < kPart ? n - from : kPart;
    if (length == 2) {
      for (int64_t o = 0; o < part; ++o) y[o] = x[o * s] + x[o * s + 1];
      continue;
    }
    for (int64_t o = 0; o < part; ++o) y[o] = x[o * s];
    for (int64_t k = 1; k < length; ++k)
      for (int64_t o = 0; o < part; ++o) y[o] += x[o * s + k];
  }
}

// The weighted sum of pixels of some channels each.
template <class T>
inline void sum_pixels(const T* row, int64_t channels, const int32_t* index, const T* w, int terms, T* y) {
  constexpr int L = kLanes<T>;
  int64_t c = 0;
  for (; c + L <= channels; c += L) {
    Vec<T> sum = {};
    for (int k = 0; k < terms; ++k) sum += load<Vec<T>>(row + index[k] * channels + c) * w[k];
    store(y + c, sum);
  }
  if (c == channels) return;
  Vec<T> sum = {};
  for (int k = 0; k < terms; ++k) sum += load_some(row + index[k] * channels + c, channels - c, T(0)) * w[k];
  store_some(y + c, channels - c, sum);
}
template <class T>
inline void sum_pixels(const T* row, int64_t channels, int64_t terms, T* y) {  // neighbours
  constexpr int L = kLanes<T>;
  int64_t c = 0;
  for (; c + L <= channels; c += L) {
    Vec<T> sum = {};
    for (int64_t k = 0; k < terms; ++k) sum += load<Vec<T>>(row + k * channels + c);
    store(y + c, sum);
  }
  if (c == channels) return;
  Vec<T> sum = {};
  for (int64_t k = 0; k < terms; ++k) sum += load_some(row + k * channels + c, channels - c, T(0));
  store_some(y + c, channels - c, sum);
}

// Counts rows (plane, a, b) in order, without dividing.
struct RowAt {
  int64_t plane, a, b, across, down;
  RowAt(int64_t row, int64_t down, int64_t across)
      : plane(row / (down * across)), a(row / across % down), b(row % across), across(across), down(down) {}
  void next() {
    if (++b < across) return;
    b = 0;
    if (++a == down) a = 0, ++plane;
  }
};

// Windows that follow each other at equal distances: those of the elements [begin, end) of the result.
struct Regular {
  int64_t begin = 0, end = 0, step = 0, length = 0;
  explicit Regular(const ResampleAxis& a) {
    if (a.index || a.scatters || a.out < 3) return;
    const int64_t middle = a.out / 2;
    step = a.begin[middle] - a.begin[middle - 1], length = a.end[middle] - a.begin[middle];
    if (step < 1 || step > kMostStep) return;
    const int64_t first = a.begin[middle] - middle * step;  // of the window of element 0, if it were one of them
    auto fits = [&](int64_t o) { return a.begin[o] == first + o * step && a.end[o] == first + o * step + length; };
    for (begin = 0; begin < middle && !fits(begin);) ++begin;
    for (end = begin; end < a.out && fits(end);) ++end;
    if (end - begin < a.out / 2) begin = end = 0;
  }
  explicit operator bool() const { return end > begin; }
  template <class T>
  void run(const ResampleAxis& a, const T* row, T* y) const {
    row += a.begin[begin], y += begin;
    switch (step) {
      case 1: return sum_windows<T, 1>(row, step, length, end - begin, y);
      case 2: return sum_windows<T, 2>(row, step, length, end - begin, y);
      case 3: return sum_windows<T, 3>(row, step, length, end - begin, y);
      default: return sum_windows<T, 0>(row, step, length, end - begin, y);
    }
  }

 private:
  static constexpr int64_t kMostStep = 16;
};

// y[k] += x[o] * weight[k] for the terms of all o; the division by counts is done here.
template <class T>
void scatter_row(const ResampleAxis& a, const T* x, T* __restrict y) {
  std::memset(y, 0, size_t(a.out) * sizeof(T));
  for (int64_t o = 0; o < a.in; ++o) {
    const T g = a.count ? x[o] / T(a.count[o]) : x[o];
    if (a.index)
      for (int64_t k = a.begin[o]; k < a.end[o]; ++k) y[a.index[k]] += g * T(a.weight[k]);
    else
      for (int64_t k = a.begin[o]; k < a.end[o]; ++k) y[k] += g;
  }
}

// What runs along a row. Sums of up to kFew terms are stored term by term; missing terms read a zero behind the row.
template <class T>
struct Along {
  const ResampleAxis& a;
  const Regular regular;
  int64_t channels;
  bool same = true, ragged = false;
  int most = 0;
  Along(const ResampleAxis& axis, int64_t channels) : a(axis), regular(axis), channels(channels) {
    same = a.index && a.in == a.out && !a.count && !a.scatters;
    if (a.scatters || (regular && channels == 1)) return;
    int least = a.out ? a.end[0] - a.begin[0] : 0;
    for (int64_t o = 0; o < a.out; ++o) {
      int terms = a.end[o] - a.begin[o];
      most = terms > most ? terms : most, least = terms < least ? terms : least;
    }
    ragged = least < most;
    for (int64_t o = 0; same && o < a.out; ++o)
      same = a.end[o] - a.begin[o] == 1 && a.index[o] == int32_t(o) && a.weight[o] == 1;
  }
  bool gathers() const { return channels == 1 && most <= kFew && !same && !regular && !a.scatters; }
  int64_t entries() const { return gathers() ? most * a.out : a.index && !a.scatters ? a.terms : 0; }
  int64_t bytes() const { return entries() * int64_t(sizeof(T) + sizeof(int32_t)) + 64; }  // of its tables
  void fill(char* memory) {
    int64_t n = entries();
    T* w = reinterpret_cast<T*>(memory);
    int32_t* at = reinterpret_cast<int32_t*>(memory + n * int64_t(sizeof(T)));
    weight = w, index = at;
    if (!gathers()) {
      for (int64_t i = 0; i < n; ++i) w[i] = T(a.weight[i]), at[i] = a.index[i];
      return;
    }
    for (int64_t o = 0; o < a.out; ++o)
      for (int k = 0; k < most; ++k) {
        int32_t i = a.begin[o] + k;
        bool has = i < a.end[o];
        w[k * a.out + o] = has ? T(a.by(i)) : T(0);
        at[k * a.out + o] = has ? int32_t(a.at(i)) : int32_t(a.in);
      }
  }
  const T* weight = nullptr;
  const int32_t* index = nullptr;

  void run(const T* row, T* y) const {
    if (a.scatters) return scatter_row(a, row, y);
    if (gathers()) {
      if (most) return kGather<T>[most - 1](index, weight, a.out, row, y);
      std::memset(y, 0, size_t(a.out) * sizeof(T));
      return;
    }
    if (channels == 1 && regular) {
      for (int64_t o = 0; o < regular.begin; ++o) y[o] = sum_window(row + a.begin[o], a.end[o] - a.begin[o]);
      regular.run(a, row, y);
      for (int64_t o = regular.end; o < a.out; ++o) y[o] = sum_window(row + a.begin[o], a.end[o] - a.begin[o]);
      return;
    }
    for (int64_t o = 0; o < a.out; ++o) {
      const int64_t k = a.begin[o], n = a.end[o] - k;
      if (channels > 1)
        a.index ? sum_pixels(row, channels, index + k, weight + k, int(n), y + o * channels)
                : sum_pixels(row + k * channels, channels, n, y + o * channels);
      else
        y[o] = a.index ? sum_terms(row, k, n) : sum_window(row + k, n);
    }
  }
  T sum_terms(const T* row, int64_t k, int64_t n) const {
    if (n > 0 && index[k + n - 1] - index[k] == n - 1)  // windows that are in order have no holes
      return dot(row + index[k], weight + k, n);
    T sum = 0;
    for (int64_t i = k; i < k + n; ++i) sum += weight[i] * row[index[i]];
    return sum;
  }
};

template <class T>
[[gnu::noinline]] void divide_row(T* y, int64_t n, int64_t channels, const double* count, double rows) {
  if (channels == 1) {
    for (int64_t o = 0; o < n; ++o) y[o] /= T(count[o] * rows);
    return;
  }
  for (int64_t o = 0; o < n; ++o) {
    T by = T(count[o] * rows);
    for (int64_t c = 0; c < channels; ++c) y[o * channels + c] /= by;
  }
}

template <class T>
void sum_of(const ResampleAxis* axes, int64_t planes, int64_t channels, const T* x, T* y) {
  const ResampleAxis &d = axes[0], &h = axes[1], &w = axes[2];
  Along<T> along(w, channels);
  Scratch tables(along.bytes());
  along.fill(tables.as<char>());
  const int64_t in = w.in * channels, out = w.out * channels, rows = d.out * h.out;
  double terms = double(d.terms) * double(h.terms) / double(rows > 0 ? rows : 1);
  double cost = terms * double(in) + double(w.terms) * double(channels) + 64;
  PerThread sums(in * int64_t(sizeof(T)) + 64, PerThread::kMany);
  parallel_chunks(planes * rows, 1 + int64_t(kWork / cost), [&](int64_t begin, int64_t end) {
    T* sum = sums.mine<T>();
    RowAt at(begin, d.out, h.out);
    for (int64_t r = begin; r < end; ++r, at.next()) {
      const auto [plane, a, b, across, down] = at;
      const T* image = x + plane * d.in * h.in * in;
      T* to = y + r * out;
      const int32_t d0 = d.begin[a], d1 = d.end[a], h0 = h.begin[b], h1 = h.end[b];
      const T* row = sum;
      if (d0 == d1 || h0 == h1) {  // as most rows of the gradient of an image made smaller
        std::memset(to, 0, size_t(out) * sizeof(T));
        continue;
      }
      if (!along.same && !along.ragged && d1 - d0 == 1 && h1 - h0 == 1 && d.by(d0) * h.by(h0) == 1) {
        row = image + (d.at(d0) * h.in + h.at(h0)) * in;
      } else {
        Rows<T> added(along.same ? to : sum, in);
        for (int32_t i = d0; i < d1; ++i)
          for (int32_t j = h0; j < h1; ++j) added.add(image + (d.at(i) * h.in + h.at(j)) * in, T(d.by(i)) * T(h.by(j)));
        added.finish();
        sum[in] = 0;
      }
      if (!along.same) along.run(row, to);
      if (w.count && !w.scatters) divide_row(to, w.out, channels, w.count, d.count[a] * h.count[b]);
    }
  });
}

void sum(DType type, const ResampleAxis* axes, int64_t planes, int64_t channels, const void* x, void* y) {
  if (type == DType::Double)
    sum_of(axes, planes, channels, static_cast<const double*>(x), static_cast<double*>(y));
  else
    sum_of(axes, planes, channels, static_cast<const float*>(x), static_cast<float*>(y));
}

// The longest stretch of a row whose sources follow each other.
struct Stretch {
  int64_t first = 0, length = 0;
  explicit Stretch(const ResampleAxis& a) {
    for (int64_t o = 0, from = 0; o < a.out; ++o) {
      if (o && a.index[o] != a.index[o - 1] + 1) from = o;
      if (o - from + 1 > length) first = from, length = o - from + 1;
    }
  }
};

template <class T>
[[gnu::noinline]] void pick_some(const int32_t* __restrict index, int64_t n, const T* __restrict row, T* __restrict y) {
  for (int64_t o = 0; o < n; ++o) y[o] = row[index[o]];
}

// Pixels of one element of T; or of `bytes` each, for T = char.
template <class T>
void pick_of(const ResampleAxis* axes, int64_t planes, int64_t bytes, const char* x, char* y) {
  const ResampleAxis &d = axes[0], &h = axes[1], &w = axes[2];
  const Stretch run(w);
  const int64_t in = w.in * bytes, out = w.out * bytes, rows = d.out * h.out;
  const int64_t moved = run.length > 16 || sizeof(T) != size_t(bytes) ? run.length : 0;
  auto pick = [&](const char* row, char* to, int64_t begin, int64_t end) {
    if (sizeof(T) == size_t(bytes) && end - begin > 8)
      return pick_some(w.index + begin, end - begin, reinterpret_cast<const T*>(row), reinterpret_cast<T*>(to) + begin);
    if (sizeof(T) == size_t(bytes))
      for (int64_t o = begin; o < end; ++o) reinterpret_cast<T*>(to)[o] = reinterpret_cast<const T*>(row)[w.index[o]];
    else
      for (int64_t o = begin; o < end; ++o) std::memcpy(to + o * bytes, row + w.index[o] * bytes, size_t(bytes));
  };
  parallel_chunks(planes * rows, 1 + int64_t(kWork / double(w.out + 16)), [&](int64_t begin, int64_t end) {
    const char* before = nullptr;
    RowAt at(begin, d.out, h.out);
    for (int64_t r = begin; r < end; ++r, at.next()) {
      const auto [plane, a, b, across, down] = at;
      const char* row = x + ((plane * d.in + d.index[a]) * h.in + h.index[b]) * in;
      char* to = y + r * out;
      if (row == before) {
        std::memcpy(to, to - out, size_t(out));
        continue;
      }
      before = row;
      if (!moved) {
        pick(row, to, 0, w.out);
        continue;
      }
      pick(row, to, 0, run.first);
      std::memcpy(to + run.first * bytes, row + w.index[run.first] * bytes, size_t(run.length * bytes));
      pick(row, to, run.first + run.length, w.out);
    }
  });
}

void pick(int64_t item, const ResampleAxis* axes, int64_t planes, int64_t channels, const void* x, void* y) {
  const char* from = static_cast<const char*>(x);
  char* to = static_cast<char*>(y);
  switch (item * channels) {
    case 1: return pick_of<uint8_t>(axes, planes, 1, from, to);
    case 2: return pick_of<uint16_t>(axes, planes, 2, from, to);
    case 4: return pick_of<uint32_t>(axes, planes, 4, from, to);
    case 8: return pick_of<uint64_t>(axes, planes, 8, from, to);
    default: return pick_of<char>(axes, planes, item * channels, from, to);
  }
}

}  // namespace

extern const ResampleKernels resample_kernels_table;
const ResampleKernels resample_kernels_table = {sum, pick};

}  // namespace weft::WEFT_ISA
