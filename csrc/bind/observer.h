// Calls from Python to weft, reported to an observer as they are made. weft.compile learns from them what a function
// does whatever the sizes of its inputs are (weft/jit/compile/dynamic.py). What such a call does inside is not
// reported.
#pragma once

#include <string>
#include <unordered_map>

#include "bind/python.h"

namespace weft {

extern constinit thread_local PyObject* t_observer;  // borrowed; null: calls are not observed

// Lets the observer make a call; what it returns is the result.
PyObject* tell_call(PyObject* f, PyObject* const* args, size_t count, PyObject* kwnames = nullptr);
// The same, of a function of Python's module operator.
PyObject* tell_operator(const char* name, std::initializer_list<PyObject*> args);
// The same, of a method of Tensor that asks a tensor for something.
PyObject* tell_method(const char* name, std::initializer_list<PyObject*> args);
// The shape of a tensor, of integers that may stand for other sizes.
PyObject* tell_shape(PyObject* tensor);
// len(tensor), which has to be a plain number.
void tell_length(PyObject* tensor);

// Defines a function of a module; a call of it goes to the observer of the thread, if there is one.
template <class R, class... A, class... Extra>
void define_observed(nb::module_& m, const char* name, R (*f)(A...), const Extra&... extra) {
  static std::unordered_map<std::string, PyObject*> functions;
  m.def(
      name,
      [f, name](A... args) -> nb::object {
        if (!t_observer) return nb::cast(f(args...));
        nb::object given = nb::make_tuple(args...);
        nb::object found = nb::steal(
            tell_call(functions.at(name), PySequence_Fast_ITEMS(given.ptr()), size_t(PyTuple_GET_SIZE(given.ptr()))));
        if (!found.is_valid()) throw PythonError();
        return found;
      },
      extra...);
  functions[name] = nb::object(m.attr(name)).release().ptr();
}

}  // namespace weft
