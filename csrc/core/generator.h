// Where random numbers come from: a seed, and a counter that says how many were taken. What a seed
// gives does not depend on the number of threads. A generator may follow PyTorch's stream instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/fork.h"
#include "core/mersenne.h"

namespace weft {

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  struct State {
    uint64_t seed, counter;
    bool operator==(const State&) const = default;
  };

  // weft's stream is drawn from in parallel; PyTorch's gives what PyTorch gives for the same seed and calls.
  enum class Stream : uint8_t { Weft, Torch };
  static Stream default_stream();  // of generators that are made from now on
  static void set_default_stream(Stream stream);

  explicit Generator(uint64_t seed = kDefaultSeed) { restart(seed, default_stream()); }
  Generator(const Generator& o);

  Stream stream() const { return stream_; }
  void restart(uint64_t seed, Stream stream);
  void restart(uint64_t seed) { restart(seed, stream()); }

  uint64_t seed() const { return seed_; }
  State state() const { return {seed_, counter_.load()}; }
  void set_state(State s);
  // The same for PyTorch's stream: MersenneTwister::kStateBytes bytes; false where they are no state.
  void write_torch_state(char* bytes) const;
  bool set_torch_state(const char* bytes);

  // Where n elements, enough for every distribution, are drawn from: a seed and a first counter of their own.
  // Kernels run without the interpreter lock, so this may be called from several threads at once.
  State take(int64_t n);

  // Calls draw(twister) where this generator follows PyTorch's stream, and says whether it does. Threads wait for each
  // other, and fork for them.
  template <class Draw>
  bool draw_torch(const Draw& draw) {
    if (stream_ != Stream::Torch) return false;
    std::lock_guard lock(drawing());
    if (!torch_) return false;
    draw(*torch_);
    return true;
  }

 private:
  static ForkMutex& drawing();

  uint64_t seed_ = 0;
  std::atomic<uint64_t> counter_{0};
  std::atomic<Stream> stream_{Stream::Weft};
  std::unique_ptr<MersenneTwister> torch_;  // guarded by drawing()
};

Generator& default_generator();
uint64_t random_seed();  // from the operating system

}  // namespace weft
