// The Python types `dtype` and `Size`.
#include "bind/observer.h"

namespace weft {

PyTypeObject* SizeType = nullptr;
PyTypeObject* DTypeType = nullptr;

namespace {

struct PyDType {
  PyObject_HEAD DType dtype;
};
PyObject* g_dtypes[kDTypes];

DType dtype_in(PyObject* o) { return reinterpret_cast<PyDType*>(o)->dtype; }

PyObject* dtype_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", name_of(dtype_in(o))); }
PyObject* dtype_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(name_of(dtype_in(o))); }
PyObject* dtype_is_floating(PyObject* o, void*) { return PyBool_FromLong(is_floating(dtype_in(o))); }
PyObject* dtype_is_complex(PyObject* o, void*) { return PyBool_FromLong(is_complex(dtype_in(o))); }
PyObject* dtype_is_signed(PyObject* o, void*) {
  return PyBool_FromLong(dtype_in(o) != DType::Bool && dtype_in(o) != DType::UInt8);
}
PyObject* dtype_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(item_size(dtype_in(o))); }
PyObject* dtype_to_real(PyObject* o, PyObject*) { return wrap_dtype(real_of(dtype_in(o))); }
PyObject* dtype_to_complex(PyObject* o, PyObject*) { return wrap_dtype(complex_of(dtype_in(o))); }

PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, "The real type of the same precision."},
                               {"to_complex", dtype_to_complex, METH_NOARGS, "The complex type of the same precision."},
                               {}};
PyGetSetDef dtype_fields[] = {{"is_floating_point", dtype_is_floating, nullptr, nullptr, nullptr},
                              {"is_complex", dtype_is_complex, nullptr, nullptr, nullptr},
                              {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
                              {"itemsize", dtype_itemsize, nullptr, nullptr, nullptr},
                              {}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, (void*)dtype_repr},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_fields},
                             {Py_tp_doc, (void*)"The type of a tensor's elements."},
                             {}};
PyType_Spec dtype_spec = {"weft.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT, dtype_slots};

// A tuple, which it takes, as a Size. What are no plain ints is for the constructor to convert or refuse; an observer
// has symbolic ones.
PyObject* size_from(PyObject* tuple) {
  if (!tuple) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  bool plain = true;
  for (Py_ssize_t i = 0; i < n && !t_observer; ++i) plain = plain && PyLong_CheckExact(PyTuple_GET_ITEM(tuple, i));
  PyObject* made = plain ? SizeType->tp_alloc(SizeType, n) : PyObject_CallOneArg((PyObject*)SizeType, tuple);
  for (Py_ssize_t i = 0; plain && made && i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    Py_INCREF(item);
    PyTuple_SET_ITEM(made, i, item);
  }
  Py_DECREF(tuple);
  return made;
}

// Parts and joins of sizes are sizes, too.
PyObject* size_subscript(PyObject* self, PyObject* key) {
  PyObject* found = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? size_from(found) : found;
}
PyObject* size_concat(PyObject* self, PyObject* other) {
  PyObject* tuple = PySequence_Tuple(other);
  if (!tuple) return nullptr;
  PyObject* joined = PyTuple_Type.tp_as_sequence->sq_concat(self, tuple);
  Py_DECREF(tuple);
  return size_from(joined);
}
PyObject* size_repeat(PyObject* self, Py_ssize_t n) {
  return size_from(PyTuple_Type.tp_as_sequence->sq_repeat(self, n));
}

PyType_Slot size_slots[] = {{Py_mp_subscript, (void*)size_subscript},
                            {Py_sq_concat, (void*)size_concat},
                            {Py_sq_repeat, (void*)size_repeat},
                            {Py_tp_doc, (void*)"The shape of a tensor: a tuple of ints."},
                            {}};
PyType_Spec size_spec = {"weft.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

}  // namespace

PyObject* wrap_dtype(DType t) {
  PyObject* o = g_dtypes[int(t)];
  Py_INCREF(o);
  return o;
}

bool read_dtype(PyObject* o, DType* t) {
  if (Py_TYPE(o) == DTypeType) {
    *t = dtype_in(o);
    return true;
  }
  if (o == (PyObject*)&PyFloat_Type)
    *t = DType::Double;
  else if (o == (PyObject*)&PyLong_Type)
    *t = DType::Int64;
  else if (o == (PyObject*)&PyBool_Type)
    *t = DType::Bool;
  else if (o == (PyObject*)&PyComplex_Type)
    *t = DType::ComplexDouble;
  else
    return false;
  return true;
}

PyObject* wrap_size(const Dims& d) {
  PyObject* o = SizeType->tp_alloc(SizeType, d.size());
  if (!o) throw PythonError();
  for (int i = 0; i < d.size(); ++i) PyTuple_SET_ITEM(o, i, PyLong_FromLongLong(d[i]));
  return o;
}

void bind_types(nb::module_& m) {
  DTypeType = (PyTypeObject*)PyType_FromSpec(&dtype_spec);
  PyObject* bases = PyTuple_Pack(1, &PyTuple_Type);
  SizeType = (PyTypeObject*)PyType_FromSpecWithBases(&size_spec, bases);
  Py_DECREF(bases);
  m.attr("dtype") = nb::handle((PyObject*)DTypeType);
  m.attr("Size") = nb::handle((PyObject*)SizeType);
  m.def("_size_of", [](nb::tuple items) {  // of integers of any kind
    nb::object made = nb::steal(SizeType->tp_alloc(SizeType, Py_ssize_t(items.size())));
    if (!made.is_valid()) throw PythonError();
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(made.ptr(), Py_ssize_t(i), nb::object(items[i]).release().ptr());
    return made;
  });
  for (int i = 0; i < kDTypes; ++i) {
    g_dtypes[i] = PyObject_New(PyObject, DTypeType);
    reinterpret_cast<PyDType*>(g_dtypes[i])->dtype = DType(i);
    m.attr(name_of(DType(i))) = nb::handle(g_dtypes[i]);
  }
  m.def("_default_dtype", [] { return nb::steal(wrap_dtype(default_dtype())); });
  m.def("_set_default_dtype", [](nb::handle o) {
    DType t;
    if (!read_dtype(o.ptr(), &t) || !is_floating(t))
      fail_type("set_default_dtype: only floating-point types are supported as the default type");
    set_default_dtype(t);
  });
  m.def("_checked_arithmetic", [](const std::string& operation, int64_t a, int64_t b) -> int64_t {  // for tests
    switch (operation.at(0)) {
      case '+': return Size(a) + b;
      case '-': return Size(a) - b;
      case '*': return Size(a) * b;
      case '/': return Size(a) / b;
      default: return Size(a) % b;
    }
  });
  m.def("_promote", [](nb::handle a, nb::handle b) {
    DType x, y;
    if (!read_dtype(a.ptr(), &x) || !read_dtype(b.ptr(), &y)) fail_type("promote_types: expected two dtypes");
    return nb::steal(wrap_dtype(promote(x, y)));
  });
  m.def("_can_cast", [](nb::handle a, nb::handle b) {
    DType x, y;
    if (!read_dtype(a.ptr(), &x) || !read_dtype(b.ptr(), &y)) fail_type("can_cast: expected two dtypes");
    return can_cast(x, y);
  });
}

}  // namespace weft
