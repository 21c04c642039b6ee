// Where random numbers come from: a seed, and a counter that says how many were taken. What a seed
// gives does not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  struct State {
    uint64_t seed, counter;
    bool operator==(const State&) const = default;
  };

  explicit Generator(uint64_t seed = kDefaultSeed) : seed_(seed) {}
  Generator(const Generator& o) : seed_(o.seed_), counter_(o.counter_.load()) {}

  uint64_t seed() const { return seed_; }
  void restart(uint64_t seed) { set_state({seed, 0}); }
  State state() const { return {seed_, counter_.load()}; }
  void set_state(State s) {
    seed_ = s.seed;
    counter_ = s.counter;
  }
  // Sets counters apart for n elements, enough for every distribution, and returns the first.
  // Kernels run without the interpreter lock, so this may be called from several threads at once.
  uint64_t take(int64_t n) { return counter_.fetch_add((uint64_t(n) + 63) / 64 * 32); }

 private:
  uint64_t seed_;
  std::atomic<uint64_t> counter_{0};
};

Generator& default_generator();
uint64_t random_seed();  // from the operating system

}  // namespace weft
