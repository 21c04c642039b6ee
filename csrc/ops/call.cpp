// The dispatcher. Every op passes here, and exactly this happens: shape rule, allocate, run, record on the tape or in a
// trace.
#include <algorithm>
#include <list>
#include <optional>

#include "core/fork.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/autocast.h"
#include "ops/order.h"
#include "ops/record.h"
#include "ops/sparse.h"

namespace weft {

thread_local Modes t_modes;
thread_local Recorder* t_recorder = nullptr;
InterpreterHooks g_interpreter;

namespace {

constexpr int64_t kLongRun = 1 << 16;  // elements: beyond this other Python threads may run meanwhile

// Calls f(position, tensor or null) for every tensor position of the call.
template <class F>
inline int each_input(Call& c, F&& f) {
  int position = 0;
  for (int i = 0; i < c.count; ++i) {
    Value& v = c.arg(i);
    if (v.tag() == Tag::Tensor) {
      f(position++, v.tensor().get());
    } else if (v.tag() == Tag::Tensors) {
      for (const Tensor& t : v.tensors()) f(position++, t.get());
    } else {
      Type type = c.op.params[size_t(i)].type;
      if (type == Type::Tensor || type == Type::Operand) f(position++, static_cast<TensorImpl*>(nullptr));
    }
  }
  return position;
}

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

// What holds of the order of elements while a kernel runs without the interpreter's lock: it reads them as tensors say,
// or they stay as they lie.
class Order {
 public:
  explicit Order(Call& c) {
    bool any = false, whole = true;  // parts of an image that lies channels last cannot be taken as they lie
    each_input(c, [&](int, TensorImpl* t) {
      if (!t || !t->storage->last.channels) return;
      any = true;
      whole = whole && lies_last(Tensor(t));
    });
    if (!any) return;
    bool stay = whole && c.op.form.any_order && c.op.form.any_order(c);
    each_input(c, [&](int, TensorImpl* t) {
      if (!t || !t->storage->last.channels) return;
      if (!stay) return t->storage->put_in_order();
      read_.push_back(t->storage);
      claims_.emplace_back(t->storage->readers);
    });
  }

