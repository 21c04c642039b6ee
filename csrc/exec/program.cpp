#include "exec/program.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/fork.h"
#include "exec/places.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/boundary.h"
#include "ops/prepacked.h"
#include "ops/record.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kLine = 64;  // bytes: where memory of the arena begins
// A program is measured in its second run and a few that follow: as it is, then with one thread.
constexpr int kShared = 3, kAlone = 2;
constexpr double kShort = 1.5e-6, kLong = 2e-3;  // seconds: steps that are not worth a second thread, or keep two busy

int64_t rounded(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

int64_t bytes_before(const Tensor& t) { return t->offset * item_size(t.dtype()); }

// A mode that is another one for a while.
struct Scope {
  bool& mode;
  bool before;
  Scope(bool& mode, bool on) : mode(mode), before(std::exchange(mode, on)) {}
  ~Scope() { mode = before; }
};

}  // namespace

int Program::add_value(const Tensor& t, int memory) {
  Memory& m = memories_[size_t(memory)];
  m.users.push_back({t.get(), t->offset * item_size(t.dtype())});
  m.item = std::max(m.item, item_size(t.dtype()));
  values_.push_back(t);
  return int(values_.size()) - 1;
}

int Program::add_memory(int kind, const Ref<Storage>& storage, int step) {
  Memory m;
  m.kind = decltype(m.kind)(kind);
  m.storage = storage;
  m.bytes = storage->bytes;
  m.first = m.last = step;
  memories_.push_back(std::move(m));
  return by_storage_[storage.get()] = int(memories_.size()) - 1;
}

int Program::memory_of(const Tensor& t) const {
  auto found = by_storage_.find(t->storage.get());
  return found == by_storage_.end() ? -1 : found->second;
}

int Program::add_input(const Tensor& like) {
  build(State::building);
  if (like.sparse()) fail_missing("a program takes no sparse tensors");
  Tensor t = alias(like);
  t->offset = 0;
  t->storage = Storage::foreign(nullptr, bytes_of(*like.get()), nullptr, nullptr);  // two inputs may share theirs
  int memory = add_memory(Memory::input, t->storage, 0);
  inputs_.push_back({add_value(t, memory), memory});
  return inputs_.back().value;
}

int Program::add_constant(const Tensor& t) {
  build(State::building);
  if (t.sparse()) fail_missing("a program takes no sparse tensors");
  int memory = memory_of(t);
  if (memory < 0) memory = add_memory(Memory::constant, t->storage, 0);
  constants_.push_back({add_value(t, memory), memory, t.sizes(), t.strides(), t.dtype()});
  return constants_.back().value;
}

void Program::use(const Tensor& t, int step) {
  int memory = t ? memory_of(t) : -1;
  if (memory < 0) return;
  memories_[size_t(memory)].last = step;
}

bool Program::lies_in_input(const Tensor& t) const {
  int memory = memory_of(t);
  return memory >= 0 && memories_[size_t(memory)].kind == Memory::input;
}

bool Program::can_hold(const Op& op) {
  return !(op.form.compose || op.is(kDynamic) || op.is(kTakesSparse) || op.returns_list);
}

// Begins a step of building it. `next` is the state until the step ends: broken, where an error would leave half of it.
void Program::build(State next) {
  if (state_ != State::building) fail("a program ", state_ == State::broken ? "is broken" : "is finished already");
  state_ = next;
}

