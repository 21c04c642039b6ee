// Calling a module (weft.nn.Module): straight to its forward where there are no hooks, with its path in the tree noted
// for provenance. Layers that are one op, and sequences of modules, run without Python; there a linear layer and the
// activation behind it are one op.
#include <nanobind/stl/vector.h>

#include <cstring>
#include <unordered_map>
#include <vector>

#include "bind/python.h"

namespace weft {

thread_local uint32_t t_module = 0;  // the path of the module whose forward runs: an index of g_paths

namespace {

std::vector<std::string> g_paths{""};
std::unordered_map<std::string, uint32_t> g_path_ids;
thread_local PyObject* t_object = nullptr;  // that module, held by its caller

uint32_t id_of(const std::string& path) {
  if (path.empty()) return 0;
  auto [it, added] = g_path_ids.try_emplace(path, uint32_t(g_paths.size()));
  if (added) g_paths.push_back(path);
  return it->second;
}

// ---- the path of a child, remembered by who called it

struct Called {
  PyObject* by = nullptr;  // a weak reference to the child: another object may come to live at its address
  uint32_t path = 0;
};
struct Pair {
  uint32_t parent;
  PyObject* child;
  bool operator==(const Pair&) const = default;
};
struct PairHash {
  size_t operator()(const Pair& p) const { return (size_t(p.child) >> 4) * 31 + p.parent; }
};
std::unordered_map<Pair, Called, PairHash> g_called;
constexpr size_t kMostCalled = 20000;

PyObject *g_forward, *g_modules, *g_hooked, *g_call_impl;  // interned names
PyObject *g_any_global, *g_note;                           // what weft.nn gives: a list and a function

std::string name_of_child(PyObject* child) {
  if (t_object) {
    PyObject* members = PyObject_GetAttr(t_object, g_modules);
    if (!members) PyErr_Clear();
    PyObject *key, *value;
    Py_ssize_t at = 0;
    std::string found;
    while (members && PyDict_Check(members) && PyDict_Next(members, &at, &key, &value))
      if (value == child && PyUnicode_Check(key))
        if (const char* text = PyUnicode_AsUTF8(key)) found = text;
    PyErr_Clear();  // a name that UTF-8 cannot express
    Py_XDECREF(members);
    if (!found.empty()) return found;
  }
  const char* type = Py_TYPE(child)->tp_name;
  const char* dot = std::strrchr(type, '.');
  return dot ? dot + 1 : type;
}

uint32_t path_of(PyObject* child) {
  Pair pair{t_module, child};
  auto it = g_called.find(pair);
  if (it != g_called.end() && PyWeakref_GetObject(it->second.by) == child) return it->second.path;
  if (g_called.size() > kMostCalled) {
    for (auto& [p, called] : g_called) Py_DECREF(called.by);
    g_called.clear();
  }
  PyObject* ref = PyWeakref_NewRef(child, nullptr);
  if (!ref) {
    PyErr_Clear();
    return t_module;
  }
  uint32_t path = id_of((t_module ? g_paths[t_module] + "." : "") + name_of_child(child));  // may run Python
  Called& called = g_called[pair];
  PyObject* old = std::exchange(called.by, ref);
  called.path = path;
  Py_XDECREF(old);
  return path;
}

// ---- what a call notes

// Runs while a module's forward does.
struct Inside {
  uint32_t path = t_module;
  PyObject* object = t_object;
  explicit Inside(PyObject* module) {
    t_module = path_of(module);
    t_object = module;
  }
  ~Inside() {
    t_module = path;
    t_object = object;
  }
};

bool has_hooks(PyObject* self) {
  if (PyList_GET_SIZE(g_any_global)) return true;
  PyObject* flag = PyObject_GenericGetAttr(self, g_hooked);  // no __getattr__ of a module has a say in it
  if (!flag) PyErr_Clear();
  bool set = flag == Py_True;
  Py_XDECREF(flag);
  return set;
}

// ---- layers that are one op

// What weft.nn says of a class of modules: its forward is the op, given the input and these members.
struct Layer {
  PyTypeObject* type;
  PyObject* forward;
  PyObject* op;
  std::vector<PyObject*> members;
  PyObject* unless;  // the name of a flag with which it is another op; or null
};
std::vector<Layer> g_layers;  // few
struct {
  PyTypeObject *type = nullptr, *linear = nullptr;
  PyObject* forward = nullptr;
} g_sequence;

// What may stand behind a linear layer and be one op with it: a class of modules, or a function.
struct Activation {
  PyObject* is;
  PyObject* forward;                             // of the class; null for a function
  PyObject *member = nullptr, *value = nullptr;  // the class only where this member has this value
  PyObject* op;                                  // of both
};
std::vector<Activation> g_activations;  // few

// Whether nobody put another forward in the place of the class's own.
bool has_own_forward(PyObject* self, PyObject* own) {
  PyObject* method = PyObject_GetAttr(self, g_forward);
  if (!method) PyErr_Clear();
  bool same = method && PyMethod_Check(method) && PyMethod_GET_FUNCTION(method) == own;
  Py_XDECREF(method);
  return same;
}

const Layer* layer_of(PyObject* self) {
  for (const Layer& layer : g_layers)
    if (layer.type == Py_TYPE(self)) {
      if (!has_own_forward(self, layer.forward)) return nullptr;
      if (!layer.unless) return &layer;
      PyObject* flag = PyObject_GetAttr(self, layer.unless);
      if (!flag) PyErr_Clear();
      Py_XDECREF(flag);
      return flag == Py_False ? &layer : nullptr;
    }
  return nullptr;
}

// The op with the input and the members of the module. False: the module is not as its class makes it, so its forward
// has to see to it.
bool run_layer(PyObject* self, const Layer& layer, PyObject* op, PyObject* input, PyObject** result) {
  constexpr size_t kMost = 5;
  PyObject* given[kMost] = {input};
  size_t n = 1;
  bool fits = true;
  for (PyObject* name : layer.members) {
    PyObject* member = PyObject_GetAttr(self, name);
    if (!member) PyErr_Clear();
    fits = fits && member && (member == Py_None || PyBool_Check(member) || is_tensor(member));
    if (member) given[n++] = member;
  }
  if (fits) *result = PyObject_Vectorcall(op, given, n, nullptr);
  for (size_t i = 1; i < n; ++i) Py_DECREF(given[i]);
  return fits;
}

PyObject* call_module(PyObject* self, PyObject* const* args, Py_ssize_t n);
PyObject* module_call(PyObject* self, PyObject* args, PyObject* kwargs);

// Notes on an exception that is on its way which module it came through.
void note_exception(PyObject* self) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  PyObject* noted = value ? PyObject_CallFunctionObjArgs(g_note, value, self, nullptr) : nullptr;
  if (!noted) PyErr_Clear();
  Py_XDECREF(noted);
  PyErr_Restore(type, value, trace);
}

bool is_module(PyObject* o) { return Py_TYPE(o)->tp_call == module_call; }

// The op that is a linear layer and what stands behind it, where both are as their classes make them; else null.
PyObject* op_of_both(PyObject* first, PyObject* second) {
  if (Py_TYPE(first) != g_sequence.linear || !is_module(first) || has_hooks(first)) return nullptr;
  for (const Activation& a : g_activations) {
    if (!a.forward && a.is == second) return a.op;
    if (!a.forward || a.is != reinterpret_cast<PyObject*>(Py_TYPE(second))) continue;
    if (!is_module(second) || has_hooks(second) || !has_own_forward(second, a.forward)) return nullptr;
    if (!a.member) return a.op;
    PyObject* value = PyObject_GetAttr(second, a.member);
    int same = value ? PyObject_RichCompareBool(value, a.value, Py_EQ) : 0;
    Py_XDECREF(value);
    if (!value || same < 0) PyErr_Clear();
    if (same > 0) return a.op;
  }
  return nullptr;
}

// Runs both as one op where they are that, and says so. The result is null if it failed.
bool run_both(PyObject* first, PyObject* second, PyObject* input, PyObject** result) {
  PyObject* op = is_tensor(input) && is_floating(tensor_of(input).dtype()) ? op_of_both(first, second) : nullptr;
  const Layer* layer = op ? layer_of(first) : nullptr;
  if (!layer) return false;
  Inside here(first);
  if (!run_layer(first, *layer, op, input, result)) return false;
  if (!*result) note_exception(first);
  if (*result && PyTuple_Check(*result)) Py_SETREF(*result, Py_NewRef(PyTuple_GET_ITEM(*result, 0)));
  return true;
}

// One child after the other, as they are when their turn comes.
PyObject* run_sequence(PyObject* self, PyObject* input) {
  PyObject* children = PyObject_GetAttr(self, g_modules);
  if (!children) return nullptr;
  if (!PyDict_Check(children)) {
    PyErr_Format(PyExc_TypeError, "Sequential: _modules must be a dict, not %s", Py_TYPE(children)->tp_name);
    Py_DECREF(children);
    return nullptr;
  }
  PyObject *x = Py_NewRef(input), *key, *child, *next;
  Py_ssize_t count = PyDict_Size(children), at = 0;
  while (x && PyDict_Next(children, &at, &key, &child)) {
    PyObject* y = nullptr;
    Py_ssize_t after = at;
    Py_INCREF(child);
    next = PyDict_Next(children, &after, &key, &next) ? Py_NewRef(next) : nullptr;
    bool both = next && run_both(child, next, x, &y);
    Py_XDECREF(next);
    if (both)
      at = after;
    else
      y = is_module(child) ? call_module(child, &x, 1) : PyObject_CallOneArg(child, x);
    Py_DECREF(child);
    if (y && PyDict_Size(children) != count) {
      Py_CLEAR(y);
      PyErr_SetString(PyExc_RuntimeError, "Sequential: modules were added or removed while it was called");
    }
    Py_SETREF(x, y);
  }
  Py_DECREF(children);
  return x;
}

// ---- the call

PyObject* call_forward(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n == 1) {
    if (Py_TYPE(self) == g_sequence.type && has_own_forward(self, g_sequence.forward))
      return run_sequence(self, args[0]);
    PyObject* result = nullptr;
    const Layer* layer = is_tensor(args[0]) ? layer_of(self) : nullptr;
    if (layer && run_layer(self, *layer, layer->op, args[0], &result)) return result;
  }
  constexpr Py_ssize_t kMost = 7;
  if (n > kMost) {
    PyObject* forward = PyObject_GetAttr(self, g_forward);
    if (!forward) return nullptr;
    PyObject* result = PyObject_Vectorcall(forward, args, size_t(n), nullptr);
    Py_DECREF(forward);
    return result;
  }
  PyObject* given[kMost + 1] = {self};
  for (Py_ssize_t i = 0; i < n; ++i) given[i + 1] = args[i];
  return PyObject_VectorcallMethod(g_forward, given, size_t(n + 1), nullptr);
}

