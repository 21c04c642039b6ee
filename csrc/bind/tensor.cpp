// The Tensor type: a thin Python object around a TensorImpl, with operators in its slots.
#include "bind/args.h"

#include <structmember.h>

#include "bind/life.h"
#include "bind/observer.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/pointwise.h"
#include "ops/sparse.h"
#include "tape/views.h"

namespace weft {

PyTypeObject* TensorType = nullptr;

namespace {

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  // Tensor(…) as the legacy constructor; subclasses give the tensor to look like.
  return guarded([&]() -> PyObject* {
    nb::object make = nb::module_::import_("weft.tensor").attr("_legacy_new");
    nb::object result = nb::steal(PyObject_Call(make.ptr(), args, kwargs));
    if (!result.is_valid()) throw PythonError();
    if (type == TensorType) return result.release().ptr();
    return wrap_as(alias(tensor_of(result.ptr())), type);
  });
}

// ---- operators

template <const OpRef& op>
PyObject* binary(PyObject* a, PyObject* b) {
  return call_binary(op, a, b, false);
}
template <const OpRef& op>
PyObject* binary_into(PyObject* a, PyObject* b) {
  return call_binary(op, a, b, true);
}
template <const OpRef& op>
PyObject* unary(PyObject* a) {
  if (t_observer) [[unlikely]]
    return tell_operator(op.op().base.c_str(), {a});
  return guarded([&] { return wrap(op(tensor_of(a))); });
}
PyObject* positive(PyObject* a) {
  return guarded([&] {
    if (impl_of(a)->dtype == DType::Bool) fail("positive: bool has no sign: use the tensor as it is");
    Py_INCREF(a);
    return a;
  });
}
PyObject* power(PyObject* a, PyObject* b, PyObject* mod) {
  if (mod != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call_binary(pow, a, b, false);
}
PyObject* power_into(PyObject* a, PyObject* b, PyObject*) { return call_binary(pow, a, b, true); }

const OpRef floor_divide{"floor_divide"}, remainder{"remainder"}, bitwise_and{"bitwise_and"}, bitwise_or{"bitwise_or"},
    bitwise_xor{"bitwise_xor"}, bitwise_not{"bitwise_not"}, shift_left{"bitwise_left_shift"},
    shift_right{"bitwise_right_shift"};

PyObject* invert(PyObject* a) {
  if (t_observer) [[unlikely]]
    return tell_operator("invert", {a});
  return guarded([&] {
    if (is_inexact(impl_of(a)->dtype))
      fail_type("~: only integer and bool tensors have bits to invert, got ", name_of(impl_of(a)->dtype));
    return wrap(bitwise_not(tensor_of(a)));
  });
}

PyObject* matrix_product(PyObject* a, PyObject* b) {
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  return call_binary(matmul, a, b, false);
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  static const OpRef* const ops[] = {&lt, &le, &eq, &ne, &gt, &ge};
  return call_binary(*ops[how], a, b, false);
}

int truth(PyObject* self) {
  try {
    TensorImpl& t = *impl_of(self);
    if (t.numel == 0) fail("Boolean value of Tensor with no values is ambiguous: shape ", t.sizes);
    if (t.numel > 1)
      fail("Boolean value of Tensor with more than one value is ambiguous: shape ", t.sizes, ". Use .any() or .all()");
    if (t_recorder) t_recorder->read("bool()", Tensor(&t));
    nb::object v = nb::steal(wrap_number(t.dtype, t.data()));
    return PyObject_IsTrue(v.ptr());
  } catch (...) {
    set_python_error();
    return -1;
  }
}
PyObject* as_number(PyObject* self, PyObject* (*convert)(PyObject*)) {
  return guarded([&]() -> PyObject* {
    nb::object v = nb::steal(tensor_item(self, nullptr));
    if (!v.is_valid()) throw PythonError();
    if (PyComplex_Check(v.ptr())) {
      if (PyComplex_ImagAsDouble(v.ptr()) != 0)
        fail("the complex number ", nb::cast<std::string>(nb::str(v)), " has an imaginary part: take .real first");
      v = nb::steal(PyFloat_FromDouble(PyComplex_RealAsDouble(v.ptr())));
    }
    return convert(v.ptr());
  });
}
PyObject* to_int(PyObject* self) { return as_number(self, PyNumber_Long); }
PyObject* to_float(PyObject* self) { return as_number(self, PyNumber_Float); }
PyObject* to_index(PyObject* self) {
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *impl_of(self);
    if (!is_integral(t.dtype) || t.numel != 1)
      fail_type("only integer tensors of a single element can be converted to an index");
    return as_number(self, PyNumber_Index);
  });
}
Py_ssize_t length(PyObject* self) {
  TensorImpl& t = *impl_of(self);
  if (t.sizes.empty()) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  if (t_observer && guarded_int([&] { tell_length(self); }) < 0) return -1;
  return Py_ssize_t(t.sizes[0]);
}
int assign(PyObject* self, PyObject* key, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  return tensor_setitem(self, key, value);
}
Py_hash_t hash(PyObject* self) { return Py_hash_t(uintptr_t(self) >> 4); }

