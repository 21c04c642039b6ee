#include "core/generator.h"

#include <random>

namespace weft {

Generator& default_generator() {
  static Generator generator;
  return generator;
}

uint64_t random_seed() {
  std::random_device device;
  return uint64_t(device()) << 32 | device();
}

}  // namespace weft