std::vector<int> Program::add(const Op& op, std::vector<Argument> arguments, bool inplace, bool derivative) {
  build(State::broken);
  if (!can_hold(op)) fail_missing("a program cannot hold ", op.name);
  int now = int(steps_.size());
  Step& step = steps_.emplace_back(op);
  Call& c = step.call;
  if (arguments.size() > op.params.size()) fail_type(op.name, ": takes ", op.params.size(), " arguments");
  for (Argument& a : arguments) {
    if (a.kind == Argument::data) {
      c.push(std::move(a.plain));
      continue;
    }
    TensorList list;
    for (int v : a.values) {
      if (v >= int(values_.size())) fail(op.name, ": a program has no value ", v, ", but ", values_.size());
      list.push_back(v < 0 ? Tensor() : values_[size_t(v)]);
      use(list.back(), now);
      if (v >= 0 && memory_of(list.back()) >= 0) step.reads.push_back(memory_of(list.back()));
    }
    c.push(a.kind == Argument::list ? Value(std::move(list)) : Value(list.at(0)));
  }
  c.fill_defaults();
  c.inplace = inplace || op.is(kInplaceOnly);
  check_arguments(c);
  if (op.is(kFromStorage) && lies_in_input(c.tensor(0)))
    fail_missing("a program cannot hold ", op.name, " of an input, which begins elsewhere in a storage in each run");
  {
    Scope scope(t_modes.derivative, derivative);
    infer(c);
  }
  std::vector<int> made;
  for (int i = 0; i < c.out_count; ++i) {
    Tensor& out = c.out[i];
    if (c.inplace && i == 0) {
      Tensor self = c.tensor(0);
      check_changeable(self, op.base.c_str());
      if (!(out.sizes() == self.sizes()) || !can_cast(out.dtype(), self.dtype()))
        fail(op.name, "_: the result does not fit into ", name_of(self.dtype()), self.sizes());
      step.self = self;
      step.through_copy = !(op.is(kOverwrites) && out.dtype() == self.dtype() && !overlaps_partly(c, self));
      if (!step.through_copy) out = self;
    }
    int memory = out->storage ? memory_of(out) : -1;
    if (out->storage && memory < 0) fail_missing("a program cannot hold ", op.name, ", which brings memory of its own");
    if (memory < 0) {  // nothing is in it yet: its place follows in the end
      out->storage = Storage::foreign(nullptr, bytes_of(*out.get()), nullptr, nullptr);
      memory = add_memory(Memory::inside, out->storage, now);
    }
    memories_[size_t(memory)].last = now;
    if (!op.is(kView)) step.writes.push_back(memory);
    bool itself = c.inplace && i == 0 && !step.through_copy;
    int number = itself ? -1 : add_value(out, memory);
    if (c.inplace && i == 0) {
      values_.push_back(step.self);
      number = int(values_.size()) - 1;
      use(step.self, now);
    }
    made.push_back(number);
  }
  state_ = State::building;
  return made;
}

// Results that share their memory with others are not lent: who keeps a loss does not keep an arena.
void Program::choose_lent(const std::vector<int>& lent) {
  for (int i : lent)
    if (own_[size_t(i)]) memories_[size_t(memory_of(values_[size_t(results_[size_t(i)])]))].lent = true;
  for (size_t i = 0; i < results_.size(); ++i)
    if (own_[i] && std::find(lent.begin(), lent.end(), int(i)) == lent.end())
      memories_[size_t(memory_of(values_[size_t(results_[i])]))].lent = false;
}

// Gets memory for the arena, and lets all that stays inside lie there.
void Program::take_arena() {
  arena_ = Storage::make(arena_bytes_);
  arena_->forget_slack();
  for (Memory& m : memories_) {
    if (m.at < 0 || m.lent) continue;
    m.storage->data = arena_->data + m.at;
    m.storage->planned = true;
  }
}

// Gradients have memory of their own from now on, and the arena needs no room for them.
void Program::stop_lending() {
  for (Memory& m : memories_)
    if (std::exchange(m.lent, false)) m.at = -1;
  arena_.reset();
  arena_bytes_ = lay_out(schedule_);
}

// Memory of the arena, which is there for as long as this is.
Ref<Storage> Program::lend(const Memory& m) {
  auto let_go = [](void* arena) { delete static_cast<Ref<Storage>*>(arena); };
  lent_.push_back(Storage::foreign(arena_->data + m.at, m.bytes, new Ref<Storage>(arena_), let_go));
  lent_.back()->planned = true;
  return lent_.back();
}

