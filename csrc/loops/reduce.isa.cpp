#include "loops/reduce_lanes.h"

namespace weft::WEFT_ISA {
namespace {

// An operation on floats that reads a half type.
template <class T, class Op>
struct Widened : Op {
  using In = T;
};

template <class T>
struct NanSum : Sum<T, T, double> {
  static Vec<T> map(Vec<T> x, double) { return x == x ? x : Vec<T>{}; }
};

template <class T>
struct Squares : Sum<T, T, double> {
  static Vec<T> map(Vec<T> x, double) { return x * x; }
};

template <class T>
inline Vec<T> magnitude(Vec<T> x) {
  using Bits = Vec<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  return std::bit_cast<Vec<T>>((std::bit_cast<Bits>(x) << 1) >> 1);
}

template <class T>
struct Magnitudes : Sum<T, T, double> {
  static Vec<T> map(Vec<T> x, double) { return magnitude<T>(x); }
};

template <class T>
struct Powers : Sum<T, T, double> {
  static T fill(double p) { return p > 0 ? T(0) : highest<T>(); }
  [[gnu::noinline]] static Vec<T> map(Vec<T> x, double p) {
    Vec<T> y = magnitude<T>(x);
    for (int i = 0; i < kLanes<T>; ++i) y[i] = std::pow(y[i], T(p));
    return y;
  }
};

template <class T, class A>
struct Prod : Operation {
  using In = T;
  using Acc = A;
  using Wide = A;
  static constexpr T fill(double) { return T(1); }
  static Vec<A> map(Vec<T, kLanes<A>> x, double) { return convert_lanes<A, T, kLanes<A>>(x); }
  template <class V>
  static V join(V a, V b) {
    return modular::mul(a, b);
  }
  static A start() { return A(1); }
  static A widen(A a) { return a; }
};

template <class T>
struct Max : Operation {
  using In = T;
  using Acc = T;
  using Wide = T;
  static constexpr T fill(double) { return lowest<T>(); }
  static Vec<T> map(Vec<T> x, double) { return x; }
  template <class V>
  static V join(V a, V b) {
    if constexpr (std::is_floating_point_v<T>)
      return (a > b) | (a != a) ? a : b;
    else
      return a > b ? a : b;
  }
  static T start() { return fill(0); }
  static T widen(T a) { return a; }
};

template <class T>
struct Min : Max<T> {
  static constexpr T fill(double) { return highest<T>(); }
  template <class V>
  static V join(V a, V b) {
    if constexpr (std::is_floating_point_v<T>)
      return (a < b) | (a != a) ? a : b;
    else
      return a < b ? a : b;
  }
  static T start() { return fill(0); }
};

// Extremes of a half type by its bits, which are in the order of the numbers once those of negative ones are turned
// over. NaN goes before all of them.
template <class T, bool largest>
struct ByBits : Operation {
  using In = int16_t;
  using Acc = int16_t;
  using Wide = int16_t;
  static constexpr int16_t kInf = std::is_same_v<T, Half> ? 0x7c00 : 0x7f80;
  static constexpr int16_t turned(int16_t x) { return int16_t(x ^ ((x >> 15) & 0x7fff)); }
  static constexpr int16_t fill(double) { return largest ? int16_t(kInf - 0x8000) : kInf; }
  static Vec<int16_t> map(Vec<int16_t> x, double) {
    const int16_t nan = largest ? 0x7fff : -0x8000;
    return (x & int16_t(0x7fff)) > kInf ? splat(nan) : x ^ ((x >> 15) & int16_t(0x7fff));
  }
  template <class V>
  static V join(V a, V b) {
    return (largest ? a > b : a < b) ? a : b;
  }
  static int16_t start() { return turned(fill(0)); }
  static int16_t widen(int16_t a) { return a; }
};
template <class T>
struct FromBits {
  static float of(int16_t w, const Reducer::Result&) {
    return float(std::bit_cast<T>(uint16_t(ByBits<T, true>::turned(w))));
  }
};

template <class T>
struct MaxMagnitude : Max<T> {
  static constexpr T fill(double) { return T(0); }
  static Vec<T> map(Vec<T> x, double) { return magnitude<T>(x); }
  static T start() { return T(0); }
};

template <class T>
struct MinMagnitude : Min<T> {
  static Vec<T> map(Vec<T> x, double) { return magnitude<T>(x); }
};

template <class T>
struct CountNonZero : Operation {
  using In = T;
  using Acc = mask_type<T>;
  using Wide = int64_t;
  static constexpr bool widen_first = sizeof(T) == 1;
  static constexpr T fill(double) { return T(0); }
  static Vec<Acc> map(Vec<T> x, double) { return x != Vec<T>{}; }
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
  static int64_t start() { return 0; }
  static int64_t widen(Acc a) { return -int64_t(a); }
};

template <class T, bool wanted>  // whether some element is non-zero, or is zero
struct Exists : CountNonZero<T> {
  using Acc = mask_type<T>;
  using Wide = uint8_t;
  static constexpr bool widen_first = false;
  static constexpr T fill(double) { return T(!wanted); }
  static Vec<Acc> map(Vec<T> x, double) {
    if constexpr (wanted)
      return x != Vec<T>{};
    else
      return x == Vec<T>{};
  }
  template <class V>
  static V join(V a, V b) {
    return a | b;
  }
  static uint8_t start() { return 0; }
  static uint8_t widen(Acc a) { return a != 0; }
};

// What is done to a result last.
struct AsIs {
  template <class W>
  static W of(W w, const Reducer::Result&) {
    return w;
  }
};
struct Not {
  template <class W>
  static bool of(W w, const Reducer::Result&) {
    return !w;
  }
};
struct Mean {
  template <class W>
  static W of(W w, const Reducer::Result& r) {
    return w / double(r.count);
  }
};
struct Root {
  template <class W>
  static W of(W w, const Reducer::Result&) {
    return std::sqrt(w);
  }
};
struct PthRoot {
  template <class W>
  static W of(W w, const Reducer::Result& r) {
    return std::pow(w, 1 / r.p);
  }
};

template <class Op, class T, class Out, class Last = AsIs, class Look = Plain>
const Reducer* reducer() {
  using L = Loops<Op>;
  constexpr bool by_bits = std::is_same_v<Last, FromBits<T>>;
  static constexpr bool must_pack = !by_bits && !std::is_same_v<typename Op::In, typename Stored<T>::type>;
  static constexpr Reducer r{sizeof(typename Op::Wide),
                             sizeof(typename Op::In),
                             sizeof(typename Stored<Out>::type),
                             0,
                             false,
                             L::start,
                             L::rows,
                             L::columns,
                             L::merge,
                             L::template finish<Out, Last>,
                             pack<T, Look>,
                             must_pack};
  return &r;
}

// Bytes of which only matters whether they are zero.
const Reducer* find_byte(Reduce op) {
  switch (op) {
    case Reduce::any: return reducer<Exists<uint8_t, true>, bool, bool>();
    case Reduce::all: return reducer<Exists<uint8_t, false>, bool, bool, Not>();
    case Reduce::count_nonzero: return reducer<CountNonZero<uint8_t>, bool, int64_t>();
    default: return nullptr;
  }
}

// Floating numbers: T as stored, L as the loops see it.
template <class T, class Op, class Out = T, class Last = AsIs>
const Reducer* floating() {
  using Read = std::conditional_t<std::is_same_v<T, loop_type<T>>, Op, Widened<T, Op>>;
  return reducer<Read, T, Out, Last, Unchanged>();
}
template <class T, class Op, bool largest>
const Reducer* extreme() {
  if constexpr (sizeof(T) == 2)
    return reducer<ByBits<T, largest>, T, T, FromBits<T>, Unchanged>();
  else
    return floating<T, Op>();
}
template <class T>
const Reducer* find_float(Reduce op) {
  using L = loop_type<T>;
  using Total = Sum<L, L, double>;
  switch (op) {
    case Reduce::sum: return floating<T, Total>();
    case Reduce::mean: return floating<T, Total, T, Mean>();
    case Reduce::nansum: return floating<T, NanSum<L>>();
    case Reduce::prod: return floating<T, Prod<L, L>>();
    case Reduce::max: return extreme<T, Max<L>, true>();
    case Reduce::min: return extreme<T, Min<L>, false>();
    case Reduce::any: return floating<T, Exists<L, true>, bool>();
    case Reduce::all: return floating<T, Exists<L, false>, bool, Not>();
    case Reduce::count_nonzero: return floating<T, CountNonZero<L>, int64_t>();
    case Reduce::l0: return floating<T, CountNonZero<L>>();
    case Reduce::l1: return floating<T, Magnitudes<L>>();
    case Reduce::l2: return floating<T, Squares<L>, T, Root>();
    case Reduce::lp: return floating<T, Powers<L>, T, PthRoot>();
    case Reduce::linf: return floating<T, MaxMagnitude<L>>();
    case Reduce::lneginf: return floating<T, MinMagnitude<L>>();
    case Reduce::sum_squares: return floating<T, Squares<L>>();
    default: return nullptr;
  }
}

// Integers: T as stored, L as the loops see it.
template <class T>
const Reducer* find_whole(Reduce op) {
  using L = loop_type<T>;
  switch (op) {
    case Reduce::sum: return reducer<Sum<L, int64_t, int64_t>, T, int64_t>();
    case Reduce::prod: return reducer<Prod<L, int64_t>, T, int64_t>();
    case Reduce::max: return reducer<Max<T>, T, T, AsIs, Unchanged>();
    case Reduce::min: return reducer<Min<T>, T, T, AsIs, Unchanged>();
    default: break;
  }
  if constexpr (sizeof(T) == 1) return find_byte(op);
  switch (op) {
    case Reduce::any: return reducer<Exists<L, true>, T, bool>();
    case Reduce::all: return reducer<Exists<L, false>, T, bool, Not>();
    case Reduce::count_nonzero: return reducer<CountNonZero<L>, T, int64_t>();
    default: return nullptr;
  }
}

const Reducer* find_bool(Reduce op) {
  switch (op) {
    case Reduce::sum: return find_byte(Reduce::count_nonzero);
    case Reduce::prod: return reducer<Exists<uint8_t, false>, bool, int64_t, Not>();
    case Reduce::max: return find_byte(Reduce::any);
    case Reduce::min: return find_byte(Reduce::all);
    default: return find_byte(op);
  }
}

// Complex numbers: sums and products of their own, the rest from magnitudes or from what is not zero.
template <class T, class R>
const Reducer* find_complex(Reduce op) {
  switch (op) {
    case Reduce::sum:
    case Reduce::mean:
    case Reduce::prod: return find_pairs(op, dtype_of<T>);
    case Reduce::any: return reducer<Exists<uint8_t, true>, T, bool, AsIs, NonZero>();
    case Reduce::all: return reducer<Exists<uint8_t, false>, T, bool, Not, NonZero>();
    case Reduce::count_nonzero: return reducer<CountNonZero<uint8_t>, T, int64_t, AsIs, NonZero>();
    case Reduce::l0: return reducer<CountNonZero<uint8_t>, T, R, AsIs, NonZero>();
    case Reduce::l1: return reducer<Magnitudes<R>, T, R, AsIs, Magnitude>();
    case Reduce::l2: return reducer<Squares<R>, T, R, Root, Magnitude>();
    case Reduce::lp: return reducer<Powers<R>, T, R, PthRoot, Magnitude>();
    case Reduce::linf: return reducer<MaxMagnitude<R>, T, R, AsIs, Magnitude>();
    case Reduce::lneginf: return reducer<MinMagnitude<R>, T, R, AsIs, Magnitude>();
    case Reduce::sum_squares: return reducer<Squares<R>, T, R, AsIs, Magnitude>();
    default: return nullptr;
  }
}

const Reducer* find(Reduce op, DType dtype) {
  if (op == Reduce::argmax || op == Reduce::argmin) return find_indexed(op, dtype);
  if (op == Reduce::var || op == Reduce::std) return find_moments(op, dtype);
  switch (dtype) {
    case DType::Bool: return find_bool(op);
    case DType::UInt8: return find_whole<uint8_t>(op);
    case DType::Int8: return find_whole<int8_t>(op);
    case DType::Int16: return find_whole<int16_t>(op);
    case DType::Int32: return find_whole<int32_t>(op);
    case DType::Int64: return find_whole<int64_t>(op);
    case DType::Half: return find_float<Half>(op);
    case DType::BFloat16: return find_float<BFloat16>(op);
    case DType::Float: return find_float<float>(op);
    case DType::Double: return find_float<double>(op);
    case DType::ComplexFloat: return find_complex<c64, float>(op);
    case DType::ComplexDouble: return find_complex<c128, double>(op);
  }
  return nullptr;
}

}  // namespace

extern const ReduceKernels reduce_kernels_table;
const ReduceKernels reduce_kernels_table{find};

}  // namespace weft::WEFT_ISA
