// Events of ops, nodes and instructions, for the recorder: core/event_log.h.
#pragma once

#include <functional>

#include "core/event_log.h"
#include "ops/op.h"

namespace weft {

struct Node;

void run_recorded(Call& c);                                   // the dispatcher, and an event of the call
void record_call(Call& c, const std::function<void()>& run);  // the same of an op that is run another way
std::vector<Tensor> apply_recorded(Node& node, std::vector<Tensor>&& grads, bool create_graph);

// For a scope, from the user's line.
class RecordedRange {
 public:
  explicit RecordedRange(const std::string& name, EventKind kind = EventKind::range);

 private:
  Recorded event_;
};

// While an instruction of a program runs.
class RecordedInstruction {
 public:
  RecordedInstruction(Call& call, const std::string& line);
  ~RecordedInstruction();

 private:
  Call& call_;
  int exceptions_;
  Recorded event_;
};
void record_instruction(const KernelTime& time, Call& call, const std::string& line);  // that ran on some thread

// Writes down when a kernel runs, and on which thread; null: nothing.
class Timed {
 public:
  explicit Timed(KernelTime* to) : to_(to) {
    if (to_) to_->begin = recorder_clock();
  }
  ~Timed() {
    if (to_) to_->end = recorder_clock(), to_->thread = thread_number();
  }

 private:
  KernelTime* to_;
};

}  // namespace weft
