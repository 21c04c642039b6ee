// What a call does that ops do not show (weft/jit/compile/watch.py): every call that Python makes meanwhile is looked
// at, and the few that may show or tell something are passed on.
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

enum class Kind { plain, telling, some_telling };

struct Watch {
  nb::object tell;
  std::unordered_set<std::string> world, tellers, names, files;
  std::unordered_map<PyObject*, Kind> known;  // by a class, or by the name of a module
  nb::list kept;                              // what `known` knows
  nb::object importing;                       // the frame of an import: what happens in it happens once

  Kind kind_of_module(nb::handle name) {
    if (!name.is_valid() || !nb::isinstance<nb::str>(name)) return Kind::plain;
    std::string text = nb::cast<std::string>(name);
    return world.count(text) ? Kind::telling : tellers.count(text) ? Kind::some_telling : Kind::plain;
  }

  Kind kind_of(PyObject* function) {
    PyObject* owner = PyCFunction_GET_SELF(function);
    bool of_module = !owner || PyModule_Check(owner);
    PyObject* key = reinterpret_cast<PyCFunctionObject*>(function)->m_module;
    if (!of_module) key = PyType_Check(owner) ? owner : reinterpret_cast<PyObject*>(Py_TYPE(owner));
    if (!key) return Kind::plain;
    auto found = known.find(key);
    if (found != known.end()) return found->second;
    kept.append(nb::handle(key));
    return known[key] = kind_of_module(of_module ? nb::borrow(key) : nb::getattr(key, "__module__", nb::none()));
  }

  void called(PyObject* function) {
    if (!PyCFunction_Check(function)) return;
    Kind kind = kind_of(function);
    if (kind == Kind::plain) return;
    const char* name = reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name;
    if (kind == Kind::telling || names.count(name)) tell(nb::handle(function));
  }

  void entered(PyFrameObject* frame) {
    nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(reinterpret_cast<PyCodeObject*>(code.ptr())->co_filename, &size);
    if (!text) return PyErr_Clear();  // not one of those files
    std::string_view file(text, size_t(size));
    if (file.substr(0, 17) == "<frozen importlib")
      importing = nb::borrow(reinterpret_cast<PyObject*>(frame));
    else if (file.size() < 200 && files.count(std::string(file)))
      tell(code);
  }
};

int on_event(PyObject* watch, PyFrameObject* frame, int what, PyObject* arg) {
  if (t_telling) return 0;
  try {
    Watch& w = nb::cast<Watch&>(nb::handle(watch));
    if (w.importing.is_valid()) {
      if (what == PyTrace_RETURN && w.importing.ptr() == reinterpret_cast<PyObject*>(frame)) w.importing.reset();
    } else if (what == PyTrace_C_CALL) {
      w.called(arg);
    } else if (what == PyTrace_CALL) {
      w.entered(frame);
    }
  } catch (nb::python_error& e) {
    e.restore();
    return -1;
  }
  return 0;
}

}  // namespace

void bind_watch(nb::module_& m) {
  using Names = std::vector<std::string>;
  nb::class_<Watch>(m, "Watch",
                    "Sees the calls of a thread; tells of functions of some modules, and of code in some files.")
      .def("__init__",
           [](Watch* w, nb::object tell, Names world, Names tellers, Names names, Names files) {
             new (w) Watch{tell,
                           {world.begin(), world.end()},
                           {tellers.begin(), tellers.end()},
                           {names.begin(), names.end()},
                           {files.begin(), files.end()},
                           {},
                           nb::list(),
                           {}};
           })
      .def("start",
           [](nb::object w) {
             PyEval_SetProfile(on_event, w.ptr());
             t_watched = true;
           })
      .def("stop", [](nb::object) {
        PyEval_SetProfile(nullptr, nullptr);
        t_watched = false;
      });
}

}  // namespace weft
