// Butterflies: small transforms of vectors, each lane of them a line of its own. For inclusion in *.isa.cpp files.
#pragma once

#include "loops/fft.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {

template <class T>
struct Passes {
  using S = Simd<T>;
  using Vec = typename S::Vec;
  static constexpr int W = S::W, kPair = 2 * W;  // a complex number: the real parts of all lanes, the imaginary ones

  struct Z {
    Vec re, im;
    friend Z operator+(Z a, Z b) { return {a.re + b.re, a.im + b.im}; }
    friend Z operator-(Z a, Z b) { return {a.re - b.re, a.im - b.im}; }
  };
  static Z get(const T* p) { return {S::load(p), S::load(p + W)}; }
  static void put(T* p, Z z) { S::store(p, z.re), S::store(p + W, z.im); }
  static Z turned(Z z) { return {z.im, -z.re}; }  // times -i
  static Z times(Z z, Vec re, Vec im) { return {S::fma(z.re, re, -(z.im * im)), S::fma(z.re, im, z.im * re)}; }
  static Z times(Z z, const T* w) { return times(z, S::splat(w[0]), S::splat(w[1])); }

  [[gnu::always_inline]] static inline void four(Z& a, Z& b, Z& c, Z& d) {
    Z p = a + c, q = a - c, r = b + d, s = turned(b - d);
    a = p + r, b = q + s, c = p - r, d = q - s;
  }
  [[gnu::always_inline]] static inline Z eighth(Z z) {  // times (1 - i) / sqrt(2)
    Vec h = S::splat(T(0.70710678118654752440));
    return {(z.re + z.im) * h, (z.im - z.re) * h};
  }

  // x becomes its transform.
  template <int R>
  [[gnu::always_inline]] static inline void butterfly(Z* x, const T* matrix) {
    if constexpr (R == 2) {
      Z a = x[0];
      x[0] = a + x[1], x[1] = a - x[1];
    } else if constexpr (R == 4) {
      four(x[0], x[1], x[2], x[3]);
    } else if constexpr (R == 8) {
      Z b0 = x[0] - x[4], b1 = eighth(x[1] - x[5]), b2 = turned(x[2] - x[6]), b3 = eighth(x[3] - x[7]);
      b3 = turned(b3);
      Z a0 = x[0] + x[4], a1 = x[1] + x[5], a2 = x[2] + x[6], a3 = x[3] + x[7];
      four(a0, a1, a2, a3), four(b0, b1, b2, b3);
      x[0] = a0, x[2] = a1, x[4] = a2, x[6] = a3, x[1] = b0, x[3] = b1, x[5] = b2, x[7] = b3;
    } else {
      constexpr int H = R / 2;
      Z sum[H], less[H], first = x[0];
#pragma GCC unroll 8
      for (int j = 0; j < H; ++j) {
        sum[j] = x[j + 1] + x[R - 1 - j], less[j] = x[j + 1] - x[R - 1 - j];
        x[0] = x[0] + sum[j];
      }
#pragma GCC unroll 8
      for (int k = 0; k < H; ++k) {
        Z a = first, b = Z{};
#pragma GCC unroll 8
        for (int j = 0; j < H; ++j) {
          Vec c = S::splat(matrix[j * H + k]), s = S::splat(matrix[H * H + j * H + k]);
          a.re = S::fma(sum[j].re, c, a.re), a.im = S::fma(sum[j].im, c, a.im);
          b.re = j ? S::fma(less[j].re, s, b.re) : less[j].re * s;
          b.im = j ? S::fma(less[j].im, s, b.im) : less[j].im * s;
        }
        x[k + 1] = {a.re + b.im, a.im - b.re}, x[R - 1 - k] = {a.re - b.im, a.im + b.re};
      }
    }
  }

  template <int R>
  [[gnu::noinline]] static void pass(const FftPass<T>& f, const T* in, T* out) {
    int64_t s = f.together, m = f.groups, apart = s * m * kPair;
    for (int64_t p = 0; p < m; ++p) {
      const T* w = f.twiddles + p * (R - 1) * 2;
      const T* from = in + p * s * kPair;
      T* to = out + p * R * s * kPair;
      if (p == 0) {
        for (int64_t q = 0; q < s; ++q, from += kPair, to += kPair) {
          Z x[R];
#pragma GCC unroll 16
          for (int j = 0; j < R; ++j) x[j] = get(from + j * apart);
          butterfly<R>(x, f.matrix);
#pragma GCC unroll 16
          for (int j = 0; j < R; ++j) put(to + j * s * kPair, x[j]);
        }
        continue;
      }
      for (int64_t q = 0; q < s; ++q, from += kPair, to += kPair) {
        Z x[R];
#pragma GCC unroll 16
        for (int j = 0; j < R; ++j) x[j] = get(from + j * apart);
        butterfly<R>(x, f.matrix);
        put(to, x[0]);
#pragma GCC unroll 16
        for (int j = 1; j < R; ++j) put(to + j * s * kPair, times(x[j], w + 2 * j - 2));
      }
    }
  }

