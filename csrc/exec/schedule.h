// Which steps of a program run at the same time, each on one thread: docs/notes/compile.md.
#pragma once

#include <span>
#include <vector>

namespace weft {

// What is known of a step.
struct StepTime {
  bool concurrent = false;  // it may run concurrently with another: it cannot fail, draws no numbers, changes nothing
                            // from outside
  int after = -1;           // the last step that must be over before it begins
  double shared = 0;        // seconds that it takes with all threads
  double alone = 0;         // and with one
};

// Steps in the order in which they run, in slots: those of one slot run at the same time. A step moves to an earlier
// slot only, to run concurrently with the first of them, where that is quicker than all threads working on one after
// the other.
struct Schedule {
  struct Slot {
    int begin, count;  // places in `steps`
  };
  std::vector<int> steps;
  std::vector<Slot> slots;
  std::span<const int> of(int slot) const {
    return std::span(steps).subspan(size_t(slots[size_t(slot)].begin), size_t(slots[size_t(slot)].count));
  }
};

Schedule concurrent_ops(const std::vector<StepTime>& times, int threads);

}  // namespace weft
