// The replay of a captured call (weft/jit/compile): what must hold for it, its program, and what is done with the
// results. One crossing from Python to here and back.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "bind/preconditions.h"
#include "bind/replay_backward.h"

namespace weft {
namespace {

class Replay : public Preconditions {
 public:
  Replay(nb::object program, nb::object owner) : program_(&nb::cast<Program&>(program)) {
    keep(program);
    keep(owner);
  }

  // ---- what must hold

  // t.grad is that one, or none.
  void require_grad(Tensor t, nb::object grad) {
    grads_before_.push_back({t, grad.is_none() ? Tensor() : to_tensor(grad, "a gradient")});
  }
  void require_input_grad(int input, nb::object grad) {
    input_grads_before_.push_back({size_t(input), grad.is_none() ? Tensor() : to_tensor(grad, "a gradient")});
  }
  void set_apart(bool apart) { apart_ = apart; }  // nothing that it is given may share memory

  // ---- what is done

  // A number of an op is read from a dict, there from a tuple's place if it is not -1.
  void read_number(int step, int argument, nb::dict where, nb::object key, int place) {
    live_.push_back({step, argument, keep(where), keep(key), place});
  }
  // t.grad becomes a result, or none (-1), before op `set`; before op `cleared` it was taken away. Step `made` computes
  // the result.
  void set_grad(Tensor t, int result, int cleared, int set, int made) {
    grads_after_.push_back({t, -1, result, cleared, set, made});
    program_->set_exclusive();
  }
  void set_input_grad(int input, int result, int cleared, int set, int made) {
    grads_after_.push_back({Tensor(), input, result, cleared, set, made});
    program_->set_exclusive();
  }
  // What tells the line of an op, if it fails.
  void set_lines(nb::object line_of) { line_of_ = keep(line_of); }
  // Which op of the call each step of the program stands for.
  void set_order(std::vector<int> ops) { ops_ = std::move(ops); }
  // Gradients of results (by number) lead to leaves: tensors, or inputs by their number. Saved are results by number,
  // inputs as -1 - number.
  void set_derivative(nb::object backward, std::vector<int> outputs, nb::list leaves, std::vector<int> saved) {
    keep(backward);
    back_ = &nb::cast<CompiledBackward&>(backward);
    differentiable_ = std::move(outputs);
    saved_ = std::move(saved);
    for (nb::handle o : leaves) {
      bool input = nb::isinstance<nb::int_>(o);
      leaves_.push_back({input ? nb::cast<int>(o) : -1, input ? Tensor() : to_tensor(o, "a leaf")});
    }
  }
  void give(int result, bool spent) { given_.push_back({result, spent, {}}); }
  // What the call returns: ("made", place among what is given), ("input", number), ("constant", object), or a tuple or
  // list of these: ("tuple", [parts]). Without it, a run returns a list of what is given.
  void set_output(nb::object output) {
    output_ = output_of(output);
    idle_ = given_.empty() && grads_after_.empty() && !back_ && program_->what().instructions().empty();
  }

  // None, having done nothing, where something does not hold.
  nb::object run(nb::handle args) {
    std::vector<Tensor> inputs;
    do {  // finding out may run Python, and so another thread
      inputs.clear();
      program_->wait_for_turn();
      if (!holds(args, inputs)) return nb::none();
    } while (!program_->is_my_turn());
    if (idle_) {
      ++calls_;
      return made_of(*output_, inputs, {});
    }
    Program::Run run(*program_);
    if (!read_numbers(run)) return nb::none();
    ++calls_;
    std::vector<Tensor> made = run_program(run, inputs);
    for (Given& g : given_) {
      if (!g.spent) continue;
      if (!g.graph) g.graph = spent_node();
      made[size_t(g.result)]->set_history(g.graph, 0);
    }
    if (back_) record(inputs, made);
    if (output_) return made_of(*output_, inputs, made);
    nb::list results;
    for (const Given& g : given_) results.append(nb::steal(wrap(made[size_t(g.result)])));
    return results;
  }

  // The same, given the arguments of a call, which may be containers.
  nb::object run_nested(nb::handle args) {
    if (!is_nested()) return run(args);
    std::vector<PyObject*> leaves;
    if (!PyTuple_Check(args.ptr()) || !flatten(args.ptr(), leaves)) return nb::none();
    nb::object own = nb::steal(PyTuple_New(Py_ssize_t(leaves.size())));  // a guard may run Python, which takes one out
    if (!own.is_valid()) throw PythonError();
    for (size_t i = 0; i < leaves.size(); ++i) PyTuple_SET_ITEM(own.ptr(), Py_ssize_t(i), Py_NewRef(leaves[i]));
    return run(own);
  }

