// exp, log and sqrt once more, by hand for avx512: instructions that split, scale and repair floats
// take the place of a third of the steps. The results are the same to the last bit as those of
// math.h.
#pragma once

#include "loops/math.h"

#if defined(__AVX512F__)
#include <immintrin.h>

namespace weft::WEFT_ISA::lanes {

template <class T>
struct Vector;
template <>
struct Vector<float> {
  using V = __m512;
  using Mask = __mmask16;
  static constexpr int count = 16;
  static V load(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(float* p, Mask m, V v) { _mm512_mask_storeu_ps(p, m, v); }
  static V all(float x) { return _mm512_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V within(V x, V low, V high) { return _mm512_maskz_max_ps(0xffff, low, _mm512_maskz_min_ps(0xffff, high, x)); }
  static V times_power_of_two(V x, V n) { return _mm512_maskz_scalef_ps(0xffff, x, n); }
  static V exponent(V x) { return _mm512_maskz_getexp_ps(0xffff, x); }
  static V mantissa(V x) { return _mm512_maskz_getmant_ps(0xffff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src); }
  static Mask at_least(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
  static bool any_outside(V x, float low, float high) {
    return _mm512_mask_cmp_ps_mask(at_least(x, all(low)), x, all(high), _CMP_LE_OQ) != 0xffff;
  }
  static V add_where(Mask m, V a, V b) { return _mm512_mask_add_ps(a, m, a, b); }
  static V times_where(Mask m, V a, V b) { return _mm512_mask_mul_ps(a, m, a, b); }
  static V root(V x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
  static V rough_rsqrt(V x) { return _mm512_maskz_rsqrt14_ps(0xffff, x); }
  static V repair(V y, V x, int table) { return _mm512_fixupimm_ps(y, x, _mm512_set1_epi32(table), 0); }
};
template <>
struct Vector<double> {
  using V = __m512d;
  using Mask = __mmask8;
  static constexpr int count = 8;
  static V load(const double* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(double* p, Mask m, V v) { _mm512_mask_storeu_pd(p, m, v); }
  static V all(double x) { return _mm512_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V within(V x, V low, V high) { return _mm512_maskz_max_pd(0xff, low, _mm512_maskz_min_pd(0xff, high, x)); }
  static V times_power_of_two(V x, V n) { return _mm512_maskz_scalef_pd(0xff, x, n); }
  static V exponent(V x) { return _mm512_maskz_getexp_pd(0xff, x); }
  static V mantissa(V x) { return _mm512_maskz_getmant_pd(0xff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src); }
  static Mask at_least(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
  static bool any_outside(V x, double low, double high) {
    return _mm512_mask_cmp_pd_mask(at_least(x, all(low)), x, all(high), _CMP_LE_OQ) != 0xff;
  }
  static V add_where(Mask m, V a, V b) { return _mm512_mask_add_pd(a, m, a, b); }
  static V times_where(Mask m, V a, V b) { return _mm512_mask_mul_pd(a, m, a, b); }
  static V root(V x) { return _mm512_maskz_sqrt_pd(0xff, x); }
  static V rough_rsqrt(V x) { return _mm512_maskz_rsqrt14_pd(0xff, x); }
  static V repair(V y, V x, int table) { return _mm512_fixupimm_pd(y, x, _mm512_set1_epi64(table), 0); }
};
template <class T>
using V = typename Vector<T>::V;

template <class T, size_t N, size_t K = 0>
WEFT_MATH V<T> horner(V<T> x, const T (&c)[N]) {
  if constexpr (K + 1 == N)
    return Vector<T>::all(c[K]);
  else
    return Vector<T>::fma(horner<T, N, K + 1>(x, c), x, Vector<T>::all(c[K]));
}

struct Exp {
  template <class T>
  static V<T> of(V<T> x) {
    using L = Vector<T>;
    using C = math::ExpLog<T>;
    x = L::within(x, L::all(C::exp_to_zero), L::all(-C::exp_to_zero));
    V<T> shift = L::all(math::round_shift<T>);
    V<T> n = L::fma(x, L::all(math::log2_e<T>), shift) - shift;
    V<T> r = L::fma(n, L::all(-C::ln2_lo), L::fma(n, L::all(-C::ln2_hi), x));
    V<T> z = r * r, p;
    if constexpr (sizeof(T) == 4)
      p = horner<T>(r, C::exp);
    else
      p = even_odd(r, z);
    return L::times_power_of_two(L::fma(p, z, r) + L::all(1), n);
  }
  // the order of steps that math::polynomial has for as many terms
  static V<double> even_odd(V<double> r, V<double> z) {
    constexpr const auto& c = math::ExpLog<double>::exp;
    constexpr double even[] = {c[0], c[2], c[4], c[6], c[8], c[10]}, odd[] = {c[1], c[3], c[5], c[7], c[9]};
    return Vector<double>::fma(horner<double>(z, odd), r, horner<double>(z, even));
  }
};

struct Log {
  // what vfixupimm makes of quiet and signalling NaN (NaN), 0 (-inf), 1 (no change), -inf (NaN),
  // inf (inf), x < 0 (NaN)
  static constexpr int edges = 0x2 | 0x2 << 4 | 0x4 << 8 | 0x3 << 16 | 0x5 << 20 | 0x3 << 24;

  template <class T>
  static V<T> of(V<T> x) {
    using L = Vector<T>;
    using C = math::ExpLog<T>;
    V<T> k = L::exponent(x), m = L::mantissa(x);
    auto high = L::at_least(m, L::all(2 * math::half_root<T>));
    m = L::times_where(high, m, L::all(T(0.5)));
    k = L::add_where(high, k, L::all(1));
    V<T> y = near_one(m - L::all(1));
    y = L::fma(k, L::all(C::ln2_hi), L::fma(k, L::all(C::ln2_lo), y));
    return L::repair(y, x, edges);
  }
  static V<float> near_one(V<float> f) {
    return Vector<float>::fma(horner<float>(f, math::ExpLog<float>::log), f * f, f);
  }
  static V<double> near_one(V<double> f) {
    using L = Vector<double>;
    V<double> s = f / (L::all(2) + f), z = s * s, half = L::all(0.5) * f * f;
    return f - (half - s * L::fma(z, horner<double>(z, math::ExpLog<double>::log), half));
  }
};

// Newton's method, from 14 bits: each step doubles them, and the last one rounds as the instruction
// would. That one, which takes longer, is left for vectors with tiny or infinite numbers, or such
// as have no root.
struct Sqrt {
  template <class T>
  static V<T> of(V<T> x) {
    using L = Vector<T>;
    if (L::any_outside(x, 0x1p-96, 0x1p126)) return L::root(x);
    V<T> r = L::rough_rsqrt(x), s = x * r, h = L::all(T(0.5)) * r;
    if constexpr (sizeof(T) == 8) {
      V<T> e = L::fma(-s, h, L::all(T(0.5)));
      s = L::fma(s, e, s);
      h = L::fma(h, e, h);
    }
    V<T> e = L::fma(-s, h, L::all(T(0.5)));
    s = L::fma(s, e, s);
    h = L::fma(h, e, h);
    return L::fma(L::fma(-s, s, x), h, s);
  }
};

// y[i] = F(x[i]); the last few elements in a vector that is not full.
template <class F, class T>
void map(const T* x, T* y, int64_t n) {
  using L = Vector<T>;
  using Mask = typename L::Mask;
  int64_t i = 0;
  for (; i + L::count <= n; i += L::count) L::store(y + i, Mask(-1), F::template of<T>(L::load(x + i, Mask(-1))));
  Mask rest = Mask((1u << (n - i)) - 1);
  if (rest) L::store(y + i, rest, F::template of<T>(L::load(x + i, rest)));
}

}  // namespace weft::WEFT_ISA::lanes
#endif
