// The element types of weft, their sizes, names and promotion rules.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Half,
  BFloat16,
  Float,
  Double,
  ComplexFloat,
  ComplexDouble
};
constexpr int kDTypes = 12;

// IEEE binary16, kept as bits: weft computes in float and rounds to the nearest even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  [[gnu::always_inline]] explicit Half(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 16) & 0x8000u;
    u &= 0x7fffffffu;
    if (u >= 0x47800000u) {  // too large, infinite or NaN
      bits = uint16_t(sign | (u > 0x7f800000u ? 0x7e00u : 0x7c00u));
    } else if (u < 0x38800000u) {  // subnormal: the float adder rounds for us
      float shifted = std::bit_cast<float>(u) + 0.5f;
      bits = uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    } else {
      uint32_t odd = (u >> 13) & 1u;
      bits = uint16_t(sign | ((u + 0xc8000fffu + odd) >> 13));
    }
  }
  [[gnu::always_inline]] operator float() const {
    uint32_t u = uint32_t(bits & 0x7fffu) << 13, sign = uint32_t(bits & 0x8000u) << 16;
    if (u >= (0x7c00u << 13))
      u += 0x38000000u * 2;          // infinite or NaN
    else if (u < (0x0400u << 13)) {  // zero or subnormal
      float f = std::bit_cast<float>(u + 0x38800000u) - std::bit_cast<float>(0x38800000u);
      return std::bit_cast<float>(std::bit_cast<uint32_t>(f) | sign);
    } else
      u += 0x38000000u;
    return std::bit_cast<float>(u | sign);
  }
};

// The upper half of a float, rounded to the nearest even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    bits = uint16_t((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

using c64 = std::complex<float>;
using c128 = std::complex<double>;

template <class T>
struct DTypeOf;
// clang-format off
#define WEFT_DTYPES(X) \
  X(bool, Bool) X(uint8_t, UInt8) X(int8_t, Int8) X(int16_t, Int16) X(int32_t, Int32) X(int64_t, Int64) \
  X(Half, Half) X(BFloat16, BFloat16) X(float, Float) X(double, Double) X(c64, ComplexFloat) X(c128, ComplexDouble)
// clang-format on
#define X(T, N)                              \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::N; \
  };
WEFT_DTYPES(X)
#undef X
template <class T>
constexpr DType dtype_of = DTypeOf<T>::value;

constexpr int64_t item_size(DType t) {
  constexpr uint8_t sizes[kDTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return sizes[int(t)];
}
constexpr bool is_complex(DType t) { return t >= DType::ComplexFloat; }
constexpr bool is_floating(DType t) { return t >= DType::Half && t <= DType::Double; }
constexpr bool is_inexact(DType t) { return t >= DType::Half; }  // floating or complex
constexpr bool is_integral(DType t) { return t < DType::Half; }  // bool included
constexpr bool is_half(DType t) { return t == DType::Half || t == DType::BFloat16; }

constexpr DType real_of(DType t) {
  return t == DType::ComplexFloat ? DType::Float : t == DType::ComplexDouble ? DType::Double : t;
}
constexpr DType complex_of(DType t) {
  return t == DType::Double || t == DType::ComplexDouble ? DType::ComplexDouble : DType::ComplexFloat;
}
// The type the loops compute in: half types in float, everything else in itself.
constexpr DType compute_of(DType t) { return is_half(t) ? DType::Float : t; }

const char* name_of(DType t);         // "float32"
DType promote(DType a, DType b);      // the smallest type that holds both, as PyTorch decides
bool can_cast(DType from, DType to);  // whether a result of `from` may be written into `to`

// Calls f with a value of the C++ type of t: visit(t, [&](auto zero) { using T = decltype(zero); ... }).
template <class F>
decltype(auto) visit(DType t, F&& f) {
  switch (t) {
#define X(T, N) \
  case DType::N: return f(T{});
    WEFT_DTYPES(X)
#undef X
  }
  __builtin_unreachable();
}

}  // namespace weft