  int64_t calls() const { return calls_; }

 private:
  bool holds(nb::handle args, std::vector<Tensor>& inputs) {
    if (!PyTuple_Check(args.ptr())) return false;
    if (!hold(PySequence_Fast_ITEMS(args.ptr()), size_t(PyTuple_GET_SIZE(args.ptr())), inputs)) return false;
    for (const auto& [t, grad] : grads_before_)
      if (t->grad.get() != grad.get()) return false;
    for (const auto& [i, grad] : input_grads_before_)
      if (inputs[i]->grad.get() != grad.get()) return false;
    return program_->fits(inputs) && !(apart_ && program_->shares_memory(inputs));
  }

  struct GradAfter {
    Tensor t;  // or the input of this number
    int input;
    int result, cleared, set, made;
    TensorImpl& of(const std::vector<Tensor>& inputs) const { return *(input < 0 ? t : inputs[size_t(input)]).get(); }
  };
  struct Live {
    int step, argument;
    PyObject *where, *key;
    int place;
  };
  struct Output {
    enum Kind : uint8_t { made, input, constant, tuple, list } kind;
    size_t number = 0;
    PyObject* object = nullptr;
    std::vector<Output> parts;
  };
  Output output_of(nb::handle o) {
    const std::string kind = nb::cast<std::string>(nb::handle(o[0]));
    nb::object what = o[1];
    if (kind == "made" || kind == "input")
      return {kind == "made" ? Output::made : Output::input, nb::cast<size_t>(what), nullptr, {}};
    if (kind == "constant") return {Output::constant, 0, keep(what), {}};
    Output all{kind == "tuple" ? Output::tuple : Output::list, 0, nullptr, {}};
    for (nb::handle part : what) all.parts.push_back(output_of(part));
    return all;
  }
  nb::object made_of(const Output& o, const std::vector<Tensor>& inputs, const std::vector<Tensor>& made) const {
    switch (o.kind) {
      case Output::made: return nb::steal(wrap(made[size_t(given_[o.number].result)]));
      case Output::input: return nb::steal(wrap(inputs[o.number]));
      case Output::constant: return nb::borrow(o.object);
      default: break;
    }
    const Py_ssize_t n = Py_ssize_t(o.parts.size());
    nb::object all = nb::steal(o.kind == Output::tuple ? PyTuple_New(n) : PyList_New(n));
    if (!all.is_valid()) throw nb::python_error();
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* part = made_of(o.parts[size_t(i)], inputs, made).release().ptr();
      o.kind == Output::tuple ? PyTuple_SET_ITEM(all.ptr(), i, part) : PyList_SET_ITEM(all.ptr(), i, part);
    }
    return all;
  }
  struct Given {
    int result;
    bool spent;
    Ref<Node> graph;  // of one that is spent: each has its own, as gradients of other shapes arrive there
  };

  void record(const std::vector<Tensor>& inputs, const std::vector<Tensor>& made) {
    CompiledCall call;
    for (int s : saved_) call.kept.push_back(s >= 0 ? made[size_t(s)] : inputs[size_t(-1 - s)]);
    for (int r : differentiable_) call.outputs.push_back(made[size_t(r)]);
    for (const auto& [input, t] : leaves_) call.leaves.push_back(input >= 0 ? inputs[size_t(input)] : t);
    call.inputs = inputs;
    back_->record(std::move(call));
  }

  // Runs the program and sets gradients; where an op fails, those are what they would be by then.
  std::vector<Tensor> run_program(Program::Run& run, const std::vector<Tensor>& inputs) {
    // If nothing can fail before they are taken away, what is there is not read: its memory is free.
    std::vector<Ref<TensorImpl>> before(grads_after_.size());
    for (size_t i = 0; i < before.size(); ++i) {
      Ref<TensorImpl> grad = std::exchange(grads_after_[i].of(inputs).grad, nullptr);
      if (grads_after_[i].cleared > 0) before[i] = std::move(grad);
    }
    std::vector<Tensor> made;
    try {
      made = run(inputs);
    } catch (...) {
      int step = run.step(), op = step >= 0 && size_t(step) < ops_.size() ? ops_[size_t(step)] : -1;
      made = run.unfinished();
      for (size_t i = 0; i < before.size(); ++i) {
        const GradAfter& g = grads_after_[i];
        if (op < g.cleared)
          g.of(inputs).grad = before[i];
        else if (op >= g.set && step > g.made && g.result >= 0 && !made.empty())
          g.of(inputs).grad = made[size_t(g.result)].ref();
      }
      throw_with_line(op);
    }
    for (const GradAfter& g : grads_after_)
      if (g.result >= 0) g.of(inputs).grad = made[size_t(g.result)].ref();
    return made;
  }
  [[noreturn]] void throw_with_line(int op) {
    try {
      throw;
    } catch (Error& e) {
      nb::object line = line_of_ ? nb::steal(PyObject_CallFunction(line_of_, "i", op)) : nb::object();
      if (line.is_valid() && PyUnicode_Check(line.ptr())) e.line = nb::cast<std::string>(line);
      PyErr_Clear();
      throw;
    }
  }

