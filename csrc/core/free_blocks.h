// What the allocator keeps for reuse, for the memory tools.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

struct FreeBlocks {
  int64_t bytes;  // of each
  int64_t count;
};
std::vector<FreeBlocks> free_blocks();  // by size, the smallest first; with the interpreter's lock held

}  // namespace weft
