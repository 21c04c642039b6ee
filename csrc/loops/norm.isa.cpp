#include "loops/norm.h"

#include <algorithm>

#include "core/memory.h"
#include "loops/convert.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kWork = 32768;  // elements that are worth a thread
constexpr int64_t kColumns = 64;  // columns that are summed together
constexpr int64_t kPlaces = 256;  // rows of them, before their sums are added to others

template <class T>
inline T inverse_root(T variance, double eps) {
  return T(1) /
         (sizeof(T) == 4 ? T(__builtin_sqrtf(float(variance + T(eps)))) : T(__builtin_sqrt(double(variance + T(eps)))));
}

// K sums over [0, n). f(load) returns their terms; load(p) reads p[i], a vector of elements or one.
template <class T, int K>
struct Sums {
  T of[K];
};
template <class T, int K, class F>
inline Sums<T, K> sums(int64_t n, const F& f) {
  constexpr int64_t lanes = kLanes<T>;
  Vec<T> parts[K][kPackVectors] = {};
  int64_t i = 0;
  for (; i + lanes * kPackVectors <= n; i += lanes * kPackVectors)
    for (int u = 0; u < kPackVectors; ++u) {
      auto terms = f([&](const T* p) { return load<Vec<T>>(p + i + u * lanes); });
      for (int k = 0; k < K; ++k) parts[k][u] += terms.of[k];
    }
  Sums<T, K> total = {};
  for (int u = 0; i + lanes <= n; i += lanes, ++u) {
    auto terms = f([&](const T* p) { return load<Vec<T>>(p + i); });
    for (int k = 0; k < K; ++k) parts[k][u] += terms.of[k];
  }
  for (; i < n; ++i) {
    auto terms = f([&](const T* p) { return p[i]; });
    for (int k = 0; k < K; ++k) total.of[k] += terms.of[k];
  }
  for (int k = 0; k < K; ++k) {
    Vec<T> all = parts[k][0];
    for (int u = 1; u < kPackVectors; ++u) all += parts[k][u];
    total.of[k] += join_lanes<T>(all, [](auto a, auto b) { return a + b; });
  }
  return total;
}
template <class V, int K>
struct Terms {
  V of[K];
};

template <class T>
inline T sum_of(const T* x, int64_t n) {
  return sums<T, 1>(n, [&](auto load) { return Terms<decltype(load(x)), 1>{{load(x)}}; }).of[0];
}
template <class T>
inline T squares_about(const T* x, int64_t n, T mean) {
  return sums<T, 1>(n,
                    [&](auto load) {
                      auto d = load(x) - mean;
                      return Terms<decltype(d), 1>{{d * d}};
                    })
      .of[0];
}

template <class T>
void rows_of(int64_t rows, int64_t n, const T* x, const T* w, const T* b, double eps, T* y, T* mean, T* rstd) {
  parallel_chunks(rows, 1 + kWork / (n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* in = x + r * n;
      T* out = y + r * n;
      T m = sum_of(in, n) / T(n), s = inverse_root(squares_about(in, n, m) / T(n), eps);
      mean[r] = m, rstd[r] = s;
      if (w && b)
        for (int64_t i = 0; i < n; ++i) out[i] = (in[i] - m) * s * w[i] + b[i];
      else if (w)
        for (int64_t i = 0; i < n; ++i) out[i] = (in[i] - m) * s * w[i];
      else
        for (int64_t i = 0; i < n; ++i) out[i] = (in[i] - m) * s;
    }
  });
}

