// Where in the user's program we are: the innermost frame whose file is not weft's own.
//
// A frame is named by its code object and an instruction offset, which costs a few nanoseconds to take; the line
// is worked out only when a message needs it. CPython offers no quick public way to its frames, so its own headers are
// used.
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif

#include <unordered_map>

#include "bind/python.h"

namespace weft {

extern thread_local uint32_t t_module;  // module_call.cpp
std::string module_path(uint32_t id);

namespace {

std::string g_package_dir;                             // "…/site-packages/weft/"
std::unordered_map<PyObject*, bool> g_internal_files;  // by the filename object, which is kept alive

bool is_internal(PyObject* filename) {
  auto it = g_internal_files.find(filename);
  if (it != g_internal_files.end()) return it->second;
  if (g_internal_files.size() > 10000) {
    for (auto& [file, internal] : g_internal_files) Py_DECREF(file);
    g_internal_files.clear();
  }
  const char* text = PyUnicode_AsUTF8(filename);
  if (!text) PyErr_Clear();
  bool internal = text && !g_package_dir.empty() && std::string_view(text).starts_with(g_package_dir);
  Py_INCREF(filename);
  g_internal_files[filename] = internal;
  return internal;
}

#if PY_VERSION_HEX >= 0x030d0000
_PyInterpreterFrame* innermost() { return PyThreadState_Get()->current_frame; }
PyCodeObject* code_of(_PyInterpreterFrame* f) { return (PyCodeObject*)f->f_executable; }
#elif PY_VERSION_HEX >= 0x030c0000
_PyInterpreterFrame* innermost() { return PyThreadState_Get()->cframe->current_frame; }
PyCodeObject* code_of(_PyInterpreterFrame* f) { return f->f_code; }
#elif PY_VERSION_HEX >= 0x030b0000
_PyInterpreterFrame* innermost() { return PyThreadState_Get()->cframe->current_frame; }
PyCodeObject* code_of(_PyInterpreterFrame* f) { return f->f_code; }
#endif

void here(void** code, int32_t* instruction, uint32_t* module) {
  *module = t_module;
#if PY_VERSION_HEX >= 0x030b0000
  for (_PyInterpreterFrame* f = innermost(); f; f = f->previous) {
#if PY_VERSION_HEX >= 0x030c0000
    if (f->owner == FRAME_OWNED_BY_CSTACK) continue;
#endif
    PyCodeObject* c = code_of(f);
    if (!c || !PyCode_Check(c) || is_internal(c->co_filename)) continue;
    Py_INCREF(c);
    *code = c;
    *instruction = _PyInterpreterFrame_LASTI(f) * int(sizeof(_Py_CODEUNIT));
    return;
  }
#else
  for (PyFrameObject* f = PyThreadState_Get()->frame; f; f = f->f_back) {
    PyCodeObject* c = f->f_code;
    if (is_internal(c->co_filename)) continue;
    Py_INCREF(c);
    *code = c;
    *instruction = f->f_lasti * 2;
    return;
  }
#endif
}

void release(void* code) { Py_DECREF((PyObject*)code); }

std::string describe(void* code, int32_t instruction, uint32_t module) {
  auto* c = (PyCodeObject*)code;
  const char* file = PyUnicode_AsUTF8(c->co_filename);
  const char* name = PyUnicode_AsUTF8(c->co_name);
  std::ostringstream s;
  s << (file ? file : "?") << ':' << PyCode_Addr2Line(c, instruction);
  if (name && std::string_view(name) != "<module>") s << ", in " << name;
  if (module) s << " (module " << module_path(module) << ")";
  return s.str();
}

}  // namespace

std::string user_line() { return Origin::here().describe(); }

nb::object shared_text(const std::string& text) { return nb::steal(PyUnicode_InternFromString(text.c_str())); }

nb::object UserLine::now() {
#ifdef WEFT_NO_PROVENANCE
  return shared_text(user_line());
#else
  void* code = nullptr;
  int32_t instruction = 0;
  uint32_t module = 0;
  here(&code, &instruction, &module);
  nb::object found = nb::steal(static_cast<PyObject*>(code));
  if (!code) return shared_text(user_line());
  if (found.is(code_) && instruction == instruction_ && module == module_) return text_;
  text_ = shared_text(describe(code, instruction, module));
  code_ = found, instruction_ = instruction, module_ = module;
  return text_;
#endif
}

void bind_frames(nb::module_& m) {
  g_origin_hooks = {here, release, describe};
  m.def("_set_package_dir", [](std::string dir) { g_package_dir = std::move(dir); });
  m.def("_here", [] { return user_line(); });
}

}  // namespace weft
