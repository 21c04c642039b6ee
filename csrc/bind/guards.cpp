#include "bind/guards.h"

#include <cstring>

#include "ops/recording.h"

namespace weft {

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

// ---- the checks, one for each kind

namespace guard {
namespace {

bool is_same(nb::object found, PyObject* value) {  // found: not valid if an exception was raised
  if (!found.is_valid()) PyErr_Clear();
  return same(found.ptr(), value);
}

bool has_key(PyObject* dict, PyObject* key) {
  int there = PyDict_Contains(dict, key);
  if (there < 0) throw nb::python_error();
  return there;
}

}  // namespace

bool DictItem::holds() const { return same(found_in(dict, key), value); }

bool Absent::holds() const { return !has_key(dict, key); }

bool NoneOf::holds() const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i)
    if (has_key(dict, PyTuple_GET_ITEM(keys, i))) return false;
  return true;
}

bool Keys::holds() const {
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

bool Members::holds() const {
  Py_ssize_t place = 0;
  PyObject *key, *value;
  while (PyDict_Next(members, &place, &key, &value))
    if (found_in(dict, key) != value) return false;
  return true;
}

bool Mro::holds() const { return same(cls->tp_mro, mro); }

bool ListItem::holds() const { return index < PyList_GET_SIZE(list) && same(PyList_GET_ITEM(list, index), value); }

bool DequeItem::holds() const { return is_same(nb::steal(PySequence_GetItem(deque, index)), value); }

bool Elements::holds() const { return is_same(nb::steal(PySequence_Tuple(set)), elements); }

bool Length::holds() const {
  Py_ssize_t now = PyList_Check(container)   ? PyList_GET_SIZE(container)
                   : PyDict_Check(container) ? PyDict_Size(container)
                                             : PyObject_Size(container);
  if (now < 0) PyErr_Clear();
  return now == size;
}

bool CellIs::holds() const { return same(PyCell_GET(cell), value); }

bool CellEmpty::holds() const { return !PyCell_GET(cell); }

bool AttributeIs::holds() const { return is_same(nb::steal(PyObject_GetAttr(object, name)), value); }

bool AttributeMissing::holds() const { return is_same(nb::steal(PyObject_GetAttr(object, name)), nullptr); }

bool NamespaceIs::holds() const {
  nb::object now = nb::steal(PyObject_GenericGetDict(object, nullptr));
  if (!now.is_valid()) PyErr_Clear();
  return now.ptr() == dict;
}

bool FunctionIs::holds() const {
  auto or_none = [](PyObject* o) { return o ? o : Py_None; };
  return PyFunction_GetCode(function) == code && same(or_none(PyFunction_GetDefaults(function)), defaults) &&
         or_none(PyFunction_GetKwDefaults(function)) == kwdefaults;
}

bool TypeIs::holds() const { return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type; }

bool Answer::holds() const { return is_same(nb::steal(PyObject_CallNoArgs(function)), value); }

bool TensorMeta::holds() const {
  return t.sizes() == sizes && t.dtype() == dtype && t.strides() == strides && weft::role(*t.get()) == role &&
         weft::attributes(*t.get()) == attributes;
}

}  // namespace guard

// ---- sets of them

namespace {

// A count that grows with every change of a class or its bases; 0: there is none.
uint64_t changes_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030D0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

}  // namespace

uint64_t Guards::Group::changes() const { return cls ? changes_of(cls) : dict.count() ? *dict.count() : 0; }

int Guards::Group::failing() {
  if (checked && checked == changes()) return -1;
  static PyObject* any = PyUnicode_InternFromString("__dict__");
  if (cls) _PyType_Lookup(cls, any);  // after which the class counts
  uint64_t now = changes();
  int number = Guards::failing(guards);
  if (number < 0) checked = now;
  return number;
}

int Guards::failing(const std::vector<Numbered>& guards) {
  for (const Numbered& n : guards)
    if (!std::visit([](const auto& g) { return g.holds(); }, n.guard)) return n.number;
  return -1;
}

