// Pointwise ops as table rows: the value and the derivatives of one element, written once as generic lambdas.
//
//   r.row({"tanh(Tensor input) -> Tensor", "Hyperbolic tangent.", Rule::floating, kInplace}, types::inexact,
//         [](auto x) { return tanh(x); },
//         d(keep::y0, [](auto g, auto, auto y) { return g * (1 - y * conj(y)); }));
//
// The value lambda becomes a vectorised loop for each element type and instruction set. A derivative lambda, given
// (gradient, inputs…, result), becomes a loop too, and, with tensors for its arguments, a chain of recorded ops: that
// is how second derivatives come free. Files of rows end in .isa.cpp and are compiled once per instruction set.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/dtype.h"
#include "loops/convert.h"
#include "loops/math.h"
#include "loops/math_lanes.h"
#include "loops/modular.h"
#include "loops/pairs.h"
#include "ops/rows_half.h"
#include "simd/isa.h"
#include "simd/simd.h"

#define WEFT_ISA_IS_base 1
#define WEFT_ROWS_JOIN2(a, b) a##b
#define WEFT_ROWS_JOIN(a, b) WEFT_ROWS_JOIN2(a, b)
#if WEFT_ROWS_JOIN(WEFT_ISA_IS_, WEFT_ISA)
#define WEFT_BASE 1
#include "ops/api.h"
#include "ops/pointwise.h"
#else
#define WEFT_BASE 0
#include "ops/traits_only.h"
#endif

namespace weft::WEFT_ISA::rows {

// ---- what lambdas may call, on numbers, complex numbers (std:: has those) and tensors alike

template <class T>
struct is_complex_t : std::false_type {};
template <class R>
struct is_complex_t<std::complex<R>> : std::true_type {};
template <class T>
constexpr bool complex_v = is_complex_t<T>::value;
template <class T>
constexpr bool scalar_v = std::is_arithmetic_v<T> || complex_v<T>;

// clang-format off
#define X(f) using math::f;
X(exp) X(log) X(sqrt) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(tanh) X(asin) X(acos) X(atan) X(pow) X(expm1) X(exp2)
X(log2) X(log10) X(log1p) X(erf) X(floor) X(ceil) X(trunc) X(atan2) X(sigmoid)
#undef X
#if WEFT_BASE
#define X(f) \
  inline Tensor f(const Tensor& x) { return weft::ref::f(x); }
X(exp) X(log) X(sqrt) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(tanh) X(asin) X(acos) X(atan) X(expm1) X(exp2)
X(log2) X(log10) X(log1p) X(erf) X(floor) X(ceil) X(trunc) X(sigmoid) X(abs) X(sign) X(sgn) X(conj) X(isnan)
X(reciprocal)
#undef X
    // clang-format on
    inline Tensor pow(const Tensor& x, const Tensor& y) {
  return weft::ref::pow(x, y);
}
inline Tensor pow(const Tensor& x, double y) { return weft::ref::pow(x, y); }
inline Tensor atan2(const Tensor& x, const Tensor& y) { return weft::ref::atan2(x, y); }
inline Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) { return weft::ref::where(c, a, b); }
inline Tensor where(const Tensor& c, const Tensor& a, double b) { return weft::ref::where(c, a, b); }
inline Tensor where(const Tensor& c, double a, const Tensor& b) { return weft::ref::where(c, a, b); }
inline double lit(const Tensor&, double c) { return c; }
#endif
template <class T>
  requires scalar_v<T>
constexpr T conj(T x) {
  if constexpr (complex_v<T>)
    return T(x.real(), -x.imag());
  else
    return x;
}
template <class T>
  requires std::is_arithmetic_v<T>
