// The replay of a captured call for inputs of any sizes (weft/jit/compile/dynamic.py): the calls from
// Python to weft, one after the other, without the Python between them. Each of them is made as an eager program makes
// it, so all that depends on sizes inside of weft is decided anew.
//
// A program in SSA form: values have numbers, the first ones are the arguments. An instruction is a Python callable
// with arguments and what its result is: values, or a constant that it must equal.
#include <nanobind/stl/vector.h>

#include "bind/observer.h"
#include "bind/preconditions.h"
#include "core/generator.h"
#include "ops/api.h"

namespace weft {
namespace {

// Something that is made of values and constants.
struct Pattern {
  enum Kind : uint8_t { constant, value, tuple, list, slice, dict } kind = constant;
  uint32_t number = 0;         // of a value
  PyObject* object = nullptr;  // a constant; of a dict, its keys
  std::vector<Pattern> items;
};

// What a call gives. Where the result is another one than it was, the program does not hold.
struct Result {
  enum Kind : uint8_t {
    tensor,
    same,  // a tensor that is there
    number,
    constant,
    sequence,
    otherwise  // False: nothing was done, and another function does it
  } kind = constant;
  uint32_t value = 0;
  PyObject* object = nullptr;  // a constant, the type of a number, or the other function
  DType dtype = DType::Float;  // of a tensor
  int rank = 0;
  std::vector<Result> items;
};

struct Instruction {
  PyObject* function;
  std::vector<Pattern> args;
  PyObject* names;  // of the last arguments, or null
  Result result;
  bool grad;                        // mode of gradients
  bool keeps;                       // its first argument is changed, and that may have to be undone
  bool lasts;                       // from here on, not all can be undone
  std::vector<uint32_t> last_uses;  // values that are not read any more
  KnownOrigin origin;
};

using Values = std::vector<nb::object>;

// A place in Python's state that a call reads at its beginning and has given another value at its end: an item of a
// dict or list, a slot of an object, a cell of a closure.
struct Slot {
  PyObject *owner, *key;  // of a cell, no key
  Nesting nesting;        // of its value before the call
  Pattern after;

  // A new reference; null, without an error, where it is empty.
  PyObject* get() const {
    if (PyDict_Check(owner)) {
      PyObject* found = PyDict_GetItemWithError(owner, key);
      if (!found && PyErr_Occurred()) throw PythonError();
      return Py_XNewRef(found);
    }
    if (PyCell_Check(owner)) return PyCell_Get(owner);
    if (PyList_Check(owner)) {
      Py_ssize_t i = PyLong_AsSsize_t(key);
      return i < PyList_GET_SIZE(owner) ? Py_NewRef(PyList_GET_ITEM(owner, i)) : nullptr;
    }
    PyObject* found = PyObject_GenericGetAttr(owner, key);
    if (!found) PyErr_Clear();
    return found;
  }
  void set(nb::object value) const {
    int failed = PyDict_Check(owner)   ? PyDict_SetItem(owner, key, value.ptr())
                 : PyCell_Check(owner) ? PyCell_Set(owner, value.ptr())
                 : PyList_Check(owner) ? PyList_SetItem(owner, PyLong_AsSsize_t(key), value.release().ptr())
                                       : PyObject_GenericSetAttr(owner, key, value.ptr());
    if (failed) throw PythonError();
  }
};

class CallSequence : public Preconditions {
 public:
  explicit CallSequence(size_t values) : values_(values) {}

  // The next argument is a tensor of this rank and dtype, or a number; it is the next value. Sizes: of the tensor, -1
  // where any will do.
  void take_tensor(nb::object like, std::vector<int64_t> sizes) {
    take_input(inputs_.size(), like);
    inputs_.push_back({tensor_of(like.ptr()).dtype(), std::move(sizes)});
    taken_.push_back(true);
  }
  // The next argument is a tensor that was given before, by its number among the tensors; it is the next value as well.
  void take_again(size_t number, nb::object like) {
    take_input(number, like);
    taken_.push_back(true);
  }
  void take_number(nb::object like, bool any) {
    if (any)
      take_any(nb::borrow(like.type()));
    else
      take_value(like);
    taken_.push_back(true);
  }
  void take_constant(nb::object o) {
    take_value(o);
    taken_.push_back(false);
  }