// ---- attributes

PyObject *g_grad_of, *g_set_grad, *g_data_of;  // functions that do the same, for the observer

template <class F>
PyObject* field(PyObject* self, F f) {
  return guarded([&]() -> PyObject* { return f(*impl_of(self)); });
}
PyObject* get_shape(PyObject* o, void*) {
  if (t_observer) [[unlikely]]
    return tell_shape(o);
  return field(o, [](TensorImpl& t) { return wrap_size(t.sizes); });
}
PyObject* get_dtype(PyObject* o, void*) {
  return field(o, [](TensorImpl& t) { return wrap_dtype(t.dtype); });
}
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLong(impl_of(o)->sizes.size()); }
PyObject* get_requires_grad(PyObject* o, void*) {
  return field(o, [](TensorImpl& t) { return PyBool_FromLong(shows_grad(t)); });
}
PyObject* get_is_leaf(PyObject* o, void*) {
  return field(o, [](TensorImpl& t) {
    wants_grad(t);
    return PyBool_FromLong(!t.grad_fn);
  });
}
PyObject* get_grad_fn(PyObject* o, void*) {
  return field(o, [](TensorImpl& t) {
    wants_grad(t);
    return wrap_node(t.grad_fn);
  });
}
char g_asked;  // what the attribute gives get_grad; weft's own code reads _grad_of

