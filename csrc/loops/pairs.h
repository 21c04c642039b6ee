// Loops over complex numbers as pairs of real ones, which the compiler turns into vectors; std::complex calls the C
// library for every product and quotient. For inclusion in *.isa.cpp files. Products of infinities are what the formula
// gives, as in PyTorch; where a quotient is not finite, the C library decides (its rules for infinities, zeros and
// overflow).
#pragma once

#include <cstdint>

#include "loops/convert.h"
#include "loops/math.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA::pairs {

struct Mul {
  template <class R>
  [[gnu::noinline]] static void run(R* out, const R* const* in, int64_t n) {
    const R *a = in[0], *b = in[1];
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      R re = a[i] * b[i] - a[i + 1] * b[i + 1], im = a[i] * b[i + 1] + a[i + 1] * b[i];
      out[i] = re, out[i + 1] = im;
    }
  }
  // By one number for all n.
  template <class R>
  [[gnu::noinline]] static void by_one(R* out, const R* a, const R* b, int64_t n) {
    const R u = b[0], v = b[1];
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      R re = a[i] * u - a[i + 1] * v, im = a[i] * v + a[i + 1] * u;
      out[i] = re, out[i + 1] = im;
    }
  }
};

struct Square {
  template <class R>
  [[gnu::noinline]] static void run(R* out, const R* const* in, int64_t n) {
    const R* a = in[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      R re = a[i] * a[i] - a[i + 1] * a[i + 1], im = a[i] * a[i + 1] + a[i + 1] * a[i];
      out[i] = re, out[i + 1] = im;
    }
  }
};

// x + a b value
struct Addcmul {
  template <class R>
  [[gnu::noinline]] static void run(R* out, const R* const* in, int64_t n) {
    const R *x = in[0], *a = in[1], *b = in[2], *v = in[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      R re = a[i] * b[i] - a[i + 1] * b[i + 1], im = a[i] * b[i + 1] + a[i + 1] * b[i];
      R y = x[i] + (re * v[i] - im * v[i + 1]), z = x[i + 1] + (re * v[i + 1] + im * v[i]);
      out[i] = y, out[i + 1] = z;
    }
  }
};

// Blocks of quotients in memory of their own, so that out may be an input.
struct Quotients {
  static constexpr int64_t kBlock = 64;

  // n <= kBlock of them. In double, floats neither overflow nor lose anything.
  [[gnu::noinline]] static void fast(float* q, const float* a, const float* b, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i += 2) {
      double x = a[i], y = a[i + 1], c = b[i], d = b[i + 1], r = 1 / (c * c + d * d);
      q[i] = float((x * c + y * d) * r), q[i + 1] = float((y * c - x * d) * r);
    }
  }
  // The divisor is scaled to about 1.
  [[gnu::noinline]] static void fast(double* q, const double* a, const double* b, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i += 2) {
      double c = math::abs(b[i]), d = math::abs(b[i + 1]), r = 1 / (c > d ? c : d);
      c = b[i] * r, d = b[i + 1] * r;
      double size = r / (c * c + d * d);
      q[i] = (a[i] * c + a[i + 1] * d) * size, q[i + 1] = (a[i + 1] * c - a[i] * d) * size;
    }
  }
  // By their bits: the largest exponent is that of infinity and NaN.
  template <class R>
  [[gnu::noinline]] static bool finite(const R* q, int64_t n) {
    using B = decltype(math::bits(R()));
    constexpr B size = ~(B(1) << (8 * sizeof(B) - 1));
    B most = 0;
    for (int64_t i = 0; i < n; ++i) {
      B u = math::bits(q[i]) & size;
      most = u > most ? u : most;
    }
    return most < math::bits(math::inf<R>);
  }
  template <class C, class R>
  static void by_library(R* q, const R* a, const R* b, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i += 2) {
      C x, y;
      __real__ x = a[i], __imag__ x = a[i + 1], __real__ y = b[i], __imag__ y = b[i + 1];
      x = x / y;
      q[i] = __real__ x, q[i + 1] = __imag__ x;
    }
  }
  [[gnu::noinline]] static void exact(float* q, const float* a, const float* b, int64_t n) {
    by_library<__complex__ float>(q, a, b, n);
  }
  [[gnu::noinline]] static void exact(double* q, const double* a, const double* b, int64_t n) {
    by_library<__complex__ double>(q, a, b, n);
  }
  template <class R>
  static void block(R* q, const R* a, const R* b, int64_t n) {
    fast(q, a, b, n);
    if (!finite(q, 2 * n)) exact(q, a, b, n);
  }
};

struct Div : Quotients {
  template <class R>
  static void run(R* out, const R* const* in, int64_t n) {
    R q[2 * kBlock];
    for (int64_t at = 0; at < n; at += kBlock) {
      int64_t some = n - at < kBlock ? n - at : kBlock;
      block(q, in[0] + 2 * at, in[1] + 2 * at, some);
      __builtin_memcpy(out + 2 * at, q, size_t(2 * some) * sizeof(R));
    }
  }
};

