#include "loops/fft.h"

#include "loops/fft_passes.h"
#include "loops/transpose.h"

// Between memory and the work buffers, in which a row holds one number of each line: real and imaginary parts are rows
// of their own. The way back from a spectrum is the way there with both exchanged.
namespace weft::WEFT_ISA {
namespace {

template <class T>
struct Lanes : Passes<T> {
  using P = Passes<T>;
  using P::get;
  using P::kPair;
  using P::put;
  using P::W;
  using typename P::S;
  using typename P::Vec;
  using typename P::Z;
  using Tiles = Tile<T, W>;

  // Where the numbers of lines lie, and in which rows: number i in row i ^ swap, or 2 i + swap where rows between are
  // imaginary parts that are no numbers of the line.
  struct Side {
    int64_t step, lane, numbers;  // parts count as numbers
    bool pairs, swap, spread;
    int64_t at(int64_t i) const { return pairs ? (i >> 1) * step + (i & 1) : i * step; }
    int64_t row(int64_t i) const { return (spread ? 2 * i : i) ^ int64_t(swap); }
    bool in_order() const { return pairs ? step == 2 : step == 1; }
    bool adjacent() const { return pairs ? lane == 2 : lane == 1; }
  };

  template <size_t... I>
  static Z parts(Vec a, Vec b, std::index_sequence<I...>) {
    return {__builtin_shufflevector(a, b, (2 * I)...), __builtin_shufflevector(a, b, (2 * I + 1)...)};
  }
  template <size_t... I>
  static void joined(Z z, Vec& a, Vec& b, std::index_sequence<I...>) {
    a = __builtin_shufflevector(z.re, z.im, (I % 2 * W + I / 2)...);
    b = __builtin_shufflevector(z.re, z.im, (I % 2 * W + I / 2 + W / 2)...);
  }
  static constexpr auto kAll = std::make_index_sequence<W>();

  // ---- from memory

  static void load(const Side& x, const T* from, int count, T* rows) {
    if (x.adjacent()) return x.pairs ? load_pairs(x, from, count, rows) : load_rows(x, from, count, rows);
    if (x.in_order()) return x.numbers < W ? load_short(x, from, count, rows) : load_lines(x, from, count, rows);
    for (int64_t i = 0; i < x.numbers; ++i) {
      T* row = rows + x.row(i) * W;
      const T* p = from + x.at(i);
      for (int l = 0; l < count; ++l) row[l] = p[l * x.lane];
      for (int l = count; l < W; ++l) row[l] = 0;
    }
  }
  [[gnu::noinline]] static void load_pairs(const Side& x, const T* from, int count, T* rows) {
    int64_t n = x.numbers / 2;
    int low = count * 2 < W ? count * 2 : W, high = count * 2 - low;
    for (int64_t j = 0; j < n; ++j, from += x.step, rows += kPair) {
      Vec a = count == W ? S::load(from) : S::load(from, low);
      Vec b = count == W ? S::load(from + W) : high ? S::load(from + W, high) : Vec{};
      Z z = parts(a, b, kAll);
      put(rows, x.swap ? Z{z.im, z.re} : z);
    }
  }
  [[gnu::noinline]] static void load_rows(const Side& x, const T* from, int count, T* rows) {
    for (int64_t i = 0; i < x.numbers; ++i)
      S::store(rows + x.row(i) * W, count == W ? S::load(from + i * x.step) : S::load(from + i * x.step, count));
  }
  // Tiles of W numbers of W lines; the last one may overlap that before it.
  [[gnu::noinline]] static void load_lines(const Side& x, const T* from, int count, T* rows) {
    for (int64_t i = 0; i < x.numbers; i += W) {
      int64_t at = i + W <= x.numbers ? i : x.numbers - W;
      Tiles::transpose([&](int l) { return from + (l < count ? l : 0) * x.lane + at; },
                       [&](int k) { return rows + x.row(at + k) * W; });
    }
  }

  // Lines shorter than a vector: one tile, of which only the first rows are used.
  [[gnu::noinline]] static void load_short(const Side& x, const T* from, int count, T* rows) {
    T tile[W * W], spare[W];
    for (int l = 0; l < W; ++l) S::store(tile + l * W, S::load(from + (l < count ? l : 0) * x.lane, x.numbers));
    Tiles::transpose([&](int l) { return tile + l * W; },
                     [&](int k) { return k < x.numbers ? rows + x.row(k) * W : spare; });
  }

