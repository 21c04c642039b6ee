#include "exec/template.h"

#include <algorithm>

#include "exec/plan.h"
#include "ops/api.h"
#include "ops/boundary.h"

namespace weft {
namespace {

// A mode that is another one for a while.
struct Scope {
  bool& mode;
  bool before;
  Scope(bool& mode, bool on) : mode(mode), before(std::exchange(mode, on)) {}
  ~Scope() { mode = before; }
};

Ref<Storage> stand_in(const Tensor& t) { return Storage::foreign(nullptr, bytes_of(*t.get()), nullptr, nullptr); }

}  // namespace

// Begins a step of building it. `next` is the state until the step ends: broken, where an error would leave half of it.
void Template::build(State next) {
  if (state_ != State::building) fail("a program ", state_ == State::broken ? "is broken" : "is finished already");
  state_ = next;
}

int Template::add_slot(const Tensor& like, int buffer, bool constant) {
  Buffer& b = buffers_[size_t(buffer)];
  b.item = std::max(b.item, item_size(like.dtype()));
  slots_.push_back({like, buffer, constant});
  return int(slots_.size()) - 1;
}

int Template::add_buffer(Buffer::Kind kind, const Ref<Storage>& storage) {
  Buffer b;
  b.kind = kind;
  b.storage = storage;
  buffers_.push_back(std::move(b));
  return by_storage_[storage.get()] = int(buffers_.size()) - 1;
}

int Template::buffer_of(const Tensor& t) const {
  auto found = by_storage_.find(t->storage.get());
  return found == by_storage_.end() ? -1 : found->second;
}

int Template::add_input(const Tensor& like) {
  build(State::building);
  if (like.sparse()) fail_missing("a program takes no sparse tensors");
  Tensor t = alias(like);
  t->offset = 0;
  t->storage = stand_in(like);  // two inputs may share theirs
  inputs_.push_back(add_slot(t, add_buffer(Buffer::input, t->storage), false));
  return inputs_.back();
}

int Template::add_constant(const Tensor& t) {
  build(State::building);
  if (t.sparse()) fail_missing("a program takes no sparse tensors");
  int buffer = buffer_of(t);
  if (buffer < 0) buffer = add_buffer(Buffer::constant, t->storage);
  constants_.push_back({add_slot(t, buffer, true), t.sizes(), t.strides(), t.dtype()});
  return constants_.back().slot;
}

bool Template::can_hold(const Op& op) {
  return !(op.form.compose || op.is(kDynamic) || op.is(kTakesSparse) || op.returns_list);
}

void Template::read_arguments(Instruction& in, std::vector<Argument>& arguments) {
  const Op& op = in.call.op;
  if (arguments.size() > op.params.size()) fail_type(op.name, ": takes ", op.params.size(), " arguments");
  for (Argument& a : arguments) {
    if (a.kind == Argument::data) {
      in.call.push(std::move(a.plain));
      continue;
    }
    TensorList list;
    for (int v : a.values) {
      if (v >= int(slots_.size())) fail(op.name, ": a program has no value ", v, ", but ", slots_.size());
      list.push_back(v < 0 ? Tensor() : slots_[size_t(v)].like);
      if (v >= 0) in.reads.push_back(slots_[size_t(v)].buffer);
    }
    bool many = a.kind == Argument::list;
    if (!many && list.empty()) fail(op.name, ": an argument of a program names no value");
    in.operands.push_back({in.call.count, many, std::move(a.values)});
    in.call.push(many ? Value(std::move(list)) : Value(list[0]));
  }
  in.call.fill_defaults();
}

std::vector<int> Template::add(const Op& op, std::vector<Argument> arguments, bool inplace, bool derivative,
                               const std::string& line) {
  build(State::broken);
  if (!can_hold(op)) fail_missing("a program cannot hold ", op.name);
  Instruction& in = instructions_.emplace_back(op);
  in.line = line;
  Call& c = in.call;
  read_arguments(in, arguments);
  c.inplace = inplace || op.is(kInplaceOnly);
  check_arguments(c);
  if (op.is(kFromStorage))
    if (int b = buffer_of(c.tensor(0)); b >= 0 && buffers_[size_t(b)].kind == Buffer::input)
      fail_missing("a program cannot hold ", op.name, " of an input, which begins elsewhere in a storage in each run");
  {
    Scope scope(t_modes.derivative, derivative);
    infer(c);
  }
  std::vector<int> made;
  for (int i = 0; i < c.out_count; ++i) made.push_back(add_result(in, i));
  state_ = State::building;
  return made;
}

// Gives an output of an op its buffer; returns the number of the value that stands for it.
int Template::add_result(Instruction& in, int number) {
  Call& c = in.call;
  const Op& op = c.op;
  Tensor& out = c.out[number];
  bool changes = c.inplace && number == 0;
  if (changes) {
    Tensor self = c.tensor(0);
    check_changeable(self, op.base.c_str());
    if (!(out.sizes() == self.sizes()) || !can_cast(out.dtype(), self.dtype()))
      fail(op.name, "_: the result does not fit into ", name_of(self.dtype()), self.sizes());
    if (in.operands.empty() || in.operands[0].argument != 0) fail(op.name, "_: changes no value of the program");
    in.self = in.operands[0].slots[0];
    in.through_copy = !(op.is(kOverwrites) && out.dtype() == self.dtype() && !overlaps_partly(c, self));
    if (!in.through_copy) out = self;
  }
  int buffer = out->storage ? buffer_of(out) : -1;
  if (out->storage && buffer < 0) fail_missing("a program cannot hold ", op.name, ", which brings memory of its own");
  if (buffer < 0) {  // nothing is in it yet: its place follows in the end
    out->storage = stand_in(out);
    buffer = add_buffer(Buffer::inside, out->storage);
  }
  if (!op.is(kView)) in.writes.push_back(buffer);
  in.outs.push_back(changes && !in.through_copy ? in.self : add_slot(out, buffer, false));
  return changes ? in.self : in.outs.back();
}

void Template::finish(std::vector<int> results, const std::vector<int>& lent) {
  build(State::broken);
  for (int r : results)
    if (r < 0 || size_t(r) >= slots_.size()) fail("a program has no value ", r, ", but ", slots_.size());
  for (int i : lent)
    if (i < 0 || size_t(i) >= results.size()) fail("a program has no result ", i, ", but ", results.size());
  results_ = std::move(results);
  mark_results(lent);
  find_overlays();
  find_outside_writes();
  by_storage_ = {};
  state_ = State::finished;
}

// Results that share their memory with others are not lent: who keeps a loss does not keep an arena.
void Template::mark_results(const std::vector<int>& lent) {
  auto mine = [&](size_t i) -> Buffer& { return buffers_[size_t(slots_[size_t(results_[i])].buffer)]; };
  for (size_t i = 0; i < results_.size(); ++i)
    if (mine(i).kind == Buffer::inside) mine(i).kind = Buffer::result;
  for (int i : lent)
    if (owns(size_t(i))) mine(size_t(i)).lendable = true;
  for (size_t i = 0; i < results_.size(); ++i)
    if (owns(i) && std::find(lent.begin(), lent.end(), int(i)) == lent.end()) mine(i).lendable = false;
}

// An output may lie where an input lies if its instruction is the last to use that, and reads it as this input only.
void Template::find_overlays() {
  std::vector<LiveRange> ranges = live_ranges(*this, {});
  for (size_t step = 0; step < instructions_.size(); ++step) {
    Call& c = instructions_[step].call;
    Overlay o = c.op.form.overlay;
    if (o.output < 0 || !c.has(o.input)) continue;
    const Tensor &input = c.tensor(o.input), &output = c.out[o.output];
    int below = buffer_of(input), above = buffer_of(output);
    if (below < 0 || above < 0 || below >= above) continue;
    const Buffer &lower = buffers_[size_t(below)], &upper = buffers_[size_t(above)];
    bool inside = lower.kind == Buffer::inside && upper.kind == Buffer::inside;
    bool whole = input.contiguous() && input->offset == 0 && input.dtype() == output.dtype() &&
                 input.numel() == output.numel() &&
                 Plan::rounded(lower.storage->bytes) == Plan::rounded(upper.storage->bytes);
    if (!inside || !whole || ranges[size_t(below)].last != int(step) || ranges[size_t(above)].first != int(step))
      continue;
    bool once = true;
    for (int i = 0; i < int(c.op.params.size()); ++i)
      if (i != o.input && c.op.params[size_t(i)].type == Type::Tensor && c.has(i) && buffer_of(c.tensor(i)) == below)
        once = false;
    if (once) buffers_[size_t(above)].below = below;
  }
}

std::vector<int> Template::written_by(const Instruction& in) const {
  std::vector<int> writes = in.writes;
  if (in.self >= 0) writes.push_back(slots_[size_t(in.self)].buffer);
  if (in.self < 0 && in.call.op.base.ends_with('_'))  // a step of an optimiser, which changes lists of tensors
    writes.insert(writes.end(), in.reads.begin(), in.reads.end());
  return writes;
}

// Memory from outside that it changes: may_write() must find it writable before each run.
void Template::find_outside_writes() {
  std::vector<bool> written(buffers_.size());
  for (const Instruction& in : instructions_)
    for (int w : written_by(in)) written[size_t(w)] = true;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (written[size_t(slots_[size_t(inputs_[i])].buffer)]) written_inputs_.push_back(i);
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i].kind == Buffer::constant && written[i]) written_constants_.push_back(i);
}

bool Template::may_write(const std::vector<Tensor>& inputs) const {
  for (size_t i : written_inputs_)
    if (!inputs[i]->storage->writable) return false;
  for (size_t i : written_constants_)
    if (!buffers_[i].storage->writable) return false;
  return true;
}

}  // namespace weft