template <class T>
void rows_back_of(int64_t rows, int64_t n, const T* g, const T* x, const T* w, const T* mean, const T* rstd, T* dx,
                  T* dw, T* db) {
  if (dx)
    parallel_chunks(rows, 1 + kWork / (n + 1), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T *in = x + r * n, *from = g + r * n;
        T* out = dx + r * n;
        T m = mean[r], s = rstd[r];
        auto total = w ? sums<T, 2>(n,
                                    [&](auto load) {
                                      auto gw = load(from) * load(w);
                                      return Terms<decltype(gw), 2>{{gw, gw * ((load(in) - m) * s)}};
                                    })
                       : sums<T, 2>(n, [&](auto load) {
                           auto gw = load(from);
                           return Terms<decltype(gw), 2>{{gw, gw * ((load(in) - m) * s)}};
                         });
        T a = total.of[0] / T(n), c = total.of[1] / T(n);
        if (w)
          for (int64_t i = 0; i < n; ++i) out[i] = s * (from[i] * w[i] - a - (in[i] - m) * s * c);
        else
          for (int64_t i = 0; i < n; ++i) out[i] = s * (from[i] - a - (in[i] - m) * s * c);
      }
    });
  if (!dw && !db) return;
  parallel_chunks((n + kColumns - 1) / kColumns, 1 + kWork / (kColumns * (rows + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin * kColumns; c < end * kColumns && c < n; c += kColumns) {
      int64_t width = c + kColumns < n ? kColumns : n - c;
      T sw[kColumns] = {}, sb[kColumns] = {};
      for (int64_t r = 0; r < rows; ++r) {
        const T *in = x + r * n + c, *from = g + r * n + c;
        T m = mean[r], s = rstd[r];
        for (int64_t i = 0; i < width; ++i) sw[i] += from[i] * ((in[i] - m) * s), sb[i] += from[i];
      }
      for (int64_t i = 0; i < width; ++i) {
        if (dw) dw[c + i] = sw[i];
        if (db) db[c + i] = sb[i];
      }
    }
  });
}

// ---- channels side by side: (outer, channels), in chunks of rows whose results are joined in order

int64_t rows_at_once(int64_t channels) { return std::max<int64_t>(64, kWork / (channels + 1)); }
int64_t chunks_of(const Channels& c) { return (c.outer + rows_at_once(c.channels) - 1) / rows_at_once(c.channels); }

// Calls f(chunk, first row, last row, first column, last column), at most kColumns columns at a time.
template <class F>
void by_chunks(const Channels& c, const F& f) {
  int64_t rows = rows_at_once(c.channels);
  parallel_chunks(c.outer, rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < c.channels; i += kColumns)
      f(begin / rows, begin, end, i, std::min(i + kColumns, c.channels));
  });
}

template <class T>
void side_by_side_moments(const Channels& c, const T* x, T* mean, T* variance) {
  int64_t chunks = chunks_of(c), rows = rows_at_once(c.channels);
  Scratch memory(2 * chunks * c.channels * int64_t(sizeof(T)));
  T *means = memory.as<T>(), *squares = means + chunks * c.channels;
  by_chunks(c, [&](int64_t chunk, int64_t begin, int64_t end, int64_t first, int64_t last) {
    T s[kColumns] = {}, q[kColumns] = {}, m[kColumns];
    int64_t n = last - first;
    for (int64_t o = begin; o < end; ++o)
      for (int64_t i = 0; i < n; ++i) s[i] += x[o * c.channels + first + i];
    for (int64_t i = 0; i < n; ++i) m[i] = s[i] / T(end - begin);
    for (int64_t o = begin; o < end; ++o)
      for (int64_t i = 0; i < n; ++i) {
        T d = x[o * c.channels + first + i] - m[i];
        q[i] += d * d;
      }
    for (int64_t i = 0; i < n; ++i)
      means[chunk * c.channels + first + i] = m[i], squares[chunk * c.channels + first + i] = q[i];
  });
  for (int64_t i = 0; i < c.channels; ++i) {
    double m = 0, q = 0, count = 0;
    for (int64_t k = 0; k < chunks; ++k) {
      double more = double(std::min(rows, c.outer - k * rows)), all = count + more;
      double d = double(means[k * c.channels + i]) - m;
      q += double(squares[k * c.channels + i]) + d * d * count * more / all;
      m += d * more / all;
      count = all;
    }
    mean[i] = T(m), variance[i] = T(q / count);
  }
}

