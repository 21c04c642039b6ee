#include "core/generator.h"

#include <random>

namespace weft {

namespace {
std::atomic<Generator::Stream> g_stream{Generator::Stream::Weft};
}

Generator::Stream Generator::default_stream() { return g_stream; }
void Generator::set_default_stream(Stream stream) { g_stream = stream; }

ForkMutex& Generator::drawing() {
  static ForkMutex& mutex = *new ForkMutex(LockOrder::generators);
  return mutex;
}

Generator::Generator(const Generator& o) : seed_(o.seed_), counter_(o.counter_.load()) {
  std::lock_guard lock(drawing());
  stream_ = o.stream_.load();
  if (o.torch_) torch_ = std::make_unique<MersenneTwister>(*o.torch_);
}

void Generator::restart(uint64_t seed, Stream stream) {
  auto torch = stream == Stream::Torch ? std::make_unique<MersenneTwister>(seed) : nullptr;
  std::lock_guard lock(drawing());
  seed_ = seed;
  counter_ = 0;
  torch_ = std::move(torch);
  stream_ = stream;
}

void Generator::set_state(State s) {
  restart(s.seed, Stream::Weft);
  counter_ = s.counter;
}

void Generator::write_torch_state(char* bytes) const {
  std::lock_guard lock(drawing());
  if (torch_) torch_->write_state(bytes);
}

bool Generator::set_torch_state(const char* bytes) {
  auto torch = std::make_unique<MersenneTwister>(0);
  if (!torch->read_state(bytes)) return false;
  std::lock_guard lock(drawing());
  seed_ = torch->seed();
  counter_ = 0;
  torch_ = std::move(torch);
  stream_ = Stream::Torch;
  return true;
}

Generator::State Generator::take(int64_t n) {
  // What PyTorch's stream has no numbers for still follows from its seed.
  State drawn{};
  if (draw_torch([&](MersenneTwister& torch) { drawn = {torch.bits64(), 0}; })) return drawn;
  return {seed_, counter_.fetch_add((uint64_t(n) + 63) / 64 * 32)};
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

uint64_t random_seed() {
  std::random_device device;
  return uint64_t(device()) << 32 | device();
}

}  // namespace weft
