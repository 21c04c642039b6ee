// Where the memories of a program lie in its arena, and what is free there meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "core/memory.h"

namespace weft {

// Memory that is in use from one step to another, both included.
struct Block {
  int buffer;
  int64_t bytes, at;
  int first, last;
};

// Finds places for them, so that those that are not in use at the same time may lie in the same place: each goes, the
// largest first, to the lowest place that is free for as long as it is used; or in the order of bytes times steps,
// where that needs less. Returns how many bytes it takes. For n blocks it takes O(n log² n) steps.
int64_t lay_out(std::vector<Block>& blocks);
// The same by comparing each block with all others, which is quicker for a few hundred of them.
int64_t lay_out_few(std::vector<Block>& blocks);
int64_t lay_out_many(std::vector<Block>& blocks);

// The least that any arrangement needs: what is in use at the same time.
int64_t most_in_use(const std::vector<Block>& blocks);

// For each step the places, the smallest first, where no block lies then, as far as they are worth lending.
std::vector<std::vector<Loan::Gap>> gaps_between(const std::vector<Block>& blocks, int steps, int64_t total);

}  // namespace weft
