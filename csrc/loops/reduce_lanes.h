// What the kernels of reductions share: partial results, and how elements are brought to contiguous memory.
// Only for *.isa.cpp files.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "loops/convert.h"
#include "loops/reduce.h"
#include "loops/transpose.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {

// Few enough that a float or a byte holds the partial result well.
constexpr int64_t kRowBlock = 4096;
constexpr int64_t kColumnBlock = 128;
constexpr int64_t kAhead = 2048;  // bytes that rows are fetched ahead

const Reducer* find_indexed(Reduce op, DType dtype);  // argmax, argmin
const Reducer* find_moments(Reduce op, DType dtype);  // var, std
const Reducer* find_pairs(Reduce op, DType dtype);    // sum, mean and product of complex numbers

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}
template <class T>
constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

// The type that loops see: floats for half types, 32 bits for the small integers.
template <class T>
struct LoopType : Stored<T> {};
template <>
struct LoopType<uint8_t> {
  using type = int32_t;
};
template <>
struct LoopType<int8_t> {
  using type = int32_t;
};
template <>
struct LoopType<int16_t> {
  using type = int32_t;
};
template <>
struct LoopType<Half> {
  using type = float;
};
template <>
struct LoopType<BFloat16> {
  using type = float;
};
template <class T>
using loop_type = typename LoopType<T>::type;

struct Plain {
  template <class T>
  static loop_type<T> of(const typename Stored<T>::type& x) {
    return loop_type<T>(x);
  }
};
struct Unchanged {
  template <class T>
  static T of(const T& x) {
    return x;
  }
};
struct NonZero {
  template <class T>
  static uint8_t of(const typename Stored<T>::type& x) {
    return is_nonzero(x);
  }
};
struct Magnitude {
  template <class T>
  static auto of(const typename Stored<T>::type& x) {
    return std::hypot(x.re, x.im);
  }
};

// to[i * n + j] = x[i + j * stride]: short rows lie side by side. Whole tiles may write rows past the last one,
// for which `to` has room, but never read past the last element.
template <class T>
void pack_across(T* to, const T* x, int64_t rows, int64_t n, int64_t stride) {
  constexpr int W = tile_side(sizeof(T));
  int64_t end = (n - 1) * stride + rows;
  for (int64_t j = 0; j < n; j += W)
    for (int64_t i = 0; i < rows; i += W) {
      if (j + W <= n && (j + W - 1) * stride + i + W <= end) {
        Tile<T>::transpose(x + j * stride + i, stride, to + i * n + j, n);
      } else {
        for (int64_t k = j; k < std::min(j + W, n); ++k)
          for (int64_t r = i; r < std::min(i + W, rows); ++r) to[r * n + k] = x[k * stride + r];
      }
    }
}

template <class T, int... I>
inline Vec<T> even_lanes(Vec<T> a, Vec<T> b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}
template <class T>
int64_t pack_even(T* to, const T* x, int64_t n) {
  constexpr int L = kLanes<T>;
  int64_t j = 0;
  for (; j + L < n; j += L)
    store(to + j,
          even_lanes<T>(load<Vec<T>>(x + 2 * j), load<Vec<T>>(x + 2 * j + L), std::make_integer_sequence<int, L>{}));
  return j;
}

template <class T, class Look>
void pack(void* to, const void* from, int64_t rows, int64_t row_stride, int64_t n, int64_t stride) {
  using In = typename Stored<T>::type;
  using Out = decltype(Look::template of<T>(std::declval<In>()));
  auto* __restrict y = static_cast<Out*>(to);
  auto* __restrict x = static_cast<const In*>(from);
  if constexpr (std::is_same_v<In, Out> && sizeof(In) == 2 && !is_vectorizable<In>)
    return pack<uint16_t, Unchanged>(to, from, rows, row_stride, n, stride);
  if constexpr (std::is_same_v<In, Out> && is_vectorizable<In>) {
    if (stride != 1 && row_stride == 1) return pack_across(y, x, rows, n, stride);
  }
  for (int64_t i = 0; i < rows; ++i, x += row_stride, y += n) {
    if (stride != 1) {
      int64_t j = 0;
      if constexpr (std::is_same_v<In, Out> && is_vectorizable<In>)
        if (stride == 2) j = pack_even(y, x, n);
      for (; j < n; ++j) y[j] = Look::template of<T>(x[j * stride]);
    } else if constexpr (std::is_same_v<Out, float> && sizeof(In) == 2) {
      widen(x, y, n);
    } else {
      for (int64_t j = 0; j < n; ++j) y[j] = Look::template of<T>(x[j]);
    }
  }
}

