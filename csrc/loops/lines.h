// A contiguous box seen along one of its axes: `n` elements, `inner` apart, `outer * inner` times.
#pragma once

#include <cstdint>

namespace weft {

struct Lines {
  int64_t outer, n, inner;
};

}  // namespace weft
