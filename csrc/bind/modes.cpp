// What no_grad and enable_grad share (weft/autograd/grad_mode.py): making, entering and leaving such an object.
#include <vector>

#include "bind/python.h"
#include "ops/op.h"

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

}  // namespace

void bind_modes(nb::module_& m) {
  g_mode = PyUnicode_InternFromString("_mode");
  g_decorate = PyUnicode_InternFromString("_decorate");
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw nb::python_error();
  m.attr("FixedMode") = nb::steal(type);
}

}  // namespace weft
