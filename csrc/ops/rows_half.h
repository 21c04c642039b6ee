// Loops of pointwise rows over half types: widened, computed in float and rounded without leaving the registers. Only
// for *.isa.cpp files.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "loops/convert.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA::rows {

// As many half numbers as two vectors of floats hold. Those of bfloat16 are the halves of 32 bits, so that even and odd
// ones are taken apart: one instruction each.
struct Two {
  Vec<float> a, b;
};
template <class H>
inline Two load_two(const H* p) {
  if constexpr (std::is_same_v<H, BFloat16>) {
    auto both = load<Vec<uint32_t>>(p);
    return {std::bit_cast<Vec<float>>(both << 16), std::bit_cast<Vec<float>>(both & 0xffff0000u)};
  } else {
    return {load_floats(p), load_floats(p + kLanes<float>)};
  }
}
template <class H>
inline void store_two(H* p, Two v) {
  if constexpr (std::is_same_v<H, BFloat16>) {
    auto rounded = [](Vec<float> x) {
      auto u = std::bit_cast<Vec<uint32_t>>(x);
      return x == x ? u + 0x7fffu + ((u >> 16) & 1u) : 0x7fc00000u - Vec<uint32_t>{};
    };
    store(p, (rounded(v.a) >> 16) | (rounded(v.b) & 0xffff0000u));
  } else {
    store_halves(p, kLanes<float>, v.a);
    store_halves(p + kLanes<float>, kLanes<float>, v.b);
  }
}

// Through arrays, since loops over them become instructions for vectors again, those over the lanes of a vector do not.
template <class F, size_t... I, class... V>
inline Vec<float> on_floats(std::index_sequence<I...>, V... v) {
  if constexpr (requires { typename F::IsLight; }) {
    return Vec<float>(F{}(v...));
  } else {
    alignas(64) float x[sizeof...(I)][kLanes<float>], y[kLanes<float>];
    (store(x[I], v), ...);
    for (int j = 0; j < kLanes<float>; ++j) y[j] = float(F{}(x[I][j]...));
    return load<Vec<float>>(y);
  }
}
template <class F, class H, size_t... I>
void map_halves(char* const* p, int64_t n, std::index_sequence<I...> all) {
  constexpr int64_t lanes = kLanes<float>;
  H* out = reinterpret_cast<H*>(p[0]);
  const H* in[] = {reinterpret_cast<const H*>(p[1 + I])...};
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const Two x[] = {load_two(in[I] + i)...};
    store_two(out + i, {on_floats<F>(all, x[I].a...), on_floats<F>(all, x[I].b...)});
  }
  for (; i < n; ++i) out[i] = H(float(F{}(float(in[I][i])...)));
}
template <class F, class H, int N>
void half_kernel(char* const* p, int64_t n) {
  map_halves<F, H>(p, n, std::make_index_sequence<N>());
}
// The same of a light lambda, one of whose operands is one element for all n.
template <class F, class H, int Same>
void light_half_kernel(char* const* p, int64_t n) {
  constexpr int64_t lanes = kLanes<float>;
  H* out = reinterpret_cast<H*>(p[0]);
  const H* in[] = {reinterpret_cast<const H*>(p[1]), reinterpret_cast<const H*>(p[2])};
  const float one = float(*in[Same]);
  auto of = [&](Vec<float> x) { return Vec<float>(Same == 0 ? F{}(splat(one), x) : F{}(x, splat(one))); };
  const H* x = in[1 - Same];
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    Two v = load_two(x + i);
    store_two(out + i, {of(v.a), of(v.b)});
  }
  for (; i < n; ++i) out[i] = H(float(Same == 0 ? F{}(one, float(x[i])) : F{}(float(x[i]), one)));
}

// The same of a lambda that gives one of its operands, of which those after the first are one element each for all n.
// It does not matter whether they are rounded before or after.
template <class F, class H, size_t... I>
void bounded_halves(char* const* p, int64_t n, std::index_sequence<I...>) {
  constexpr int64_t lanes = kLanes<float>;
  H* out = reinterpret_cast<H*>(p[0]);
  const H* x = reinterpret_cast<const H*>(p[1]);
  const float bounds[] = {float(*reinterpret_cast<const H*>(p[2 + I]))...};
  auto of = [&](Vec<float> v) {
    alignas(64) float y[lanes];
    store(y, v);
    for (int64_t j = 0; j < lanes; ++j) y[j] = float(F{}(y[j], bounds[I]...));
    return load<Vec<float>>(y);
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    Two v = load_two(x + i);
    store_two(out + i, {of(v.a), of(v.b)});
  }
  for (; i < n; ++i) out[i] = H(float(F{}(float(x[i]), bounds[I]...)));
}
template <class F, class H, int N>
void bounded_half_kernel(char* const* p, int64_t n) {
  bounded_halves<F, H>(p, n, std::make_index_sequence<N - 1>());
}

}  // namespace weft::WEFT_ISA::rows
