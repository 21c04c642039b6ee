// exp, log, sqrt, tanh and sigmoid written by hand for avx512: instructions that split, scale and
// repair floats, look up tables and guess reciprocals take the place of a third of the steps. The
// results of all but exp are the same to the last bit as those of math.h.
#pragma once

#include "loops/math.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#include <concepts>

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
  static V negative(V x) { return _mm512_or_ps(x, all(-0.0f)); }
  static Mask not_below(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
  static V times_power_of_two_where(Mask m, V x, V n) { return _mm512_maskz_scalef_ps(m, x, n); }  // else zero
  static V where_negative(V x, V yes, V no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, all(0), _CMP_LT_OQ), no, yes);
  }
  static V root(V x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
  static V rough_rsqrt(V x) { return _mm512_maskz_rsqrt14_ps(0xffff, x); }
  static V power_of_two(V n) {  // its low bits are the exponent
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, _mm512_castps_si512(n), math::Layout<float>::mantissa));
  }
  static V abs(V x) { return _mm512_abs_ps(x); }
  static V least(V a, V b) { return _mm512_maskz_min_ps(0xffff, a, b); }  // NaN if b is
  static V copysign(V x, V y) {                                           // the bits of y where x has its sign
    constexpr int choose = 0xe4;
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(x), _mm512_castps_si512(y),
                                                         _mm512_set1_epi32(0x7fffffff), choose));
  }
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

// x = n ln2 + r: e^x = 2^n e^r, with n an integer for float, and sixteenths for double, whose powers
// of two are in a table; there the polynomial can be short, since r is. The largest errors found are
// 0.92 ulp (all floats) and 0.79 ulp (random doubles).
struct Exp {
  template <class T>
  static V<T> of(V<T> x) {
    return value(x);
  }
  static V<float> value(V<float> x) {
    using L = Vector<float>;
    using C = math::ExpLog<float>;
    x = L::within(x, L::all(C::exp_to_zero), L::all(-C::exp_to_zero));
    V<float> shift = L::all(math::round_shift<float>);
    V<float> n = L::fma(x, L::all(math::log2_e<float>), shift) - shift;
    V<float> r = L::fma(n, L::all(-C::ln2_lo), L::fma(n, L::all(-C::ln2_hi), x));
    V<float> one = L::all(1), p = L::fma(horner<float>(r, C::exp), r, one);
    return L::times_power_of_two(L::fma(p, r, one), n);
  }

  // 2^(j/16): the nearest double, and what is missing
  alignas(64) static constexpr double power[] = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
  alignas(64) static constexpr double power_rest[] = {
    0x0.0000000000000p+0,   0x1.8a62e4adc610bp-54,  -0x1.19041b9d78a76p-55, 0x1.9b07eb6c70573p-54,
    0x1.6f46ad23182e4p-55,  0x1.ada0911f09ebcp-55,  0x1.d4397afec42e2p-56,  0x1.6324c054647adp-54,
    -0x1.bdd3413b26456p-54, -0x1.41577ee04992fp-55, 0x1.6e9f156864b27p-54,  0x1.c7c46b071f2bep-56,
    0x1.7a1cd345dcc81p-54,  0x1.11065895048ddp-55,  0x1.2ed02d75b3707p-55,  -0x1.e9c23179c2893p-54};
  // (e^r - 1 - r) / r^2 on |r| <= ln2 / 32
  static constexpr double poly[] = {0.5000000000000006, 0.16666666664417853, 0.041666666659657174, 0.008333471923677293,
                                    0.0013889128979475498};
  static V<double> look_up(const double (&table)[16], V<double> place) {
    return _mm512_permutex2var_pd(_mm512_load_pd(table), _mm512_castpd_si512(place), _mm512_load_pd(table + 8));
  }

