#include "core/mersenne.h"

#include <cmath>
#include <cstring>

namespace weft {

namespace {

// PyTorch's layout of a state, with the padding that a C++ compiler for x86-64 gives it.
struct Stored {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next, words[624];
  double normal_x, normal_y, normal_rho;  // only y is used: the normal number that is kept
  int32_t has_normal, padding;
  float float_normal;  // kept by PyTorch's format, never set by a CPU op
  uint8_t has_float_normal, rest[3];
};
static_assert(sizeof(Stored) == MersenneTwister::kStateBytes);

}  // namespace

MersenneTwister::MersenneTwister(uint64_t seed) : seed_(seed) {
  words_[0] = uint32_t(seed);
  for (uint32_t i = 1; i < kWords; ++i) words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
}

void MersenneTwister::next_state() {
  constexpr int shift = 397;
  auto twist = [](uint32_t u, uint32_t v) {
    return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ (v & 1 ? 0x9908b0dfu : 0);
  };
  for (int i = 0; i < kWords; ++i)
    words_[i] = words_[(i + shift) % kWords] ^ twist(words_[i], words_[(i + 1) % kWords]);
  left_ = kWords;
  next_ = 0;
}

uint32_t MersenneTwister::bits32() {
  if (--left_ == 0) next_state();
  uint32_t y = words_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t MersenneTwister::bits64() {
  uint64_t high = bits32();
  return high << 32 | bits32();
}

double MersenneTwister::normal() {
  if (kept_normal_) {
    double x = *kept_normal_;
    kept_normal_.reset();
    return x;
  }
  double angle = 2 * M_PI * unit64(), radius = std::sqrt(-2 * std::log1p(-unit64()));
  kept_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void MersenneTwister::write_state(char* bytes) const {
  Stored s{};
  s.seed = seed_;
  s.left = left_;
  s.seeded = 1;
  s.next = next_;
  for (int i = 0; i < kWords; ++i) s.words[i] = words_[i];
  s.normal_y = kept_normal_.value_or(0);
  s.has_normal = kept_normal_.has_value();
  std::memcpy(bytes, &s, sizeof s);
}

bool MersenneTwister::read_state(const char* bytes) {
  Stored s;
  std::memcpy(&s, bytes, sizeof s);
  // `left` counts down while `next` counts up; before the first call nothing is made yet.
  bool begun = s.left >= 1 && s.left <= kWords && s.next <= kWords && int(s.next) + s.left == kWords + 1;
  if (!begun && !(s.left == 1 && s.next == 0)) return false;
  for (uint64_t w : s.words)
    if (w > UINT32_MAX) return false;
  seed_ = s.seed;
  left_ = s.left;
  next_ = uint32_t(s.next);
  for (int i = 0; i < kWords; ++i) words_[i] = uint32_t(s.words[i]);
  kept_normal_.reset();
  if (s.has_normal) kept_normal_ = s.normal_y;
  return true;
}

}  // namespace weft
