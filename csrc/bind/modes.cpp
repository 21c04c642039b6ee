// Entering and leaving no_grad, enable_grad (weft/autograd/grad_mode.py) and autocast. The
// modes of autocast (weft/amp/).
#include <vector>

#include "bind/python.h"
#include "ops/autocast.h"

namespace weft {
namespace {

PyObject *g_mode, *g_decorate;  // interned names of what the classes in Python give

// An object may be entered again while it is in use, so it keeps all modes that it found.
struct FixedMode {
  PyObject_HEAD;
  bool mode;
  std::vector<bool>* found;
};

FixedMode* of(PyObject* self) { return reinterpret_cast<FixedMode*>(self); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) || (kwargs && PyDict_GET_SIZE(kwargs))) {  // as a decorator without brackets
    PyObject* decorate = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), g_decorate);
    if (!decorate) return nullptr;
    PyObject* result = PyObject_Call(decorate, args, kwargs);
    Py_DECREF(decorate);
    return result;
  }
  PyObject* mode = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), g_mode);
  if (!mode) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self) of(self)->mode = mode == Py_True;
  Py_DECREF(mode);
  return self;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete of(self)->found;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* enter(PyObject* self, PyObject*) {
  FixedMode& m = *of(self);
  if (!m.found) m.found = new std::vector<bool>;
  m.found->push_back(std::exchange(t_modes.grad, m.mode));
  Py_RETURN_NONE;
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  FixedMode& m = *of(self);
  if (!m.found || m.found->empty()) {
    PyErr_SetString(PyExc_RuntimeError, "a gradient mode was left that was not entered");
    return nullptr;
  }
  t_modes.grad = m.found->back();
  m.found->pop_back();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, "Switch to the mode."},
                         {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL,
                          "Switch back to the mode before."},
                         {}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char*>("A gradient mode that is known from the start.")},
                       {}};
PyType_Spec spec = {"weft._C.FixedMode", sizeof(FixedMode), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

// ---- autocast: (on, dtype, cache) of this thread

nb::tuple autocast_state() {
  return nb::make_tuple(t_modes.autocast, nb::steal(wrap_dtype(t_autocast.type)), t_autocast.cache);
}

nb::tuple set_autocast(bool on, nb::handle dtype, bool cache) {
  nb::tuple before = autocast_state();
  DType type;
  if (!read_dtype(dtype.ptr(), &type)) fail_type("autocast: expected a dtype");
  t_modes.autocast = on;
  t_autocast.type = type;
  t_autocast.cache = cache;
  return before;
}

int nest_autocast(int by) {
  t_autocast.depth += by;
  if (t_autocast.depth == 0) forget_casts();
  return t_autocast.depth;
}

// Names an op may have, of all its overloads.
void put_on_list(const std::string& base, int list) {
  for (Op* op : Registry::get().all())
    if (op->base == base) op->set_cast(Cast(list));
}

void bind_autocast(nb::module_& m) {
  m.def("_autocast_enabled", [] { return t_modes.autocast; });
  m.def("_autocast_state", autocast_state);
  m.def("_autocast_key", [] {  // what results depend on: the dtype, None when it is off
    return t_modes.autocast ? nb::steal(wrap_dtype(t_autocast.type)) : nb::none();
  });
  m.def("_set_autocast", set_autocast);
  m.def("_nest_autocast", nest_autocast);
  m.def("_put_on_autocast_list", put_on_list);
  m.def("_forget_casts", forget_casts);
  m.def("_autocast_type", [](int list, nb::list given) {
    TensorList tensors;
    for (nb::handle t : given) tensors.push_back(to_tensor(t, "an argument"));
    return nb::steal(wrap_dtype(autocast_type(Cast(list), tensors)));
  });
  m.def("_autocast_to", [](Tensor t, nb::handle dtype) {
    DType type;
    if (!read_dtype(dtype.ptr(), &type)) fail_type("autocast: expected a dtype");
    return autocast_to(t, type);
  });
}

}  // namespace

void bind_modes(nb::module_& m) {
  g_mode = PyUnicode_InternFromString("_mode");
  g_decorate = PyUnicode_InternFromString("_decorate");
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw nb::python_error();
  m.attr("FixedMode") = nb::steal(type);
  bind_autocast(m);
}

}  // namespace weft