// The sums of g and of g times the normalised x.
template <class T>
void side_by_side_sums(const Channels& c, const T* g, const T* x, const T* mean, const T* rstd, T* sb, T* sw) {
  int64_t chunks = chunks_of(c);
  Scratch memory(2 * chunks * c.channels * int64_t(sizeof(T)));
  T *plain = memory.as<T>(), *weighted = plain + chunks * c.channels;
  by_chunks(c, [&](int64_t chunk, int64_t begin, int64_t end, int64_t first, int64_t last) {
    T b[kColumns] = {}, w[kColumns] = {}, m[kColumns], r[kColumns];
    int64_t n = last - first;
    for (int64_t i = 0; i < n; ++i) m[i] = mean[first + i], r[i] = rstd[first + i];
    for (int64_t o = begin; o < end; ++o)
      for (int64_t i = 0; i < n; ++i) {
        int64_t at = o * c.channels + first + i;
        b[i] += g[at];
        w[i] += g[at] * ((x[at] - m[i]) * r[i]);
      }
    for (int64_t i = 0; i < n; ++i)
      plain[chunk * c.channels + first + i] = b[i], weighted[chunk * c.channels + first + i] = w[i];
  });
  for (int64_t i = 0; i < c.channels; ++i) {
    double b = 0, w = 0;
    for (int64_t k = 0; k < chunks; ++k) b += plain[k * c.channels + i], w += weighted[k * c.channels + i];
    sb[i] = T(b), sw[i] = T(w);
  }
}

// Calls row(first element) for each row, on several threads.
template <class F>
void side_by_side_rows(const Channels& c, const F& row) {
  parallel_chunks(c.outer, rows_at_once(c.channels), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) row(o * c.channels);
  });
}

// ---- channels as lines

// Calls f(channel) on several threads.
template <class F>
void by_channels(const Channels& c, const F& f) {
  parallel_chunks(c.channels, 1 + kWork / (c.outer * c.inner + 1), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) f(k);
  });
}

template <class T>
void moments_of(const Channels& c, const T* x, T* mean, T* variance) {
  if (c.inner == 1) return side_by_side_moments(c, x, mean, variance);
  T count = T(c.outer * c.inner);
  by_channels(c, [&](int64_t k) {
    T s = 0, q = 0;
    for (int64_t o = 0; o < c.outer; ++o) s += sum_of(x + (o * c.channels + k) * c.inner, c.inner);
    mean[k] = s / count;
    for (int64_t o = 0; o < c.outer; ++o) q += squares_about(x + (o * c.channels + k) * c.inner, c.inner, mean[k]);
    variance[k] = q / count;
  });
}

template <class T>
void channels_of(const Channels& c, const T* x, const T* w, const T* b, const T* mean, const T* rstd, T* y) {
  if (c.inner == 1) {
    Scratch memory(2 * c.channels * int64_t(sizeof(T)));
    T *scale = memory.as<T>(), *shift = scale + c.channels;
    for (int64_t i = 0; i < c.channels; ++i) scale[i] = w ? rstd[i] * w[i] : rstd[i], shift[i] = b ? b[i] : T(0);
    return side_by_side_rows(c, [&](int64_t at) {
      for (int64_t i = 0; i < c.channels; ++i) y[at + i] = (x[at + i] - mean[i]) * scale[i] + shift[i];
    });
  }
  parallel_chunks(c.outer * c.channels, 1 + kWork / c.inner, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t k = line % c.channels;
      T m = mean[k], scale = w ? rstd[k] * w[k] : rstd[k], shift = b ? b[k] : T(0);
      const T* in = x + line * c.inner;
      T* out = y + line * c.inner;
      for (int64_t i = 0; i < c.inner; ++i) out[i] = (in[i] - m) * scale + shift;
    }
  });
}

