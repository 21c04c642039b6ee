// What a file of rows needs when it is compiled for its kernels only.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/dtype.h"
#include "ops/pointwise_kernels.h"

namespace weft {
namespace keep {
enum : uint32_t { nothing = 0, x0 = 1, x1 = 2, x2 = 4, x3 = 8, y0 = 1u << 16 };
}
enum Trait : uint32_t {
  kPlain = 0,
  kInplace = 2,
  kNoFunction = 4,
  kNoMethod = 8,
  kNoOut = 32,
  kHidden = 256,
  kRefusesZero = 2048,
  kRefusesNegative = 4096,
  kRefusesBool = 8192
};
}  // namespace weft