  // ---- to memory. Rows of imaginary parts are scaled by `odd`.

  static void save(const Side& x, T* to, int count, const T* rows, T even, T odd) {
    if (x.adjacent()) return x.pairs ? save_pairs(x, to, count, rows, even, odd) : save_rows(x, to, count, rows, even);
    if (x.in_order()) {
      auto f = x.numbers < W ? save_short : save_lines;
      return f(x, to, count, rows, even, odd);
    }
    for (int64_t i = 0; i < x.numbers; ++i) {
      const T* row = rows + x.row(i) * W;
      T* p = to + x.at(i);
      T scale = x.pairs && (i & 1) ? odd : even;
      for (int l = 0; l < count; ++l) p[l * x.lane] = row[l] * scale;
    }
  }
  [[gnu::noinline]] static void save_pairs(const Side& x, T* to, int count, const T* rows, T even, T odd) {
    int64_t n = x.numbers / 2;
    int low = count * 2 < W ? count * 2 : W, high = count * 2 - low;
    Vec e = S::splat(even), o = S::splat(odd);
    for (int64_t j = 0; j < n; ++j, to += x.step, rows += kPair) {
      Z z = get(rows);
      if (x.swap) z = {z.im, z.re};
      Vec a, b;
      joined({z.re * e, z.im * o}, a, b, kAll);
      if (count == W) {
        S::store(to, a), S::store(to + W, b);
      } else {
        S::store(to, a, low);
        if (high) S::store(to + W, b, high);
      }
    }
  }
  [[gnu::noinline]] static void save_rows(const Side& x, T* to, int count, const T* rows, T scale) {
    Vec v = S::splat(scale);
    for (int64_t i = 0; i < x.numbers; ++i) {
      Vec y = S::load(rows + x.row(i) * W) * v;
      count == W ? S::store(to + i * x.step, y) : S::store(to + i * x.step, y, count);
    }
  }
  [[gnu::noinline]] static void save_lines(const Side& x, T* to, int count, const T* rows, T even, T odd) {
    T tile[W * W], spare[W];
    Vec e = S::splat(even), o = x.pairs ? S::splat(odd) : e;
    for (int64_t i = 0; i < x.numbers; i += W) {
      int64_t at = i + W <= x.numbers ? i : x.numbers - W;
      auto line = [&](int l) { return l < count ? to + l * x.lane + at : spare; };
      if (even == 1 && odd == 1) {
        Tiles::transpose([&](int k) { return rows + x.row(at + k) * W; }, line);
        continue;
      }
      for (int k = 0; k < W; ++k) S::store(tile + k * W, S::load(rows + x.row(at + k) * W) * ((at + k) & 1 ? o : e));
      Tiles::transpose([&](int k) { return tile + k * W; }, line);
    }
  }

  [[gnu::noinline]] static void save_short(const Side& x, T* to, int count, const T* rows, T even, T odd) {
    T tile[W * W];
    Vec e = S::splat(even), o = x.pairs ? S::splat(odd) : e;
    for (int k = 0; k < W; ++k)
      S::store(tile + k * W, k < x.numbers ? S::load(rows + x.row(k) * W) * (k & 1 ? o : e) : Vec{});
    T turned[W * W];
    Tiles::transpose([&](int k) { return tile + k * W; }, [&](int l) { return turned + l * W; });
    for (int l = 0; l < count; ++l) S::store(to + l * x.lane, S::load(turned + l * W), x.numbers);
  }

  // ---- real lines of even length are complex lines of half the length

