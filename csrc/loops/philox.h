// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): random bits as a function of a key and a
// counter. Element i of a tensor takes its bits from a counter that follows from i, so threads need
// not agree on anything.
#pragma once

#include <cstdint>

#include "loops/convert.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {

// The product of the low half of a 64-bit number with a constant; simd/simd.h has that of the lanes of a vector.
[[gnu::always_inline]] inline uint64_t low_times(uint64_t a, uint32_t b) { return uint64_t(uint32_t(a)) * b; }

// In: a counter; out: random bits, in the low halves of the words.
template <class Word>
struct Philox {
  Word word[4];

  template <int Rounds = 10>
  [[gnu::always_inline]] void mix(uint32_t key0, uint32_t key1) {
    Word a = low_times(word[0], 0xD2511F53u), b = low_times(word[2], 0xCD9E8D57u);
    word[0] = (b >> 32) ^ word[1] ^ key0, word[1] = b;
    word[2] = (a >> 32) ^ word[3] ^ key1, word[3] = a;
    if constexpr (Rounds > 1) mix<Rounds - 1>(key0 + 0x9E3779B9u, key1 + 0xBB67AE85u);
  }
};

// The bits of 32 consecutive counters, word by word.
struct RandomBlock {
  static constexpr int counters = 32;
  alignas(64) uint32_t word[4][counters];

  [[gnu::noinline]] void generate(uint64_t seed, uint64_t counter) {
    constexpr int lanes = kLanes<uint64_t>;
    Vec<uint64_t> at;
    for (int i = 0; i < lanes; ++i) at[i] = counter + uint64_t(i);
    for (int first = 0; first < counters; first += lanes, at += lanes) {
      Philox<Vec<uint64_t>> p{{at, at >> 32, {}, {}}};
      p.mix(uint32_t(seed), uint32_t(seed >> 32));
      for (int w = 0; w < 4; ++w) store(&word[w][first], __builtin_convertvector(p.word[w], Vec<uint32_t, lanes>));
    }
  }
};

// Bits to numbers in [0, 1), of 24 and 53 bits, and in (0, 1], for logarithms.
[[gnu::always_inline]] inline float unit_interval(uint32_t w) { return float(int32_t(w >> 8)) * 0x1p-24f; }
[[gnu::always_inline]] inline float positive_unit(uint32_t w) { return float(int32_t(w >> 1)) * 0x1p-31f + 0x1p-32f; }
[[gnu::always_inline]] inline double unit_interval(uint32_t a, uint32_t b) {
  return (double(int32_t(a >> 5)) * 0x1p26 + double(int32_t(b >> 6))) * 0x1p-53;
}
[[gnu::always_inline]] inline double positive_unit(uint32_t a, uint32_t b) { return unit_interval(a, b) + 0x1p-54; }

// A sequence of random numbers of its own for element `index`, for distributions that need an
// unknown number of them.
class RandomSequence {
 public:
  RandomSequence(uint64_t seed, uint64_t counter, uint64_t index) : seed_(seed), counter_(counter), index_(index) {}

  double unit() {  // in [0, 1)
    if (left_ == 0) {
      p_ = {{counter_, counter_ >> 32, index_, (index_ >> 32) << 20 | ++drawn_}};
      p_.mix(uint32_t(seed_), uint32_t(seed_ >> 32));
      left_ = 4;
    }
    left_ -= 2;
    return unit_interval(uint32_t(p_.word[left_]), uint32_t(p_.word[left_ + 1]));
  }

 private:
  uint64_t seed_, counter_, index_;
  uint32_t drawn_ = 0;
  int left_ = 0;
  Philox<uint64_t> p_;
};

// floor(bits * span / 2^64): an integer in [0, span) whose odds are even to one part in 2^64 /
// span.
[[gnu::always_inline]] inline uint64_t below(uint32_t a, uint32_t b, uint32_t span) {
  return (uint64_t(a) * span + (uint64_t(b) * span >> 32)) >> 32;
}
[[gnu::always_inline]] inline uint64_t below(uint32_t a, uint32_t b, uint64_t span) {
  using Wide = unsigned __int128;
  return uint64_t((Wide(uint64_t(a) << 32 | b) * span) >> 64);
}

}  // namespace weft::WEFT_ISA