  void add(nb::object f, nb::list args, nb::object names, nb::object result, bool grad, bool keeps, bool lasts,
           std::vector<uint32_t> last_uses, nb::object code, int32_t instruction, uint32_t module) {
    Instruction i{keep(f),
                  {},
                  names.is_none() ? nullptr : keep(names),
                  result_of(result),
                  grad,
                  keeps,
                  lasts,
                  std::move(last_uses),
                  {code.is_none() ? nullptr : keep(code), instruction, module}};
    for (nb::handle a : args) i.args.push_back(pattern_of(a));
    instructions_.push_back(std::move(i));
  }
  void set_output(nb::object output) { output_ = pattern_of(output); }
  // The value at a place, whose leaves are the next arguments, and what it is after the call. For a cell, no key.
  void add_slot(nb::object owner, nb::object key, nb::object nesting, nb::object after) {
    slots_.push_back({keep(owner), keep(key), nesting_of(nesting), pattern_of(after)});
  }
  // The result; NotImplemented, with nothing changed, where something does not hold.
  nb::object run_nested(PyObject* args) {
    std::vector<PyObject*> leaves;
    if (!flatten(args, leaves)) return not_taken();
    return run_leaves(leaves);
  }
  // The same, given the leaves.
  nb::object run(nb::tuple args) {
    PyObject** items = PySequence_Fast_ITEMS(args.ptr());
    std::vector<PyObject*> leaves(items, items + args.size());
    return run_leaves(leaves);
  }

  int64_t calls() const { return calls_; }
  int64_t left() const { return left_; }

 private:
  static nb::object not_taken() { return nb::borrow(Py_NotImplemented); }

  nb::object run_leaves(std::vector<PyObject*>& leaves) {
    std::vector<nb::object> held;  // what is in slots now: others may change them meanwhile
    for (const Slot& slot : slots_) {
      held.push_back(nb::steal(slot.get()));
      if (!held.back().is_valid() || !slot.nesting.flatten(held.back().ptr(), leaves)) return not_taken();
    }
    std::vector<nb::object> own;  // a guard may run Python, which may take a leaf out of its list
    own.reserve(leaves.size());
    for (PyObject* leaf : leaves) own.push_back(nb::borrow(leaf));
    std::vector<Tensor> inputs;
    if (!hold(leaves.data(), leaves.size(), inputs)) return not_taken();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs_[i].fits(*inputs[i].get())) return not_taken();
    inputs.clear();
    Values values(values_);
    size_t next = 0;
    for (size_t i = 0; i < taken_.size(); ++i)
      if (taken_[i]) values[next++] = nb::borrow(leaves[i]);
    Undo undo;
    for (const Instruction& i : instructions_)
      if (!make_or_undo(i, values, undo)) {
        ++left_;
        return not_taken();
      }
    t_modes.grad = undo.grad;
    ++calls_;
    for (const Slot& slot : slots_) slot.set(made(slot.after, values));
    return made(output_, values);
  }

  struct Input {
    DType dtype;
    std::vector<int64_t> sizes;  // -1: any
    bool fits(const TensorImpl& t) const {
      if (t.dtype != dtype || size_t(t.sizes.size()) != sizes.size() || t.layout != Layout::Strided) return false;
      for (size_t d = 0; d < sizes.size(); ++d)
        if (sizes[d] >= 0 && t.sizes[d] != sizes[d]) return false;
      return true;
    }
  };

