#include "exec/program.h"

#include <algorithm>

#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/events.h"
#include "ops/recording.h"

namespace weft {
namespace {

constexpr size_t kMostIdle = 8;  // instances that wait for calls
constexpr int kLook = 256;       // calls after which those are dropped that none of them needed

// A mode that is another one for a while.
struct Scope {
  bool& mode;
  bool before;
  Scope(bool& mode, bool on) : mode(mode), before(std::exchange(mode, on)) {}
  ~Scope() { mode = before; }
};

}  // namespace

void Program::finish(std::vector<int> results, const std::vector<int>& lent) {
  template_.finish(std::move(results), lent);
  exclusive_ = exclusive_ || template_.writes_outside();
  plan_again({}, true);
  if (memory_stats().cached > plan_->bytes) empty_cache();  // what capturing it has left behind
  auto first = std::make_unique<Instance>(template_);
  first->follow(plan_);
  idle_.push_back(std::move(first));
  made_ = 1;
  tuning_.start(template_);
  for (const Template::Constant& c : template_.constants()) template_.buffer_of(c.slot).storage->forget_slack();
}

bool Program::fits(const std::vector<Tensor>& inputs) const {
  if (stale() || inputs.size() != template_.inputs().size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor &given = inputs[i], &mine = template_.slots()[size_t(template_.inputs()[i])].like;
    if (given.dtype() != mine.dtype() || given.sparse() || !(given.sizes() == mine.sizes()) ||
        !(given.strides() == mine.strides()))
      return false;
    if (given->offset * item_size(given.dtype()) % template_.buffer_of(template_.inputs()[i]).item)
      return false;  // seen as larger elements, it would begin inside of one
  }
  return template_.may_write(inputs);
}

bool Program::takes(const std::vector<Tensor>& inputs) const {
  if (t_modes.grad) {
    for (const Tensor& t : inputs)
      if (wants_grad(*t.get())) return false;
    for (const Template::Constant& c : template_.constants())
      if (wants_grad(*template_.slots()[size_t(c.slot)].like.get())) return false;
  }
  return fits(inputs);
}

bool Program::shares_memory(const std::vector<Tensor>& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k)
      if (inputs[i]->storage.get() == inputs[k]->storage.get()) return true;
    for (const Template::Constant& c : template_.constants())
      if (inputs[i]->storage.get() == template_.buffer_of(c.slot).storage.get()) return true;
  }
  return false;
}

bool Program::stale() const {
  if (!plan_) return true;
  for (const Template::Constant& c : template_.constants()) {
    const Tensor& t = template_.slots()[size_t(c.slot)].like;
    if (t->storage.get() != template_.buffer_of(c.slot).storage.get() || !(t.sizes() == c.sizes) ||
        !(t.strides() == c.strides) || t.dtype() != c.type)
      return true;
  }
  return false;
}

// ---- instances

std::unique_ptr<Instance> Program::take() {
  std::unique_ptr<Instance> taken;
  if (idle_.empty()) {
    taken = std::make_unique<Instance>(template_);
    idle_.reserve(size_t(made_) + 1);  // giving it back cannot fail
    ++made_;
  } else {
    taken = std::move(idle_.back());
    idle_.pop_back();
  }
  most_ = std::max(most_, made_ - int(idle_.size()));
  return taken;
}

// Those are kept that calls have needed lately, and never many.
void Program::give_back(std::unique_ptr<Instance> instance) {
  idle_.push_back(std::move(instance));
  size_t keep = kMostIdle;
  if (++calls_ >= kLook) {
    keep = std::min(keep, size_t(std::max(1, most_)));
    most_ = made_ - int(idle_.size());
    calls_ = 0;
  }
  while (idle_.size() > keep) {
    idle_.erase(idle_.begin());
    --made_;
  }
}

Program::Run::Run(Program& program) : program_(program) {
  program_.wait_for_turn();
  if (program_.exclusive_) turn_.emplace(program_.turns_);
  instance_ = program_.take();
}

Program::Run::~Run() {
  instance_->let_go();  // of what it was given and gave away
  program_.give_back(std::move(instance_));
}

std::vector<Tensor> Program::Run::operator()(const std::vector<Tensor>& inputs) {
  program_.prepare(*instance_, inputs);
  instance_->begin(inputs);
  begun_ = true;
  program_.run_steps(*instance_);
  return instance_->results();
}

// ---- one run

void Program::prepare(Instance& instance, const std::vector<Tensor>& inputs) {
  if (plan_->lends && instance.lent_is_kept()) plan_again(plan_->schedule, false);  // and may be kept again
  bool last = std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t->storage->last.channels > 0; });
  if (last && !tuning_.settled()) tuning_.settle();
  if (last && !plan_->schedule.slots.empty()) plan_again({}, plan_->lends);
  if (tuning_.complete()) choose_schedule();
  instance.follow(plan_);
  if (first_run_ && memory_stats().cached > plan_->bytes / 8) empty_cache();  // old gradients
}

void Program::run_steps(Instance& instance) {
  WithExec own(fixed_exec());
  GradMode off(false);
  Scope learning(t_modes.learning, learning_);
  bool alone = made_ - int(idle_.size()) == 1;
  std::optional<RecordedRange> recorded;
  if (is_recording()) recorded.emplace("compiled program", EventKind::program);
  if (tuning_.wants_run() && !first_run_ && alone && call_threads() > 1)
    tuning_.measure(instance);
  else
    instance.run();
  first_run_ = false;
}

// Instances follow it from their next call on.
void Program::plan_again(Schedule schedule, bool lends) {
  plan_ = std::make_shared<const Plan>(template_, std::move(schedule), lends);
}

// Lets steps run concurrently where what was measured says that it is quicker, and little more memory is needed.
void Program::choose_schedule() {
  Schedule made = tuning_.choose();
  if (made.slots.empty()) return;
  std::shared_ptr<const Plan> before = plan_;
  plan_again(std::move(made), before->lends);
  if (double(plan_->bytes) > more_memory_ * double(before->bytes)) plan_ = before;
}

void Program::spread() {
  tuning_.spread();
  more_memory_ = 1e9;
}

int Program::concurrent_ops() const {
  int count = 0;
  if (plan_)
    for (const Schedule::Slot& slot : plan_->schedule.slots) count += slot.count > 1 ? slot.count : 0;
  return count;
}

}  // namespace weft