struct Reciprocal : Quotients {
  template <class R>
  static void run(R* out, const R* const* in, int64_t n) {
    R q[2 * kBlock], one[2 * kBlock];
    for (int64_t i = 0; i < 2 * kBlock; ++i) one[i] = R(1 - (i & 1));
    for (int64_t at = 0; at < n; at += kBlock) {
      int64_t some = n - at < kBlock ? n - at : kBlock;
      if (some < kBlock || !near(q, in[0] + 2 * at)) block(q, one, in[0] + 2 * at, some);
      __builtin_memcpy(out + 2 * at, q, size_t(2 * some) * sizeof(R));
    }
  }

 private:
  // kBlock of them without a change of type, where squares neither overflow nor lose digits. Returns whether that was
  // so.
  [[gnu::noinline]] static bool near(float* q, const float* a) {
    constexpr int L = kLanes<float>;
    using V = Vec<float>;
    constexpr auto all = std::make_integer_sequence<int, L>();
    const V least = splat(0x1p-100f), most = splat(0x1p100f);
    V sign;
    for (int l = 0; l < L; ++l) sign[l] = l % 2 ? -1.0f : 1.0f;
    Vec<int32_t> far{};
#pragma GCC unroll 2
    for (int64_t i = 0; i < 2 * kBlock; i += L) {
      V z = load<V>(a + i), squares = z * z, size = squares + neighbours(squares, all);
      far |= ~((size > least) & (size < most));
      store(q + i, z * sign / size);
    }
    return !any_lane(far);
  }
  static bool near(double*, const double*) { return false; }
  template <class V, int... I>
  static V neighbours(V v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (I ^ 1)...);
  }
};

// a + w (b - a), from the nearer end.
struct Lerp {
  template <class R>
  [[gnu::noinline]] static void run(R* out, const R* const* in, int64_t n) {
    const R *a = in[0], *b = in[1], *w = in[2];
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      R u = w[i], v = w[i + 1], x = b[i] - a[i], y = b[i + 1] - a[i + 1];
      bool first = u * u + v * v < R(0.25);
      u = first ? u : u - 1;
      R re = (first ? a[i] : b[i]) + (u * x - v * y), im = (first ? a[i + 1] : b[i + 1]) + (u * y + v * x);
      out[i] = re, out[i + 1] = im;
    }
  }
};

struct Where {
  template <class R>
  [[gnu::noinline]] static void run(R* out, const R* const* in, int64_t n) {
    const R *c = in[0], *a = in[1], *b = in[2];
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      bool first = (c[i] != 0) | (c[i + 1] != 0);
      R re = first ? a[i] : b[i], im = first ? a[i + 1] : b[i + 1];
      out[i] = re, out[i + 1] = im;
    }
  }
};

// x + a / b value
struct Addcdiv : Quotients {
  template <class R>
  static void run(R* out, const R* const* in, int64_t n) {
    R q[2 * kBlock];
    for (int64_t at = 0; at < n; at += kBlock) {
      int64_t some = n - at < kBlock ? n - at : kBlock;
      block(q, in[1] + 2 * at, in[2] + 2 * at, some);
      add(out + 2 * at, in[0] + 2 * at, q, in[3] + 2 * at, some);
    }
  }
  template <class R>
  [[gnu::noinline]] static void add(R* out, const R* x, const R* q, const R* v, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      R y = x[i] + (q[i] * v[i] - q[i + 1] * v[i + 1]), z = x[i + 1] + (q[i] * v[i + 1] + q[i + 1] * v[i]);
      out[i] = y, out[i + 1] = z;
    }
  }
};

struct Angle {
  template <class R>
  [[gnu::noinline]] static void run(R* out, const R* const* in, int64_t n) {
    const R* a = in[0];
    for (int64_t i = 0; i < n; ++i) out[i] = math::atan2(a[2 * i + 1], a[2 * i]);
  }
};

// The direction: z / |z|, 0 of 0.
struct Sgn {
  [[gnu::noinline]] static void run(float* out, const float* const* in, int64_t n) {
    const float* a = in[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      float re = a[i], im = a[i + 1];
      bool infinite = (math::abs(re) == math::inf<float>) | (math::abs(im) == math::inf<float>);
      float size = infinite ? math::inf<float> : float(__builtin_sqrt(double(re) * re + double(im) * im));
      out[i] = size == 0 ? 0.0f : re / size, out[i + 1] = size == 0 ? 0.0f : im / size;
    }
  }
  static void run(double* out, const double* const* in, int64_t n) {
    const double* a = in[0];
    for (int64_t i = 0; i < 2 * n; i += 2) {
      double re = a[i], im = a[i + 1], size = __builtin_hypot(re, im);
      out[i] = size == 0 ? 0.0 : re / size, out[i + 1] = size == 0 ? 0.0 : im / size;
    }
  }
};

}  // namespace weft::WEFT_ISA::pairs