  // Z[k] of the even numbers plus i times the odd ones becomes X[k], 0 <= k <= m, of all.
  [[gnu::noinline]] static void split_rows(const FftPlan<T>& plan, T* z) {
    int64_t m = plan.n;
    Vec half = S::splat(T(0.5));
    Z first = get(z);
    put(z, Z{first.re + first.im, Vec{}}), put(z + m * kPair, Z{first.re - first.im, Vec{}});
    for (int64_t k = 1; k <= m / 2; ++k) {
      Z a = get(z + k * kPair), b = get(z + (m - k) * kPair);
      Z e = {(a.re + b.re) * half, (a.im - b.im) * half}, o = {(a.im + b.im) * half, (b.re - a.re) * half};
      o = P::times(o, plan.halves + 2 * k);
      put(z + k * kPair, e + o), put(z + (m - k) * kPair, Z{e.re - o.re, o.im - e.im});
    }
  }
  // The way back, doubled; real and imaginary parts exchanged. sign: that of X's imaginary parts.
  [[gnu::noinline]] static void join_rows(const FftPlan<T>& plan, T* z, T edge, T sign) {
    int64_t m = plan.n;
    Vec s = S::splat(sign), d = S::splat(edge);
    Vec first = S::load(z) * d, last = S::load(z + m * kPair) * d;
    put(z, Z{first - last, first + last});
    for (int64_t k = 1; k <= m / 2; ++k) {
      Z a = get(z + k * kPair), b = get(z + (m - k) * kPair);
      a.im *= s, b.im *= s;
      Z e = {a.re + b.re, a.im - b.im};
      const T* w = plan.halves + 2 * k;
      Z o = P::times(Z{a.re - b.re, a.im + b.im}, S::splat(w[0]), S::splat(-w[1]));
      // Z[k] = e + i o, Z[m - k] = conj(e) + i conj(o)
      put(z + k * kPair, Z{e.im + o.re, e.re - o.im}), put(z + (m - k) * kPair, Z{o.re - e.im, e.re + o.im});
    }
  }
  // A spectrum of odd length from its half, real and imaginary parts exchanged.
  static void mirror_rows(int64_t n, T* z, T edge, T sign) {
    Vec s = S::splat(sign);
    put(z, Z{Vec{}, S::load(z) * S::splat(edge)});
    for (int64_t k = 1; k <= n / 2; ++k) {
      Z a = get(z + k * kPair);
      a.im *= s;
      put(z + k * kPair, Z{a.im, a.re}), put(z + (n - k) * kPair, Z{-a.im, a.re});
    }
  }
  static void scale_edges(int64_t n, T* x, T edge) {
    Vec d = S::splat(edge);
    for (int64_t k : {int64_t(0), n / 2}) {
      if (k && n % 2) continue;
      Z z = get(x + k * kPair);
      put(x + k * kPair, Z{z.re * d, z.im * d});
      if (n / 2 == 0) break;
    }
  }
  [[gnu::noinline]] static void twist(const FftLines<T>& x, T* rows) {
    const T *lane = x.lane_twiddles, *each = x.twiddles;
    for (int64_t k = 0; k < x.n; ++k, rows += kPair, lane += kPair, each += 2) {
      Z w = P::times(get(lane), each);
      put(rows, P::times(get(rows), w.re, w.im));
    }
  }

  static void lines(const FftPlan<T>& plan, const FftLines<T>& x, int count, T* work) {
    T *a = work, *b = work + plan.rows * kPair;
    int64_t n = x.n, half = n / 2 + 1;
    bool odd = n % 2;
    T sign = x.forward ? T(1) : T(-1);
    if (x.kind == Fft::complex) {
      Side in{x.from_step, x.from_lane, 2 * n, true, !x.forward, false};
      load(in, x.from, count, a);
      T* y = P::run(plan, a, b);
      if (x.twiddles) twist(x, y);
      Side out{x.to_step, x.to_lane, 2 * n, true, !x.forward, false};
      save(out, x.to, count, y, x.scale, x.scale);
    } else if (x.kind == Fft::real_to_complex) {
      if (odd)
        for (int64_t j = 0; j < n; ++j) S::store(a + j * kPair + W, Vec{});
      load(Side{x.from_step, x.from_lane, n, false, false, odd}, x.from, count, a);
      T* y = P::run(plan, a, b);
      if (!odd) split_rows(plan, y);
      if (x.edge != 1) scale_edges(n, y, x.edge);
      save(Side{x.to_step, x.to_lane, 2 * half, true, false, false}, x.to, count, y, x.scale, x.scale * sign);
    } else {
      load(Side{x.from_step, x.from_lane, 2 * half, true, false, false}, x.from, count, a);
      odd ? mirror_rows(n, a, x.edge, -sign) : join_rows(plan, a, x.edge, -sign);
      T* y = P::run(plan, a, b);
      save(Side{x.to_step, x.to_lane, n, false, true, odd}, x.to, count, y, x.scale, x.scale);
    }
  }
};

// ---- one long line, in order

template <class T>
struct Line {
  // Stretches of kFine roots into arrays, so that the loops over them are vectors.
  static void roots(const FftHalves<T>& h, int64_t k, int64_t count, T* re, T* im) {
    const T *c = h.coarse + k / h.kFine * 2, *f = h.fine;
    for (int64_t i = 0; i < count; ++i)
      re[i] = c[0] * f[2 * i] - c[1] * f[2 * i + 1], im[i] = c[0] * f[2 * i + 1] + c[1] * f[2 * i];
  }

