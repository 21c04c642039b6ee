// exp, log, sqrt, tanh and sigmoid written by hand for sets with masked vectors (avx512): instructions that split,
// scale and repair floats, look up tables and guess reciprocals take the place of a third of the steps. The results of
// all but exp are the same to the last bit as those of math.h.
#pragma once

#include "loops/math.h"
#include "simd/simd.h"

#if WEFT_SIMD_MASKED_VECTORS
#include <concepts>

namespace weft::WEFT_ISA::lanes {

template <class T>
using Vector = MaskedVector<T>;
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

  static V<double> value(V<double> x) {
    using L = Vector<double>;
    using C = math::ExpLog<double>;
    x = L::within(x, L::all(C::exp_to_zero), L::all(-C::exp_to_zero));
    V<double> shift = L::all(math::round_shift<double> / 16);
    V<double> place = L::fma(x, L::all(math::log2_e<double>), shift), n = place - shift;
    V<double> r = L::fma(n, L::all(-C::ln2_lo), L::fma(n, L::all(-C::ln2_hi), x));
    V<double> p = L::fma(horner<double>(r, numbers::exp_short), r * r, r),
              t = L::look_up(numbers::power_of_sixteenth, place);
    return L::times_power_of_two(L::fma(p, t, L::look_up(numbers::power_of_sixteenth_rest, place)) + t,
                                 n);  // by 2^floor(n)
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

// Whether F, a row's function, says which loop by hand computes it, and that one exists for elements of type T.
template <class F, class T>
constexpr bool kWritten = false;
template <class F, std::floating_point T>
  requires requires(V<T> x) { F::Lanes::template of<T>(x); }
constexpr bool kWritten<F, T> = true;

}  // namespace weft::WEFT_ISA::lanes
#endif