PyObject* call_method(PyObject* self, PyObject* name, PyObject* args, PyObject* kwargs) {
  PyObject* f = PyObject_GetAttr(self, name);
  if (!f) return nullptr;
  PyObject* result = PyObject_Call(f, args, kwargs);
  Py_DECREF(f);
  return result;
}

template <class F>
PyObject* inside(PyObject* self, const F& f) {
  if (Py_EnterRecursiveCall(" while calling a module")) return nullptr;
  PyObject* result;
  {
    Inside here(self);
    result = f();
  }
  Py_LeaveRecursiveCall();
  if (!result) note_exception(self);
  return result;
}

PyObject* call_module(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return inside(self, [&]() -> PyObject* {
    if (!has_hooks(self)) return call_forward(self, args, n);
    PyObject* tuple = PyTuple_New(n);
    if (!tuple) return nullptr;
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    PyObject* result = call_method(self, g_call_impl, tuple, nullptr);
    Py_DECREF(tuple);
    return result;
  });
}

PyObject* module_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return inside(self, [&] {
    if (has_hooks(self)) return call_method(self, g_call_impl, args, kwargs);
    if (kwargs && PyDict_GET_SIZE(kwargs)) return call_method(self, g_forward, args, kwargs);
    return call_forward(self, reinterpret_cast<PyTupleObject*>(args)->ob_item, PyTuple_GET_SIZE(args));
  });
}