 private:
  std::vector<Ref<Storage>> read_;
  std::list<Claim> claims_;
};

struct Unlocked {
  void* state = g_interpreter.release_lock();
  ~Unlocked() { g_interpreter.take_lock(state); }
};

bool keeps_lock(Call& c) {
  return c.op.is(kKeepsLock) || t_keeps_lock || (c.op.form.in_steps && c.op.form.in_steps(c));
}

// Whether others should run meanwhile.
bool is_long(Call& c) {
  int64_t work = c.out_count ? c.out[0].numel() : 0;
  for (int i = 0; i < 2 && i < c.count; ++i)  // the second one: weights of a layer
    if (c.arg(i).is_tensor()) work = std::max(work, c.tensor(i).numel());
  return work >= kLongRun;
}

[[gnu::noinline]] void run_unlocked(Call& c) {
  Order order(c);
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
  if (is_long(c) && g_interpreter.release_lock && !keeps_lock(c))
    run_unlocked(c);
  else
    c.op.form.run(c);
}

void run_kernels(const std::vector<Call*>& calls) {
  bool any_last = false;
  for (Call* c : calls) each_input(*c, [&](int, TensorImpl* t) { any_last |= t && t->storage->last.channels > 0; });
  if (any_last) {  // nobody works on elements as they lie while somebody wants them in order
    for (Call* c : calls) run_kernel(*c);
    return;
  }
  WithExec own(fixed_exec());
  std::optional<Unlocked> unlocked;
  bool any_long = std::any_of(calls.begin(), calls.end(), [](Call* c) { return is_long(*c); });
  if (any_long && g_interpreter.release_lock && !t_keeps_lock) unlocked.emplace();
  Modes modes = t_modes;
  parallel_each(int64_t(calls.size()), [&](int64_t i) {
    struct Same {  // as on the thread that calls them
      Modes before;
      ~Same() { t_modes = before; }
    } same{std::exchange(t_modes, modes)};
    Alone alone;
    calls[size_t(i)]->op.form.run(*calls[size_t(i)]);
  });
}

namespace {

// The kept tensor: itself with its version, or what the user's pack hook made of it.
Value keep_tensor(const Tensor& t) {
  if (t->inference)
    fail(
        "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor "
        "and use it in autograd: x = x.clone()");
  if (g_interpreter.pack_active) {
    uint32_t before = t->storage->version;
    auto packed = g_interpreter.pack(t);
    if (t->storage->version != before)
      fail(
          "A saved tensor pack hook is modifying its input in place. Tensors provided as input to a pack hook can not "
          "be modified by in-place operations as this can lead to unexpected side-effects.");
    if (packed) return Value(std::move(packed));
  }
  Value v(t);
  v.extra = t->storage->version;
  return v;
}

// Under detect_anomaly: what went in, should the derivative give NaN.
void note_ranges(OpNode& n, Call& c) {
  n.ranges = std::make_unique<std::string>();
  for (int i = 0; i < c.count; ++i)
    if (Value& v = c.arg(i); v.is_tensor())
      *n.ranges += "\n  " + c.op.params[size_t(i)].name + ": " + describe_range(v.tensor());
}

uint32_t keeps_of(const Call& c, uint32_t wanting) {
  return c.op.form.keeps_when ? c.op.form.keeps_when(c.op, wanting) : c.op.form.keeps;
}

// The node of a call and what it keeps of the inputs. In place this happens before anything is written: what may not
// be kept is refused while the data is as it was.
Ref<OpNode> record_inputs(Call& c, uint32_t wanting, int inputs, const Tensor& original_self) {
  uint32_t keeps = keeps_of(c, wanting);
  Ref<OpNode> n(OpNode::make(c.op, inputs, c.count, __builtin_popcount(keeps >> 16)));
  n->origin = Origin::here();
  each_input(c, [&](int p, TensorImpl* t) {
    if (!t || !wants_grad(*t)) return;
    n->edges[p] = gradient_edge(*t);
    n->metas[p].sizes = t->sizes;
    n->metas[p].dtype = t->dtype;
  });
  n->renumber();
  int position = 0;
  for (int i = 0; i < c.count; ++i) {
    Value& v = c.arg(i);
    Type type = c.op.params[size_t(i)].type;
    if (v.tag() == Tag::Tensors) {
      if (keeps & keep::inputs & (1u << std::min(position, 15))) {
        n->args[i] = v;
        n->args[i].extra = versions_of(v.tensors());
      }
      position += int(v.tensors().size());
    } else if (type == Type::Tensor || type == Type::Operand) {
      bool wanted = keeps & (1u << std::min(position, 15));
      if (v.is_tensor() && wanted) {
        bool self = original_self && (position == 0 || v.tensor().is(c.tensor(0)));
        n->args[i] = keep_tensor(self ? original_self : v.tensor());
      } else if (!v.is_tensor())
        n->args[i] = v;
      ++position;
    } else {
      n->args[i] = v;
    }
  }
  if (c.op.form.keeps_place) n->args[0] = place_value(*c.tensor(0).get());
  if (t_modes.anomaly) note_ranges(*n, c);
  return n;
}

// What it keeps of the results.
void record_outputs(OpNode& n, Call& c, uint32_t wanting) {
  uint32_t keeps = keeps_of(c, wanting);
  int k = 0;
  for (int i = 0; i < c.out_count; ++i) {
    if (!(keeps & (keep::y0 << i))) continue;
    n.kept_slot[k] = uint8_t(i);
    n.kept[k++] = keep_tensor(alias(c.out[i]));
  }
  n.outputs = uint32_t(std::max(c.out_count, 1));
  if (c.out_count > 1)
    for (int i = 0; i < c.out_count; ++i) n.output_metas.push_back({c.out[i].sizes(), c.out[i].dtype()});
}

// Remembers why the results have no history although an input had one.
void note_cut(Call& c, uint32_t wanting) {
  Ref<Cut> cut;
  if (wanting) {
    cut = Ref<Cut>(new Cut);
    if (!t_modes.grad)
      cut->what = c.op.base + " ran under no_grad";
    else if (c.op.base == "detach")
      cut->what = "detach()";
    else if (c.op.differentiable())
      cut->what = c.op.base + ", whose result is " + name_of(c.out[0].dtype()) + ": integers have no gradient";
    else
      cut->what = c.op.base + " has no derivative";
    cut->origin = Origin::here();
  } else {
    each_input(c, [&](int, TensorImpl* t) {
      if (t && t->cut && !cut) cut = t->cut;
    });
    if (!cut) return;
  }
  for (int i = 0; i < c.out_count; ++i) c.out[i]->cut = cut;
}

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
Ref<OpNode> run_inplace(Call& c, bool recording, uint32_t wanting, int inputs) {
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
  Ref<OpNode> node;
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
  if (c.given_out && (op.is(kCreation) || op.is(kOutSetsType))) take_type_of_out(c);
  if (op.aside) {
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
  Ref<OpNode> node;
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
    record_outputs(*node, c, wanting);
    if (c.inplace) {
      rebase_history(c.out[0], Ref<Node>(node.get()));
    } else {
      bool any = false;
      for (int i = 0; i < c.out_count; ++i)
        if (is_inexact(c.out[i].dtype())) {
          c.out[i]->set_history(Ref<Node>(node.get()), uint32_t(i));
          any = true;
        }
      if (!any) note_cut(c, wanting);
    }
  } else if (!c.inplace) {
    note_cut(c, wanting);
  }
  if (t_recorder) t_recorder->record(c);
}

}  // namespace weft
