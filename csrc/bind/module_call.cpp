// Calling a module (weft.nn.Module): straight to its forward where there are no hooks, with its path in the tree noted
// for provenance.
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

PyObject *g_forward, *g_modules, *g_hooked;  // interned names
PyObject *g_any_global, *g_note;             // what weft.nn gives: a list and a function

std::string name_of_child(PyObject* child) {
  if (t_object) {
    PyObject* members = PyObject_GetAttr(t_object, g_modules);
    if (!members) PyErr_Clear();
    PyObject *key, *value;
    Py_ssize_t at = 0;
    std::string found;
    while (members && PyDict_Check(members) && PyDict_Next(members, &at, &key, &value))
      if (value == child && PyUnicode_Check(key)) found = PyUnicode_AsUTF8(key);
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

// ---- the call

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
  PyObject* flag = PyObject_GetAttr(self, g_hooked);
  if (!flag) PyErr_Clear();
  bool set = flag == Py_True;
  Py_XDECREF(flag);
  return set;
}

PyObject* call_forward(PyObject* self, PyObject* args, PyObject* kwargs) {
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (kwargs || n > 7) {
    PyObject* forward = PyObject_GetAttr(self, g_forward);
    if (!forward) return nullptr;
    PyObject* result = PyObject_Call(forward, args, kwargs);
    Py_DECREF(forward);
    return result;
  }
  PyObject* given[8] = {self};
  for (Py_ssize_t i = 0; i < n; ++i) given[i + 1] = PyTuple_GET_ITEM(args, i);
  return PyObject_VectorcallMethod(g_forward, given, size_t(n + 1), nullptr);
}

PyObject* call_hooked(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* f = PyObject_GetAttrString(self, "_call_impl");
  if (!f) return nullptr;
  PyObject* result = PyObject_Call(f, args, kwargs);
  Py_DECREF(f);
  return result;
}

PyObject* module_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* result;
  {
    Inside here(self);
    result = has_hooks(self) ? call_hooked(self, args, kwargs) : call_forward(self, args, kwargs);
  }
  if (result || !PyErr_ExceptionMatches(PyExc_Exception)) return result;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* noted = value ? PyObject_CallFunctionObjArgs(g_note, value, self, nullptr) : nullptr;
  if (!noted) PyErr_Clear();
  Py_XDECREF(noted);
  PyErr_Restore(type, value, trace);
  return nullptr;
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
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw nb::python_error();
  m.attr("ModuleBase") = nb::steal(type);
  // The list that is empty while no global hook is set, and the function that notes a module on an exception.
  m.def("_set_module_parts", [](nb::list any_global, nb::callable note) {
    g_any_global = any_global.release().ptr();
    g_note = note.release().ptr();
  });
  // The module whose forward runs now, for provenance: returns the one before, to be restored.
  m.def("_enter_module", [](const std::string& path) { return std::exchange(t_module, id_of(path)); });
  m.def("_leave_module", [](uint32_t before) { t_module = before; });
}

}  // namespace weft