int Guards::failing() {
  if (dropped_) return 0;
  for (Group& g : groups_)
    if (int number = g.failing(); number >= 0) return number;
  if (int number = failing(others_); number >= 0) return number;
  for (const auto& [meta, number] : tensors_)
    if (!meta.holds()) return number;
  return -1;
}

void Guards::keep(std::initializer_list<nb::handle> names) {
  for (nb::handle o : names) refs_.append(o);
}

Guards::Group& Guards::group_of(nb::handle owner) {
  auto [found, added] = group_.emplace(owner.ptr(), groups_.size());
  if (added) {
    bool is_class = PyType_Check(owner.ptr());
    groups_.push_back({is_class ? reinterpret_cast<PyTypeObject*>(owner.ptr()) : nullptr,
                       is_class ? DictVersion() : DictVersion(owner.ptr()),
                       0,
                       {}});
  }
  Group& group = groups_[found->second];
  group.checked = 0;
  return group;
}

void Guards::add(guard::Any g, std::initializer_list<nb::handle> names) {
  keep(names);
  others_.push_back({g, count_++});
}

void Guards::add_to(nb::handle owner, guard::Any g, std::initializer_list<nb::handle> names) {
  keep({owner});
  keep(names);
  group_of(owner).guards.push_back({g, count_++});
}

