// Vectors as wide as the machine's, and what kernels do with them. Only for *.isa.cpp files.
//
// The header of the set (simd/base.h, avx2.h, avx512.h) defines what its instructions do best, the same names in each:
//
//   multiply_add, within_bounds, any_lane, low_times       arithmetic
//   load_some, store_some, load_first, store_first, …      the first lanes of a vector
//   widen_halves, narrow_to_halves, widen_most, …          half types
//   add_pairs, widen_bytes, WidenedBytes, FastBytes, …     products of bytes
//
// and says with a macro what only some sets have: WEFT_SIMD_HALF_VECTORS (vectors half as wide), WEFT_SIMD_PACKS (lanes
// that a mask keeps, side by side), WEFT_SIMD_GATHERS, WEFT_SIMD_MASKED_VECTORS (maths on as many lanes as a mask
// names) and WEFT_SIMD_BFLOAT_PAIRS. What follows here is made of these for every set.
#pragma once

#include <utility>

#define WEFT_QUOTED(x) #x
#define WEFT_HEADER(x) WEFT_QUOTED(x)
// clang-format off
#include WEFT_HEADER(simd/WEFT_ISA.h)
// clang-format on

namespace weft::WEFT_ISA {

// Loops keep this many bytes of partial results in registers whatever the machine, so that sums are made in the same
// order on all of them.
constexpr int kPackBytes = 256;
constexpr int kPackVectors = kPackBytes / kVectorBytes;

template <int first, class V, int... I>
inline auto lanes_from(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (first + I)...);
}

// Joins all lanes into one, halving again and again.
template <class T, int lanes = kLanes<T>, class V, class F>
inline T join_lanes(V v, const F& join) {
  if constexpr (!is_vectorizable<T>) {
    return v;
  } else if constexpr (lanes == 2) {
    return join(T(v[0]), T(v[1]));
  } else {
    constexpr auto half = std::make_integer_sequence<int, lanes / 2>{};
    return join_lanes<T, lanes / 2>(join(lanes_from<0>(v, half), lanes_from<lanes / 2>(v, half)), join);
  }
}

// Half types as a vector of floats; of fewer than all, the others are fill.
template <class T>
inline Vec<float> floats_of(HalfBits bits) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return std::bit_cast<Vec<float>>(__builtin_convertvector(bits, Vec<uint32_t>) << 16);
  else
    return widen_halves(bits);
}
template <class T>
inline Vec<float> load_floats(const T* p) {
  return floats_of<T>(load<HalfBits>(p));
}
template <class T>
inline Vec<float> load_some_floats(const T* p, int64_t n, float fill) {
  Vec<int32_t> lane;
  for (int i = 0; i < kLanes<float>; ++i) lane[i] = i;
  return lane < int32_t(n) ? floats_of<T>(load_first_halves(p, n)) : splat(fill);
}

// Floats rounded to a half type.
template <class T>
inline HalfBits halves_of(Vec<float> v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    auto u = std::bit_cast<Vec<uint32_t>>(v);
    auto rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return __builtin_convertvector(v == v ? rounded : 0x7fc0u - Vec<uint32_t>{}, HalfBits);
  } else {
    return narrow_to_halves(v);
  }
}
template <class T>
inline void store_halves(T* p, int64_t n, Vec<float> v) {
  auto bits = halves_of<T>(v);
  n >= kLanes<float> ? store(p, bits) : store_first_halves(p, bits, n);
}

// Widens or narrows each lane, in steps that the compiler has an instruction for.
template <class To, class From, int lanes, class V>
inline Vec<To, lanes> convert_lanes(V v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (std::is_integral_v<From> && sizeof(To) > 2 * sizeof(From)) {
    using Wider = std::conditional_t<sizeof(From) == 1, int16_t, int32_t>;
    return convert_lanes<To, Wider, lanes>(__builtin_convertvector(v, Vec<Wider, lanes>));
  } else {
    return __builtin_convertvector(v, Vec<To, lanes>);
  }
}

// The same as functions of a class, for kernels that are written once for several kinds of vectors.
template <class T>
struct Simd {
  static constexpr int W = kLanes<T>;
  using Vec = weft::WEFT_ISA::Vec<T>;
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));

  static Vec splat(T x) { return x - Vec{}; }
  static Vec load(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  static void store(T* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }

  static Vec fma(Vec a, Vec b, Vec c) { return multiply_add(a, b, c); }

  // The first `count` lanes only; the others read as zero and are not written.
  static Vec load(const T* p, int64_t count) { return load_first(p, count); }
  static void store(T* p, Vec v, int64_t count) { store_first(p, v, count); }

  // What is beyond the bounds becomes them; NaN stays.
  static Vec within(Vec v, T low, T high) { return within_bounds(v, low, high); }
  template <class Bounds>
  static Vec within(Vec v, const Bounds& b) {
    return b ? within(v, T(b.low), T(b.high)) : v;
  }

  static T sum(Vec v) { return fold<W>(v, std::make_index_sequence<W / 2>()); }

  // The sums of four vectors, each by the same tree as sum().
  static void sum4(const Vec* v, T* sums) {
    if constexpr (W < 4) {
      for (int i = 0; i < 4; ++i) sums[i] = sum(v[i]);
    } else {
      constexpr auto all = std::make_index_sequence<W>();
      Vec quarters = add_halves<2>(add_halves<1>(v[0], v[1], all), add_halves<1>(v[2], v[3], all), all);
      fold4<W>(quarters, sums, std::make_index_sequence<W / 2>());
    }
  }

 private:
  // The lower half of each vector plus its upper half, the two results interleaved in groups of G.
  template <int G, size_t... I>
  static Vec add_halves(Vec a, Vec b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (I / G % 2 * W + I / G / 2 * G + I % G)...) +
           __builtin_shufflevector(a, b, (I / G % 2 * W + I / G / 2 * G + I % G + W / 2)...);
  }
  template <int N, class V, size_t... I>
  static void fold4(V v, T* sums, std::index_sequence<I...>) {
    if constexpr (N == 4) {
      std::memcpy(sums, &v, sizeof v);
    } else {
      auto half = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + N / 2)...);
      fold4<N / 2>(half, sums, std::make_index_sequence<N / 4>());
    }
  }
  // The upper half is added to the lower one until one lane is left: the same tree on every call.
  template <int N, class V, size_t... I>
  static T fold(V v, std::index_sequence<I...>) {
    if constexpr (N == 2) {
      return v[0] + v[1];
    } else {
      auto half = __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + N / 2)...);
      return fold<N / 2>(half, std::make_index_sequence<N / 4>());
    }
  }
};

}  // namespace weft::WEFT_ISA