  // What was before the calls, as long as they can be undone: those that cannot come after all that may not hold.
  struct Undo {
    bool grad = t_modes.grad, possible = true;
    Generator::State random = default_generator().state();
    std::vector<std::pair<Tensor, Ref<TensorImpl>>> grads;
    std::vector<std::pair<Tensor, Tensor>> elements;
    ~Undo() { t_modes.grad = grad; }
    void note(const Instruction& i, const Values& values);
    void all() {
      default_generator().set_state(random);
      for (size_t i = elements.size(); i-- > 0;) copy_data(elements[i].first, elements[i].second);
      for (size_t i = grads.size(); i-- > 0;) grads[i].first->grad = grads[i].second;
    }
    void keep_elements(const Pattern& p, const Values& values) {
      if (p.kind == Pattern::list || p.kind == Pattern::tuple) {
        for (const Pattern& item : p.items) keep_elements(item, values);
      } else {
        PyObject* t = p.kind == Pattern::value ? values[p.number].ptr() : p.object;
        if (t && is_tensor(t) && impl_of(t)->storage->writable)
          elements.emplace_back(tensor_of(t), clone_data(tensor_of(t)));
      }
    }
  };

  // False, with nothing changed, where the instruction gives something else than it did, or fails: its error comes
  // again in the eager call, among the Python that may handle it.
  static bool make_or_undo(const Instruction& i, Values& values, Undo& undo) {
    try {
      undo.note(i, values);
      if (make(i, values)) return true;
      if (!undo.possible) fail("compile: a call is not as it was captured, after one that cannot be undone");
    } catch (const PythonError&) {
      if (!undo.possible) throw;
      if (!PyErr_ExceptionMatches(PyExc_Exception)) {  // Ctrl-C
        undo.all();
        throw;
      }
      PyErr_Clear();
    }
    undo.all();
    return false;
  }

  static bool make(const Instruction& i, Values& values) {
    if (PyErr_CheckSignals() < 0) throw PythonError();
    constexpr size_t kFew = 16;
    PyObject* few[kFew];
    std::vector<PyObject*> many;
    PyObject** args = few;
    if (i.args.size() > kFew) {
      many.resize(i.args.size());
      args = many.data();
    }
    std::vector<nb::object> held;
    for (size_t k = 0; k < i.args.size(); ++k) {
      const Pattern& p = i.args[k];
      if (p.kind == Pattern::value) {
        args[k] = values[p.number].ptr();
      } else if (p.kind == Pattern::constant) {
        args[k] = p.object;
      } else {
        held.push_back(made(p, values));
        args[k] = held.back().ptr();
      }
    }
    t_modes.grad = i.grad;
    WithOrigin origin(i.origin.code ? &i.origin : nullptr);
    size_t positional = i.args.size() - size_t(i.names ? PyTuple_GET_SIZE(i.names) : 0);
    nb::object found = nb::steal(PyObject_Vectorcall(i.function, args, positional, i.names));
    if (!found.is_valid()) throw PythonError();
    bool fits = take(i.result, found.ptr(), values);
    for (uint32_t v : i.last_uses) values[v] = nb::object();
    return fits;
  }

  static bool take(const Result& r, PyObject* found, Values& values) {
    switch (r.kind) {
      case Result::tensor: {
        if (!is_tensor(found) || impl_of(found)->dtype != r.dtype || impl_of(found)->sizes.size() != r.rank)
          return false;
        values[r.value] = nb::borrow(found);
        return true;
      }
      case Result::same: return found == values[r.value].ptr();
      case Result::number:
        if (reinterpret_cast<PyObject*>(Py_TYPE(found)) != r.object) return false;
        values[r.value] = nb::borrow(found);
        return true;
      case Result::constant: {
        if (found == r.object) return true;
        if (Py_TYPE(found) != Py_TYPE(r.object)) return false;
        int same = PyObject_RichCompareBool(found, r.object, Py_EQ);
        if (same < 0) throw PythonError();
        return same == 1;
      }
      case Result::sequence: {
        if (!PyTuple_Check(found) && !PyList_Check(found)) return false;
        if (size_t(PySequence_Fast_GET_SIZE(found)) != r.items.size()) return false;
        for (size_t i = 0; i < r.items.size(); ++i)
          if (!take(r.items[i], PySequence_Fast_GET_ITEM(found, Py_ssize_t(i)), values)) return false;
        return true;
      }
      case Result::otherwise: {
        if (found != Py_False) return true;
        nb::object done = nb::steal(PyObject_CallNoArgs(r.object));
        if (!done.is_valid()) throw PythonError();
        return true;
      }
    }
    return false;
  }