// False: the warning is an exception.
bool warn_no_leaf() {
  std::string line = user_line();
  std::string text =
      "grad: the .grad attribute of a Tensor that is not a leaf Tensor is being accessed. backward() fills it for "
      "leaves only: call .retain_grad() on this tensor before, or read .grad of the leaf";
  if (!line.empty()) text += "\n  at " + line;
  return PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) == 0;
}
// `asked`: by a program, which is warned where backward() leaves nothing.
PyObject* get_grad(PyObject* o, void* asked) {
  if (t_observer) [[unlikely]]
    return tell_call(g_grad_of, &o, 1);
  return field(o, [asked](TensorImpl& t) -> PyObject* {
    if (t_recorder) t_recorder->grad_read(Tensor(&t));
    if (asked && !t.grad && t.grad_fn && !(t.extra && t.extra->retain_grad) && !warn_no_leaf()) return nullptr;
    return wrap(Tensor(t.grad));
  });
}
int set_grad(PyObject* o, PyObject* v, void*) {
  if (t_observer) {
    PyObject* given[] = {o, v ? v : Py_None};
    nb::object done = nb::steal(tell_call(g_set_grad, given, 2));
    return done.is_valid() ? 0 : -1;
  }
  return guarded_int([&] {
    TensorImpl& t = *impl_of(o);
    if (!v || v == Py_None) {
      t.grad = nullptr;
      if (t_recorder) t_recorder->grad_set(Tensor(&t));
      return;
    }
    if (!is_tensor(v))
      fail_type("assigned grad expected to be a Tensor or None but got grad of type ", Py_TYPE(v)->tp_name);
    Tensor g = tensor_of(v);
    if (!(g.sizes() == t.sizes))
      fail("assigned grad has data of a different size: ", g.sizes(), " for a tensor of shape ", t.sizes);
    if (g.dtype() != t.dtype)
      fail("assigned grad has data of a different type: ", name_of(g.dtype()), " for a ", name_of(t.dtype), " tensor");
    if (g.get() == &t) fail("can't assign Variable as its own grad");
    t.grad = g.ref();
    if (t_recorder) t_recorder->grad_set(Tensor(&t));
  });
}
PyObject* get_data(PyObject* o, void*) {
  if (t_observer) [[unlikely]]
    return tell_call(g_data_of, &o, 1);
  return field(o, [](TensorImpl& t) {
    static const OpRef detach{"detach"};
    Tensor d = t_recorder ? detach(Tensor(&t)) : alias(Tensor(&t));  // a graph must know whose memory it is
    d->untracked = true;
    if (wants_grad(t)) {
      d->cut = Ref<Cut>(new Cut);
      d->cut->what = ".data";
      d->cut->origin = Origin::here();
    }
    return wrap(d);
  });
}
int set_data(PyObject* o, PyObject* v, void*) {
  return guarded_int([&] {
    Tensor from = to_tensor(v, "data");
    TensorImpl& t = *impl_of(o);
    if (t.layout != from->layout)
      fail("set_data: a tensor of layout ", name_of(t.layout), " cannot take the data of one of layout ",
           name_of(from->layout));
    if (t.storage.get() == from->storage.get() && t.dtype == from.dtype() && t.offset == from->offset &&
        t.sizes == from.sizes() && t.strides == from.strides())
      return;  // as the last step of `p.data -= x`
    if (t_recorder) t_recorder->lost("assigning to .data");
    if (is_inexact(t.dtype) != is_inexact(from.dtype()) && t.requires_grad)
      fail("data set to a tensor that requires gradients must be floating point or complex dtype");
    t.storage = from->storage;
    t.dtype = from.dtype();
    t.set_geometry(from.sizes(), from.strides(), from->offset);
    t.contiguous = from.contiguous();
  });
}
// What differs from tensor to tensor of one geometry: a captured call that asks for it cannot be replayed.
void tell_of_look(const char* what) {
  if (t_recorder && !t_recorder->differentiated) t_recorder->lost(what);
}
PyObject* get_version(PyObject* o, void*) {
  return field(o, [](TensorImpl& t) {
    tell_of_look("_version");
    if (t.inference) fail("_version: inference tensors do not track a version counter");
    return PyLong_FromUnsignedLong(t.storage->version);
  });
}
PyObject* get_base(PyObject* o, void*) {
  return field(o, [](TensorImpl& t) {
    tell_of_look("_base");
    return wrap(Tensor(t.base));
  });
}
PyObject* get_output_nr(PyObject* o, void*) { return PyLong_FromUnsignedLong(impl_of(o)->slot); }
PyObject* get_retains_grad(PyObject* o, void*) {
  TensorImpl& t = *impl_of(o);
  return PyBool_FromLong(t.extra && t.extra->retain_grad);
}
PyObject* get_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(item_size(impl_of(o)->dtype)); }
PyObject* get_nbytes(PyObject* o, void*) {
  if (t_observer) [[unlikely]] {
    nb::object count = nb::steal(tell_method("numel", {o})), bytes = nb::steal(get_itemsize(o, nullptr));
    return count.is_valid() && bytes.is_valid() ? PyNumber_Multiply(count.ptr(), bytes.ptr()) : nullptr;
  }
  return field(o, [](TensorImpl& t) {
    if (t.layout != Layout::Strided)
      fail("nbytes: not defined for a tensor of layout ", name_of(t.layout), ": add those of its indices and values");
    return PyLong_FromLongLong(t.numel * item_size(t.dtype));
  });
}
PyObject* get_is_sparse(PyObject* o, void*) { return PyBool_FromLong(impl_of(o)->layout == Layout::SparseCoo); }