  static V<double> value(V<double> x) {
    using L = Vector<double>;
    using C = math::ExpLog<double>;
    x = L::within(x, L::all(C::exp_to_zero), L::all(-C::exp_to_zero));
    V<double> shift = L::all(math::round_shift<double> / 16);
    V<double> place = L::fma(x, L::all(math::log2_e<double>), shift), n = place - shift;
    V<double> r = L::fma(n, L::all(-C::ln2_lo), L::fma(n, L::all(-C::ln2_hi), x));
    V<double> p = L::fma(horner<double>(r, poly), r * r, r), t = look_up(power, place);
    return L::times_power_of_two(L::fma(p, t, look_up(power_rest, place)) + t, n);  // by 2^floor(n)
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
  template <class T>
  static V<T> by_divider(V<T> x) {
    return Vector<T>::root(x);
  }
};

// As in math.h, but with half of 2 |x| and half of e^(2 |x|) - 1, which spares two doublings, and
// where e^(2 |x|) would grow too large, |x| is less.
struct Tanh {
  template <std::same_as<float> T>
  static V<T> of(V<T> x) {
    using L = Vector<T>;
    using C = math::ExpLog<T>;
    constexpr T c[] = {2 * C::exp[0], 4 * C::exp[1], 8 * C::exp[2], 16 * C::exp[3], 32 * C::exp[4]};
    V<T> a = L::least(L::all(20), L::abs(x)), shift = L::all(math::round_shift<T> + math::Layout<T>::bias);
    V<T> shifted = L::fma(a, L::all(2 * math::log2_e<T>), shift), n = shifted - shift;
    V<T> r = L::fma(n, L::all(C::ln2_lo / -2), L::fma(n, L::all(C::ln2_hi / -2), a));
    V<T> p = L::fma(horner<T>(r, c), r * r, r), power = L::power_of_two(shifted), half = L::all(T(0.5));
    V<T> t = L::fma(power, p, L::fma(power, half, -half));
    return L::copysign(t / (t + L::all(1)), x);
  }
};

// As in math.h, but the power of two is applied in one step.
struct Sigmoid {
  template <std::same_as<float> T>
  static V<T> of(V<T> x) {
    using L = Vector<T>;
    using C = math::ExpLog<T>;
    V<T> a = L::negative(x), shift = L::all(math::round_shift<T>);
    V<T> n = L::fma(a, L::all(math::log2_e<T>), shift) - shift;
    V<T> r = L::fma(n, L::all(-C::ln2_lo), L::fma(n, L::all(-C::ln2_hi), a));
    V<T> p = L::fma(horner<T>(r, C::exp), r * r, r), one = L::all(1);
    V<T> e = L::times_power_of_two_where(L::not_below(a, L::all(C::exp_to_zero)), p + one, n);
    return L::where_negative(x, e, one) / (one + e);
  }
};
struct Silu {
  template <std::same_as<float> T>
  static V<T> of(V<T> x) {
    return x * Sigmoid::of<T>(x);
  }
};

// y[i] = F(x[i]); the last few elements in a vector that is not full. The divider works beside the
// rest of the machine: where it can give the same result, it gets every third vector.
template <class F, class T>
void map(const T* x, T* y, int64_t n) {
  using L = Vector<T>;
  using Mask = typename L::Mask;
  constexpr Mask full = Mask(-1);
  constexpr int64_t soon = 1024 / sizeof(T);  // when the line called for is written
  int64_t i = 0;
  if constexpr (requires(V<T> v) { F::template by_divider<T>(v); }) {
    for (; i + 3 * L::count <= n; i += 3 * L::count) {
      const T *b = x + i + L::count, *c = b + L::count;
      V<T> last = F::template by_divider<T>(L::load(c, full));
      L::store(y + i, full, F::template of<T>(L::load(x + i, full)));
      L::store(y + i + L::count, full, F::template of<T>(L::load(b, full)));
      L::store(y + i + 2 * L::count, full, last);
    }
  }
  for (; i + L::count <= n; i += L::count) {
    __builtin_prefetch(y + i + soon);
    L::store(y + i, full, F::template of<T>(L::load(x + i, full)));
  }
  Mask rest = Mask((1u << (n - i)) - 1);
  if (rest) L::store(y + i, rest, F::template of<T>(L::load(x + i, rest)));
}

}  // namespace weft::WEFT_ISA::lanes
#endif