template <class T>
void side_by_side_back(const Channels& c, bool own, const T* g, const T* x, const T* w, const T* mean, const T* rstd,
                       T* dx, T* dw, T* db) {
  Scratch memory(4 * c.channels * int64_t(sizeof(T)));
  T *sb = memory.as<T>(), *sw = sb + c.channels, *scale = sw + c.channels, *slope = scale + c.channels;
  side_by_side_sums(c, g, x, mean, rstd, sb, sw);
  T count = T(c.outer);
  for (int64_t i = 0; i < c.channels; ++i) {
    if (dw) dw[i] = sw[i];
    if (db) db[i] = sb[i];
    scale[i] = w ? rstd[i] * w[i] : rstd[i];
    slope[i] = own ? rstd[i] * (sw[i] / count) : T(0);
    sb[i] = own ? sb[i] / count : T(0);
  }
  if (!dx) return;
  side_by_side_rows(c, [&](int64_t at) {
    for (int64_t i = 0; i < c.channels; ++i)
      dx[at + i] = scale[i] * (g[at + i] - sb[i] - (x[at + i] - mean[i]) * slope[i]);
  });
}

template <class T>
void channels_back_of(const Channels& c, bool own, const T* g, const T* x, const T* w, const T* mean, const T* rstd,
                      T* dx, T* dw, T* db) {
  if (c.inner == 1) return side_by_side_back(c, own, g, x, w, mean, rstd, dx, dw, db);
  T count = T(c.outer * c.inner);
  by_channels(c, [&](int64_t k) {
    T sb = 0, sw = 0, m = mean[k], s = rstd[k];  // the sums of g and of g times the normalised x
    for (int64_t o = 0; o < c.outer; ++o) {
      const T *from = g + (o * c.channels + k) * c.inner, *in = x + (o * c.channels + k) * c.inner;
      auto part = sums<T, 2>(c.inner, [&](auto load) {
        auto d = load(from);
        return Terms<decltype(d), 2>{{d, d * ((load(in) - m) * s)}};
      });
      sb += part.of[0], sw += part.of[1];
    }
    if (dw) dw[k] = sw;
    if (db) db[k] = sb;
    if (!dx) return;
    T scale = w ? s * w[k] : s, a = own ? sb / count : T(0), q = own ? sw / count : T(0);
    for (int64_t o = 0; o < c.outer; ++o) {
      int64_t at = (o * c.channels + k) * c.inner;
      for (int64_t e = 0; e < c.inner; ++e) dx[at + e] = scale * (g[at + e] - a - (x[at + e] - m) * s * q);
    }
  });
}

// ---- groups of channels

// Calls f(row, its first element, its first channel) on several threads.
template <class F>
void by_groups(const Groups& c, const F& f) {
  int64_t n = c.channels * c.inner;
  parallel_chunks(c.outer * c.groups, 1 + kWork / (n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r, r * n, r % c.groups * c.channels);
  });
}

// The joined parts of gradients of weight and bias, over all examples.
template <class T>
void add_up(const Groups& c, const T* parts, T* total) {
  int64_t all = c.groups * c.channels;
  for (int64_t k = 0; k < all; ++k) total[k] = 0;
  for (int64_t o = 0; o < c.outer; ++o)
    for (int64_t k = 0; k < all; ++k) total[k] += parts[o * all + k];
}

// ---- the same where channels lie last: each example is `inner` rows of all channels

// Calls f(example, its first element) on several threads.
template <class F>
void by_examples(const Groups& c, const F& f) {
  int64_t n = c.groups * c.channels * c.inner;
  parallel_chunks(c.outer, 1 + kWork / (n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) f(o, o * n);
  });
}

