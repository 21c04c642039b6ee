// Methods of Tensor that are no ops: they ask for a geometry, read elements, or change what gradients do at a tensor.
#include "bind/args.h"
#include "bind/observer.h"
#include "loops/parallel.h"
#include "ops/recording.h"

namespace weft {

void check_single(TensorImpl& t, const char* what) {
  if (t.numel != 1)
    fail(what, ": a Tensor with ", t.numel, " elements (shape ", t.sizes, ") cannot be converted to a single value");
}

PyObject* tensor_item(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *impl_of(self);
    check_single(t, "item");
    if (t_recorder) t_recorder->read("item()", Tensor(&t));
    return wrap_number(t.dtype, t.data());
  });
}

int tensor_set_requires_grad(PyObject* o, PyObject* v, void*) {
  if (t_observer && v) {
    nb::object done = nb::steal(tell_method("requires_grad_", {o, v}));
    return done.is_valid() ? 0 : -1;
  }
  return guarded_int([&] {
    TensorImpl& t = *impl_of(o);
    if (!v || !PyBool_Check(v)) fail("requires_grad must be a bool, not ", v ? Py_TYPE(v)->tp_name : "deleted");
    bool on = v == Py_True;
    if (t.grad_fn && !on)
      fail(
          "you can only change requires_grad flags of leaf variables. To use a computed variable in a subgraph that "
          "doesn't "
          "require differentiation use var_no_grad = var.detach().");
    if (on && !is_inexact(t.dtype))
      fail("only Tensors of floating point and complex dtype can require gradients, got ", name_of(t.dtype));
    if (on && t.inference && !t_modes.inference)
      fail("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    if (!t.grad_fn) t.requires_grad = on;
  });
}

namespace {

PyObject* dims_or_one(const Dims& d, PyObject* const* args, Py_ssize_t n, bool size) {
  return guarded([&]() -> PyObject* {
    if (n == 0 || args[0] == Py_None) {
      if (size) return wrap_size(d);
      PyObject* t = PyTuple_New(d.size());
      for (int i = 0; i < d.size(); ++i) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(d[i]));
      return t;
    }
    long long i = PyLong_AsLongLong(args[0]);
    if (i == -1 && PyErr_Occurred()) throw PythonError();
    const char* op = size ? "size" : "stride";
    int dim = wrap_dim(i, d.size(), op);
    if (d.size() == 0) fail_index(op, ": Dimension specified as ", i, " but tensor has no dimensions");
    return PyLong_FromLongLong(d[dim]);
  });
}
PyObject* size(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
  if (t_observer) [[unlikely]] {
    nb::object shape = nb::steal(tell_shape(o));
    bool whole = n + (kw ? PyTuple_GET_SIZE(kw) : 0) == 0 || args[0] == Py_None;
    if (!shape.is_valid() || whole) return shape.release().ptr();
    return guarded([&] {
      long long i = PyLong_AsLongLong(args[0]);
      if (i == -1 && PyErr_Occurred()) throw PythonError();
      return Py_NewRef(PyTuple_GET_ITEM(shape.ptr(), wrap_dim(i, int(PyTuple_GET_SIZE(shape.ptr())), "size")));
    });
  }
  return dims_or_one(impl_of(o)->sizes, args, n + (kw ? PyTuple_GET_SIZE(kw) : 0), true);
}
PyObject* stride(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
  if (t_observer) [[unlikely]]
    return n + (kw ? PyTuple_GET_SIZE(kw) : 0) ? tell_method("stride", {o, args[0]}) : tell_method("stride", {o});
  return dims_or_one(impl_of(o)->strides, args, n + (kw ? PyTuple_GET_SIZE(kw) : 0), false);
}
PyObject* numel(PyObject* o, PyObject*) {
  if (t_observer) [[unlikely]]
    return tell_method("numel", {o});
  return PyLong_FromLongLong(impl_of(o)->numel);
}
PyObject* dim(PyObject* o, PyObject*) { return PyLong_FromLong(impl_of(o)->sizes.size()); }
PyObject* data_ptr(PyObject* o, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(impl_of(o)->data()); });
}
PyObject* storage_offset(PyObject* o, PyObject*) {
  if (t_observer) [[unlikely]]
    return tell_method("storage_offset", {o});
  return PyLong_FromLongLong(impl_of(o)->offset);
}
PyObject* storage_bytes(PyObject* o, PyObject*) { return PyLong_FromLongLong(impl_of(o)->storage->bytes); }
PyObject* storage_ptr(PyObject* o, PyObject*) {
  return guarded([&] {
    impl_of(o)->data();  // puts the elements in order
    return PyLong_FromVoidPtr(impl_of(o)->storage->data);
  });
}
PyObject* lies_in_order(PyObject* o, PyObject* const*, Py_ssize_t, PyObject*) {
  if (t_observer) [[unlikely]]
    return tell_method("is_contiguous", {o});
  return PyBool_FromLong(impl_of(o)->contiguous);
}
PyObject* is_floating_point(PyObject* o, PyObject*) { return PyBool_FromLong(is_floating(impl_of(o)->dtype)); }
PyObject* is_complex_(PyObject* o, PyObject*) { return PyBool_FromLong(is_complex(impl_of(o)->dtype)); }
PyObject* is_inference(PyObject* o, PyObject*) { return PyBool_FromLong(impl_of(o)->inference); }