void Guards::drop_refs() {  // the collector breaks a cycle: nothing is replayed from now on
  dropped_ = true;
  groups_.clear();
  group_.clear();
  others_.clear();
  refs_ = nb::list();
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

// The dict in which a dict or a class keeps what it has.
PyObject* dict_of(nb::handle owner) {
  if (PyDict_Check(owner.ptr())) return owner.ptr();
  if (!PyType_Check(owner.ptr())) throw nb::type_error("a guard on names takes a dict or a class");
  return reinterpret_cast<PyTypeObject*>(owner.ptr())->tp_dict;
}

PyObject* checked(bool right, nb::handle o, const char* what) {
  if (!right) throw nb::type_error(what);
  return o.ptr();
}
PyObject* tuple_of(nb::handle o) {
  return checked(PyTuple_Check(o.ptr()), o, "a guard on several names takes a tuple");
}
PyObject* cell_of(nb::handle o) { return checked(PyCell_Check(o.ptr()), o, "a guard on a cell takes a cell"); }

Py_ssize_t index_of(Py_ssize_t i) {
  if (i < 0) throw nb::value_error("a guard on an item takes an index from 0");
  return i;
}

using H = nb::handle;

void bind_dict_guards(nb::class_<Guards>& c) {
  c.def(
      "dict_item",
      [](Guards& g, H owner, H key, H value) {
        g.add_to(owner, guard::DictItem{dict_of(owner), key.ptr(), value.ptr()}, {key, value});
      },
      nb::arg(), nb::arg().none(), nb::arg().none());
  c.def(
      "absent", [](Guards& g, H owner, H key) { g.add_to(owner, guard::Absent{dict_of(owner), key.ptr()}, {key}); },
      nb::arg(), nb::arg().none());
  c.def("none_of",
        [](Guards& g, H owner, H keys) { g.add_to(owner, guard::NoneOf{dict_of(owner), tuple_of(keys)}, {keys}); });
  c.def("keys",
        [](Guards& g, H owner, H keys) { g.add_to(owner, guard::Keys{dict_of(owner), tuple_of(keys)}, {keys}); });
  c.def("members", [](Guards& g, H owner, nb::dict members) {
    g.add_to(owner, guard::Members{dict_of(owner), members.ptr()}, {members});
  });
  c.def("mro_is", [](Guards& g, H cls, H mro) {
    checked(PyType_Check(cls.ptr()), cls, "a guard on bases takes a class");
    g.add_to(cls, guard::Mro{reinterpret_cast<PyTypeObject*>(cls.ptr()), tuple_of(mro)}, {mro});
  });
}

void bind_container_guards(nb::class_<Guards>& c) {
  c.def(
      "list_item",
      [](Guards& g, nb::list list, Py_ssize_t index, H value) {
        g.add(guard::ListItem{list.ptr(), index_of(index), value.ptr()}, {list, value});
      },
      nb::arg(), nb::arg(), nb::arg().none());
  c.def(
      "deque_item",
      [](Guards& g, H deque, Py_ssize_t index, H value) {
        g.add(guard::DequeItem{deque.ptr(), index_of(index), value.ptr()}, {deque, value});
      },
      nb::arg(), nb::arg(), nb::arg().none());
  c.def("elements",
        [](Guards& g, H set, H elements) { g.add(guard::Elements{set.ptr(), tuple_of(elements)}, {set, elements}); });
  c.def("length", [](Guards& g, H container, Py_ssize_t size) {
    guard::Length length{container.ptr(), size};
    if (PyDict_Check(container.ptr()))
      g.add_to(container, length, {});
    else
      g.add(length, {container});
  });
}

void bind_object_guards(nb::class_<Guards>& c) {
  c.def(
      "cell_is", [](Guards& g, H cell, H value) { g.add(guard::CellIs{cell_of(cell), value.ptr()}, {cell, value}); },
      nb::arg(), nb::arg().none());
  c.def("cell_empty", [](Guards& g, H cell) { g.add(guard::CellEmpty{cell_of(cell)}, {cell}); });
  c.def(
      "attribute_is",
      [](Guards& g, H object, nb::str name, H value) {
        g.add(guard::AttributeIs{object.ptr(), name.ptr(), value.ptr()}, {object, name, value});
      },
      nb::arg(), nb::arg(), nb::arg().none());
  c.def("attribute_missing", [](Guards& g, H object, nb::str name) {
    g.add(guard::AttributeMissing{object.ptr(), name.ptr()}, {object, name});
  });
  c.def("namespace_is", [](Guards& g, H object, nb::dict dict) {
    g.add(guard::NamespaceIs{object.ptr(), dict.ptr()}, {object, dict});
  });
  c.def(
      "function_is",
      [](Guards& g, H function, H code, H defaults, H kwdefaults) {
        checked(PyFunction_Check(function.ptr()), function, "a guard on a function takes a function");
        g.add(guard::FunctionIs{function.ptr(), code.ptr(), defaults.ptr(), kwdefaults.ptr()},
              {function, code, defaults, kwdefaults});
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  c.def("type_is", [](Guards& g, H object, H type) { g.add(guard::TypeIs{object.ptr(), type.ptr()}, {object, type}); });
  c.def(
      "answer",
      [](Guards& g, H function, H value) { g.add(guard::Answer{function.ptr(), value.ptr()}, {function, value}); },
      nb::arg(), nb::arg().none());
  c.def("tensor_meta", [](Guards& g, const guard::TensorMeta& meta) { g.add(meta); });
}

}  // namespace

void bind_guards(nb::module_& m) {
  m.def("_same", [](nb::object a, nb::object b) { return same(a.ptr(), b.ptr()); }, nb::arg().none(), nb::arg().none());
  m.def("_role", [](Tensor t) { return role(*t.get()); });
  // The dict in which an object keeps its attributes, if it has one in the usual place.
  m.def("_namespace", [](nb::handle object) -> nb::object {
    nb::object dict = nb::steal(PyObject_GenericGetDict(object.ptr(), nullptr));
    if (!dict.is_valid()) PyErr_Clear();
    return dict.is_valid() ? dict : nb::none();
  });
  m.def("_is_writable", [](Tensor t) { return t->storage->writable; });
  nb::class_<guard::TensorMeta>(m, "_TensorMeta",
                                "The shape, strides, dtype, role and attributes that a tensor has now.")
      .def("__init__", [](guard::TensorMeta* made, Tensor t) {
        new (made) guard::TensorMeta{t, t.sizes(), t.strides(), t.dtype(), role(*t.get()), attributes(*t.get())};
      });
  nb::class_<Guards> guards(m, "Guards", nb::type_slots(slots), "Conditions on Python's state; weft/jit/guards.py.");
  guards.def(nb::init<>());
  guards.def("failing", nb::overload_cast<>(&Guards::failing),
             "Returns the number of a guard that does not hold, or -1.");
  bind_dict_guards(guards);
  bind_container_guards(guards);
  bind_object_guards(guards);
}

}  // namespace weft