void Program::finish(std::vector<int> results, const std::vector<int>& lent) {
  build(State::broken);
  for (int r : results)
    if (r < 0 || size_t(r) >= values_.size()) fail("a program has no value ", r, ", but ", values_.size());
  for (int i : lent)
    if (i < 0 || size_t(i) >= results.size()) fail("a program has no result ", i, ", but ", results.size());
  results_ = std::move(results);
  for (int r : results_) {
    int memory = memory_of(values_[size_t(r)]);
    if (memory >= 0 && memories_[size_t(memory)].kind == Memory::inside)
      memories_[size_t(memory)].kind = Memory::result;
    own_.push_back(memory >= 0 && memories_[size_t(memory)].kind == Memory::result);
  }
  choose_lent(lent);
  under_.assign(memories_.size(), -1);
  for (size_t i = 0; i < steps_.size(); ++i) {
    int below = overlaid(int(i));
    if (below >= 0) under_[size_t(memory_of(steps_[i].call.out[steps_[i].call.op.form.overlay.output]))] = below;
  }
  arena_bytes_ = lay_out(schedule_);
  if (memory_stats().cached > arena_bytes_) empty_cache();  // what capturing it has left behind
  take_arena();
  find_dependences();
  find_outside_writes();
  by_storage_ = {};
  for (const Constant& c : constants_) memories_[size_t(c.memory)].storage->forget_slack();
  state_ = State::finished;
}

void Program::set_number(int step, int argument, double number) {
  Call& c = steps_.at(size_t(step)).call;
  if (argument < 0 || argument >= c.count || c.arg(argument).tag() != Tag::Float)
    fail(c.op.name, ": argument ", argument, " is not a float that can be another one");
  c.arg(argument) = Value(number);
}

// Finds places in the arena for all that stays inside, and for what is lent, given when each memory is used.
int64_t Program::lay_out(const Schedule& schedule) {
  int turns = int(schedule.turns.empty() ? steps_.size() : schedule.turns.size());
  std::vector<Piece> pieces;
  std::vector<int> last(memories_.size());
  for (size_t i = memories_.size(); i-- > 0;) {  // what lies above another memory is younger
    Memory& m = memories_[i];
    last[i] = std::max(last[i], m.last);
    if (under_[i] >= 0)
      last[size_t(under_[i])] = std::max(last[size_t(under_[i])], last[i]);
    else if (m.kind == Memory::inside || m.lent)
      pieces.push_back({int(i), rounded(m.bytes), 0, m.first, m.lent ? turns : last[i]});
  }
  int64_t bytes = stack(pieces);
  for (const Piece& p : pieces) memories_[size_t(p.memory)].at = p.at;
  for (size_t i = 0; i < memories_.size(); ++i)
    if (under_[i] >= 0) memories_[i].at = memories_[size_t(under_[i])].at;
  std::vector<std::vector<Loan::Gap>> gaps = gaps_between(pieces, turns, bytes);
  if (schedule.turns.empty())
    for (size_t i = 0; i < steps_.size(); ++i) steps_[i].free = std::move(gaps[i]);
  for (int turn = 0; turn < int(schedule.turns.size()); ++turn)
    for (int step : schedule.of(turn)) steps_[size_t(step)].free = gaps[size_t(turn)];
  return bytes;
}

// The memory of an input in whose place an output of a step may lie, or -1. The step must be the last to use it, and
// must read it as this input only.
int Program::overlaid(int step) {
  Call& c = steps_[size_t(step)].call;
  Overlay o = c.op.form.overlay;
  if (o.output < 0 || !c.has(o.input)) return -1;
  const Tensor &input = c.tensor(o.input), &output = c.out[o.output];
  int below = memory_of(input), above = memory_of(output);
  if (below < 0 || above < 0 || below >= above) return -1;
  const Memory &lower = memories_[size_t(below)], &upper = memories_[size_t(above)];
  bool inside = lower.kind == Memory::inside && upper.kind == Memory::inside;
  bool whole = input.contiguous() && input->offset == 0 && input.dtype() == output.dtype() &&
               input.numel() == output.numel() && rounded(lower.storage->bytes) == rounded(upper.storage->bytes);
  if (!inside || !whole || lower.last != step || upper.first != step) return -1;
  for (int i = 0; i < int(c.op.params.size()); ++i)
    if (i != o.input && c.op.params[size_t(i)].type == Type::Tensor && c.has(i) && memory_of(c.tensor(i)) == below)
      return -1;
  return below;
}