// K sums down each of `columns`: f(element, column) returns their terms. In blocks, so that long sums stay exact.
template <class T, int K, class F>
inline void column_sums(int64_t rows, int64_t columns, Terms<T*, K> to, const F& f) {
  for (int64_t first = 0; first < columns; first += kColumns) {
    int64_t n = std::min(kColumns, columns - first);
    T total[K][kColumns] = {};
    for (int64_t begin = 0; begin < rows; begin += kPlaces) {
      T part[K][kColumns] = {};
      for (int64_t r = begin; r < std::min(begin + kPlaces, rows); ++r)
        for (int64_t i = 0; i < n; ++i) {
          Terms<T, K> terms = f(r * columns + first + i, first + i);
          for (int k = 0; k < K; ++k) part[k][i] += terms.of[k];
        }
      for (int k = 0; k < K; ++k)
        for (int64_t i = 0; i < n; ++i) total[k][i] += part[k][i];
    }
    for (int k = 0; k < K; ++k)
      for (int64_t i = 0; i < n; ++i) to.of[k][first + i] = total[k][i];
  }
}

template <class T>
void last_groups_of(const Groups& c, const T* x, const T* w, const T* b, double eps, T* y, T* mean, T* rstd) {
  int64_t all = c.groups * c.channels;
  T n = T(c.channels * c.inner);
  Scratch memory(4 * c.outer * all * int64_t(sizeof(T)));
  by_examples(c, [&](int64_t o, int64_t at) {
    const T* in = x + at;
    T *sum = memory.as<T>() + 4 * o * all, *middle = sum + all, *scale = middle + all, *shift = scale + all;
    auto of_groups = [&](T* to) {  // the sums of channels joined, and divided by the count
      for (int64_t j = 0; j < c.groups; ++j) {
        T total = 0;
        for (int64_t k = j * c.channels; k < (j + 1) * c.channels; ++k) total += sum[k];
        to[j] = total / n;
      }
    };
    T *m = mean + o * c.groups, *s = rstd + o * c.groups;
    column_sums<T, 1>(c.inner, all, {{sum}}, [&](int64_t i, int64_t) { return Terms<T, 1>{{in[i]}}; });
    of_groups(m);
    for (int64_t k = 0; k < all; ++k) middle[k] = m[k / c.channels];
    column_sums<T, 1>(c.inner, all, {{sum}}, [&](int64_t i, int64_t k) {
      T d = in[i] - middle[k];
      return Terms<T, 1>{{d * d}};
    });
    of_groups(s);
    for (int64_t j = 0; j < c.groups; ++j) s[j] = inverse_root(s[j], eps);
    for (int64_t k = 0; k < all; ++k) {
      T by = s[k / c.channels];
      scale[k] = w ? by * w[k] : by, shift[k] = b ? b[k] : T(0);
    }
    T* out = y + at;
    for (int64_t p = 0; p < c.inner; ++p, in += all, out += all)
      for (int64_t k = 0; k < all; ++k) out[k] = (in[k] - middle[k]) * scale[k] + shift[k];
  });
}