  static void split(const FftHalves<T>& h, T* x) {
    int64_t m = h.m;
    T half = h.scale / 2, sign = h.forward ? T(1) : T(-1), re[h.kFine], im[h.kFine];
    T a = x[0], b = x[1], edge = h.scale * h.edge;
    for (int64_t begin = 0; begin <= m / 2; begin += h.kFine) {
      int64_t first = begin ? begin : 1, end = begin + h.kFine < m / 2 + 1 ? begin + h.kFine : m / 2 + 1;
      roots(h, begin, end - begin, re, im);
      stretch(x, m, first, end, re + (first - begin), im + (first - begin), half, sign);
    }
    x[0] = (a + b) * edge, x[1] = 0, x[2 * m] = (a - b) * edge, x[2 * m + 1] = 0;
  }
  [[gnu::noinline]] static void stretch(T* x, int64_t m, int64_t first, int64_t end, const T* re, const T* im, T half,
                                        T sign) {
#pragma GCC ivdep
    for (int64_t k = first; k < end; ++k, ++re, ++im) {
      T *p = x + 2 * k, *q = x + 2 * (m - k);
      T er = (p[0] + q[0]) * half, ei = (p[1] - q[1]) * half, dr = (p[1] + q[1]) * half, di = (q[0] - p[0]) * half;
      T orr = dr * *re - di * *im, oi = dr * *im + di * *re;
      p[0] = er + orr, p[1] = (ei + oi) * sign, q[0] = er - orr, q[1] = (oi - ei) * sign;
    }
  }

  static void join(const FftHalves<T>& h, const T* x, T* to) {
    int64_t m = h.m;
    T sign = h.forward ? T(-1) : T(1), re[h.kFine], im[h.kFine];
    for (int64_t begin = 0; begin <= m / 2; begin += h.kFine) {
      int64_t first = begin ? begin : 1, end = begin + h.kFine < m / 2 + 1 ? begin + h.kFine : m / 2 + 1;
      roots(h, begin, end - begin, re, im);
      unstretch(x, to, m, first, end, re + (first - begin), im + (first - begin), sign);
    }
    T a = x[0] * h.edge, b = x[2 * m] * h.edge;
    to[0] = a + b, to[1] = a - b;
  }
  [[gnu::noinline]] static void unstretch(const T* x, T* to, int64_t m, int64_t first, int64_t end, const T* re,
                                          const T* im, T sign) {
#pragma GCC ivdep
    for (int64_t k = first; k < end; ++k, ++re, ++im) {
      const T *p = x + 2 * k, *q = x + 2 * (m - k);
      T pi = p[1] * sign, qi = q[1] * sign;
      T er = p[0] + q[0], ei = pi - qi, dr = p[0] - q[0], di = pi + qi;
      T orr = dr * *re + di * *im, oi = di * *re - dr * *im;
      T *y = to + 2 * k, *z = to + 2 * (m - k);
      y[0] = er - oi, y[1] = ei + orr, z[0] = er + oi, z[1] = orr - ei;
    }
  }

  static void multiply(const T* x, const T* by, T* to, int64_t n, bool swap) {
    int s = swap ? 1 : 0;
    for (int64_t i = 0; i < n; ++i, x += 2, by += 2, to += 2) {
      T re = x[0] * by[0] - x[1] * by[1], im = x[0] * by[1] + x[1] * by[0];
      to[s] = re, to[1 - s] = im;
    }
  }
};

}  // namespace

extern const FftKernels fft_kernels_table;
const FftKernels fft_kernels_table = {
  {Lanes<float>::W, Lanes<float>::lines, Line<float>::split, Line<float>::join, Line<float>::multiply},
  {Lanes<double>::W, Lanes<double>::lines, Line<double>::split, Line<double>::join, Line<double>::multiply},
};

}  // namespace weft::WEFT_ISA
