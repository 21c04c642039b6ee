#include "bind/guards.h"

#include <cstring>

#include "ops/record.h"

namespace weft {
namespace {

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

// Whether a dict has these keys, in this order.
bool has_keys(PyObject* dict, PyObject* keys) {
  if (PyDict_Size(dict) != PyTuple_GET_SIZE(keys)) return false;
  if (PyODict_Check(dict)) {  // which has an order of its own
    nb::object now = nb::steal(PySequence_Tuple(dict));
    if (!now.is_valid()) throw nb::python_error();
    return same(now.ptr(), keys);
  }
  Py_ssize_t place = 0, i = 0;
  PyObject* key;
  while (PyDict_Next(dict, &place, &key, nullptr))
    if (!same(key, PyTuple_GET_ITEM(keys, i++))) return false;
  return true;
}

// Whether a dict has none of these keys.
bool has_none(PyObject* dict, PyObject* names) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
    int there = PyDict_Contains(dict, PyList_GET_ITEM(names, i));
    if (there < 0) throw nb::python_error();
    if (there) return false;
  }
  return true;
}

// Whether a dict has what another one has.
bool has_all(PyObject* dict, PyObject* members) {
  Py_ssize_t place = 0;
  PyObject *key, *value;
  while (PyDict_Next(members, &place, &key, &value))
    if (found_in(dict, key) != value) return false;
  return true;
}

// Whether a dict has this value at a key. Ellipsis: so many (a number), these keys (a tuple), none of these (a
// list), these keys and values (a dict).
bool dict_holds(PyObject* dict, PyObject* key, PyObject* value) {
  if (key == Py_Ellipsis) {
    if (PyTuple_Check(value)) return has_keys(dict, value);
    if (PyList_Check(value)) return has_none(dict, value);
    if (PyDict_Check(value)) return has_all(dict, value);
    return PyDict_Size(dict) == PyLong_AsSsize_t(value);
  }
  return same(found_in(dict, key), value);
}

// What a class has itself, not its bases; as it is there, not bound to it.
bool type_holds(PyTypeObject* type, PyObject* key, PyObject* value) {
  static PyObject* bases = interned("__mro__");
  if (key == bases) return same(type->tp_mro, value);
  return dict_holds(type->tp_dict, key, value);
}

bool is_class(PyObject* key) {
  static PyObject* name = interned("__class__");
  return key == name;
}

// Whether a dict, list, set, cell, class or object has this value at a key (null: has none; Ellipsis: so many, or
// these). The empty tuple: it gives this value when it is called.
bool holds(PyObject* where, PyObject* key, PyObject* value) {
  if (is_class(key) && !PyDict_CheckExact(where)) return reinterpret_cast<PyObject*>(Py_TYPE(where)) == value;
  if (PyDict_Check(where)) return dict_holds(where, key, value);
  if (PyList_Check(where) && (key == Py_Ellipsis || PyLong_Check(key))) {
    if (key == Py_Ellipsis) return PyList_GET_SIZE(where) == PyLong_AsSsize_t(value);
    Py_ssize_t i = PyLong_AsSsize_t(key);
    return i >= 0 && i < PyList_GET_SIZE(where) && same(PyList_GET_ITEM(where, i), value);
  }
  if (PyCell_Check(where)) return same(PyCell_GET(where), value);
  if (PyType_Check(where)) return type_holds(reinterpret_cast<PyTypeObject*>(where), key, value);
  nb::object found;
  if (key == Py_Ellipsis && PyAnySet_Check(where)) {  // its elements, in the order in which they are walked
    found = nb::steal(PySequence_Tuple(where));
  } else if (key == Py_Ellipsis) {
    Py_ssize_t size = PyObject_Size(where);
    if (size < 0) PyErr_Clear();
    return size == PyLong_AsSsize_t(value);
  } else if (PyTuple_Check(key)) {
    found = nb::steal(PyObject_CallNoArgs(where));
  } else if (PyLong_Check(key)) {  // a deque
    found = nb::steal(PySequence_GetItem(where, PyLong_AsSsize_t(key)));
  } else {
    found = nb::steal(PyObject_GetAttr(where, key));
  }
  if (!found.is_valid()) PyErr_Clear();
  return same(found.ptr(), value);
}

// ---- counts of changes

// Which grows with every change of a class or its bases; 0: there is none.
uint64_t count_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030D0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

