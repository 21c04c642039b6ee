// The calls of C functions that a captured call makes (weft/jit/compile/side_effects.py): each kind is judged once, by
// a table in Python (weft/jit/effects.py).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "bind/python.h"

namespace weft {

thread_local bool t_watched = false, t_telling = false;

namespace {

// C functions that were judged to be harmless, by their definitions, which are static: those that the table knows are
// in the interpreter, in NumPy or in weft. Never destroyed: used until the end of the process.
std::unordered_set<const PyMethodDef*>& harmless() {
  static auto& found = *new std::unordered_set<const PyMethodDef*>;
  return found;
}

struct CallHook {
  nb::object judge;  // of a C function, or of code: whether a replay may leave the call out
  std::unordered_set<std::string> files;
  std::unordered_set<PyObject*> made;  // classes whose __new__, one definition for all, was judged to be harmless
  nb::list kept;                       // them
  nb::object importing;                // the frame of an import: what happens in it happens once

  bool refused = false;  // the capture has failed: the rest of the call is not judged

  bool is_harmless(nb::handle called) {
    refused = !nb::cast<bool>(judge(called));
    return !refused;
  }

  void called(PyObject* function) {
    if (refused || !PyCFunction_Check(function)) return;
    const PyMethodDef* definition = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
    if (harmless().count(definition)) return;
    if (std::string_view(definition->ml_name) == "__new__") return called_new(function);
    if (is_harmless(function)) harmless().insert(definition);
  }

  void called_new(PyObject* function) {
    PyObject* cls = PyCFunction_GET_SELF(function);
    if (!cls || made.count(cls) || !is_harmless(function)) return;
    made.insert(cls);
    kept.append(nb::handle(cls));
  }

  void entered(PyFrameObject* frame) {
    if (refused) return;
    nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(reinterpret_cast<PyCodeObject*>(code.ptr())->co_filename, &size);
    if (!text) return PyErr_Clear();  // not one of those files
    std::string_view file(text, size_t(size));
    if (file.substr(0, 17) == "<frozen importlib")
      importing = nb::borrow(reinterpret_cast<PyObject*>(frame));
    else if (file.size() < 200 && files.count(std::string(file)))
      is_harmless(code);
  }
};

int on_event(PyObject* hook, PyFrameObject* frame, int what, PyObject* arg) {
  if (t_telling) return 0;
  try {
    CallHook& h = nb::cast<CallHook&>(nb::handle(hook));
    if (h.importing.is_valid()) {
      if (what == PyTrace_RETURN && h.importing.ptr() == reinterpret_cast<PyObject*>(frame)) h.importing.reset();
    } else if (what == PyTrace_C_CALL) {
      h.called(arg);
    } else if (what == PyTrace_CALL) {
      h.entered(frame);
    }
  } catch (nb::python_error& e) {
    e.restore();
    return -1;
  }
  return 0;
}

}  // namespace

void bind_call_hook(nb::module_& m) {
  using Names = std::vector<std::string>;
  nb::class_<CallHook>(m, "CallHook", "Sees the calls of a thread, and asks whether C functions have side effects.")
      .def("__init__",
           [](CallHook* h, nb::object judge, Names files) {
             new (h) CallHook{judge, {files.begin(), files.end()}, {}, nb::list(), {}, false};
           })
      .def("start",
           [](nb::object h) {
             PyEval_SetProfile(on_event, h.ptr());
             t_watched = true;
           })
      .def("stop", [](nb::object) {
        PyEval_SetProfile(nullptr, nullptr);
        t_watched = false;
      });
}

}  // namespace weft
