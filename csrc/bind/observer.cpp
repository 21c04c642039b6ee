#include "bind/observer.h"

namespace weft {

constinit thread_local PyObject* t_observer = nullptr;

namespace {

// Calls that the observer makes itself are not observed.
struct Unobserved {
  PyObject* observer = std::exchange(t_observer, nullptr);
  ~Unobserved() { t_observer = observer; }
};

PyObject* tell(const char* method, PyObject* first, PyObject* args = nullptr, PyObject* names = nullptr) {
  Unobserved quiet;
  nb::object name = nb::steal(PyUnicode_InternFromString(method));
  return PyObject_CallMethodObjArgs(quiet.observer, name.ptr(), first, args, names, nullptr);
}

nb::object tuple_of(PyObject* const* args, size_t count) {
  nb::object made = nb::steal(PyTuple_New(Py_ssize_t(count)));
  for (size_t i = 0; made.is_valid() && i < count; ++i) PyTuple_SET_ITEM(made.ptr(), Py_ssize_t(i), Py_NewRef(args[i]));
  return made;
}

}  // namespace

PyObject* tell_call(PyObject* f, PyObject* const* args, size_t count, PyObject* kwnames) {
  nb::object given = tuple_of(args, count), named = nb::steal(PyDict_New());
  if (!given.is_valid() || !named.is_valid()) return nullptr;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(named.ptr(), PyTuple_GET_ITEM(kwnames, i), args[count + size_t(i)]) < 0) return nullptr;
  return tell("call", f, given.ptr(), named.ptr());
}

PyObject* tell_operator(const char* name, std::initializer_list<PyObject*> args) {
  nb::object module = nb::steal(PyImport_ImportModule("operator"));
  if (!module.is_valid()) return nullptr;
  nb::object f = nb::steal(PyObject_GetAttrString(module.ptr(), name));
  return f.is_valid() ? tell_call(f.ptr(), args.begin(), args.size()) : nullptr;
}

PyObject* tell_method(const char* name, std::initializer_list<PyObject*> args) {
  nb::object f = nb::steal(PyObject_GetAttrString((PyObject*)TensorType, name));
  return f.is_valid() ? tell_call(f.ptr(), args.begin(), args.size()) : nullptr;
}

PyObject* tell_shape(PyObject* tensor) { return tell("shape", tensor); }

void tell_length(PyObject* tensor) {
  nb::object told = nb::steal(tell("length", tensor));
  if (!told.is_valid()) throw PythonError();
}

}  // namespace weft
