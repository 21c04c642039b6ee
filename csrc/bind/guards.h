// What must be in Python as it was when a call was captured (weft/jit/compile/state.py), and how that is compared.
#pragma once

#include <unordered_map>

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

// Places and what is there. Dicts and classes count their changes: as long as the count is what it was when all was
// found to be the same, nothing in them is looked at.
class Guards {
 public:
  // A place in a dict, list, set, cell, class or object has this value; nothing is there if `absent`.
  void require(nb::object where, nb::object key, nb::object value, bool absent);
  // A tensor has the shape, dtype, strides, role and number of attributes that it has now.
  void require_geometry(Tensor t);
  // The number of one that is not as it was, in the order in which they were required, or -1.
  int failing();

  PyObject* refs() const { return refs_.ptr(); }
  void drop_refs() { refs_ = nb::list(); }

 private:
  struct Held {
    PyObject *where, *key, *value;
    int number;
  };
  struct Counting {  // a dict or a class
    PyObject* where;
    uint64_t count;  // 0: not known
    std::vector<Held> held;
  };
  struct Looked {
    Tensor t;
    Dims sizes, strides;
    DType dtype;
    int role;
    Py_ssize_t attributes;
    int number;
  };
  static int failing(Counting& c);

  nb::list refs_;  // every Python object that is held, where the collector sees them
  std::vector<Counting> counting_;
  std::unordered_map<PyObject*, size_t> place_;  // in that
  std::vector<Held> others_;
  std::vector<Looked> looked_;
  int number_ = 0;
};

}  // namespace weft
