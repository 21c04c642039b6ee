// Arguments between Python and ops.
#pragma once

#include "bind/python.h"

namespace weft {

// A Python object passing through an op.
struct PyOpaque final : Opaque {
  explicit PyOpaque(PyObject* o) : object(o) { Py_INCREF(o); }
  ~PyOpaque() override { Py_DECREF(object); }
  PyObject* object;
};

bool push_operand(Call& c, PyObject* o);        // a tensor or a number; false for anything else
Value value_from(const Param& p, PyObject* o);  // throws TypeError
PyObject* value_to_python(const Value& v);      // a new reference
void intern_params(Op& op);

}  // namespace weft