template <class T>
void last_groups_back_of(const Groups& c, const T* g, const T* x, const T* w, const T* mean, const T* rstd, T* dx,
                         T* dw, T* db) {
  int64_t all = c.groups * c.channels;
  T n = T(c.channels * c.inner);
  Scratch memory(6 * c.outer * all * int64_t(sizeof(T)));
  T *plain = memory.as<T>(), *weighted = plain + c.outer * all;
  by_examples(c, [&](int64_t o, int64_t at) {
    const T *from = g + at, *in = x + at, *m = mean + o * c.groups, *s = rstd + o * c.groups;
    T *sb = plain + o * all, *sw = weighted + o * all, *middle = weighted + c.outer * all + 4 * o * all;
    T *scale = middle + all, *back = scale + all, *slope = back + all;
    for (int64_t k = 0; k < all; ++k) middle[k] = m[k / c.channels];
    column_sums<T, 2>(c.inner, all, {{sb, sw}},
                      [&](int64_t i, int64_t k) { return Terms<T, 2>{{from[i], from[i] * (in[i] - middle[k])}}; });
    for (int64_t k = 0; k < all; ++k) sw[k] *= s[k / c.channels];
    if (!dx) return;
    for (int64_t j = 0; j < c.groups; ++j) {
      int64_t first = j * c.channels, end = first + c.channels;
      T a = 0, q = 0;
      for (int64_t k = first; k < end; ++k) {
        T by = w ? w[k] : T(1);
        a += by * sb[k], q += by * sw[k];
        scale[k] = s[j] * by;
      }
      for (int64_t k = first; k < end; ++k) back[k] = s[j] * (a / n), slope[k] = s[j] * s[j] * (q / n);
    }
    T* out = dx + at;
    for (int64_t p = 0; p < c.inner; ++p, from += all, in += all, out += all)
      for (int64_t k = 0; k < all; ++k) out[k] = from[k] * scale[k] - back[k] - (in[k] - middle[k]) * slope[k];
  });
  if (dw) add_up(c, weighted, dw);
  if (db) add_up(c, plain, db);
}

template <class T>
void groups_of(const Groups& c, const T* x, const T* w, const T* b, double eps, T* y, T* mean, T* rstd) {
  if (c.last) return last_groups_of(c, x, w, b, eps, y, mean, rstd);
  int64_t n = c.channels * c.inner;
  if (!w && !b) return rows_of(c.outer * c.groups, n, x, w, b, eps, y, mean, rstd);
  by_groups(c, [&](int64_t r, int64_t at, int64_t first) {
    const T* in = x + at;
    T* out = y + at;
    T m = sum_of(in, n) / T(n), s = inverse_root(squares_about(in, n, m) / T(n), eps);
    mean[r] = m, rstd[r] = s;
    const T *weight = w ? w + first : nullptr, *bias = b ? b + first : nullptr;
    if (c.inner == 1 && weight && bias) {
      for (int64_t k = 0; k < n; ++k) out[k] = (in[k] - m) * (s * weight[k]) + bias[k];
      return;
    }
    for (int64_t k = 0; k < c.channels; ++k, in += c.inner, out += c.inner) {
      T scale = weight ? s * weight[k] : s, shift = bias ? bias[k] : T(0);
      for (int64_t i = 0; i < c.inner; ++i) out[i] = (in[i] - m) * scale + shift;
    }
  });
}

// Of the lines of a row: the sums of g and of g times the normalised x.
template <class T>
inline void line_sums(const Groups& c, const T* g, const T* x, T m, T s, T* sb, T* sw) {
  if (c.inner == 1)
    for (int64_t k = 0; k < c.channels; ++k) sb[k] = g[k], sw[k] = g[k] * ((x[k] - m) * s);
  else
    for (int64_t k = 0; k < c.channels; ++k, g += c.inner, x += c.inner) {
      auto part = sums<T, 2>(c.inner, [&](auto load) {
        auto d = load(g);
        return Terms<decltype(d), 2>{{d, d * (load(x) - m)}};
      });
      sb[k] = part.of[0], sw[k] = part.of[1] * s;
    }
}