void Program::point_to(Memory& m, const Ref<Storage>& storage, int64_t begin) {
  m.storage = storage;
  for (auto& [t, from] : m.users) {
    t->storage = storage;
    t->offset = (begin + from) / item_size(t->dtype);
  }
}

bool Program::fits(const std::vector<Tensor>& inputs) const {
  if (running_ || inputs.size() != inputs_.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor &given = inputs[i], &mine = values_[size_t(inputs_[i].value)];
    if (given.dtype() != mine.dtype() || given.sparse() || !(given.sizes() == mine.sizes()) ||
        !(given.strides() == mine.strides()))
      return false;
    if (bytes_before(given) % memories_[size_t(inputs_[i].memory)].item)
      return false;  // seen as larger elements, it would begin inside of one
  }
  return !stale() && may_write(inputs);
}

bool Program::takes(const std::vector<Tensor>& inputs) const {
  if (t_modes.grad) {
    for (const Tensor& t : inputs)
      if (wants_grad(*t.get())) return false;
    for (const Constant& c : constants_)
      if (wants_grad(*values_[size_t(c.value)].get())) return false;
  }
  return fits(inputs);
}

bool Program::shares_memory(const std::vector<Tensor>& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k)
      if (inputs[i]->storage.get() == inputs[k]->storage.get()) return true;
    for (const Constant& c : constants_)
      if (inputs[i]->storage.get() == memories_[size_t(c.memory)].storage.get()) return true;
  }
  return false;
}

bool Program::stale() const {
  if (state_ != State::finished || !arena_) return true;  // there was no memory for one
  for (const Constant& c : constants_) {
    const Tensor& t = values_[size_t(c.value)];
    if (t->storage.get() != memories_[size_t(c.memory)].storage.get() || !(t.sizes() == c.sizes) ||
        !(t.strides() == c.strides) || t.dtype() != c.type)
      return true;
  }
  return false;
}

std::vector<Tensor> Program::run(const std::vector<Tensor>& inputs, std::vector<Tensor>* unfinished) {
  if (!fits(inputs))
    fail("a program was given other inputs than it was made for, or read-only memory to change, or runs already");
  struct Running {
    Program& p;
    Claim alone;
    explicit Running(Program& program) : p(program), alone(p.running_) {}
    ~Running() {  // lets go of what it was given and gave away
      for (Memory& m : p.memories_)
        if (m.kind == Memory::input || m.kind == Memory::result) p.point_to(m, p.nothing_, 0);
    }
  } running(*this);
  if (std::any_of(lent_.begin(), lent_.end(), [](const Ref<Storage>& s) { return s->refs > 1; })) {
    stop_lending();  // somebody keeps what the last run gave, and may do so again
    take_arena();
  }
  lent_.clear();
  now_ = -1;
  bool last = std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t->storage->last.channels > 0; });
  if (last && !(schedule_.turns.empty() && times_.empty())) run_in_order();
  if (measured_ == kShared + kAlone) choose_schedule();
  if (first_run_ && memory_stats().cached > arena_bytes_ / 8) empty_cache();  // old gradients
  for (size_t i = 0; i < inputs.size(); ++i)
    point_to(memories_[size_t(inputs_[i].memory)], inputs[i]->storage, bytes_before(inputs[i]));
  for (Memory& m : memories_)
    if (m.kind == Memory::result) point_to(m, m.lent ? lend(m) : Storage::make(m.bytes), 0);
  try {
    run_steps();
  } catch (...) {
    if (unfinished) *unfinished = results();
    throw;
  }
  return results();
}

void Program::run_steps() {
  WithExec own(fixed_exec());
  GradMode off(false);
  Scope learning(t_modes.learning, learning_);
  now_ = -1;
  if (schedule_.turns.empty()) {
    bool measuring = !times_.empty() && !first_run_ && call_threads() > 1;
    for (int i = 0; i < int(steps_.size()); ++i) measuring ? measure(i) : run_step(i);
    measured_ += measuring;
  }
  for (const Schedule::Turn& turn : schedule_.turns)
    turn.count == 1 ? run_step(schedule_.steps[size_t(turn.begin)]) : run_beside(turn);
  first_run_ = false;
}