PyType_Slot slots[] = {
  {Py_tp_call, (void*)module_call},
  {Py_tp_doc, (void*)"What calling a weft.nn.Module does: its hooks if it has some, and its forward."},
  {}};
PyType_Spec spec = {"weft._C.ModuleBase", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

std::string module_path(uint32_t id) { return g_paths[id]; }

void bind_module_call(nb::module_& m) {
  g_forward = PyUnicode_InternFromString("forward");
  g_modules = PyUnicode_InternFromString("_modules");
  g_hooked = PyUnicode_InternFromString("_hooked");
  g_call_impl = PyUnicode_InternFromString("_call_impl");
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw nb::python_error();
  m.attr("ModuleBase") = nb::steal(type);
  // The list that is empty while no global hook is set, and the function that notes a module on an exception.
  m.def("_set_module_parts", [](nb::list any_global, nb::callable note) {
    g_any_global = any_global.release().ptr();
    g_note = note.release().ptr();
  });
  // A class of modules whose forward is an op with its input and some members, unless a flag is set.
  m.def("_set_layer", [](nb::type_object type, nb::callable forward, nb::callable op,
                         const std::vector<std::string>& members, const std::string& unless) {
    Layer layer{reinterpret_cast<PyTypeObject*>(type.release().ptr()),
                forward.release().ptr(),
                op.release().ptr(),
                {},
                unless.empty() ? nullptr : PyUnicode_InternFromString(unless.c_str())};
    if (members.size() > 4) fail("a layer of more than four members");
    for (const auto& name : members) layer.members.push_back(PyUnicode_InternFromString(name.c_str()));
    g_layers.push_back(std::move(layer));
  });
  // The class whose forward calls its children one after the other, and the class of linear layers.
  m.def("_set_sequence", [](nb::type_object type, nb::callable forward, nb::type_object linear) {
    g_sequence = {reinterpret_cast<PyTypeObject*>(type.release().ptr()),
                  reinterpret_cast<PyTypeObject*>(linear.release().ptr()), forward.release().ptr()};
  });
  // A class of modules (with its forward; where `member` has `value`) or a function (without) that is one op with the
  // linear layer before it.
  m.def(
      "_set_activation",
      [](nb::object is, nb::callable op, nb::object forward, nb::object member, nb::object value) {
        auto given = [](nb::object& o) { return o.is_none() ? nullptr : o.release().ptr(); };
        g_activations.push_back({is.release().ptr(), given(forward), given(member), given(value), op.release().ptr()});
      },
      nb::arg("is"), nb::arg("op"), nb::arg("forward") = nb::none(), nb::arg("member") = nb::none(),
      nb::arg("value") = nb::none());
  // activation(linear(input)), as one op where they are that.
  m.def("_linear_then", [](nb::object linear, nb::object activation, nb::object input) -> nb::object {
    PyObject* result = nullptr;
    if (!run_both(linear.ptr(), activation.ptr(), input.ptr(), &result)) return activation(linear(input));
    if (!result) throw nb::python_error();
    return nb::steal(result);
  });
  // The module whose forward runs now, for provenance: returns the one before, to be restored.
  m.def("_enter_module", [](const std::string& path) { return std::exchange(t_module, id_of(path)); });
  m.def("_leave_module", [](uint32_t before) { t_module = before; });
}

}  // namespace weft
