#include "exec/instance.h"

#include <algorithm>
#include <optional>

#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/events.h"
#include "ops/prepacked.h"

namespace weft {
namespace {

using Buffer = Template::Buffer;

int64_t bytes_before(const Tensor& t) { return t->offset * item_size(t.dtype()); }

}  // namespace

Instance::Instance(const Template& program) : program_(program) {
  make_tensors();
  make_calls();
}

void Instance::make_tensors() {
  const auto& buffers = program_.buffers();
  std::vector<int> changing(buffers.size(), -1);
  for (int slot : program_.inputs()) {
    int buffer = program_.slots()[size_t(slot)].buffer;
    changing[size_t(buffer)] = int(inputs_.size());
    inputs_.push_back({buffer, {}});
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    bool inside = b.kind == Buffer::inside;
    storages_.push_back(b.kind == Buffer::constant ? b.storage
                        : inside                   ? Storage::foreign(nullptr, b.storage->bytes, nullptr, nullptr)
                                                   : nothing_);
    if (b.kind != Buffer::result) continue;
    changing[i] = int(results_.size());
    results_.push_back({int(i), {}});
  }
  tensors_.reserve(program_.slots().size());
  for (const Template::Slot& slot : program_.slots()) {
    Tensor& t = tensors_.emplace_back(slot.constant ? slot.like : alias(slot.like));
    if (slot.constant) continue;
    t->wrapped_number = slot.like->wrapped_number;
    t->storage = storages_[size_t(slot.buffer)];
    if (int c = changing[size_t(slot.buffer)]; c >= 0) {
      auto& list = buffers[size_t(slot.buffer)].kind == Buffer::input ? inputs_ : results_;
      list[size_t(c)].users.push_back({t.get(), bytes_before(slot.like)});
    }
  }
}

void Instance::make_calls() {
  for (const Template::Instruction& in : program_.instructions()) {
    Call& made = calls_.emplace_back(in.call.op);
    Call& like = const_cast<Call&>(in.call);  // which is only read
    auto operand = in.operands.begin();
    for (int i = 0; i < like.count; ++i) {
      if (operand == in.operands.end() || operand->argument != i) {
        made.push(like.arg(i));
        continue;
      }
      TensorList list;
      for (int s : operand->slots) list.push_back(s < 0 ? Tensor() : tensors_[size_t(s)]);
      made.push(operand->list ? Value(std::move(list)) : Value(list[0]));
      ++operand;
    }
    made.inplace = like.inplace;
    for (size_t i = 0; i < in.outs.size(); ++i) made.give(int(i), tensors_[size_t(in.outs[i])]);
    steps_.push_back({in.call.op.is(kView) ? nullptr : &made, &in});
  }
}

void Instance::follow(const std::shared_ptr<const Plan>& plan) {
  if (plan_ == plan) return;
  lent_.clear();
  plan_.reset();
  arena_.reset();
  arena_ = Storage::make(plan->bytes);
  arena_->forget_slack();
  for (size_t i = 0; i < storages_.size(); ++i) {
    if (program_.buffers()[i].kind != Buffer::inside) continue;
    storages_[i]->data = arena_->data + plan->at[i];
    storages_[i]->planned = true;
  }
  plan_ = plan;
}

void Instance::set_number(int step, int argument, double number) {
  if (step < 0 || size_t(step) >= calls_.size()) fail("a program has no op ", step, ", but ", calls_.size());
  Call& c = calls_[size_t(step)];
  if (argument < 0 || argument >= c.count || c.arg(argument).tag() != Tag::Float)
    fail(c.op.name, ": argument ", argument, " is not a float that can be another one");
  c.arg(argument) = Value(number);
}

// ---- one call

void Instance::point_to(const Changing& c, const Ref<Storage>& storage, int64_t begin) {
  storages_[size_t(c.buffer)] = storage;
  for (const User& u : c.users) {
    u.tensor->storage = storage;
    u.tensor->offset = (begin + u.offset) / item_size(u.tensor->dtype);
  }
}

// Memory of the arena, which is there for as long as this is.
Ref<Storage> Instance::lend(int buffer) {
  auto let_go = [](void* arena) { delete static_cast<Ref<Storage>*>(arena); };
  char* data = arena_->data + plan_->at[size_t(buffer)];
  int64_t bytes = program_.buffers()[size_t(buffer)].storage->bytes;
  lent_.push_back(Storage::foreign(data, bytes, new Ref<Storage>(arena_), let_go));
  lent_.back()->planned = true;
  return lent_.back();
}

bool Instance::lent_is_kept() const {
  return std::any_of(lent_.begin(), lent_.end(), [](const Ref<Storage>& s) { return s->refs > 1; });
}

void Instance::begin(const std::vector<Tensor>& inputs) {
  lent_.clear();
  now_ = -1;
  for (size_t i = 0; i < inputs.size(); ++i) point_to(inputs_[i], inputs[i]->storage, bytes_before(inputs[i]));
  for (const Changing& c : results_) {
    bool lent = plan_->at[size_t(c.buffer)] >= 0;
    point_to(c, lent ? lend(c.buffer) : Storage::make(program_.buffers()[size_t(c.buffer)].storage->bytes), 0);
  }
}

void Instance::let_go() {
  for (const Changing& c : inputs_) point_to(c, nothing_, 0);
  for (const Changing& c : results_) point_to(c, nothing_, 0);
}

std::vector<Tensor> Instance::results() const {
  std::vector<Tensor> found;
  found.reserve(program_.results().size());
  for (size_t i = 0; i < program_.results().size(); ++i) {
    found.push_back(alias(tensors_[size_t(program_.results()[i])]));
    if (t_modes.inference && program_.owns(i)) found.back()->inference = true;
  }
  return found;
}

void Instance::run() {
  const Schedule& schedule = plan_->schedule;
  if (schedule.slots.empty())
    for (int i = 0; i < int(steps_.size()); ++i) run_step(i);
  for (const Schedule::Slot& slot : schedule.slots)
    slot.count == 1 ? run_step(schedule.steps[size_t(slot.begin)]) : run_concurrently(slot);
}

void Instance::run_step(int i) {
  now_ = i;
  if (!steps_[size_t(i)].call) return;
  Call& call = *steps_[size_t(i)].call;
  const Template::Instruction& in = *steps_[size_t(i)].in;
  std::optional<RecordedInstruction> recorded;
  if (is_recording()) recorded.emplace(call, in.line);
  leave_if_interrupted();
  prepare(in);
  Storage* changed = in.self < 0 ? nullptr : tensors_[size_t(in.self)]->storage.get();
  try {
    run_with_loan(call, plan_->free[size_t(i)]);
    if (in.through_copy) copy_data(tensors_[size_t(in.self)], call.out[0]);
  } catch (...) {  // Ctrl-C, say: some elements have changed
    if (changed) changed->touch();
    throw;
  }
  if (changed) changed->touch();
}

// Work spaces of a kernel lie where the arena is free.
void Instance::run_with_loan(Call& call, const std::vector<Loan::Gap>& free) {
  Loan loan(arena_->data, free);
  WithLoan while_it_runs(&loan);
  run_kernel(call);
  if (loan.in_use()) fail(call.op.name, ": kept a work space that was lent");
}

void Instance::prepare(const Template::Instruction& in) {
  for (int w : in.writes) {
    Storage& storage = *storages_[size_t(w)];
    if (in.self < 0 || in.through_copy) storage.last = {};
    drop_packed(storage);  // it was made from what was there in another run
    ++storage.changes;
  }
}

void Instance::run_concurrently(const Schedule::Slot& slot) {
  const std::vector<int>& steps = plan_->schedule.steps;
  concurrent_.clear();
  now_ = steps[size_t(slot.begin)];
  leave_if_interrupted();
  for (int k = slot.begin; k < slot.begin + slot.count; ++k) {
    const Step& s = steps_[size_t(steps[size_t(k)])];
    prepare(*s.in);
    concurrent_.push_back(s.call);
  }
  if (!is_recording()) return run_kernels(concurrent_);
  std::vector<KernelTime> times(concurrent_.size());
  run_kernels(concurrent_, times.data());
  for (size_t k = 0; k < times.size(); ++k)
    record_instruction(times[k], *concurrent_[k], steps_[size_t(steps[size_t(slot.begin) + k])].in->line);
}

}  // namespace weft