void Program::run_step(int i) {
  Step& s = steps_[size_t(i)];
  now_ = i;
  if (s.call.op.is(kView)) return;
  leave_if_interrupted();
  prepare(s);
  auto begin = seconds_.empty() ? Clock::time_point() : Clock::now();
  try {
    run_with_loan(s);
    if (s.through_copy) copy_data(s.self, s.call.out[0]);
  } catch (...) {  // Ctrl-C, say: some elements have changed
    if (s.self) s.self->storage->touch();
    throw;
  }
  if (!seconds_.empty()) seconds_[size_t(i)] += since(begin);
  if (s.self) s.self->storage->touch();
}

void Program::prepare(Step& s) {
  for (int w : s.writes) {
    Storage& storage = *memories_[size_t(w)].storage;
    if (!s.self || s.through_copy) storage.last = {};
    drop_packed(storage);  // it was made from what was there in another run
    ++storage.changes;
  }
}

// ---- steps side by side

void Program::run_beside(const Schedule::Turn& turn) {
  beside_.clear();
  now_ = schedule_.steps[size_t(turn.begin)];
  leave_if_interrupted();
  for (int k = turn.begin; k < turn.begin + turn.count; ++k) {
    Step& s = steps_[size_t(schedule_.steps[size_t(k)])];
    prepare(s);
    beside_.push_back(&s.call);
  }
  auto begin = seconds_.empty() ? Clock::time_point() : Clock::now();
  run_kernels(beside_);
  if (!seconds_.empty()) seconds_[size_t(now_)] += since(begin);
}

// The memories that a step changes.
std::vector<int> Program::written_by(const Step& s) const {
  std::vector<int> writes = s.writes;
  if (s.self) writes.push_back(memory_of(s.self));
  if (!s.self && s.call.op.base.ends_with('_'))  // a step of an optimiser, which changes lists of tensors
    writes.insert(writes.end(), s.reads.begin(), s.reads.end());
  return writes;
}

// Memory from outside that it changes: may_write() must find it writable before each run.
void Program::find_outside_writes() {
  std::vector<bool> written(memories_.size());
  for (const Step& s : steps_)
    for (int w : written_by(s)) written[size_t(w)] = true;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (written[size_t(inputs_[i].memory)]) written_inputs_.push_back(i);
  for (size_t i = 0; i < memories_.size(); ++i)
    if (memories_[i].kind == Memory::constant && written[i]) written_constants_.push_back(i);
}

bool Program::may_write(const std::vector<Tensor>& inputs) const {
  for (size_t i : written_inputs_)
    if (!inputs[i]->storage->writable) return false;
  for (size_t i : written_constants_)
    if (!memories_[i].storage->writable) return false;
  return true;
}

// For each step, the last one before it that it cannot do without, or that cannot do without what it overwrites. All
// memory from outside is taken for one: inputs and constants may overlap.
void Program::find_dependences() {
  size_t outside = memories_.size();
  auto place = [&](int m) {
    auto kind = memories_[size_t(m)].kind;
    return kind == Memory::input || kind == Memory::constant ? outside : size_t(m);
  };
  std::vector<int> wrote(outside + 1, -1), used(outside + 1, -1);
  bool any = false;
  times_.resize(steps_.size());
  for (int i = 0; i < int(steps_.size()); ++i) {
    const Step& s = steps_[size_t(i)];
    std::vector<int> writes = written_by(s);
    for (int w : s.writes)
      if (under_[size_t(w)] >= 0) writes.push_back(under_[size_t(w)]);
    int& after = times_[size_t(i)].after;
    for (int r : s.reads) after = std::max(after, wrote[place(r)]);
    for (int w : writes) after = std::max(after, used[place(w)]);
    for (int r : s.reads) used[place(r)] = i;
    for (int w : writes) wrote[place(w)] = used[place(w)] = i;
    times_[size_t(i)].beside = may_run_beside(s);
    any = any || (after < i - 1 && times_[size_t(i)].beside);
  }
  if (!any) times_.clear();
}

