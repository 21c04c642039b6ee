// Arithmetic of whole elements, which wraps: what does not fit loses its high bits, as PyTorch's integers do.
//
// Kernels say so with these functions. Plain + - * on signed numbers is for counts and places, where leaving the range
// is a fault that the sanitizer build reports. On floats, complex numbers, vectors and tensors they are the operators.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft::modular {

template <class T>
constexpr bool is_whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// What two whole numbers give: one of their type, or of the type that the operators promote them to.
template <class A, class B>
using Result = std::conditional_t<std::is_same_v<A, B>, A, decltype(A() + B())>;

// The unsigned type in which that is computed.
template <class A, class B = A>
using Bits = std::make_unsigned_t<decltype(A() + B())>;

template <class A, class B>
[[gnu::always_inline]] constexpr auto add(A a, B b) {
  if constexpr (is_whole<A> && is_whole<B>)
    return Result<A, B>(Bits<A, B>(a) + Bits<A, B>(b));
  else
    return a + b;
}
template <class A, class B>
[[gnu::always_inline]] constexpr auto sub(A a, B b) {
  if constexpr (is_whole<A> && is_whole<B>)
    return Result<A, B>(Bits<A, B>(a) - Bits<A, B>(b));
  else
    return a - b;
}
template <class A, class B>
[[gnu::always_inline]] constexpr auto mul(A a, B b) {
  if constexpr (is_whole<A> && is_whole<B>)
    return Result<A, B>(Bits<A, B>(a) * Bits<A, B>(b));
  else
    return a * b;
}
template <class A>
[[gnu::always_inline]] constexpr auto neg(A a) {
  if constexpr (is_whole<A>)
    return A(Bits<A>(0) - Bits<A>(a));
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