  static nb::object made(const Pattern& p, const Values& values) {
    switch (p.kind) {
      case Pattern::constant: return nb::borrow(p.object);
      case Pattern::value: return values[p.number];
      case Pattern::tuple:
      case Pattern::slice: {
        nb::object all = nb::steal(PyTuple_New(Py_ssize_t(p.items.size())));
        if (!all.is_valid()) throw PythonError();
        for (size_t i = 0; i < p.items.size(); ++i)
          PyTuple_SET_ITEM(all.ptr(), Py_ssize_t(i), made(p.items[i], values).release().ptr());
        if (p.kind == Pattern::tuple) return all;
        PyObject** parts = PySequence_Fast_ITEMS(all.ptr());
        return nb::steal(PySlice_New(parts[0], parts[1], parts[2]));
      }
      case Pattern::list: {
        nb::list all;
        for (const Pattern& item : p.items) all.append(made(item, values));
        return all;
      }
      case Pattern::dict: {
        nb::dict all;
        for (size_t i = 0; i < p.items.size(); ++i)
          all[nb::handle(PyTuple_GET_ITEM(p.object, Py_ssize_t(i)))] = made(p.items[i], values);
        return all;
      }
    }
    return nb::none();
  }

  // Python says ("value", number), ("constant", object), ("tuple", [parts]) …
  Pattern pattern_of(nb::handle o) {
    static const std::unordered_map<std::string, Pattern::Kind> kinds{
      {"constant", Pattern::constant}, {"value", Pattern::value}, {"tuple", Pattern::tuple},
      {"list", Pattern::list},         {"slice", Pattern::slice}, {"dict", Pattern::dict}};
    Pattern p;
    p.kind = kinds.at(nb::cast<std::string>(nb::handle(o[0])));
    if (p.kind == Pattern::value) {
      p.number = nb::cast<uint32_t>(nb::handle(o[1]));
      if (p.number >= values_) fail("there is no value ", p.number);
    } else if (p.kind == Pattern::constant) {
      p.object = keep(o[1]);
    } else {
      for (nb::handle item : nb::object(o[1])) p.items.push_back(pattern_of(item));
      if (p.kind == Pattern::dict) p.object = keep(o[2]);
    }
    return p;
  }
  // ("tensor", number, dtype, rank), ("same", number), ("number", number, type), ("constant", object), ("sequence",
  // [parts]).
  Result result_of(nb::handle o) {
    Result r;
    std::string kind = nb::cast<std::string>(nb::handle(o[0]));
    if (kind == "constant" || kind == "otherwise") {
      r.kind = kind == "constant" ? Result::constant : Result::otherwise;
      r.object = keep(o[1]);
    } else if (kind == "sequence") {
      r.kind = Result::sequence;
      for (nb::handle item : nb::object(o[1])) r.items.push_back(result_of(item));
    } else {
      r.kind = kind == "tensor" ? Result::tensor : kind == "same" ? Result::same : Result::number;
      r.value = nb::cast<uint32_t>(nb::handle(o[1]));
      if (r.value >= values_) fail("there is no value ", r.value);
      if (r.kind == Result::tensor) {
        if (!read_dtype(nb::object(o[2]).ptr(), &r.dtype)) fail_type("the dtype of a value must be a dtype");
        r.rank = nb::cast<int>(nb::handle(o[3]));
      } else if (r.kind == Result::number) {
        r.object = keep(o[2]);
      }
    }
    return r;
  }