  bool read_numbers(Program::Run& run) {
    for (Live& l : live_) {
      PyObject* found = found_in(l.where, l.key);
      if (found && l.place >= 0) {
        if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) <= l.place) return false;
        found = PyTuple_GET_ITEM(found, l.place);
      }
      if (!found || !(PyFloat_CheckExact(found) || PyLong_CheckExact(found))) return false;
      double number = PyFloat_AsDouble(found);
      if (number == -1 && PyErr_Occurred()) throw nb::python_error();
      run.set_number(l.step, l.argument, number);
    }
    return true;
  }

  Program* program_;
  PyObject* line_of_ = nullptr;
  bool apart_ = false, idle_ = false;  // idle: there is nothing to do
  std::optional<Output> output_;
  std::vector<Live> live_;
  std::vector<std::pair<Tensor, Tensor>> grads_before_;
  std::vector<std::pair<size_t, Tensor>> input_grads_before_;
  std::vector<GradAfter> grads_after_;
  std::vector<int> ops_;
  int64_t calls_ = 0;
  std::vector<Given> given_;
  // Of a call whose results have gradients.
  CompiledBackward* back_ = nullptr;
  std::vector<int> differentiable_, saved_;
  std::vector<std::pair<int, Tensor>> leaves_;
};

// Whether a backward pass has freed a part of the graph of t, on this side of some tensors.
bool is_spent(Tensor t, nb::list until) {
  std::unordered_set<Node*> seen;
  for (nb::handle o : until)
    if (Tensor end = to_tensor(o, "a tensor"); end->grad_fn) seen.insert(end->grad_fn.get());
  std::vector<Node*> waiting;
  if (t->grad_fn) waiting.push_back(t->grad_fn.get());
  while (!waiting.empty()) {
    Node* n = waiting.back();
    waiting.pop_back();
    if (!seen.insert(n).second) continue;
    if (n->released()) return true;
    for (uint32_t i = 0; i < n->edge_count; ++i)
      if (Node* next = n->edges[i].node.get()) waiting.push_back(next);
  }
  return false;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Replay>(self)->refs());
  return 0;
}
int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Replay>(self)->drop_refs();
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, (void*)traverse}, {Py_tp_clear, (void*)clear}, {}};

// ---- what is called: it replays the call where it can, else its class decides

thread_local bool t_eagerly = false;  // compiled functions run as they are

struct Compiled {
  PyObject_HEAD;
  PyObject* replay;    // of the last call, if that makes the result itself; or null
  PyObject* sequence;  // for any sizes; or null
  Py_ssize_t rest;     // calls that try it before anybody looks what would be better
};
PyObject *g_call, *g_compiled;  // an interned name, and the class

PyObject* compiled_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* replay = reinterpret_cast<Compiled*>(self)->replay;
  if (replay && !t_eagerly && (!kwargs || !PyDict_GET_SIZE(kwargs))) {
    Py_INCREF(replay);
    PyObject* made = guarded([&] { return nb::inst_ptr<Replay>(replay)->run_nested(args).release().ptr(); });
    Py_DECREF(replay);
    if (made != Py_None) return made;
    Py_DECREF(made);
  }
  auto* compiled = reinterpret_cast<Compiled*>(self);
  if (compiled->sequence && compiled->rest > 0 && !t_eagerly && (!kwargs || !PyDict_GET_SIZE(kwargs))) {
    --compiled->rest;
    nb::object sequence = nb::borrow(compiled->sequence);
    PyObject* made = run_call_sequence(sequence.ptr(), args);
    if (made != Py_NotImplemented) return made;
    Py_DECREF(made);
  }
  nb::object names = kwargs ? nb::borrow(kwargs) : nb::steal(PyDict_New());
  PyObject* given[] = {self, args, names.ptr()};
  return names.is_valid() ? PyObject_VectorcallMethod(g_call, given, 3, nullptr) : nullptr;
}
int compiled_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Compiled*>(self)->replay);
  Py_VISIT(reinterpret_cast<Compiled*>(self)->sequence);
  return 0;
}
int compiled_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Compiled*>(self)->replay);
  Py_CLEAR(reinterpret_cast<Compiled*>(self)->sequence);
  return 0;
}
void compiled_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  compiled_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyType_Slot compiled_slots[] = {
  {Py_tp_call, (void*)compiled_call},
  {Py_tp_traverse, (void*)compiled_traverse},
  {Py_tp_clear, (void*)compiled_clear},
  {Py_tp_dealloc, (void*)compiled_dealloc},
  {Py_tp_doc, (void*)"What calling a compiled function does: the last replay, or else its method _call(args, kwargs)."},
  {}};
