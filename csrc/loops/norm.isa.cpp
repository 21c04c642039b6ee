#include "loops/norm.h"

#include "loops/lanes.h"
#include "loops/parallel.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kWork = 32768;  // elements that are worth a thread
constexpr int64_t kColumns = 64;  // columns that are summed together

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

// Calls f(first, last) for blocks of channels. Where lines have one element, the channels of a block lie side by side.
template <class F>
void by_channels(const Channels& c, const F& f) {
  int64_t work = c.outer * c.inner + 1, block = c.inner == 1 ? kColumns : 1;
  int64_t blocks = (c.channels + block - 1) / block;
  parallel_chunks(blocks, 1 + kWork / (work * block), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) f(k * block, (k + 1) * block < c.channels ? (k + 1) * block : c.channels);
  });
}

template <class T>
void moments_of(const Channels& c, const T* x, T* mean, T* variance) {
  T count = T(c.outer * c.inner);
  by_channels(c, [&](int64_t first, int64_t last) {
    if (c.inner == 1) {
      T s[kColumns] = {}, q[kColumns] = {};
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t i = first; i < last; ++i) s[i - first] += x[o * c.channels + i];
      for (int64_t i = first; i < last; ++i) mean[i] = s[i - first] / count;
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t i = first; i < last; ++i) {
          T d = x[o * c.channels + i] - mean[i];
          q[i - first] += d * d;
        }
      for (int64_t i = first; i < last; ++i) variance[i] = q[i - first] / count;
      return;
    }
    T s = 0, q = 0;
    for (int64_t o = 0; o < c.outer; ++o) s += sum_of(x + (o * c.channels + first) * c.inner, c.inner);
    mean[first] = s / count;
    for (int64_t o = 0; o < c.outer; ++o)
      q += squares_about(x + (o * c.channels + first) * c.inner, c.inner, mean[first]);
    variance[first] = q / count;
  });
}

template <class T>
void channels_of(const Channels& c, const T* x, const T* w, const T* b, const T* mean, const T* rstd, T* y) {
  if (c.inner == 1) {
    parallel_chunks(c.outer, 1 + kWork / (c.channels + 1), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        for (int64_t i = 0; i < c.channels; ++i) {
          T v = (x[o * c.channels + i] - mean[i]) * rstd[i];
          if (w) v = v * w[i];
          if (b) v = v + b[i];
          y[o * c.channels + i] = v;
        }
    });
    return;
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
void channels_back_of(const Channels& c, bool own, const T* g, const T* x, const T* w, const T* mean, const T* rstd,
                      T* dx, T* dw, T* db) {
  T count = T(c.outer * c.inner);
  by_channels(c, [&](int64_t first, int64_t last) {
    T sb[kColumns] = {}, sw[kColumns] = {};  // the sums of g and of g times the normalised x
    if (c.inner == 1) {
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t i = first; i < last; ++i) {
          int64_t at = o * c.channels + i;
          sb[i - first] += g[at];
          sw[i - first] += g[at] * ((x[at] - mean[i]) * rstd[i]);
        }
    } else {
      T m = mean[first], s = rstd[first];
      for (int64_t o = 0; o < c.outer; ++o) {
        const T *from = g + (o * c.channels + first) * c.inner, *in = x + (o * c.channels + first) * c.inner;
        auto part = sums<T, 2>(c.inner, [&](auto load) {
          auto d = load(from);
          return Terms<decltype(d), 2>{{d, d * ((load(in) - m) * s)}};
        });
        sb[0] += part.of[0], sw[0] += part.of[1];
      }
    }
    for (int64_t i = first; i < last; ++i) {
      if (dw) dw[i] = sw[i - first];
      if (db) db[i] = sb[i - first];
    }
    if (!dx) return;
    for (int64_t o = 0; o < c.outer; ++o)
      for (int64_t i = first; i < last; ++i) {
        int64_t at = (o * c.channels + i) * c.inner;
        T m = mean[i], s = rstd[i], scale = w ? s * w[i] : s;
        T a = own ? sb[i - first] / count : T(0), q = own ? sw[i - first] / count : T(0);
        for (int64_t e = 0; e < c.inner; ++e) dx[at + e] = scale * (g[at + e] - a - (x[at + e] - m) * s * q);
      }
  });
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

}  // namespace

extern const NormKernels norm_kernels_table;
const NormKernels norm_kernels_table{rows, rows_back, moments, channels, channels_back};

}  // namespace weft::WEFT_ISA