  size_t values_;
  std::vector<Input> inputs_;  // of each tensor that is given
  std::vector<bool> taken_;    // of each argument: whether it is a value
  std::vector<Slot> slots_;
  std::vector<Instruction> instructions_;
  Pattern output_;
  int64_t calls_ = 0, left_ = 0;  // how often it ran, and how often it was left in the middle
};

PyObject* g_set_grad = nullptr;

void CallSequence::Undo::note(const Instruction& i, const Values& values) {
  if (i.lasts) possible = false;
  if (i.keeps) keep_elements(i.args[0], values);
  if (i.function != g_set_grad) return;
  const Pattern& p = i.args[0];
  PyObject* t = p.kind == Pattern::value ? values[p.number].ptr() : p.object;
  grads.emplace_back(tensor_of(t), impl_of(t)->grad);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<CallSequence>(self)->refs());
  return 0;
}
int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<CallSequence>(self)->drop_refs();
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, (void*)traverse}, {Py_tp_clear, (void*)clear}, {}};

}  // namespace

void bind_call_sequence(nb::module_& m) {
  g_set_grad = nb::object(m.attr("_set_grad")).release().ptr();
  // Sets who observes the calls from Python to weft on this thread; returns the observer before.
  m.def(
      "_observe",
      [](nb::object observer) {
        PyObject* before = std::exchange(t_observer, observer.is_none() ? nullptr : observer.release().ptr());
        return before ? nb::steal(before) : nb::none();
      },
      nb::arg().none());
  // Puts another item in the place of one in a tuple that others can see: one that is equal, with the same hash.
  m.def("_replace_in_tuple", [](nb::tuple holder, nb::handle before, nb::handle now) {
    for (size_t i = 0; i < holder.size(); ++i)
      if (holder[i].ptr() == before.ptr()) {
        PyTuple_SET_ITEM(holder.ptr(), Py_ssize_t(i), Py_NewRef(now.ptr()));
        Py_DECREF(before.ptr());
      }
  });
  m.def("_origin", [] {  // of the call that is made now: code, instruction and module
    void* code = nullptr;
    int32_t instruction = 0;
    uint32_t module = 0;
    interpreter::find_origin(&code, &instruction, &module);
    nb::object found = code ? nb::steal(static_cast<PyObject*>(code)) : nb::none();
    return nb::make_tuple(found, instruction, module);
  });
  nb::class_<CallSequence>(m, "CallSequence", nb::type_slots(slots), "A captured call, for inputs of any sizes.")
      .def(nb::init<size_t>())
      .def("set_modes", &CallSequence::set_modes)
      .def("set_guards", &CallSequence::set_guards)
      .def("set_strangers", &CallSequence::set_strangers)
      .def("require_role", &CallSequence::require_role)
      .def("take_tensor", &CallSequence::take_tensor)
      .def("take_again", &CallSequence::take_again)
      .def("take_number", &CallSequence::take_number)
      .def("take_constant", &CallSequence::take_constant, nb::arg().none())
      .def("add", &CallSequence::add, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
      .def("set_output", &CallSequence::set_output)
      .def("add_slot", &CallSequence::add_slot, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg())
      .def("set_nesting", &CallSequence::set_nesting)
      .def_prop_ro("calls", &CallSequence::calls)
      .def_prop_ro("left", &CallSequence::left)
      .def("run", &CallSequence::run,
           "The result; NotImplemented, with nothing changed, where something does not hold.");
}

bool is_call_sequence(PyObject* o) { return nb::isinstance<CallSequence>(o); }

PyObject* run_call_sequence(PyObject* sequence, PyObject* args) {
  return guarded([&] { return nb::inst_ptr<CallSequence>(sequence)->run_nested(args).release().ptr(); });
}

}  // namespace weft