constexpr bool isnan(T x) {
  return x != x;
}
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T abs(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 4 ? T(__builtin_fabsf(float(x))) : T(__builtin_fabs(double(x)));
  else
    return x < T(0) ? modular::neg(x) : x;
}
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T sign(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return T((x > 0) - (x < 0));
  else
    return T((x > T(0)) - (x < T(0)));
}
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T sgn(T x) {
  return sign(x);
}
template <class R>
std::complex<R> sgn(std::complex<R> x) {
  R m = __builtin_hypot(x.real(), x.imag());
  return m == 0 ? std::complex<R>(0) : std::complex<R>(x.real() / m, x.imag() / m);
}
template <class R>
std::complex<R> exp2(std::complex<R> x) {
  return std::exp(x * std::log(R(2)));
}
template <class T>
  requires scalar_v<T>
constexpr T reciprocal(T x) {
  return T(1) / x;
}
template <class A, class B>
  requires(scalar_v<A> && scalar_v<B>)
constexpr auto where(bool c, A a, B b) {
  using T = std::conditional_t<complex_v<A> || (std::is_floating_point_v<A> && !complex_v<B>), A, B>;
  return c ? T(a) : T(b);
}
// A constant in the type of x: a plain 0.5 would turn float arithmetic into double.
template <class T>
  requires scalar_v<T>
constexpr T lit(T, double c) {
  return T(c);
}

// ---- loops

template <class T, class Result>
using result_t = std::conditional_t<std::is_same_v<Result, bool>, bool,
                                    std::conditional_t<complex_v<T> && std::is_floating_point_v<Result>, Result, T>>;

// A lambda of functions that hold for most arguments only (loops/math_trig.h): where there are far ones, they are
// computed in long double.
template <class F, class FarTest>
struct Careful : F {
  using Far = FarTest;
};
template <class FarTest, class F>
constexpr Careful<F, FarTest> careful(FarTest, F) {
  return {};
}
struct FarAngle {
  template <class... T>
  bool operator()(T... x) const {
    return (math::far_angle(x) | ...);
  }
};
struct FarQuotient {
  template <class T>
  bool operator()(T a, T b) const {
    return math::far_quotient(a, b);
  }
};

// A lambda whose loop is written by hand for some instruction sets (loops/math_lanes.h).
template <class F, class Hand>
struct ByHand : F {
  using Lanes = Hand;
};
#if WEFT_SIMD_MASKED_VECTORS
template <class Hand, class F>
constexpr ByHand<F, Hand> by_hand(F) {
  return {};
}
#define WEFT_BY_HAND(name, lambda) by_hand<lanes::name>(lambda)
#else
#define WEFT_BY_HAND(name, lambda) lambda
#endif

// A lambda whose loops over complex numbers are those of loops/pairs.h, for every instruction set. Other complex loops
// are built for the base set only: they call functions of the standard library.
template <class F, class Loops>
struct OnPairs : F {
  using Pairs = Loops;
};
template <class Loops, class F>
constexpr OnPairs<F, Loops> on_pairs(F) {
  return {};
}

// A lambda that is much faster where the operand of that number is one of a few values for all elements: each of them
// has a loop in which it is a constant. WEFT_INLINE on the lambda makes sure that the constant reaches its inside.
#define WEFT_INLINE __attribute__((always_inline))
template <class F, int operand>
struct ByValue : F {
  static constexpr int kOperand = operand;
  static constexpr auto kHalves = std::integer_sequence<int, -6, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 8>();
};
template <int operand, class F>
constexpr ByValue<F, operand> by_value(F) {
  return {};
}

// A lambda with a loop of its own for some element types: Loop::run(out, n, in...).
template <class F, class Loop>
struct ByLoop : F {
  using Own = Loop;
};
template <class Loop, class F>
constexpr ByLoop<F, Loop> by_loop(F) {
  return {};
}

