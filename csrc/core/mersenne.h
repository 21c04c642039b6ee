// The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), with the state that PyTorch's CPU generator keeps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace weft {

class MersenneTwister {
 public:
  // What `torch.get_rng_state()` gives: a fixed layout of this many bytes.
  static constexpr int64_t kStateBytes = 5056;

  explicit MersenneTwister(uint64_t seed);

  uint64_t seed() const { return seed_; }
  uint32_t bits32();
  uint64_t bits64();

  // Uniform in [0, 1), with as many random bits as a float or a double has digits.
  float unit32() { return float(bits32() & 0xffffff) * 0x1p-24f; }
  double unit64() { return double(bits64() & 0x1fffffffffffff) * 0x1p-53; }
  // Standard normal, by Box and Muller: two at a time, and the second is kept for the next call.
  double normal();

  void write_state(char* bytes) const;
  bool read_state(const char* bytes);  // false where they are no state

 private:
  void next_state();

  static constexpr int kWords = 624;
  uint64_t seed_;
  std::array<uint32_t, kWords> words_;
  int left_ = 1;  // calls until the words are regenerated, plus one
  uint32_t next_ = 0;
  std::optional<double> kept_normal_;
};

}  // namespace weft