PyObject* list_level(TensorImpl& t, int d, char* at) {
  if (d == t.sizes.size()) return wrap_number(t.dtype, at);
  int64_t n = t.sizes[d], step = t.strides[d] * item_size(t.dtype);
  nb::object list = nb::steal(PyList_New(Py_ssize_t(n)));
  if (!list) {
    PyErr_Clear();
    fail(ErrorKind::Memory, "tolist: out of memory: a list of ", n, " elements takes ", n * int64_t(sizeof(PyObject*)),
         " bytes");
  }
  for (int64_t i = 0; i < n; ++i) {
    if (i % 4096 == 4095) leave_if_interrupted();
    PyObject* element = list_level(t, d + 1, at + i * step);
    if (!element) throw PythonError();
    PyList_SET_ITEM(list.ptr(), Py_ssize_t(i), element);
  }
  return list.release().ptr();
}
PyObject* tolist(PyObject* o, PyObject*) {
  return guarded([&] {
    if (t_recorder) t_recorder->read("tolist()", tensor_of(o));
    return list_level(*impl_of(o), 0, impl_of(o)->data());
  });
}
PyObject* detach_(PyObject* o, PyObject*) {
  if (t_observer) [[unlikely]]
    return tell_method("detach_", {o});
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *impl_of(o);
    if (t.base) fail("detach_: can't detach views in-place. Use detach() instead.");
    if (t_recorder) t_recorder->lost("detach_()");
    t.retain_grad(false);
    t.set_history(nullptr, 0);
    t.requires_grad = false;
    Py_INCREF(o);
    return o;
  });
}
PyObject* requires_grad_(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
  return guarded([&] {
    Py_ssize_t given = n + (kw ? PyTuple_GET_SIZE(kw) : 0);
    if (given > 1) fail_type("requires_grad_(): takes at most 1 argument but ", given, " were given");
    if (n == 0 && given == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kw, 0), "requires_grad") != 0)
      fail_type("requires_grad_(): got an unexpected keyword argument '", text_of(PyTuple_GET_ITEM(kw, 0)), "'");
    if (given && !PyBool_Check(args[0]))
      fail_type("requires_grad_(): argument 'requires_grad' must be bool, not ", Py_TYPE(args[0])->tp_name);
    if (tensor_set_requires_grad(o, given ? args[0] : Py_True, nullptr) < 0) throw PythonError();
    Py_INCREF(o);
    return o;
  });
}
PyObject* retain_grad(PyObject* o, PyObject*) {
  if (t_observer) [[unlikely]]
    return tell_method("retain_grad", {o});
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *impl_of(o);
    if (!wants_grad(t)) fail("can't retain_grad on Tensor that has requires_grad=False");
    t.retain_grad(true);
    Py_RETURN_NONE;
  });
}

}  // namespace

#define FAST(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL | METH_KEYWORDS
PyMethodDef tensor_methods[] = {
  {"item", tensor_item, METH_NOARGS, "item($self)\n--\n\nThe only element as a Python number."},
  {"tolist", tolist, METH_NOARGS, "tolist($self)\n--\n\nThe elements as nested lists."},
  {"size", FAST(size), "size($self, dim=None)\n--\n\nThe shape, or one of its sizes."},
  {"stride", FAST(stride), "stride($self, dim=None)\n--\n\nThe steps in memory between elements, per dimension."},
  {"numel", numel, METH_NOARGS, "numel($self)\n--\n\nThe number of elements."},
  {"nelement", numel, METH_NOARGS, "nelement($self)\n--\n\nThe number of elements."},
  {"dim", dim, METH_NOARGS, "dim($self)\n--\n\nThe number of dimensions."},
  {"ndimension", dim, METH_NOARGS, "ndimension($self)\n--\n\nThe number of dimensions."},
  {"data_ptr", data_ptr, METH_NOARGS, "data_ptr($self)\n--\n\nThe address of the first element."},
  {"storage_offset", storage_offset, METH_NOARGS,
   "storage_offset($self)\n--\n\nWhere in its storage this tensor begins, in elements."},
  {"_storage_bytes", storage_bytes, METH_NOARGS, "_storage_bytes($self)\n--\n\nBytes of the storage."},
  {"_storage_ptr", storage_ptr, METH_NOARGS, "_storage_ptr($self)\n--\n\nThe address of the storage."},
  {"is_contiguous", FAST(lies_in_order), "is_contiguous($self)\n--\n\nWhether the elements lie in order without gaps."},
  {"is_floating_point", is_floating_point, METH_NOARGS,
   "is_floating_point($self)\n--\n\nWhether the elements are floating point."},
  {"is_complex", is_complex_, METH_NOARGS, "is_complex($self)\n--\n\nWhether the elements are complex."},
  {"is_inference", is_inference, METH_NOARGS, "is_inference($self)\n--\n\nWhether it was made in inference mode."},
  {"detach_", detach_, METH_NOARGS, "detach_($self)\n--\n\nCuts this tensor off from the graph."},
  {"requires_grad_", FAST(requires_grad_),
   "requires_grad_($self, requires_grad=True)\n--\n\nSets requires_grad and returns self."},
  {"retain_grad", retain_grad, METH_NOARGS, "retain_grad($self)\n--\n\nKeeps the gradient of a non-leaf in .grad."},
  {}};

}  // namespace weft
