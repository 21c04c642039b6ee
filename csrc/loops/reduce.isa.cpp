#include "loops/reduce_lanes.h"

namespace weft::WEFT_ISA {
namespace {

template <class T>
struct HalfSum : Sum<float, float, double> {
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
  static constexpr bool must_pack = !std::is_same_v<typename Op::In, typename Stored<T>::type>;
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

// Real numbers: T as stored, L as the loops see it.
template <class T>
const Reducer* find_real(Reduce op) {
  using L = loop_type<T>;
  constexpr bool integral = std::is_integral_v<L>;
  using FloatSum = std::conditional_t<std::is_same_v<T, L>, Sum<L, L, double>, HalfSum<T>>;
  using SumOp = std::conditional_t<integral, Sum<L, int64_t, int64_t>, FloatSum>;
  using SumLook = std::conditional_t<std::is_same_v<SumOp, HalfSum<T>>, Unchanged, Plain>;
  using Own = std::conditional_t<integral, T, L>;
  using OwnLook = std::conditional_t<integral, Unchanged, Plain>;
  using Total = std::conditional_t<integral, int64_t, T>;
  using ProdOp = Prod<L, std::conditional_t<integral, int64_t, L>>;
  switch (op) {
    case Reduce::sum: return reducer<SumOp, T, Total, AsIs, SumLook>();
    case Reduce::prod: return reducer<ProdOp, T, Total>();
    case Reduce::max: return reducer<Max<Own>, T, T, AsIs, OwnLook>();
    case Reduce::min: return reducer<Min<Own>, T, T, AsIs, OwnLook>();
    default: break;
  }
  if constexpr (sizeof(T) == 1) return find_byte(op);
  switch (op) {
    case Reduce::any: return reducer<Exists<L, true>, T, bool>();
    case Reduce::all: return reducer<Exists<L, false>, T, bool, Not>();
    case Reduce::count_nonzero: return reducer<CountNonZero<L>, T, int64_t>();
    default: break;
  }
  if constexpr (!integral) {
    switch (op) {
      case Reduce::mean: return reducer<SumOp, T, T, Mean, SumLook>();
      case Reduce::nansum: return reducer<NanSum<L>, T, T>();
      case Reduce::l0: return reducer<CountNonZero<L>, T, T>();
      case Reduce::l1: return reducer<Magnitudes<L>, T, T>();
      case Reduce::l2: return reducer<Squares<L>, T, T, Root>();
      case Reduce::lp: return reducer<Powers<L>, T, T, PthRoot>();
      case Reduce::linf: return reducer<MaxMagnitude<L>, T, T>();
      case Reduce::lneginf: return reducer<MinMagnitude<L>, T, T>();
      case Reduce::sum_squares: return reducer<Squares<L>, T, T>();
      default: break;
    }
  }
  return nullptr;
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

template <class R>
struct ComplexSum : Operation {
  using In = Complex<R>;
  using Acc = In;
  using Wide = Complex<double>;
  static constexpr In fill(double) { return {0, 0}; }
  static In map(In x, double) { return x; }
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
  static Wide start() { return {0, 0}; }
  static Wide widen(In a) { return {a.re, a.im}; }
};
template <class R>
struct ComplexProd : Operation {
  using In = Complex<R>;
  using Acc = In;
  using Wide = In;
  static constexpr In fill(double) { return {1, 0}; }
  static In map(In x, double) { return x; }
  template <class V>
  static V join(V a, V b) {
    return a * b;
  }
  static Wide start() { return {1, 0}; }
  static Wide widen(In a) { return a; }
};

// Complex numbers: sums and products of their own, the rest from magnitudes or from what is not zero.
template <class T, class R>
const Reducer* find_complex(Reduce op) {
  switch (op) {
    case Reduce::sum: return reducer<ComplexSum<R>, T, T>();
    case Reduce::mean: return reducer<ComplexSum<R>, T, T, Mean>();
    case Reduce::prod: return reducer<ComplexProd<R>, T, T>();
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
    case DType::UInt8: return find_real<uint8_t>(op);
    case DType::Int8: return find_real<int8_t>(op);
    case DType::Int16: return find_real<int16_t>(op);
    case DType::Int32: return find_real<int32_t>(op);
    case DType::Int64: return find_real<int64_t>(op);
    case DType::Half: return find_real<Half>(op);
    case DType::BFloat16: return find_real<BFloat16>(op);
    case DType::Float: return find_real<float>(op);
    case DType::Double: return find_real<double>(op);
    case DType::ComplexFloat: return find_complex<c64, float>(op);
    case DType::ComplexDouble: return find_complex<c128, double>(op);
  }
  return nullptr;
}

}  // namespace

extern const ReduceKernels reduce_kernels_table;
const ReduceKernels reduce_kernels_table{find};

}  // namespace weft::WEFT_ISA
