// Where in the user's program we are: the innermost frame whose file is neither weft's own nor the standard library's.
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
#include "core/event_log.h"
#include "core/forward_origin.h"

namespace weft {

extern thread_local uint32_t t_module;  // module_call.cpp
std::string module_path(uint32_t id);

namespace {

enum class Whose : uint8_t { user, library, weft };

std::string g_package_dir, g_library_dir;            // "…/site-packages/weft/", "…/lib/python3.11/"
std::unordered_map<PyObject*, Whose> g_whose_files;  // by the filename object, which is kept alive

Whose whose(std::string_view file) {
  if (!g_package_dir.empty() && file.starts_with(g_package_dir)) return Whose::weft;
  if (file.starts_with("<frozen ")) return Whose::library;
  if (g_library_dir.empty() || !file.starts_with(g_library_dir)) return Whose::user;
  file.remove_prefix(g_library_dir.size());
  return file.starts_with("site-packages") || file.starts_with("dist-packages") ? Whose::user : Whose::library;
}

Whose whose(PyObject* filename) {
  auto it = g_whose_files.find(filename);
  if (it != g_whose_files.end()) return it->second;
  if (g_whose_files.size() > 10000) {
    for (auto& [file, owner] : g_whose_files) Py_DECREF(file);
    g_whose_files.clear();
  }
  const char* text = PyUnicode_AsUTF8(filename);
  if (!text) PyErr_Clear();
  Py_INCREF(filename);
  return g_whose_files[filename] = text ? whose(std::string_view(text)) : Whose::user;
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

// Where a frame is; one of the standard library only counts where there is no other.
struct Found {
  void** code;
  int32_t* instruction;
  bool is_last(PyCodeObject* c, int32_t at) {
    Whose owner = whose(c->co_filename);
    if (owner == Whose::weft || (owner == Whose::library && *code)) return false;
    Py_XDECREF((PyObject*)*code);
    Py_INCREF(c);
    *code = c;
    *instruction = at;
    return owner == Whose::user;
  }
};

thread_local const KnownOrigin* t_known_origin = nullptr;
thread_local const Origin* t_forward_origin = nullptr;

}  // namespace

ForwardOrigin::ForwardOrigin(const Origin& origin)
    : before_(std::exchange(t_forward_origin, origin ? &origin : t_forward_origin)) {}
ForwardOrigin::~ForwardOrigin() { t_forward_origin = before_; }

void interpreter::find_origin(void** code, int32_t* instruction, uint32_t* module) {
  if (t_known_origin) [[unlikely]] {
    *code = Py_NewRef(t_known_origin->code);
    *instruction = t_known_origin->instruction;
    *module = t_known_origin->module;
    return;
  }
  if (t_forward_origin) [[unlikely]] {
    *code = Py_XNewRef((PyObject*)t_forward_origin->code());
    *instruction = t_forward_origin->instruction();
    *module = t_forward_origin->module();
    return;
  }
  *module = t_module;
  *code = nullptr;
  Found found{code, instruction};
#if PY_VERSION_HEX >= 0x030b0000
  for (_PyInterpreterFrame* f = innermost(); f; f = f->previous) {
#if PY_VERSION_HEX >= 0x030c0000
    if (f->owner == FRAME_OWNED_BY_CSTACK) continue;
#endif
    PyCodeObject* c = code_of(f);
    if (!c || !PyCode_Check(c)) continue;
    if (found.is_last(c, _PyInterpreterFrame_LASTI(f) * int(sizeof(_Py_CODEUNIT)))) return;
  }
#else
  for (PyFrameObject* f = PyThreadState_Get()->frame; f; f = f->f_back)
    if (found.is_last(f->f_code, f->f_lasti * 2)) return;
#endif
}

void interpreter::release(void* object) { Py_DECREF(static_cast<PyObject*>(object)); }

void interpreter::keep(void* object) { Py_INCREF(static_cast<PyObject*>(object)); }

interpreter::Location interpreter::locate(void* code, int32_t instruction, uint32_t module) {
  auto* c = (PyCodeObject*)code;
  auto text = [](PyObject* o) {
    const char* found = PyUnicode_AsUTF8(o);
    if (!found) PyErr_Clear();
    return std::string(found ? found : "?");
  };
  return {text(c->co_filename), text(c->co_name), module_path(module), PyCode_Addr2Line(c, instruction)};
}

void interpreter::each_frame(void (*f)(void* to, void* code, int32_t instruction), void* to) {
#if PY_VERSION_HEX >= 0x030b0000
  for (_PyInterpreterFrame* frame = innermost(); frame; frame = frame->previous) {
#if PY_VERSION_HEX >= 0x030c0000
    if (frame->owner == FRAME_OWNED_BY_CSTACK) continue;
#endif
    PyCodeObject* c = code_of(frame);
    if (c && PyCode_Check(c)) f(to, c, _PyInterpreterFrame_LASTI(frame) * int(sizeof(_Py_CODEUNIT)));
  }
#else
  for (PyFrameObject* frame = PyThreadState_Get()->frame; frame; frame = frame->f_back)
    f(to, frame->f_code, frame->f_lasti * 2);
#endif
}

std::string interpreter::describe_origin(void* code, int32_t instruction, uint32_t module) {
  auto* c = (PyCodeObject*)code;
  const char* file = PyUnicode_AsUTF8(c->co_filename);
  if (!file) PyErr_Clear();
  const char* name = PyUnicode_AsUTF8(c->co_name);
  if (!name) PyErr_Clear();
  std::ostringstream s;
  s << (file ? file : "?") << ':' << PyCode_Addr2Line(c, instruction);
  if (name && std::string_view(name) != "<module>") s << ", in " << name;
  if (module) s << " (module " << module_path(module) << ")";
  return s.str();
}

WithOrigin::WithOrigin(const KnownOrigin* known) : before_(std::exchange(t_known_origin, known)) {}
WithOrigin::~WithOrigin() { t_known_origin = before_; }

std::string user_line() { return Origin::here().describe(); }

nb::object shared_text(const std::string& text) { return nb::steal(PyUnicode_InternFromString(text.c_str())); }

nb::object UserLine::now() {
#ifdef WEFT_NO_PROVENANCE
  return shared_text(user_line());
#else
  void* code = nullptr;
  int32_t instruction = 0;
  uint32_t module = 0;
  interpreter::find_origin(&code, &instruction, &module);
  nb::object found = nb::steal(static_cast<PyObject*>(code));
  if (!code) return shared_text(user_line());
  if (found.is(code_) && instruction == instruction_ && module == module_) return text_;
  text_ = shared_text(interpreter::describe_origin(code, instruction, module));
  code_ = found, instruction_ = instruction, module_ = module;
  return text_;
#endif
}

void bind_frames(nb::module_& m) {
  m.def("_set_dirs", [](std::string package, std::string library) {
    g_package_dir = std::move(package);
    g_library_dir = std::move(library);
  });
  m.def("_here", [] { return user_line(); });
}

}  // namespace weft