// A function in two parts, of which Test chooses: blocks of elements of one kind are computed by that part alone,
// others by both. What `careful` finds far is given to Away.
template <class Test, class Near, class Away>
struct Parts {
  template <class... T>
  WEFT_MATH auto operator()(T... x) const {
    if constexpr ((std::is_same_v<T, long double> || ...)) {
      return Away{}(x...);
    } else {
      auto near = Near{}(x...), away = Away{}(x...);
      return Test{}(x...) ? near : away;
    }
  }
  struct Own {
    template <class T, class... More>
    static void run(T* out, int64_t n, const T* in, const More*... more) {
      constexpr int64_t kBlock = 64;
      for (int64_t i = 0; i < n; i += kBlock) {
        int64_t m = n - i < kBlock ? n - i : kBlock;
        int32_t near = 0;
        for (int64_t k = i; k < i + m; ++k) near += Test{}(in[k], more[k]...);
        (near == m ? each<Near, T, More...>
         : near    ? each<Parts, T, More...>
                   : each<Away, T, More...>)(out + i, m, in + i, (more + i)...);
      }
    }
    template <class F, class T, class... More>
    [[gnu::noinline]] static void each(T* out, int64_t n, const T* in, const More*... more) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = T(F{}(in[i], more[i]...));
    }
  };
};
template <class Test, class Near, class Away>
constexpr Parts<Test, Near, Away> parts(Test, Near, Away) {
  return {};
}

// A lambda of two operands that is nothing but an operator, so that reading and writing is all that takes time.
template <class F>
struct Light : F {
  using IsLight = void;
};
template <class F>
constexpr Light<F> light(F) {
  return {};
}
// Its loop; with Same = 0 or 1, that operand is one element for all n. A line of the cache at a time, in two vectors
// (caches serve these faster than one twice as wide), and the line that is written soon is called for.
template <class F, class T, int Same>
void light_kernel(char* const* p, int64_t n) {
  typedef T V __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  constexpr int64_t lanes = 32 / sizeof(T), soon = 1024 / sizeof(T);
  T* out = reinterpret_cast<T*>(p[0]);
  const T *a = reinterpret_cast<const T*>(p[1]), *b = reinterpret_cast<const T*>(p[2]);
  const T a0 = *a, b0 = *b;
  auto at = [](const T* x) { return *reinterpret_cast<const V*>(x); };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    __builtin_prefetch(out + i + soon);
#pragma GCC unroll 2
    for (int64_t k = i; k < i + 2 * lanes; k += lanes)
      *reinterpret_cast<V*>(out + k) = F{}(Same == 0 ? a0 - V{} : at(a + k), Same == 1 ? b0 - V{} : at(b + k));
  }
  for (; i < n; ++i) out[i] = T(F{}(Same == 0 ? a0 : a[i], Same == 1 ? b0 : b[i]));
}

// A lambda that does the same to both parts of a complex number: its loop over them is that over real ones.
template <class F>
struct ByPart : F {
  using IsByPart = void;
};
template <class F>
constexpr ByPart<F> by_part(F) {
  return {};
}

// A lambda of a few instructions. Its loop for half types (ops/rows_half.h) does not leave the registers.
template <class F>
struct Cheap : F {
  using IsCheap = void;
};
template <class F>
constexpr Cheap<F> cheap(F) {
  return {};
}
// A lambda that only changes the sign: G does the same to the bits of a half type, which need not be widened for it.
template <class F, class G>
struct OnBits : F {
  using Bits = G;
};
template <class F, class G>
constexpr OnBits<F, G> on_bits(F, G) {
  return {};
}

// A lambda that gives one of its operands, of which those after the first are mostly numbers: then they are read once.
template <class F>
struct Bounded : F {
  using IsBounded = void;
};
template <class F>
constexpr Bounded<F> bounded(F) {
  return {};
}
template <class F, class T, size_t... I>
void bounded_map(char* const* p, int64_t n, std::index_sequence<I...>) {
  T* out = reinterpret_cast<T*>(p[0]);
  const T *x = reinterpret_cast<const T*>(p[1]), bounds[] = {*reinterpret_cast<const T*>(p[2 + I])...};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = F{}(x[i], bounds[I]...);
}
template <class F, class T, int N>
void bounded_kernel(char* const* p, int64_t n) {
  bounded_map<F, T>(p, n, std::make_index_sequence<N - 1>());
}

