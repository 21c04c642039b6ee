// Which steps of a program run at the same time, each on one thread: docs/notes/compile.md.
#pragma once

#include <span>
#include <vector>

namespace weft {

// What is known of a step.
struct StepTime {
  bool beside = false;  // it may run beside another: it cannot fail, draws no numbers, changes nothing from outside
  int after = -1;       // the last step that must be over before it begins
  double shared = 0;    // seconds that it takes with all threads
  double alone = 0;     // and with one
};

// Steps in the order in which they run, in turns: those of one turn run at the same time. A step moves to an earlier
// turn only, to run beside the first of them, where that is quicker than all threads working on one after the other.
struct Schedule {
  struct Turn {
    int begin, count;  // places in `steps`
  };
  std::vector<int> steps;
  std::vector<Turn> turns;
  std::span<const int> of(int turn) const {
    return std::span(steps).subspan(size_t(turns[size_t(turn)].begin), size_t(turns[size_t(turn)].count));
  }
};

Schedule side_by_side(const std::vector<StepTime>& times, int threads);

}  // namespace weft