PyType_Spec compiled_spec = {"weft._C.CompiledBase", sizeof(Compiled), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, compiled_slots};

}  // namespace

void bind_replay(nb::module_& m) {
  m.def("_spend", [](Tensor t) {  // t, as a result whose graph a backward pass has freed
    Tensor result = alias(t);
    result->set_history(spent_node(), 0);
    return result;
  });
  m.def("_is_spent", is_spent);
  m.def("_has_hooks", [](Tensor t) { return has_hooks(*t.get()); });
  // What its gradients go on to, as a number to compare.
  m.def("_history", [](Tensor t) { return reinterpret_cast<uintptr_t>(t->grad_fn.get()); });
  m.def("_has_attributes", [](nb::object t) { return is_tensor(t.ptr()) && attributes(t.ptr()); });
  m.def("_attributes", [](nb::object t) { return attributes(t.ptr()); });
  nb::class_<Replay>(m, "Replay", nb::type_slots(slots), "A captured call that can be replayed.")
      .def(nb::init<nb::object, nb::object>())
      .def("set_modes", &Replay::set_modes)
      .def("take_input", &Replay::take_input)
      .def("take_value", &Replay::take_value, nb::arg().none())
      .def("set_guards", &Replay::set_guards)
      .def("set_nesting", &Replay::set_nesting)
      .def("set_strangers", &Replay::set_strangers)
      .def("require_grad", &Replay::require_grad, nb::arg(), nb::arg().none())
      .def("require_input_grad", &Replay::require_input_grad, nb::arg(), nb::arg().none())
      .def("require_role", &Replay::require_role)
      .def("set_derivative", &Replay::set_derivative)
      .def("set_apart", &Replay::set_apart)
      .def("read_number", &Replay::read_number)
      .def("set_grad", &Replay::set_grad)
      .def("set_order", &Replay::set_order)
      .def("set_lines", &Replay::set_lines)
      .def("set_input_grad", &Replay::set_input_grad)
      .def_prop_ro("calls", &Replay::calls)
      .def("give", &Replay::give)
      .def("set_output", &Replay::set_output)
      .def("run", &Replay::run, "Makes the call; None, having done nothing, where something does not hold.")
      .def("run_nested", &Replay::run_nested, "The same, given the arguments of a call, which may be containers.");
  m.def("_compiled_runs_eagerly", [] { return t_eagerly; });
  m.def("_let_compiled_run_eagerly", [](bool on) { return std::exchange(t_eagerly, on); });
  g_call = PyUnicode_InternFromString("_call");
  g_compiled = PyType_FromSpec(&compiled_spec);
  if (!g_compiled) throw nb::python_error();
  m.attr("CompiledBase") = nb::borrow(g_compiled);
  // What a compiled function tries first from now on: a replay that makes the result itself, or none.
  m.def(
      "_try_first",
      [](nb::object compiled, nb::object replay) {
        if (!nb::isinstance(compiled, g_compiled) || !(replay.is_none() || nb::isinstance<Replay>(replay)))
          throw nb::type_error("_try_first: takes a compiled function and a replay");
        PyObject* next = replay.is_none() ? nullptr : replay.release().ptr();
        PyObject* before = std::exchange(reinterpret_cast<Compiled*>(compiled.ptr())->replay, next);
        Py_XDECREF(before);
      },
      nb::arg(), nb::arg().none());
  // What it tries then, in the next so many calls.
  m.def(
      "_try_sequence",
      [](nb::object compiled, nb::object sequence, Py_ssize_t calls) {
        if (!nb::isinstance(compiled, g_compiled) || !(sequence.is_none() || is_call_sequence(sequence.ptr())))
          throw nb::type_error("_try_sequence: takes a compiled function and a CallSequence");
        auto* c = reinterpret_cast<Compiled*>(compiled.ptr());
        c->rest = calls;
        PyObject* next = sequence.is_none() ? nullptr : sequence.release().ptr();
        PyObject* before = std::exchange(c->sequence, next);
        Py_XDECREF(before);
      },
      nb::arg(), nb::arg().none(), nb::arg());
}

}  // namespace weft
