// Elements as unsigned integers in the same order. Only for *.isa.cpp files.
#pragma once

#include <algorithm>

#include "loops/convert.h"
#include "loops/sort.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {

template <int bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t, std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// NaN becomes the largest key; -0.0 and 0.0 become one key.
template <class T>
struct Ordered {
  using Bits = UnsignedOf<sizeof(T)>;
  static constexpr bool is_float = std::is_floating_point_v<T> || is_half(dtype_of<T>);
  static constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(T) - 1));
  static constexpr Bits zero = sign, nan = Bits(~Bits(0));

  static Bits key(T x) {
    if constexpr (is_float) {
      Bits infinite = std::bit_cast<Bits>(T(__builtin_inff()));
      Bits b = std::bit_cast<Bits>(x), magnitude = Bits(b & Bits(~sign));
      Bits ordered = Bits(b & sign ? Bits(~b) : Bits(b | sign));
      return magnitude > infinite ? nan : magnitude == 0 ? zero : ordered;
    } else if constexpr (std::is_signed_v<T>) {
      return Bits(Bits(x) ^ sign);
    } else {
      return x;
    }
  }
  // Undoes key, except for the sign of a zero and the bits of a NaN.
  static T element(Bits key) {
    if constexpr (is_float)
      return std::bit_cast<T>(Bits(key & sign ? key ^ sign : Bits(~key)));
    else if constexpr (std::is_signed_v<T>)
      return T(key ^ sign);
    else
      return key;
  }
  static bool lost_bits(Bits key) { return is_float && (key == zero || key == nan); }
};

// A key and where it came from, ordered by both: so any way of sorting keeps equal elements in order.
struct Packed {
  uint64_t bits;
  Packed() = default;
  Packed(uint64_t key, int64_t index) : bits(key << 32 | uint64_t(index)) {}
  uint64_t key() const { return bits >> 32; }
  int64_t index() const { return int64_t(bits & 0xffffffff); }
  bool operator<(const Packed& o) const { return bits < o.bits; }
};
struct Pair {
  uint64_t bits;
  int64_t at;
  Pair() = default;
  Pair(uint64_t key, int64_t index) : bits(key), at(index) {}
  uint64_t key() const { return bits; }
  int64_t index() const { return at; }
  bool operator<(const Pair& o) const { return bits < o.bits || (bits == o.bits && at < o.at); }
};

// f(element type, item type) for a real dtype and a line of n.
template <class F>
void visit_sortable(DType dtype, int64_t n, const F& f) {
  auto with = [&](auto zero) {
    using T = decltype(zero);
    if constexpr (sizeof(T) < 8) {
      if (n < int64_t(1) << 32) return f(zero, Packed());
    }
    f(zero, Pair());
  };
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return with(uint8_t{});
    case DType::Int8: return with(int8_t{});
    case DType::Int16: return with(int16_t{});
    case DType::Int32: return with(int32_t{});
    case DType::Int64: return with(int64_t{});
    case DType::Half: return with(Half{});
    case DType::BFloat16: return with(BFloat16{});
    case DType::Float: return with(float{});
    case DType::Double: return with(double{});
    default: return;
  }
}

}  // namespace weft::WEFT_ISA
