// A static program: ops in a row whose shapes, tensors and memory are settled before it runs. Running it is calling
// their kernels one after the other: no Python, no shape rules, no allocation for what stays inside.
//
// Its parts: what it does (Template), where memory lies and when ops run (Plan), and what each running call has for
// itself (Instance). Several threads may run it at the same time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "exec/exclusive.h"
#include "exec/instance.h"
#include "exec/plan.h"
#include "exec/template.h"
#include "exec/tuning.h"

namespace weft {

class Program {
 public:
  using Argument = Template::Argument;
  Program() = default;
  Program(const Program&) = delete;

  static bool can_hold(const Op& op) { return Template::can_hold(op); }

  // Each adds a value and returns its number. The memory of an input is given anew for each run, with the same
  // geometry; a constant is read, or changed, where it lies.
  int add_input(const Tensor& like) { return template_.add_input(like); }
  int add_constant(const Tensor& t) { return template_.add_constant(t); }
  // Adds an op; returns the numbers of its results. Refuses ops whose shapes follow from values. `derivative`: its
  // results include what only its derivative reads. `line`: of the user's program.
  std::vector<int> add(const Op& op, std::vector<Argument> arguments, bool inplace, bool derivative,
                       const std::string& line) {
    return template_.add(op, std::move(arguments), inplace, derivative, line);
  }
  // Says which values are results, and lays out the memory of all others. Nothing can be added afterwards. Results that
  // are `lent` (by their place among the results) may lie beside them, for as long as nobody has those of the run
  // before.
  void finish(std::vector<int> results, const std::vector<int>& lent = {});

  // Whether a constant has got other memory or another shape since: then it must be built anew.
  bool stale() const;
  // Whether it can run on these now: they have the geometry of its inputs, and what it changes is not read-only.
  bool fits(const std::vector<Tensor>& inputs) const;
  // The same, where no gradient is wanted of them or of constants either: nothing that it does is recorded.
  bool takes(const std::vector<Tensor>& inputs) const;
  // Whether two of these, or one of them and a constant, share memory: what it changes may be seen through both.
  bool shares_memory(const std::vector<Tensor>& inputs) const;

  // Its calls run one after the other: those who make them change more than it does itself.
  void set_exclusive() { exclusive_ = true; }
  // Waits while a call runs beside which none may; others run meanwhile, so that nothing that was found out before
  // need be true afterwards. Whether none does.
  void wait_for_turn() {
    if (exclusive_) turns_.wait();
  }
  bool is_my_turn() const { return !exclusive_ || turns_.is_free(); }
  // Its weights change from run to run: nothing that is made from them is kept.
  void set_learning(bool on) { learning_ = on; }

  // A call: it has an instance of the program until it is destroyed.
  class Run {
   public:
    explicit Run(Program& program);
    ~Run();
    Run(const Run&) = delete;
    // A float among the plain data of an op is another one in this run. All such numbers must be set.
    void set_number(int step, int argument, double number) { instance_->set_number(step, argument, number); }
    // Runs it on inputs that fit. Results have memory of their own, unless they are inputs or constants or look into
    // them.
    std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);
    // Where an op has failed: which one, and the results as they are by then.
    int step() const { return instance_->step(); }
    std::vector<Tensor> unfinished() const { return begun_ ? instance_->results() : std::vector<Tensor>(); }

   private:
    Program& program_;
    std::optional<Exclusive::Hold> turn_;
    std::unique_ptr<Instance> instance_;
    bool begun_ = false;
  };

  int64_t arena_bytes() const { return plan_ ? plan_->bytes : 0; }
  int instances() const { return made_; }  // how many there are, running or not
  int concurrent_ops() const;              // how many of its steps run concurrently with another
  // From the next run on as many as can, whether that is quicker or not, and however much memory it takes: for tests.
  void spread();
  const Plan* plan() const { return plan_.get(); }
  const Template& what() const { return template_; }

 private:
  void prepare(Instance& instance, const std::vector<Tensor>& inputs);
  void run_steps(Instance& instance);
  void plan_again(Schedule schedule, bool lends);
  void choose_schedule();
  std::unique_ptr<Instance> take();
  void give_back(std::unique_ptr<Instance> instance);

  Template template_;
  std::shared_ptr<const Plan> plan_;
  Tuning tuning_;
  Exclusive turns_;
  bool exclusive_ = false, learning_ = false, first_run_ = true;
  double more_memory_ = 1.01;  // what may be used of it to be quicker
  // Instances that no call has; the last one was used last.
  std::vector<std::unique_ptr<Instance>> idle_;
  int made_ = 0;              // instances there are
  int most_ = 0, calls_ = 0;  // how many ran at the same time, and how many calls there were, since the last look
};

}  // namespace weft