// A comparison gives -1 or 0 in lanes as wide as the elements.
template <class T>
using mask_type = std::conditional_t<
    sizeof(T) == 1, int8_t,
    std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;

// An operation says what a lane is (Acc), how elements become lanes (map) and how lanes join; and the wider type
// (Wide) that holds what whole blocks of elements gave. fill is an element that changes nothing. widen_first tells
// that a lane cannot hold the result of a whole block.
struct Operation {
  static constexpr bool widen_first = false;
};

template <class T, class A, class W>
struct Sum : Operation {
  using In = T;
  using Acc = A;
  using Wide = W;
  static constexpr T fill(double) { return T{}; }
  static Vec<A> map(Vec<T, kLanes<A>> x, double) { return convert_lanes<A, T, kLanes<A>>(x); }
  template <class V>
  static V join(V a, V b) {
    return modular::add(a, b);
  }
  static W start() { return W{}; }
  static W widen(A a) { return W(a); }
};

template <class Op>
struct Loops {
  using T = typename Op::In;
  using A = typename Op::Acc;
  using W = typename Op::Wide;
  static constexpr int L = kLanes<A>;
  static constexpr bool is_half = sizeof(T) == 2 && !is_vectorizable<T>;  // the operation sees floats

  static Vec<A> take(const T* x, double p) {
    if constexpr (is_half)
      return Op::map(load_floats(x), p);
    else
      return Op::map(load<Vec<T, L>>(x), p);
  }
  static Vec<A> take_some(const T* x, int64_t n, double p) {
    if constexpr (is_half)
      return Op::map(load_some_floats(x, n, Op::fill(p)), p);
    else
      return Op::map(load_some<T, L>(x, n, Op::fill(p)), p);
  }
  static Vec<A> idle(double p) {
    if constexpr (is_half)
      return Op::map(splat(Op::fill(p)), p);
    else if constexpr (is_vectorizable<T>)
      return Op::map(Op::fill(p) - Vec<T, L>{}, p);
    else
      return Op::map(Op::fill(p), p);
  }

