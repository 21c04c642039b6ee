// Guards: the conditions on Python's state under which a captured call may be replayed. weft/jit/guards.py has one
// class for each kind, and says what its invariant is; here is how each is checked.
#pragma once

#include <unordered_map>
#include <variant>
#include <vector>

#include "bind/dict_watcher.h"
#include "bind/python.h"

namespace weft {

// The same object, or an equal number, text or tuple of the same type.
bool same(PyObject* a, PyObject* b);

// What a dict has at a key (borrowed), or null.
PyObject* found_in(PyObject* dict, PyObject* key);

// What gradients do at a tensor: none arrive (0), they stay (1), or they go on along its history (2). One that was made
// in inference mode: 4.
int role(TensorImpl& t);

// How many things of its own Python has put at a tensor.
Py_ssize_t attributes(PyObject* t);
Py_ssize_t attributes(const TensorImpl& t);

// The kinds of guards. Their pointers are borrowed: a set of guards keeps the objects alive. A class is guarded by way
// of its dict. A check may run Python (a key's __eq__, a property): what that raises is passed on, except where noted.
namespace guard {

struct DictItem {
  PyObject *dict, *key, *value;
  bool holds() const;
};
struct Absent {
  PyObject *dict, *key;
  bool holds() const;
};
struct NoneOf {
  PyObject *dict, *keys;  // a tuple
  bool holds() const;
};
struct Keys {
  PyObject *dict, *keys;
  bool holds() const;
};
struct Members {
  PyObject *dict, *members;  // another dict
  bool holds() const;
};
struct Mro {
  PyTypeObject* cls;
  PyObject* mro;
  bool holds() const;
};
struct ListItem {
  PyObject* list;
  Py_ssize_t index;
  PyObject* value;
  bool holds() const;
};
struct DequeItem {
  PyObject* deque;
  Py_ssize_t index;
  PyObject* value;
  bool holds() const;
};
struct Elements {
  PyObject *set, *elements;
  bool holds() const;
};
struct Length {
  PyObject* container;
  Py_ssize_t size;
  bool holds() const;
};
struct CellIs {
  PyObject *cell, *value;
  bool holds() const;
};
struct CellEmpty {
  PyObject* cell;
  bool holds() const;
};
struct AttributeIs {
  PyObject *object, *name, *value;
  bool holds() const;  // an exception counts as another value
};
struct AttributeMissing {
  PyObject *object, *name;
  bool holds() const;
};
struct NamespaceIs {
  PyObject *object, *dict;
  bool holds() const;
};
struct FunctionIs {
  PyObject *function, *code, *defaults, *kwdefaults;
  bool holds() const;
};
struct TypeIs {
  PyObject *object, *type;
  bool holds() const;
};
struct Answer {
  PyObject *function, *value;
  bool holds() const;  // an exception counts as another value
};
struct TensorMeta {
  Tensor t;
  Dims sizes, strides;
  DType dtype;
  int role;
  Py_ssize_t attributes;
  bool holds() const;
};

using Any = std::variant<DictItem, Absent, NoneOf, Keys, Members, Mro, ListItem, DequeItem, Elements, Length, CellIs,
                         CellEmpty, AttributeIs, AttributeMissing, NamespaceIs, FunctionIs, TypeIs, Answer>;

}  // namespace guard

// A set of guards, numbered in the order in which they were added. Those on one dict or class form a group: while the
// count of its changes is what it was when all of them were found to hold, none of them is checked.
class Guards {
 public:
  Guards() = default;
  Guards(const Guards&) = delete;
  // A guard, and the Python objects that it names.
  void add(guard::Any g, std::initializer_list<nb::handle> names);
  // One on what a dict or a class has.
  void add_to(nb::handle owner, guard::Any g, std::initializer_list<nb::handle> names);
  void add(guard::TensorMeta g) { tensors_.push_back({std::move(g), count_++}); }

  // The number of a guard that does not hold, or -1.
  int failing();

  PyObject* refs() const { return refs_.ptr(); }
  void drop_refs();

 private:
  struct Numbered {
    guard::Any guard;
    int number;
  };
  struct Group {
    PyTypeObject* cls;  // or null: a dict
    DictVersion dict;
    uint64_t checked = 0;  // the count when all held; 0: not known
    std::vector<Numbered> guards;
    uint64_t changes() const;
    int failing();
  };
  Group& group_of(nb::handle owner);
  void keep(std::initializer_list<nb::handle> names);
  static int failing(const std::vector<Numbered>& guards);

  nb::list refs_;  // every Python object that a guard names, where the collector sees them
  bool dropped_ = false;
  std::vector<Group> groups_;
  std::unordered_map<PyObject*, size_t> group_;  // by dict or class
  std::vector<Numbered> others_;
  std::vector<std::pair<guard::TensorMeta, int>> tensors_;
  int count_ = 0;
};

}  // namespace weft
