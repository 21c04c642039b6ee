// A static program: ops in a row whose shapes, tensors and memory are settled before it runs. Running it is calling
// their kernels one after the other: no Python, no shape rules, no allocation for what stays inside.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "exec/schedule.h"
#include "ops/op.h"

namespace weft {

class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;

  // An argument of an op: plain data, or values of the program by their numbers (-1: none).
  struct Argument {
    Value plain;
    std::vector<int> values;
    enum { data, value, list } kind = data;
  };

  // Whether its shapes follow from those of its arguments, and its memory can be planned.
  static bool can_hold(const Op& op);

  // Each adds a value and returns its number. The memory of an input is given anew for each run, with the same
  // geometry; a constant is read, or changed, where it lies.
  int add_input(const Tensor& like);
  int add_constant(const Tensor& t);
  // Adds an op; returns the numbers of its results. Refuses ops whose shapes follow from values. `derivative`: its
  // results include what only its derivative reads.
  std::vector<int> add(const Op& op, std::vector<Argument> arguments, bool inplace, bool derivative);
  // Says which values are results, and lays out the memory of all others. Nothing can be added afterwards. Results that
  // are `lent` (by their place among the results) may lie beside them, for as long as nobody has those of the run
  // before.
  void finish(std::vector<int> results, const std::vector<int>& lent = {});

  // Whether a constant has got other memory or another shape since: then it must be built anew.
  bool stale() const;
  // Whether it can run on these now: they have the geometry of its inputs, what it changes is not read-only, and no
  // other thread runs it.
  bool fits(const std::vector<Tensor>& inputs) const;
  // The same, where no gradient is wanted of them or of constants either: nothing that it does is recorded.
  bool takes(const std::vector<Tensor>& inputs) const;
  // Runs it. Results have memory of their own, unless they are inputs or constants or look into them.
  // Where an op fails, `unfinished` are its results as they are by then.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::vector<Tensor>* unfinished = nullptr);
  // Its weights change from run to run: nothing that is made from them is kept.
  void set_learning(bool on) { learning_ = on; }
  // From now on it measures how many seconds each op takes, in all runs together.
  void start_timing() { seconds_.assign(steps_.size(), 0); }
  const std::vector<double>& seconds() const { return seconds_; }
  // A float among the plain data of an op is another one from now on.
  void set_number(int step, int argument, double number);
  int64_t arena_bytes() const { return arena_bytes_; }
  int side_by_side() const;  // how many of its steps run beside another
  // From the next run on as many as can, whether that is quicker or not, and however much memory it takes: for tests.
  void spread();
  bool running() const { return running_ > 0; }
  int step() const { return now_; }  // the op that runs, or failed
  // Whether two of these, or one of them and a constant, share memory: what it changes may be seen through both.
  bool shares_memory(const std::vector<Tensor>& inputs) const;

 private:
  struct Step {
    explicit Step(const Op& op) : call(op) {}
    Call call;
    Tensor self;                     // what it changes in place; or null
    bool through_copy = false;       // in place by way of a tensor of its own
    std::vector<int> reads, writes;  // memories
    std::vector<Loan::Gap> free;     // where nothing lies in the arena meanwhile
  };
  // What several values may look into.
  struct Memory {
    enum { inside, result, input, constant } kind = inside;
    Ref<Storage> storage;
    int64_t bytes = 0;
    std::vector<std::pair<TensorImpl*, int64_t>> users;  // with their offsets from its beginning, in bytes
    int64_t item = 1;                                    // bytes of the largest elements that they see
    int first = 0, last = 0;                             // steps that use it, or turns
    int64_t at = -1;                                     // its place in the arena
    bool channels_last = false;                          // its elements were seen to lie like that
    bool lent = false;                                   // a result that lies there
  };

  enum class State : uint8_t { building, finished, broken };
  void build(State next);
  int add_value(const Tensor& t, int memory);
  void run_steps();
  void run_step(int i);
  void run_with_loan(Step& s);
  void run_beside(const Schedule::Turn& turn);
  void prepare(Step& s);
  void measure(int i);
  void find_dependences();
  std::vector<int> written_by(const Step& s) const;
  void find_outside_writes();
  bool may_write(const std::vector<Tensor>& inputs) const;
  bool may_run_beside(const Step& s) const;
  void choose_schedule();
  void run_in_order();
  void follow(Schedule schedule);
  int64_t lay_out(const Schedule& schedule);
  std::vector<Tensor> results() const;
  int add_memory(int kind, const Ref<Storage>& storage, int step);
  int memory_of(const Tensor& t) const;
  bool lies_in_input(const Tensor& t) const;
  void use(const Tensor& t, int step);
  int overlaid(int step);
  void point_to(Memory& m, const Ref<Storage>& storage, int64_t begin);
  void choose_lent(const std::vector<int>& lent);
  void take_arena();
  void stop_lending();
  Ref<Storage> lend(const Memory& m);

  std::deque<Step> steps_;  // a call stays where it is
  std::vector<Tensor> values_;
  struct Constant {
    int value, memory;
    Dims sizes, strides;
    DType type;
  };
  struct Input {
    int value, memory;
  };
  std::vector<Input> inputs_;
  std::vector<int> results_;
  std::vector<bool> own_;  // by result: whether it has memory of its own
  std::vector<Constant> constants_;
  std::vector<size_t> written_inputs_, written_constants_;  // by place among the inputs; among memories_
  std::vector<Memory> memories_;
  std::unordered_map<const Storage*, int> by_storage_;  // while it is built
  std::vector<Ref<Storage>> lent_;                      // of the last run
  bool first_run_ = true;
  Ref<Storage> arena_, nothing_ = Storage::foreign(nullptr, 0, nullptr, nullptr);
  int64_t arena_bytes_ = 0;
  int32_t running_ = 0;
  bool learning_ = false;
  State state_ = State::building;
  int now_ = -1;
  // When its steps run: at first one after the other, and each is measured; then some of them side by side.
  std::vector<StepTime> times_;  // empty: it is settled
  int measured_ = 0;             // runs
  double more_memory_ = 1.01;    // what may be used of it to be quicker
  Schedule schedule_;            // empty: one after the other
  std::vector<Call*> beside_;    // those of one turn
  std::vector<int> under_;       // by memory: the one in whose place it lies, or -1
  std::vector<double> seconds_;  // empty: it does not measure
};

}  // namespace weft