template <class T>
void groups_back_of(const Groups& c, const T* g, const T* x, const T* w, const T* mean, const T* rstd, T* dx, T* dw,
                    T* db) {
  if (c.last) return last_groups_back_of(c, g, x, w, mean, rstd, dx, dw, db);
  int64_t all = c.groups * c.channels, n = c.channels * c.inner;
  if (!w && !dw && !db) return rows_back_of(c.outer * c.groups, n, g, x, w, mean, rstd, dx, dw, db);
  Scratch memory(2 * c.outer * all * int64_t(sizeof(T)));
  T *plain = memory.as<T>(), *weighted = plain + c.outer * all;
  by_groups(c, [&](int64_t r, int64_t at, int64_t first) {
    const T *from = g + at, *in = x + at, *weight = w ? w + first : nullptr;
    T m = mean[r], s = rstd[r], *sb = plain + r * c.channels, *sw = weighted + r * c.channels;
    line_sums(c, from, in, m, s, sb, sw);
    if (!dx) return;
    T a = 0, q = 0;
    for (int64_t k = 0; k < c.channels; ++k) {
      T by = weight ? weight[k] : T(1);
      a += by * sb[k], q += by * sw[k];
    }
    T* out = dx + at;
    T back = s * (a / T(n)), slope = s * s * (q / T(n));
    if (c.inner == 1 && weight) {
      for (int64_t k = 0; k < n; ++k) out[k] = from[k] * (s * weight[k]) - back - (in[k] - m) * slope;
      return;
    }
    for (int64_t k = 0; k < c.channels; ++k, from += c.inner, in += c.inner, out += c.inner) {
      T scale = weight ? s * weight[k] : s;
      for (int64_t i = 0; i < c.inner; ++i) out[i] = from[i] * scale - back - (in[i] - m) * slope;
    }
  });
  if (dw) add_up(c, weighted, dw);
  if (db) add_up(c, plain, db);
}

#define WEFT_BY_TYPE(call)    \
  if (type == DType::Float) { \
    using T = float;          \
    call;                     \
  } else {                    \
    using T = double;         \
    call;                     \
  }

void rows(DType type, int64_t rows, int64_t n, const void* x, const void* w, const void* b, double eps, void* y,
          void* mean, void* rstd) {
  WEFT_BY_TYPE(rows_of(rows, n, (const T*)x, (const T*)w, (const T*)b, eps, (T*)y, (T*)mean, (T*)rstd))
}
void rows_back(DType type, int64_t rows, int64_t n, const void* g, const void* x, const void* w, const void* mean,
               const void* rstd, void* dx, void* dw, void* db) {
  WEFT_BY_TYPE(rows_back_of(rows, n, (const T*)g, (const T*)x, (const T*)w, (const T*)mean, (const T*)rstd, (T*)dx,
                            (T*)dw, (T*)db))
}
void moments(DType type, const Channels& c, const void* x, void* mean, void* variance) {
  WEFT_BY_TYPE(moments_of(c, (const T*)x, (T*)mean, (T*)variance))
}
void channels(DType type, const Channels& c, const void* x, const void* w, const void* b, const void* mean,
              const void* rstd, void* y) {
  WEFT_BY_TYPE(channels_of(c, (const T*)x, (const T*)w, (const T*)b, (const T*)mean, (const T*)rstd, (T*)y))
}
void channels_back(DType type, const Channels& c, bool own, const void* g, const void* x, const void* w,
                   const void* mean, const void* rstd, void* dx, void* dw, void* db) {
  WEFT_BY_TYPE(channels_back_of(c, own, (const T*)g, (const T*)x, (const T*)w, (const T*)mean, (const T*)rstd, (T*)dx,
                                (T*)dw, (T*)db))
}

void groups(DType type, const Groups& c, const void* x, const void* w, const void* b, double eps, void* y, void* mean,
            void* rstd) {
  WEFT_BY_TYPE(groups_of(c, (const T*)x, (const T*)w, (const T*)b, eps, (T*)y, (T*)mean, (T*)rstd))
}
void groups_back(DType type, const Groups& c, const void* g, const void* x, const void* w, const void* mean,
                 const void* rstd, void* dx, void* dw, void* db) {
  WEFT_BY_TYPE(
      groups_back_of(c, (const T*)g, (const T*)x, (const T*)w, (const T*)mean, (const T*)rstd, (T*)dx, (T*)dw, (T*)db))
}

}  // namespace

extern const NormKernels norm_kernels_table;
const NormKernels norm_kernels_table{rows, rows_back, moments, channels, channels_back, groups, groups_back};

}  // namespace weft::WEFT_ISA