PyGetSetDef fields[] = {
  {"shape", get_shape, nullptr, "The sizes of the dimensions.", nullptr},
  {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
  {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
  {"requires_grad", get_requires_grad, tensor_set_requires_grad, "Whether gradients are wanted.", nullptr},
  {"is_leaf", get_is_leaf, nullptr, "Whether no recorded op made this tensor.", nullptr},
  {"grad_fn", get_grad_fn, nullptr, "The node that made this tensor.", nullptr},
  {"grad", get_grad, set_grad, "The gradient that backward() added up.", &g_asked},
  {"data", get_data, set_data, "The same elements outside the graph.", nullptr},
  {"_version", get_version, nullptr, "How often the memory was changed in place.", nullptr},
  {"_base", get_base, nullptr, "The tensor that this one is a view of.", nullptr},
  {"output_nr", get_output_nr, nullptr, "Which output of grad_fn this is.", nullptr},
  {"retains_grad", get_retains_grad, nullptr, "Whether a non-leaf keeps its gradient.", nullptr},
  {"itemsize", get_itemsize, nullptr, "Bytes of an element.", nullptr},
  {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
  {"is_sparse", get_is_sparse, nullptr, "Whether the layout is sparse_coo.", nullptr},
  {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
  {}};

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
                         {}};

PyType_Slot slots[] = {{Py_tp_new, (void*)tensor_new},
                       {Py_tp_dealloc, (void*)tensor_dealloc},
                       {Py_tp_finalize, (void*)tensor_finalize},
                       {Py_tp_traverse, (void*)tensor_traverse},
                       {Py_tp_clear, (void*)tensor_clear},
                       {Py_tp_setattro, (void*)tensor_setattr},
                       {Py_tp_methods, tensor_methods},
                       {Py_tp_getset, fields},
                       {Py_tp_members, members},
                       {Py_tp_richcompare, (void*)compare},
                       {Py_tp_hash, (void*)hash},
                       {Py_nb_add, (void*)binary<add>},
                       {Py_nb_subtract, (void*)binary<sub>},
                       {Py_nb_multiply, (void*)binary<mul>},
                       {Py_nb_true_divide, (void*)binary<weft::ref::div>},
                       {Py_nb_floor_divide, (void*)binary<floor_divide>},
                       {Py_nb_remainder, (void*)binary<remainder>},
                       {Py_nb_power, (void*)power},
                       {Py_nb_and, (void*)binary<bitwise_and>},
                       {Py_nb_or, (void*)binary<bitwise_or>},
                       {Py_nb_xor, (void*)binary<bitwise_xor>},
                       {Py_nb_lshift, (void*)binary<shift_left>},
                       {Py_nb_rshift, (void*)binary<shift_right>},
                       {Py_nb_matrix_multiply, (void*)matrix_product},
                       {Py_nb_inplace_add, (void*)binary_into<add>},
                       {Py_nb_inplace_subtract, (void*)binary_into<sub>},
                       {Py_nb_inplace_multiply, (void*)binary_into<mul>},
                       {Py_nb_inplace_true_divide, (void*)binary_into<weft::ref::div>},
                       {Py_nb_inplace_floor_divide, (void*)binary_into<floor_divide>},
                       {Py_nb_inplace_remainder, (void*)binary_into<remainder>},
                       {Py_nb_inplace_power, (void*)power_into},
                       {Py_nb_inplace_and, (void*)binary_into<bitwise_and>},
                       {Py_nb_inplace_or, (void*)binary_into<bitwise_or>},
                       {Py_nb_inplace_xor, (void*)binary_into<bitwise_xor>},
                       {Py_nb_negative, (void*)unary<neg>},
                       {Py_nb_positive, (void*)positive},
                       {Py_nb_absolute, (void*)unary<weft::ref::abs>},
                       {Py_nb_invert, (void*)invert},
                       {Py_nb_bool, (void*)truth},
                       {Py_nb_int, (void*)to_int},
                       {Py_nb_float, (void*)to_float},
                       {Py_nb_index, (void*)to_index},
                       {Py_mp_length, (void*)length},
                       {Py_mp_subscript, (void*)tensor_getitem},
                       {Py_mp_ass_subscript, (void*)assign},
                       {Py_tp_doc, (void*)"A tensor: numbers of one type in a box of any number of dimensions."},
                       {}};
PyType_Spec spec = {"weft.Tensor", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                    slots};

}  // namespace

Tensor to_tensor(nb::handle o, const char* what) {
  if (!is_tensor(o.ptr())) fail_type(what, " must be a Tensor, not ", Py_TYPE(o.ptr())->tp_name);
  return tensor_of(o.ptr());
}

PyObject* wrap_number(DType t, const void* at) {
  return visit(t, [&](auto zero) -> PyObject* {
    using T = decltype(zero);
    const T& v = *static_cast<const T*>(at);
    if constexpr (std::is_same_v<T, bool>)
      return PyBool_FromLong(v);
    else if constexpr (std::is_integral_v<T>)
      return PyLong_FromLongLong(v);
    else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>)
      return PyComplex_FromDoubles(v.real(), v.imag());
    else
      return PyFloat_FromDouble(double(v));
  });
}

bool read_number(PyObject* o, Value* v) {
  if (PyFloat_Check(o)) {
    *v = Value(PyFloat_AS_DOUBLE(o));
  } else if (PyBool_Check(o)) {
    *v = Value(o == Py_True);
  } else if (PyLong_Check(o)) {
    int overflow = 0;
    long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) fail(ErrorKind::Runtime, "the number is too large for a 64-bit integer");
    *v = Value(int64_t(i));
  } else if (PyComplex_Check(o)) {
    *v = Value(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  } else {
    // NumPy's scalars know their Python number; arrays are not numbers.
    if (is_tensor(o) || !PyObject_HasAttrString(o, "dtype") || !PyObject_HasAttrString(o, "item") ||
        PyObject_HasAttrString(o, "__len__"))
      return false;
    nb::object number = nb::steal(PyObject_CallMethod(o, "item", nullptr));
    if (!number.is_valid()) return !clear_refusal();
    if (!PyFloat_Check(number.ptr()) && !PyLong_Check(number.ptr()) && !PyComplex_Check(number.ptr())) return false;
    return read_number(number.ptr(), v);
  }
  return true;
}

void bind_tensor(nb::module_& m) {
  TensorType = (PyTypeObject*)PyType_FromSpec(&spec);
  if (!TensorType) throw nb::python_error();
  m.attr("Tensor") = nb::handle((PyObject*)TensorType);
  auto function = [&](const char* name, auto f) {
    m.def(name, f);
    return nb::object(m.attr(name)).release().ptr();
  };
  g_grad_of = function("_grad_of", [](nb::handle t) { return nb::steal(get_grad(t.ptr(), nullptr)); });
  g_data_of = function("_data_of", [](nb::handle t) { return nb::steal(get_data(t.ptr(), nullptr)); });
  m.def(
      "_set_grad",
      [](nb::handle t, nb::handle grad) {
        if (set_grad(t.ptr(), grad.ptr(), nullptr) < 0) throw nb::python_error();
      },
      nb::arg(), nb::arg().none());
  g_set_grad = nb::object(m.attr("_set_grad")).release().ptr();
  m.def("_make_subclass", [](nb::handle type, Tensor t, bool requires_grad) {
    Tensor a = alias(t);
    a->requires_grad = requires_grad;
    return nb::steal(wrap_as(a, (PyTypeObject*)type.ptr()));
  });
  m.def("_cast", [](Tensor t, nb::handle o) {
    DType dtype;
    if (!read_dtype(o.ptr(), &dtype)) fail_type("to: expected a dtype");
    return to_dtype(t, dtype);
  });
  m.def("_result_type", [](Tensor a, Tensor b) {
    Value x(a), y(b);
    return nb::steal(wrap_dtype(common_dtype(Operands{2, {&x, &y}})));
  });
  m.def("_resize", [](Tensor t, nb::tuple sizes) {
    Dims d;
    for (nb::handle s : sizes) d.push(nb::cast<int64_t>(s));
    for (int64_t s : d)
      if (s < 0) fail("resize_: negative size in ", d);
    if (t.sparse()) refuse_sparse("resize_");
    if (t_recorder && !(t.sizes() == d)) t_recorder->lost("resize_()");
    bool same = t.sizes() == d && t.contiguous();
    resize_to(t, d);
    if (!same) t->storage->touch();  // what was kept of it has changed
  });
  // Squeezes, transposes … of a tensor in place: it takes the geometry of a view of itself.
  m.def("_set_geometry_of", [](nb::handle self, Tensor view) {
    Tensor t = to_tensor(self, "self");
    if (t.sparse()) refuse_sparse("in-place view");
    take_geometry(t, view);
    return nb::borrow(self);
  });
  m.def("_memory_stats", [] {
    MemoryStats& s = memory_stats();
    nb::dict d;
    d["live"] = s.live;
    d["peak"] = s.peak;
    d["cached"] = s.cached;
    d["blocks"] = s.blocks;
    d["allocations"] = s.allocations;
    d["nodes"] = live_nodes();
    d["tensors"] = live_tensors();
    return d;
  });
  m.def("_reset_peak", [] { memory_stats().peak = memory_stats().live; });
  m.def("_empty_cache", [] { empty_cache(); });
  m.def("_fail_allocation_after", [](int64_t n) { fail_allocation_after(n); });
}

}  // namespace weft