// The same of a dict. Newer Pythons have none; an OrderedDict can get another order without being changed otherwise.
uint64_t count_of_dict([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX < 0x030D0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (!PyODict_Check(dict)) return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
#endif
  return 0;
}

uint64_t count(PyObject* where) {
  return PyDict_Check(where) ? count_of_dict(where) : count_of(reinterpret_cast<PyTypeObject*>(where));
}

}  // namespace

PyObject* found_in(PyObject* dict, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(dict, key);
  if (!found && PyErr_Occurred()) throw nb::python_error();
  return found;
}

bool same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyTuple_CheckExact(a)) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
      if (!same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    return true;
  }
  if (PyFloat_CheckExact(a)) {  // zeros differ by their signs, NaN is itself
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (PyComplex_CheckExact(a)) {
    Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (!(PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a))) return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) throw nb::python_error();
  return equal;
}

int role(TensorImpl& t) { return t.inference ? 4 : wants_grad(t) ? (t.grad_fn ? 2 : 1) : 0; }

Py_ssize_t attributes(PyObject* t) {
  PyObject* dict = reinterpret_cast<PyTensor*>(t)->dict;
  return dict ? PyDict_GET_SIZE(dict) : 0;
}
Py_ssize_t attributes(const TensorImpl& t) { return t.pyobj ? attributes(static_cast<PyObject*>(t.pyobj)) : 0; }

void Guards::require(nb::object where, nb::object key, nb::object value, bool absent) {
  for (nb::handle o : {where, key, value}) refs_.append(o);
  Held held{where.ptr(), key.ptr(), absent ? nullptr : value.ptr(), number_++};
  bool counts = (PyDict_Check(where.ptr()) || PyType_Check(where.ptr())) && !is_class(key.ptr());
  if (!counts) return others_.push_back(held);
  auto [found, added] = place_.emplace(where.ptr(), counting_.size());
  if (added) counting_.push_back({where.ptr(), 0, {}});
  Counting& c = counting_[found->second];
  c.count = 0;
  c.held.push_back(held);
}

void Guards::require_geometry(Tensor t) {
  looked_.push_back({t, t.sizes(), t.strides(), t.dtype(), role(*t.get()), attributes(*t.get()), number_++});
}

int Guards::failing(Counting& c) {
  static PyObject* any = interned("__dict__");
  if (PyType_Check(c.where)) _PyType_Lookup(reinterpret_cast<PyTypeObject*>(c.where), any);  // which begins to count
  uint64_t now = count(c.where);
  for (const Held& h : c.held)
    if (!holds(h.where, h.key, h.value)) return h.number;
  c.count = now;
  return -1;
}

int Guards::failing() {
  for (Counting& c : counting_) {
    if (c.count && c.count == count(c.where)) continue;
    if (int number = failing(c); number >= 0) return number;
  }
  for (const Held& h : others_)
    if (!holds(h.where, h.key, h.value)) return h.number;
  for (const Looked& l : looked_)
    if (l.t.sizes() != l.sizes || l.t.dtype() != l.dtype || l.t.strides() != l.strides || role(*l.t.get()) != l.role ||
        attributes(*l.t.get()) != l.attributes)
      return l.number;
  return -1;
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Guards>(self)->refs());
  return 0;
}
int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Guards>(self)->drop_refs();
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, (void*)traverse}, {Py_tp_clear, (void*)clear}, {}};

}  // namespace

void bind_guards(nb::module_& m) {
  m.def(
      "_holds",
      [](nb::object where, nb::object key, nb::object value, bool absent) {
        return holds(where.ptr(), key.ptr(), absent ? nullptr : value.ptr());
      },
      nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  m.def("_same", [](nb::object a, nb::object b) { return same(a.ptr(), b.ptr()); }, nb::arg().none(), nb::arg().none());
  m.def("_role", [](Tensor t) { return role(*t.get()); });
  m.def("_is_writable", [](Tensor t) { return t->storage->writable; });
  m.attr("_dicts_count_changes") = PY_VERSION_HEX < 0x030D0000;
  nb::class_<Guards>(m, "Guards", nb::type_slots(slots), "What must be in Python as it was.")
      .def(nb::init<>())
      .def("require", &Guards::require, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg())
      .def("require_geometry", &Guards::require_geometry)
      .def("failing", nb::overload_cast<>(&Guards::failing),
           "Returns the number of one that is not as it was, in the order of require(), or -1.");
}

}  // namespace weft