  // At most kRowBlock contiguous elements. Element i always goes to lane i of a pack, so that the order of
  // the joins is the same on every machine.
  static W block(const T* x, int64_t n, double p) {
    constexpr int P = is_vectorizable<A> ? kPackVectors : 4;
    Vec<A> acc[P];
#pragma GCC unroll 16
    for (int k = 0; k < P; ++k) acc[k] = idle(p);
    int64_t i = 0;
    for (; i + P * L <= n; i += P * L) {
      for (int k = 0; k < P * L * int(sizeof(T)); k += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(x + i) + kAhead + k);
#pragma GCC unroll 16
      for (int k = 0; k < P; ++k) acc[k] = Op::join(acc[k], take(x + i + k * L, p));
    }
#pragma GCC unroll 16
    for (int k = 0; k < P; ++k) {
      int64_t left = n - i - k * L;
      if (left >= L)
        acc[k] = Op::join(acc[k], take(x + i + k * L, p));
      else if (left > 0)
        acc[k] = Op::join(acc[k], take_some(x + i + k * L, left, p));
    }
    if constexpr (Op::widen_first) {
      W all = Op::start();
      for (const Vec<A>& v : acc)
        for (int l = 0; l < L; ++l) all = Op::join(all, Op::widen(v[l]));
      return all;
    }
#pragma GCC unroll 4
    for (int half = P / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) acc[k] = Op::join(acc[k], acc[k + half]);
    }
    return Op::widen(join_lanes<A>(acc[0], [](auto a, auto b) { return Op::join(a, b); }));
  }

  static void rows(void* acc, const void* data, int64_t rows, int64_t stride, int64_t n, const Reducer::Where& w) {
    W* wide = static_cast<W*>(acc);
    const T* x = static_cast<const T*>(data);
    for (int64_t i = 0; i < rows; ++i, x += stride)
      for (int64_t k = 0; k < n; k += kRowBlock)
        wide[i] = Op::join(wide[i], block(x + k, std::min(kRowBlock, n - k), w.p));
  }

  // acc[j] joined with n rows; eight of them are first joined among themselves.
  template <bool eight>
  static void add_rows(A* acc, const T* x, int64_t n, int64_t stride, int64_t width, bool first, double p) {
    auto add = [&](int64_t j, auto&& fetch) {
      Vec<A> v[8] = {fetch(x + j)};
      if constexpr (eight) {
#pragma GCC unroll 8
        for (int g = 1; g < 8; ++g) v[g] = fetch(x + g * stride + j);
#pragma GCC unroll 4
        for (int half = 4; half > 0; half /= 2) {
#pragma GCC unroll 4
          for (int g = 0; g < half; ++g) v[g] = Op::join(v[g], v[g + half]);
        }
      } else {
        for (int64_t g = 1; g < n; ++g) v[0] = Op::join(v[0], fetch(x + g * stride + j));
      }
      store(acc + j, first ? v[0] : Op::join(load<Vec<A>>(acc + j), v[0]));
    };
    int64_t j = 0;
    for (; j + L <= width; j += L) add(j, [&](const T* q) { return take(q, p); });
    if (j < width) add(j, [&](const T* q) { return take_some(q, width - j, p); });
  }

  // lanes[j] = column j of at most kColumnBlock rows.
  static void join_rows(A* lanes, const T* x, int64_t n, int64_t stride, int64_t width, double p) {
    int64_t k = 0;
    for (; k + 8 <= n; k += 8) add_rows<true>(lanes, x + k * stride, 8, stride, width, k == 0, p);
    if (k < n) add_rows<false>(lanes, x + k * stride, n - k, stride, width, k == 0, p);
  }

  static void columns(void* acc, const void* data, int64_t n, int64_t stride, int64_t width, const Reducer::Where& w) {
    W* wide = static_cast<W*>(acc);
    const T* x = static_cast<const T*>(data);
    alignas(64) A lanes[kMaxColumns + 64];
    for (int64_t k = 0; k < n; k += kColumnBlock) {
      join_rows(lanes, x + k * stride, std::min(kColumnBlock, n - k), stride, width, w.p);
      for (int64_t j = 0; j < width; ++j) wide[j] = Op::join(wide[j], Op::widen(lanes[j]));
    }
  }

  static void start(void* acc, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<W*>(acc)[i] = Op::start();
  }
  static void merge(void* acc, const void* other, int64_t n) {
    W* a = static_cast<W*>(acc);
    const W* b = static_cast<const W*>(other);
    for (int64_t i = 0; i < n; ++i) a[i] = Op::join(a[i], b[i]);
  }
  template <class Out, class Last>
  static void finish(const void* acc, int64_t n, const Reducer::Result& r) {
    auto* __restrict y = reinterpret_cast<typename Stored<Out>::type*>(r.y);
    const W* w = static_cast<const W*>(acc);
    auto last = [&](W x) { return cast<typename Stored<Out>::type>(Last::of(x, r)); };
    if (r.stride == 1)
      for (int64_t i = 0; i < n; ++i) y[i] = last(w[i]);
    else
      for (int64_t i = 0; i < n; ++i) y[i * r.stride] = last(w[i]);
  }
};

}  // namespace weft::WEFT_ISA