// The loop for one value. A function of its own: inlined behind a chain of comparisons, the compiler takes the loops
// for unlikely ones and does not vectorise them.
template <class F, class T, int half, class R, size_t... I>
[[gnu::noinline]] bool map_value(R* out, const T* const* p, int64_t n, std::index_sequence<I...>) {
  constexpr T value = T(half) / 2;
  const T* in[] = {p[I]...};  // pointers that a store to `out` cannot change
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = R(F{}((I == F::kOperand ? value : in[I][i])...));
  return true;
}
template <class F, class T, class R, int... halves, size_t... I>
bool map_by_value(R* out, const T* const* in, int64_t n, std::integer_sequence<int, halves...>,
                  std::index_sequence<I...> all) {
  const T* values = in[F::kOperand];
  const auto first = math::bits(*values);
  auto differs = first ^ first;
  for (int64_t i = 0; i < n; ++i) differs |= math::bits(values[i]) ^ first;
  return !differs && ((*values == T(halves) / 2 && map_value<F, T, halves>(out, in, n, all)) || ...);
}

// out[i] = f(in1[i], in2[i], …) over n contiguous elements of type T.
template <class F, class T, size_t... I>
void map(char* const* p, int64_t n, std::index_sequence<I...>) {
  using R = result_t<T, decltype(F{}(((void)I, T())...))>;
  if constexpr (requires { typename F::Pairs; } && complex_v<T>) {
    using Part = typename T::value_type;
    const Part* parts[] = {reinterpret_cast<const Part*>(p[1 + I])...};
    return F::Pairs::run(reinterpret_cast<Part*>(p[0]), parts, n);
  }
  R* out = reinterpret_cast<R*>(p[0]);
  const T* in[] = {reinterpret_cast<const T*>(p[1 + I])...};
  if constexpr (requires { typename F::Far; } && std::is_floating_point_v<T>) {
    uint32_t any = 0;
    for (int64_t i = 0; i < n; ++i) any |= typename F::Far{}(in[I][i]...);
    if (any) {
      for (int64_t i = 0; i < n; ++i)
        out[i] = typename F::Far{}(in[I][i]...) ? R(F{}(static_cast<long double>(in[I][i])...)) : R(F{}(in[I][i]...));
      return;
    }
  }
  if constexpr (requires { F::kOperand; } && std::is_floating_point_v<T>)
    if (n > 0 && map_by_value<F, T>(out, in, n, F::kHalves, std::index_sequence<I...>())) return;
  if constexpr (requires { F::Own::run(out, n, in[I]...); }) return F::Own::run(out, n, in[I]...);
#if WEFT_SIMD_MASKED_VECTORS
  if constexpr (lanes::kWritten<F, T>)  // by hand
    return lanes::map<typename F::Lanes>(in[0], out, n);
#endif
  if constexpr (std::is_same_v<T, bool> && std::is_same_v<R, bool>) {  // as bytes: loops over bool are not vectorised
    const uint8_t* bytes[] = {reinterpret_cast<const uint8_t*>(p[1 + I])...};
    uint8_t* to = reinterpret_cast<uint8_t*>(p[0]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = uint8_t(F{}((bytes[I][i] != 0)...) ? 1 : 0);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = R(F{}(in[I][i]...));
}
template <class F, class T, int N>
void kernel(char* const* p, int64_t n) {
  map<F, T>(p, n, std::make_index_sequence<N>());
}
template <class F, class C, int N>
void part_kernel(char* const* p, int64_t n) {
  using T = typename C::value_type;
  if constexpr (requires { typename F::IsLight; })
    light_kernel<F, T, -1>(p, 2 * n);
  else
    kernel<F, T, N>(p, 2 * n);
}

// The same where the operand of number Same is one element for all n, and the order of both does not matter.
template <class F, class C, int Same>
void pair_by_one_kernel(char* const* p, int64_t n) {
  using T = typename C::value_type;
  F::Pairs::by_one(reinterpret_cast<T*>(p[0]), reinterpret_cast<const T*>(p[2 - Same]),
                   reinterpret_cast<const T*>(p[1 + Same]), n);
}

// ---- element types a row is built for

namespace types {
template <class... T>
struct List {};
inline constexpr List<float, double> floating;
inline constexpr List<float, double, c64, c128> inexact;
inline constexpr List<uint8_t, int8_t, int16_t, int32_t, int64_t, float, double> number;
inline constexpr List<uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, c64, c128> arithmetic;
inline constexpr List<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double> real;
inline constexpr List<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, c64, c128> all;
inline constexpr List<bool, uint8_t, int8_t, int16_t, int32_t, int64_t> bits;
inline constexpr List<uint8_t, int8_t, int16_t, int32_t, int64_t> integers;
}  // namespace types

struct NoDerivative {};
template <class F>
struct Derivative {
  uint32_t keeps;
};
// The derivative of sums: the gradient itself. The walk back passes it on; only graphs have a loop for it.
struct Passed {
  template <class G, class... T>
  G operator()(const G& g, const T&...) const {
    return g;
  }
};
// A derivative lambda and what it reads beside the gradient.
template <class F>
constexpr Derivative<F> d(uint32_t keeps, F) {
  return {keeps};
}

class Rows {
 public:
  explicit Rows(PointwiseKernels* at) : at_(at) {}

  template <class L, class F, class... D>
  void unary(const RowSpec& spec, L types, F f, D... derivatives) {
    row<1>(spec, types, f, derivatives...);
  }
  template <class L, class F, class... D>
  void binary(const RowSpec& spec, L types, F f, D... derivatives) {
    row<2>(spec, types, f, derivatives...);
  }
  template <class L, class F, class... D>
  void ternary(const RowSpec& spec, L types, F f, D... derivatives) {
    row<3>(spec, types, f, derivatives...);
  }
  template <class L, class F, class... D>
  void quaternary(const RowSpec& spec, L types, F f, D... derivatives) {
    row<4>(spec, types, f, derivatives...);
  }

 private:
  template <int N, class... T, class F, class... D>
  void row(const RowSpec& spec, types::List<T...>, F, D... derivatives) {
    PointwiseKernels& k = *at_++;
    (add_forward<F, T, N>(k), ...);
    int which = 0;
    (add_back<D, N>(k, which++), ...);
#if WEFT_BASE
    register_row<F, N>(spec, &k, derivatives...);
#else
    (void)spec;
    ((void)derivatives, ...);
#endif
    (void)which;
  }
  template <class F, class T, int N>
  static void add_forward(PointwiseKernels& k) {
    constexpr bool is_light = requires { typename F::IsLight; } && std::is_floating_point_v<T>;
    constexpr bool is_by_part = requires { typename F::IsByPart; } && complex_v<T>;
    constexpr bool is_bounded = requires { typename F::IsBounded; };
    constexpr bool built = WEFT_BASE || !complex_v<T> || requires { typename F::Pairs; };
    if constexpr (!is_light && built && !is_by_part) k.forward[int(dtype_of<T>)] = &kernel<F, T, N>;
    if constexpr (is_by_part) k.forward[int(dtype_of<T>)] = &part_kernel<F, T, N>;
    if constexpr (complex_v<T> && requires(double* p) { F::Pairs::by_one(p, p, p, N); }) {
      k.single[0][int(dtype_of<T>)] = &pair_by_one_kernel<F, T, 0>;
      k.single[1][int(dtype_of<T>)] = &pair_by_one_kernel<F, T, 1>;
    }
    if constexpr (is_light) {
      k.forward[int(dtype_of<T>)] = &light_kernel<F, T, -1>;
      k.single[0][int(dtype_of<T>)] = &light_kernel<F, T, 0>;
      k.single[1][int(dtype_of<T>)] = &light_kernel<F, T, 1>;
    }
    if constexpr ((is_light || is_bounded || requires { typename F::IsCheap; }) && std::is_same_v<T, float>) {
      k.forward[int(DType::Half)] = &half_kernel<F, Half, N>;
      k.forward[int(DType::BFloat16)] = &half_kernel<F, BFloat16, N>;
    }
    if constexpr (is_light && std::is_same_v<T, float>) {
      k.single[0][int(DType::Half)] = &light_half_kernel<F, Half, 0>;
      k.single[1][int(DType::Half)] = &light_half_kernel<F, Half, 1>;
      k.single[0][int(DType::BFloat16)] = &light_half_kernel<F, BFloat16, 0>;
      k.single[1][int(DType::BFloat16)] = &light_half_kernel<F, BFloat16, 1>;
    }
    if constexpr (requires { typename F::Bits; } && std::is_same_v<T, float>)
      k.forward[int(DType::Half)] = k.forward[int(DType::BFloat16)] = &kernel<typename F::Bits, uint16_t, N>;
    if constexpr (is_bounded && !complex_v<T>) k.single[1][int(dtype_of<T>)] = &bounded_kernel<F, T, N>;
    if constexpr (is_bounded && std::is_same_v<T, float>) {
      k.single[1][int(DType::Half)] = &bounded_half_kernel<F, Half, N>;
      k.single[1][int(DType::BFloat16)] = &bounded_half_kernel<F, BFloat16, N>;
      k.rounds_numbers = true;
    }
    if constexpr (WEFT_BASE && complex_v<T>)
      if (gives_real<F, T>(std::make_index_sequence<N>())) k.real_result = true;
  }
  template <class F, class T, size_t... I>
  static constexpr bool gives_real(std::index_sequence<I...>) {
    return std::is_floating_point_v<decltype(F{}(((void)I, T())...))>;
  }
  template <class D, int N>
  static void add_back(PointwiseKernels& k, int which) {
    add_back_of<N>(k, which, static_cast<D*>(nullptr));
  }
  template <int N, class F>
  static void add_back_of(PointwiseKernels& k, int which, Derivative<F>*) {
    k.back[which][int(DType::Float)] = &kernel<F, float, N + 2>;
    k.back[which][int(DType::Double)] = &kernel<F, double, N + 2>;
  }
  template <int N>
  static void add_back_of(PointwiseKernels&, int, NoDerivative*) {}

#if WEFT_BASE
  template <class F, size_t... I>
  static Tensor on_tensors(const Tensor* t) {
    return F{}(t[I]...);
  }
  template <int N, class F>
  static void set_derivative(Row& row, int i, Derivative<F> d) {
    row.keeps[i] = d.keeps;
    row.passes[i] = std::is_same_v<F, Passed>;
    row.derivative[i] = []<size_t... I>(std::index_sequence<I...>) {
      return &on_tensors<F, I...>;
    }(std::make_index_sequence<N + 2>());
  }
  template <int N>
  static void set_derivative(Row&, int, NoDerivative) {}
  template <class F, int N, class... D>
  static void register_row(const RowSpec& spec, PointwiseKernels* k, D... derivatives) {
    Row* row = new Row{k, N, spec.rule};  // lives as long as the process
    int i = 0;
    (set_derivative<N>(*row, i++, derivatives), ...);
    register_pointwise(spec, row);
  }
#endif
  PointwiseKernels* at_;
};

}  // namespace weft::WEFT_ISA::rows

// Opens a file of rows: WEFT_ROWS(arithmetic) { r.binary(…); … }, listed once in ops/pointwise.cpp.
#define WEFT_ROWS(file)                           \
  namespace weft::WEFT_ISA {                      \
  static PointwiseKernels file##_table[kMaxRows]; \
  namespace rows {                                \
  static void file##_rows(Rows& r);               \
  }                                               \
  const PointwiseKernels* file##_kernels() {      \
    rows::Rows r(file##_table);                   \
    rows::file##_rows(r);                         \
    return file##_table;                          \
  }                                               \
  }                                               \
  static void weft::WEFT_ISA::rows::file##_rows(Rows& r)
