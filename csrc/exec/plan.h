// Where the buffers of a program lie in its arena, and when its instructions run.
#pragma once

#include <memory>
#include <vector>

#include "core/memory.h"
#include "exec/memory_planner.h"
#include "exec/schedule.h"
#include "exec/template.h"

namespace weft {

// The first and the last slot in which a buffer is used.
struct LiveRange {
  int first, last;
};

// Of all buffers, for an order of instructions.
std::vector<LiveRange> live_ranges(const Template& program, const Schedule& schedule);

// It never changes: another schedule is another plan, and instances that follow this one keep it.
struct Plan {
  Plan(const Template& program, Schedule schedule, bool lends);

  static constexpr int64_t kLine = 64;  // bytes: where memory of the arena begins
  static int64_t rounded(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

  Schedule schedule;                         // empty: one after the other
  bool lends;                                // results that may lie in the arena do
  std::vector<int64_t> at;                   // by buffer: its place in the arena, or -1
  std::vector<std::vector<Loan::Gap>> free;  // by instruction: where nothing lies meanwhile
  std::vector<Block> blocks;                 // what lies in the arena, and when
  int64_t bytes = 0;
};

}  // namespace weft