// What it writes must be the program's own: where an earlier step fails, nothing of it is to be seen.
bool Program::may_run_beside(const Step& s) const {
  return s.call.op.is(kBeside) && !s.self && std::all_of(s.writes.begin(), s.writes.end(), [&](int w) {
           auto kind = memories_[size_t(w)].kind;
           return kind == Memory::inside || kind == Memory::result;
         });
}

void Program::measure(int i) {
  StepTime& t = times_[size_t(i)];
  std::optional<Alone> alone;
  bool one = measured_ >= kShared;
  if (one && t.beside && t.shared < kLong) alone.emplace();
  auto begin = Clock::now();
  run_step(i);
  double seconds = since(begin);
  double& least = one ? t.alone : t.shared;
  bool first = measured_ == 0 || measured_ == kShared;
  least = first ? seconds : std::min(least, seconds);
  for (int w : steps_[size_t(i)].writes) {
    Memory& m = memories_[size_t(w)];
    m.channels_last = m.channels_last || m.storage->last.channels > 0;
  }
}

// Lets steps run side by side where what was measured says that it is quicker, and little more memory is needed.
void Program::choose_schedule() {
  for (size_t i = 0; i < times_.size(); ++i) {
    StepTime& t = times_[i];
    const std::vector<int>& reads = steps_[i].reads;
    // Who reads elements that lie channels last decides how the next find them: he stays where he is.
    bool last = std::any_of(reads.begin(), reads.end(), [&](int r) { return memories_[size_t(r)].channels_last; });
    t.beside = t.beside && !last && t.alone > kShort && t.shared < kLong;
  }
  Schedule made = weft::side_by_side(times_, num_threads());
  std::vector<StepTime>().swap(times_);
  measured_ = 0;
  if (made.turns.size() == steps_.size()) return;
  int64_t before = arena_bytes_;
  follow(std::move(made));
  if (double(arena_bytes_) > more_memory_ * double(before)) follow({});
  take_arena();
}

// Nothing runs side by side any more.
void Program::run_in_order() {
  std::vector<StepTime>().swap(times_);
  measured_ = 0;
  if (schedule_.turns.empty()) return;
  follow({});
  take_arena();
}

// Lays memory out for a schedule; an arena has to be taken then.
void Program::follow(Schedule schedule) {
  schedule_ = std::move(schedule);
  for (Memory& m : memories_) m.first = int(steps_.size()), m.last = 0;
  auto use = [&](int step, int turn) {
    const Step& s = steps_[size_t(step)];
    for (const std::vector<int>* used : {&s.reads, &s.writes})
      for (int i : *used) {
        Memory& m = memories_[size_t(i)];
        m.first = std::min(m.first, turn), m.last = std::max(m.last, turn);
      }
  };
  if (schedule_.turns.empty())
    for (int i = 0; i < int(steps_.size()); ++i) use(i, i);
  for (int turn = 0; turn < int(schedule_.turns.size()); ++turn)
    for (int step : schedule_.of(turn)) use(step, turn);
  arena_.reset();
  arena_bytes_ = lay_out(schedule_);
}

void Program::spread() {
  constexpr double kSame = 1e-3;
  for (StepTime& t : times_) t.shared = t.alone = kSame;
  measured_ = times_.empty() ? 0 : kShared + kAlone;
  more_memory_ = 1e9;
}

int Program::side_by_side() const {
  int count = 0;
  for (const Schedule::Turn& turn : schedule_.turns) count += turn.count > 1 ? turn.count : 0;
  return count;
}

// Work spaces of a kernel lie where the arena is free.
void Program::run_with_loan(Step& s) {
  Loan free(arena_->data, s.free);
  WithLoan while_it_runs(&free);
  run_kernel(s.call);
  if (free.in_use()) fail(s.call.op.name, ": kept a work space that was lent");
}

std::vector<Tensor> Program::results() const {
  std::vector<Tensor> found;
  for (size_t i = 0; i < results_.size(); ++i) {
    found.push_back(alias(values_[size_t(results_[i])]));
    if (t_modes.inference && own_[i]) found.back()->inference = true;
  }
  return found;
}

}  // namespace weft
