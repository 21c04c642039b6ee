// The dispatcher. Every op passes here, and exactly this happens: shape rule, allocate, run, record on the tape or in a
// trace.
#include <algorithm>
#include <list>
#include <optional>

#include "core/interpreter.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/autocast.h"
#include "ops/clock.h"
#include "ops/events.h"
#include "ops/held.h"
#include "ops/order.h"
#include "ops/recording.h"
#include "ops/sparse.h"

namespace weft {

thread_local Modes t_modes;
thread_local Recorder* t_recorder = nullptr;
constinit thread_local int64_t t_call_began = 0;
thread_local bool t_keeps_lock = false;

namespace {

constexpr int64_t kLongRun = 1 << 16;  // elements: beyond this other Python threads may run meanwhile

struct Inputs {
  int count = 0;
  uint32_t wanting = 0;  // a gradient, one bit each
  bool sparse = false;   // one is
};

Inputs look_at_inputs(Call& c) {
  Inputs found;
  uint8_t layouts = 0;
  found.count = each_input(c, [&](int p, TensorImpl* t) {
    if (!t) return;
    layouts |= uint8_t(t->layout);
    if (wants_grad(*t)) found.wanting |= 1u << std::min(p, 31);
  });
  found.sparse = layouts != 0;
  return found;
}

struct Unlocked {
  void* state = interpreter::release_lock();
  ~Unlocked() { interpreter::take_lock(state); }
};

bool keeps_lock(Call& c) {
  return c.op.is(kKeepsLock) || t_keeps_lock || (c.op.form.in_steps && c.op.form.in_steps(c));
}

// How many elements there are to compute, or to read.
int64_t work_of(Call& c) {
  int64_t work = c.out_count ? c.out[0].numel() : 0;
  for (int i = 0; i < 2 && i < c.count; ++i)  // the second one: weights of a layer
    if (c.arg(i).is_tensor()) work = std::max(work, c.tensor(i).numel());
  return work;
}

// Whether others should run meanwhile.
bool is_long(Call& c) { return work_of(c) >= kLongRun; }

[[gnu::noinline]] void run_unlocked(Call& c) {
  Held held(c);
  WithExec own(fixed_exec());
  Unlocked unlocked;
  c.op.form.run(c);
}

}  // namespace

void infer(Call& c) {
  if (c.op.form.infer)
    c.op.form.infer(c);
  else
    c.op.py_infer(c);
}

void run_kernel(Call& c) {
  if (!c.op.form.run) {
    if (c.op.py_run) c.op.py_run(c);
    return;
  }
  if (is_long(c) && !keeps_lock(c)) return run_unlocked(c);
  std::optional<Held> held;
  if (c.op.python && !t_keeps_lock && work_of(c) >= kLongMatrix) held.emplace(c);  // LAPACK, which each_matrix calls
  c.op.form.run(c);
}

void run_kernels(const std::vector<Call*>& calls, KernelTime* times) {
  bool any_last = false;
  for (Call* c : calls) each_input(*c, [&](int, TensorImpl* t) { any_last |= t && t->storage->last.channels > 0; });
  if (any_last) {  // nobody works on elements as they lie while somebody wants them in order
    for (size_t i = 0; i < calls.size(); ++i) {
      Timed timed(times ? times + i : nullptr);
      run_kernel(*calls[i]);
    }
    return;
  }
  WithExec own(fixed_exec());
  std::list<Held> held;
  std::optional<Unlocked> unlocked;
  bool any_long = std::any_of(calls.begin(), calls.end(), [](Call* c) { return is_long(*c); });
  if (any_long && !t_keeps_lock) {
    for (Call* c : calls) held.emplace_back(*c);
    unlocked.emplace();
  }
  Modes modes = t_modes;
  parallel_each(int64_t(calls.size()), [&](int64_t i) {
    struct Same {  // as on the thread that calls them
      Modes before;
      ~Same() { t_modes = before; }
    } same{std::exchange(t_modes, modes)};
    Alone alone;
    Timed timed(times ? times + i : nullptr);
    calls[size_t(i)]->op.form.run(*calls[size_t(i)]);
  });
}

namespace {

void mark_views(Call& c, bool wanting) {
  const Tensor& source = c.tensor(0);
  Tensor& out = c.out[0];
  if (c.op.base == "detach" || out->storage.get() != source->storage.get()) return;
  out->base = source->base ? source->base : source.ref();
  out->view_version = out->storage->version;
  out->unrecorded_view = source->unrecorded_view || (wanting && !t_modes.grad);
}

void note_change(const Tensor& t) {
  if (t->untracked)
    ++t->storage->changes;
  else
    t->storage->touch();
}

// In place: the result of the shape rule must fit into self, which then takes its place. Returns the node, if one is
// wanted.
Ref<Node> run_inplace(Call& c, bool recording, uint32_t wanting, int inputs) {
  Tensor self = c.tensor(0), original_self;
  Tensor& result = c.out[0];
  if (!(result.sizes() == self.sizes()))
    fail(c.op.base, "_: output with shape ", self.sizes(), " doesn't match the broadcast shape ", result.sizes());
  if (!can_cast(result.dtype(), self.dtype()))
    fail(c.op.base, "_: result type ", name_of(result.dtype()), " can't be cast to the desired output type ",
         name_of(self.dtype()));
  uint32_t keeps = keeps_of(c, ~0u);
  bool again = false;  // self is a further argument too, as in x.mul_(x)
  for (int i = 1; i < c.count; ++i) again = again || (c.arg(i).is_tensor() && c.tensor(i).is(self));
  if (recording && ((keeps & keep::x0) || again)) {  // the value before, with its place in the graph
    GradMode off(false);
    original_self = t_recorder ? clone_of(self) : clone_data(self);
    Edge before = gradient_edge(*self.get());
    original_self->set_history(std::move(before.node), before.slot);
  }
  Ref<Node> node;
  if (recording) node = record_inputs(c, wanting, inputs, original_self);
  for (int i = 1; i < c.out_count; ++i) give_memory(*c.out[i].get());
  bool direct = c.op.is(kOverwrites) && result.dtype() == self.dtype() && !overlaps_partly(c, self);
  if (direct) {
    result = self;
    try {
      run_kernel(c);
    } catch (...) {  // Ctrl-C or an index out of range: some elements may have changed
      note_change(self);
      throw;
    }
  } else {
    give_memory(*result.get());
    run_kernel(c);
    Uninterrupted whole_copy;
    copy_data(self, result);
    result = self;
  }
  note_change(self);
  return node;
}

// out= stands for dtype=, and must agree with it.
void take_type_of_out(Call& c) {
  for (int i = 0; i < c.count; ++i) {
    if (c.op.params[size_t(i)].type != Type::DType) continue;
    DType wanted = c.given_out[0].dtype();
    if (c.has(i) && c.arg(i).dtype() != wanted)
      fail(c.op.base, ": dtype=", name_of(c.arg(i).dtype()), " is not the dtype of out=, ", name_of(wanted));
    c.arg(i) = Value(wanted);
  }
}

void write_out(Tensor& target, const Tensor& result, const char* op, bool casts) {
  if (result.is(target)) return;
  check_out(target, result, op, casts);
  if (!(target.sizes() == result.sizes())) {
    resize_to(target, result.sizes());
    check_apart(target, op);
  }
  Uninterrupted whole_copy;
  copy_data(target, result);
  note_change(target);
}

void write_all_out(Call& c) {
  for (int i = 0; i < c.out_count; ++i) check_out(c.given_out[i], c.out[i], c.name(), c.op.is(kCastsOut));
  for (int i = 0; i < c.out_count; ++i) {
    write_out(c.given_out[i], c.out[i], c.name(), c.op.is(kCastsOut));
    c.out[i] = c.given_out[i];
  }
}

void run_into_given(Call& c) {
  for (int i = 0; i < c.out_count; ++i) {
    check_out(c.given_out[i], c.out[i], c.name(), c.op.is(kCastsOut));
    if (!c.out[i]->storage) give_memory(*c.out[i].get());
  }
  if (!c.op.is(kView)) run_kernel(c);
  write_all_out(c);
}

void run_composed(Call& c) {
  bool sparse = false;
  each_input(c, [&](int, TensorImpl* t) { sparse |= t && t->layout != Layout::Strided; });
  if (sparse && !c.op.is(kTakesSparse)) [[unlikely]]
    return run_sparse(c);
  if (c.inplace) check_inplace(c.tensor(0), c.op.base.c_str());
  // The parts are recorded and traced by themselves. What they keep of self must outlive its change.
  Tensor self;
  if (c.inplace) {
    self = c.tensor(0);
    if (t_modes.grad && look_at_inputs(c).wanting) c.arg(0) = Value(clone_of(self));
  }
  try {
    c.op.form.compose(c);
  } catch (Error& e) {  // the user called this op, not its parts
    if (e.text.find(c.op.base) == std::string::npos) e.text = c.op.base + ": " + e.text;
    throw;
  }
  if (c.op.returns_list) return;
  if (c.inplace) {
    if (!c.out[0].is(self)) copy_.into(self, c.out[0]);
    c.out[0] = self;
  } else if (c.given_out) {
    write_all_out(c);
  }
}

// Views are inference tensors if what they look into is one.
bool makes_inference(Call& c) {
  if (c.inplace || c.given_out) return false;
  return c.op.is(kView) ? c.tensor(0)->inference : t_modes.inference;
}

}  // namespace

void check_apart(const Tensor& target, const char* op) {
  if (target->contiguous || target.numel() <= 1 || target.sparse()) return;
  if (overlaps_itself(target.sizes(), target.strides()))
    fail(op,
         ": unsupported operation: more than one element of the written-to tensor refers to a single memory location "
         "(shape ",
         target.sizes(), ", strides ", target.strides(),
         "). Please clone() the tensor before performing the operation.");
}

void check_changeable(const Tensor& self, const char* op) {
  bool all_equal = std::string_view(op) == "zero_" || std::string_view(op) == "fill";  // then sharing does no harm
  if (!all_equal) check_apart(self, op);
}

void check_out(const Tensor& target, const Tensor& result, const char* op, bool casts) {
  if (target.sparse() || result.sparse()) refuse_sparse(op, "out=");
  if (casts ? !can_cast(result.dtype(), target.dtype())
            : result.dtype() != target.dtype() &&
                  !(result.dtype() == DType::Bool && target.dtype() == DType::UInt8))  // as truth was kept once
    fail(op, ": result type ", name_of(result.dtype()), " can't be cast to the desired output type ",
         name_of(target.dtype()), casts ? "" : ": out= must have the dtype of the result");
  if (!target->storage->writable) fail(op, ": out= is read-only");
  if (t_modes.grad && (target.wants_grad() || result.wants_grad()))
    fail(op,
         "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
         "requires grad.");
  if (target.sizes() == result.sizes()) check_apart(target, op);
}

void run_call(Call& c) {
  const Op& op = c.op;
  int64_t began = t_recorder ? nanoseconds_now() : 0;
  if (c.given_out && (op.is(kCreation) || op.is(kOutSetsType))) take_type_of_out(c);
  if (op.aside) {
    if (op.aside & Op::kRecorded && !c.recorded) return run_recorded(c);
    if (t_modes.autocast && op.cast != Cast::None && !c.inplace && !c.given_out) return run_cast(c);
    if (op.form.compose) return run_composed(c);
  }
  auto [inputs, wanting, sparse] = look_at_inputs(c);
  if (sparse && !op.is(kTakesSparse)) [[unlikely]]
    return run_sparse(c);
  bool into_integers = c.inplace && is_integral(c.tensor(0).dtype());  // which have no gradient
  bool recording = wanting && t_modes.grad && op.differentiable() && !into_integers;
  if (c.inplace) check_inplace(c.tensor(0), op.base.c_str());
  if (c.inplace && recording) check_rebase(c.tensor(0), wanting > 1);
  if (c.given_out && recording)
    fail(op.base,
         "(): functions with out=... arguments don't support automatic differentiation, but one of the "
         "arguments requires grad.");
  infer(c);
  Ref<Node> node;
  if (c.inplace) {
    node = run_inplace(c, recording, wanting, inputs);
  } else if (c.given_out) {
    run_into_given(c);
  } else if (!op.is(kView)) {
    for (int i = 0; i < c.out_count; ++i)
      if (!c.out[i]->storage) give_memory(*c.out[i].get());
    run_kernel(c);
  } else {
    mark_views(c, wanting);
  }
  if (makes_inference(c))
    for (int i = 0; i < c.out_count; ++i) c.out[i]->inference = true;
  if (recording) {
    if (!c.inplace) node = record_inputs(c, wanting, inputs, Tensor());
    record_outputs(std::move(node), c, wanting);
  } else if (!c.inplace) {
    note_cut(c, wanting);
  }
  if (t_recorder) {
    t_call_began = began;
    t_recorder->record(c);
  }
}

}  // namespace weft
