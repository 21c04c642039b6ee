// What Python's sequences and texts hold, read so that code which runs meanwhile cannot change it.
#include "bind/python.h"

namespace weft {

nb::object items_of(PyObject* o) {
  if (PyTuple_Check(o)) return nb::borrow(o);
  nb::object items;
  if (PyList_Check(o)) {
    items = nb::steal(PyList_AsTuple(o));
  } else {  // as many as its length says: an endless one is not read to its end
    Py_ssize_t n = PySequence_Size(o);
    nb::object found = nb::steal(n < 0 ? nullptr : PyList_New(0));
    for (Py_ssize_t i = 0; found.is_valid() && i < n; ++i) {
      nb::object item = nb::steal(PySequence_GetItem(o, i));
      if (!item.is_valid() || PyList_Append(found.ptr(), item.ptr()) != 0) found = nb::object();
    }
    if (found.is_valid()) items = nb::steal(PyList_AsTuple(found.ptr()));
  }
  if (!items.is_valid()) throw PythonError();
  return items;
}

std::string text_of(PyObject* o) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw PythonError();
  return std::string(text, size_t(size));
}

bool clear_refusal() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
  PyErr_Clear();
  return true;
}

}  // namespace weft
