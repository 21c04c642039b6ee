// What one running call of a program has for itself: an arena, tensors, and the numbers that its ops are given.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "exec/plan.h"
#include "exec/template.h"

namespace weft {

class Instance {
 public:
  explicit Instance(const Template& program);
  Instance(const Instance&) = delete;

  // Lays its memory out by a plan. Where there is none for its arena, it has no plan.
  void follow(const std::shared_ptr<const Plan>& plan);
  const Plan* plan() const { return plan_.get(); }

  // A float among the plain data of an op is another one from now on.
  void set_number(int step, int argument, double number);
  // Looks into the inputs, and has memory for the results, until let_go().
  void begin(const std::vector<Tensor>& inputs);
  void run();            // all instructions, in the order of the plan
  void run_step(int i);  // one of them
  // The results, as they are by now.
  std::vector<Tensor> results() const;
  void let_go();
  int step() const { return now_; }  // the instruction that runs, or failed; -1: none has begun
  // Whether somebody still has a result of the run before that lies in the arena.
  bool lent_is_kept() const;
  const Storage& storage(int buffer) const { return *storages_[size_t(buffer)]; }

 private:
  struct User {
    TensorImpl* tensor;
    int64_t offset;  // bytes from the beginning of the buffer
  };
  // What is given anew for each run.
  struct Changing {
    int buffer;
    std::vector<User> users;
  };
  struct Step {
    Call* call;  // null: a view, with nothing to do
    const Template::Instruction* in;
  };
  void make_tensors();
  void make_calls();
  void run_concurrently(const Schedule::Slot& slot);
  void run_with_loan(Call& call, const std::vector<Loan::Gap>& free);
  void prepare(const Template::Instruction& in);
  void point_to(const Changing& c, const Ref<Storage>& storage, int64_t begin);
  Ref<Storage> lend(int buffer);

  const Template& program_;
  std::shared_ptr<const Plan> plan_;
  Ref<Storage> arena_, nothing_ = Storage::foreign(nullptr, 0, nullptr, nullptr);
  std::vector<Ref<Storage>> storages_;  // by buffer
  std::vector<Tensor> tensors_;         // by slot
  std::deque<Call> calls_;              // a call stays where it is
  std::vector<Step> steps_;
  std::vector<Changing> inputs_, results_;
  std::vector<Ref<Storage>> lent_;  // of the last run
  std::vector<Call*> concurrent_;   // those of one slot
  int now_ = -1;
};

}  // namespace weft
