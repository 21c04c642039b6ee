// Arithmetic of whole elements, which wraps: what does not fit loses its high bits, as PyTorch's integers do.
//
// Kernels say so with these functions. Plain + - * on signed numbers is for counts and places, where leaving the range
// is a fault that the sanitizer build reports. On floats, complex numbers and tensors they are the operators.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft::modular {

template <class T>
constexpr bool is_whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
constexpr bool is_vector = !std::is_class_v<T> && !std::is_pointer_v<T> && requires(T x) { x[0]; };
template <class T>
constexpr bool wraps() {
  if constexpr (is_vector<T>)
    return is_whole<std::remove_cvref_t<decltype(T()[0])>>;
  else
    return is_whole<T>;
}

// The unsigned type in which two T are added: of a vector, one of as many lanes; else what T is promoted to.
template <class T, bool = is_vector<T>>
struct Unsigned {
  using type = std::make_unsigned_t<decltype(T() + T())>;
};
template <class T>
struct Unsigned<T, true> {
  typedef std::make_unsigned_t<std::remove_cvref_t<decltype(T()[0])>> type __attribute__((vector_size(sizeof(T))));
};
template <class T>
using Bits = typename Unsigned<T>::type;

template <class A, class B>
[[gnu::always_inline]] constexpr auto add(A a, B b) {
  if constexpr (wraps<A>() && std::is_same_v<A, B>)
    return A(Bits<A>(a) + Bits<A>(b));
  else
    return a + b;
}
template <class A, class B>
[[gnu::always_inline]] constexpr auto sub(A a, B b) {
  if constexpr (wraps<A>() && std::is_same_v<A, B>)
    return A(Bits<A>(a) - Bits<A>(b));
  else
    return a - b;
}
template <class A, class B>
[[gnu::always_inline]] constexpr auto mul(A a, B b) {
  if constexpr (wraps<A>() && std::is_same_v<A, B>)
    return A(Bits<A>(a) * Bits<A>(b));
  else
    return a * b;
}
template <class A>
[[gnu::always_inline]] constexpr auto neg(A a) {
  if constexpr (wraps<A>())
    return A(Bits<A>{} - Bits<A>(a));
  else
    return -a;
}

// The whole number that a float has in front of its point. Out of the range of its target, a float turns into what the
// x86 instruction gives, on every machine: the smallest int32 or int64; the narrower integers are the low bits of that
// int32.
template <class Int, class Float>
[[gnu::always_inline]] constexpr Int truncate(Float x) {
  if constexpr (sizeof(Int) < 4) {
    return Int(truncate<int32_t>(x));
  } else {
    constexpr Float low = Float(std::numeric_limits<Int>::min());
    return x >= low && x < -low ? Int(x) : std::numeric_limits<Int>::min();
  }
}

}  // namespace weft::modular
