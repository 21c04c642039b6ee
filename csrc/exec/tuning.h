// Which schedule suits a program: at first its instructions run one after the other, and each is measured; then some of
// them run concurrently, where that was quicker.
#pragma once

#include <vector>

#include "exec/instance.h"
#include "exec/schedule.h"
#include "exec/template.h"

namespace weft {

class Tuning {
 public:
  void start(const Template& program);  // finds what depends on what
  // Whether the next run should be measured; one at a time is.
  bool wants_run() const { return !settled_ && !busy_ && measured_ < kRuns; }
  bool complete() const { return !settled_ && !busy_ && measured_ == kRuns; }
  bool settled() const { return settled_; }
  void measure(Instance& instance);  // runs it
  Schedule choose();                 // settles it
  void settle();
  void spread();  // as if all took the same time: for tests

 private:
  // A program is measured in its second run and a few that follow: as it is, then with one thread.
  static constexpr int kShared = 3, kAlone = 2, kRuns = kShared + kAlone;
  bool may_run_concurrently(const Template::Instruction& in) const;
  void measure(Instance& instance, int step);

  const Template* program_ = nullptr;
  std::vector<StepTime> times_;
  std::vector<bool> channels_last_;  // by buffer: its elements were seen to lie like that
  int measured_ = 0;                 // runs
  bool settled_ = true, busy_ = false;
};

}  // namespace weft