  // Any odd radix: sums and differences of the elements that mirror each other, then products with the matrices of
  // cosines and sines, K results at a time.
  template <int K>
  [[gnu::always_inline]] static inline void rows_of(const Z* sum, const Z* less, Z first, const T* c, const T* s,
                                                    int64_t h, Z* a, Z* b) {
    for (int k = 0; k < K; ++k) a[k] = first, b[k] = Z{};
    for (int64_t j = 0; j < h; ++j, c += h, s += h) {
      Z u = sum[j], v = less[j];
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) {
        Vec ck = S::splat(c[k]), sk = S::splat(s[k]);
        a[k].re = S::fma(u.re, ck, a[k].re), a[k].im = S::fma(u.im, ck, a[k].im);
        b[k].re = S::fma(v.re, sk, b[k].re), b[k].im = S::fma(v.im, sk, b[k].im);
      }
    }
  }
  static constexpr int64_t kMostRadix = 128;
  [[gnu::noinline]] static void odd_pass(const FftPass<T>& f, const T* in, T* out) {
    int64_t r = f.radix, h = r / 2, s = f.together, m = f.groups, apart = s * m * kPair;
    Z sum[kMostRadix / 2], less[kMostRadix / 2];
    for (int64_t p = 0; p < m; ++p)
      for (int64_t q = 0; q < s; ++q) {
        const T *from = in + (p * s + q) * kPair, *w = f.twiddles + p * (r - 1) * 2;
        T* to = out + (p * r * s + q) * kPair;
        Z first = get(from), all = first;
        for (int64_t j = 0; j < h; ++j) {
          Z x = get(from + (j + 1) * apart), y = get(from + (r - 1 - j) * apart);
          sum[j] = x + y, less[j] = x - y;
          all = all + sum[j];
        }
        put(to, all);
        for (int64_t k = 0; k < h; k += 4) {
          Z a[4], b[4];
          int64_t some = h - k < 4 ? h - k : 4;
          const T *c = f.matrix + k, *sn = f.matrix + h * h + k;
          if (some == 4)
            rows_of<4>(sum, less, first, c, sn, h, a, b);
          else
            for (int64_t i = 0; i < some; ++i) rows_of<1>(sum, less, first, c + i, sn + i, h, a + i, b + i);
          for (int64_t i = 0; i < some; ++i) {
            int64_t up = k + i + 1, down = r - up;
            Z y = {a[i].re + b[i].im, a[i].im - b[i].re}, z = {a[i].re - b[i].im, a[i].im + b[i].re};
            put(to + up * s * kPair, p ? times(y, w + 2 * up - 2) : y);
            put(to + down * s * kPair, p ? times(z, w + 2 * down - 2) : z);
          }
        }
      }
  }

  static void one(const FftPass<T>& f, const T* in, T* out) {
    switch (f.radix) {
      case 2: return pass<2>(f, in, out);
      case 3: return pass<3>(f, in, out);
      case 4: return pass<4>(f, in, out);
      case 5: return pass<5>(f, in, out);
      case 7: return pass<7>(f, in, out);
      case 8: return pass<8>(f, in, out);
      case 11: return pass<11>(f, in, out);
      case 13: return pass<13>(f, in, out);
      default: return odd_pass(f, in, out);
    }
  }

  // The transforms of plan.n numbers in a; b is the other buffer. Returns the one with the results.
  static T* run(const FftPlan<T>& plan, T* a, T* b) {
    if (plan.inner) return convolved(plan, a, b);
    for (int i = 0; i < plan.passes; ++i) {
      one(plan.pass[i], a, b);
      T* t = a;
      a = b, b = t;
    }
    return a;
  }

  // Bluestein: with j k = (j^2 + k^2 - (k - j)^2) / 2 the transform is a convolution with a chirp. That is a product of
  // spectra, and its way back a transform with real and imaginary parts exchanged.
  static T* convolved(const FftPlan<T>& plan, T* a, T* b) {
    int64_t n = plan.n, m = plan.inner->n;
    for (int64_t j = 0; j < n; ++j) put(a + j * kPair, times(get(a + j * kPair), plan.chirp + 2 * j));
    for (int64_t j = n; j < m; ++j) put(a + j * kPair, Z{});
    T* y = run(*plan.inner, a, b);
    for (int64_t k = 0; k < m; ++k) {
      Z z = times(get(y + k * kPair), plan.spectrum + 2 * k);
      put(y + k * kPair, Z{z.im, z.re});
    }
    T* z = run(*plan.inner, y, y == a ? b : a);
    for (int64_t k = 0; k < n; ++k) {
      Z swapped = get(z + k * kPair);
      put(z + k * kPair, times(Z{swapped.im, swapped.re}, plan.chirp + 2 * k));
    }
    return z;
  }
};

}  // namespace weft::WEFT_ISA
