// The results of ops as Python objects: a tensor, a tuple, or a tuple with names.
#include <unordered_map>

#include "bind/python.h"

namespace weft {
namespace {

// One field a line, as PyTorch prints them.
PyObject* result_repr(PyObject* self) {
  return guarded([&] {
    std::string_view full = Py_TYPE(self)->tp_name;
    std::string text = "torch.return_types." + std::string(full.substr(full.rfind('.') + 1)) + "(\n";
    nb::object names = nb::handle((PyObject*)Py_TYPE(self)).attr("__match_args__");
    for (Py_ssize_t i = 0, n = PyTuple_GET_SIZE(self); i < n; ++i)
      text += nb::cast<std::string>(nb::str(names[i])) + "=" +
              nb::cast<std::string>(nb::repr(PyTuple_GET_ITEM(self, i))) + (i + 1 < n ? ",\n" : ")");
    return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
  });
}

// Named results: torch.return_types.max(values=…, indices=…).
PyTypeObject* result_type(const Op& op) {
  static std::unordered_map<const Op*, PyTypeObject*> types;
  PyTypeObject*& type = types[&op];
  if (type) return type;
  auto* fields = new std::vector<PyStructSequence_Field>;  // lives as long as the type
  for (auto& name : op.results) fields->push_back({name.c_str(), nullptr});
  fields->push_back({nullptr, nullptr});
  auto* name = new std::string("weft.return_types." + op.base);
  PyStructSequence_Desc desc{name->c_str(), nullptr, fields->data(), int(op.results.size())};
  type = PyStructSequence_NewType(&desc);
  if (!type) throw PythonError();
  type->tp_repr = result_repr;
  return type;
}

}  // namespace

PyObject* results_of(Call& c) {
  if (c.op.returns_list) {
    PyObject* tuple = PyTuple_New(Py_ssize_t(c.list.size()));
    for (size_t i = 0; i < c.list.size(); ++i) PyTuple_SET_ITEM(tuple, Py_ssize_t(i), wrap(c.list[i]));
    return tuple;
  }
  if (c.op.results.size() == 1) return wrap(c.out[0]);
  bool named = !c.op.results[0].empty();
  PyObject* out = named ? PyStructSequence_New(result_type(c.op)) : PyTuple_New(Py_ssize_t(c.op.results.size()));
  if (!out) throw PythonError();
  for (size_t i = 0; i < c.op.results.size(); ++i) {
    if (named)
      PyStructSequence_SetItem(out, Py_ssize_t(i), wrap(c.out[i]));
    else
      PyTuple_SET_ITEM(out, Py_ssize_t(i), wrap(c.out[i]));
  }
  return out;
}

}  // namespace weft
