// What every file of bind/ shares: tensors as Python objects, errors as exceptions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "ops/op.h"

namespace nb = nanobind;

namespace weft {

struct PyTensor {
  PyObject_HEAD TensorImpl* impl;  // owned
  PyObject* dict;                  // attributes set by users; usually none
  PyObject* weakrefs;
  PyTensor *older, *newer;  // neighbours among the objects that the collector does not know (life.cpp)
};

extern PyTypeObject* TensorType;
extern PyTypeObject* SizeType;
extern PyTypeObject* DTypeType;
extern PyTypeObject* OpType;
extern PyTypeObject* NodeType;

inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == TensorType || PyType_IsSubtype(Py_TYPE(o), TensorType); }
inline TensorImpl* impl_of(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->impl; }
inline Tensor tensor_of(PyObject* o) { return Tensor(impl_of(o)); }
PyObject* wrap(const Tensor& t);                         // a new reference; None for an empty one
PyObject* wrap_as(const Tensor& t, PyTypeObject* type);  // in an object of a subclass
Tensor to_tensor(nb::handle o, const char* what);        // throws TypeError
PyObject* wrap_size(const Dims& d);
PyObject* wrap_dtype(DType t);
bool read_dtype(PyObject* o, DType* t);          // also float, int, bool, complex
PyObject* wrap_node(const Ref<Node>& n);         // None for an empty one
PyObject* wrap_number(DType t, const void* at);  // one element as a Python number
bool read_number(PyObject* o, Value* v);         // bool, int, float, complex, NumPy scalars
// The items of a sequence, in a tuple that holds them: Python code that runs while they are read cannot change it.
nb::object items_of(PyObject* sequence);
constexpr int kDeepest = kMaxRank;    // sequences of numbers are nested no deeper: each is a dimension
std::string text_of(PyObject* text);  // throws UnicodeEncodeError where UTF-8 cannot express it
// After a failed call of a user's method: clears an Exception and returns true, as the object cannot do what was asked.
// Other exceptions, such as KeyboardInterrupt and SystemExit, are passed on as PythonError.
bool clear_refusal();

void set_python_error();  // inside catch (...): sets the exception that is being handled
template <class F>
PyObject* guarded(F&& f) {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
template <class F>
int guarded_int(F&& f) {
  try {
    f();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

// While one is alive, other threads may use the interpreter, and this one may not.
class Unlocked {
 public:
  Unlocked() : state_(interpreter::release_lock()) {}
  ~Unlocked() { interpreter::take_lock(state_); }

 private:
  void* state_;
};

// args.cpp: ops as Python callables.
struct OpSet {  // the overloads of a name
  std::string name, doc;
  std::vector<const Op*> ops;
  bool inplace = false;
};
PyObject* make_op_function(OpSet* set);
PyObject* call_binary(const OpRef& op, PyObject* a, PyObject* b, bool inplace);
PyObject* results_of(Call& c);  // a tensor, a named tuple or a tuple

// The parts of the module, one per file.
void bind_types(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_ops(nb::module_& m);
void bind_autograd(nb::module_& m);
void bind_interop(nb::module_& m);
void bind_frames(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_library(nb::module_& m);
void bind_trace(nb::module_& m);
void bind_indexing(nb::module_& m);
void bind_random(nb::module_& m);
void bind_update(nb::module_& m);
void bind_program(nb::module_& m);
void bind_fused(nb::module_& m);
void bind_machine(nb::module_& m);
void bind_guards(nb::module_& m);
void bind_dict_watcher(nb::module_& m);
void bind_replay(nb::module_& m);
void bind_call_sequence(nb::module_& m);
bool is_call_sequence(PyObject* o);
PyObject* run_call_sequence(PyObject* sequence, PyObject* args);  // NotImplemented where it does not hold
void bind_way_back(nb::module_& m);
void bind_call_hook(nb::module_& m);
extern thread_local bool t_watched;  // a Watch looks at what this thread calls
extern thread_local bool t_telling;  // a recorder is being told: what Python does then is not the user's
void bind_module_call(nb::module_& m);
void bind_modes(nb::module_& m);
void bind_threads(nb::module_& m);
void bind_event_log(nb::module_& m);
PyObject* tensor_getitem(PyObject* self, PyObject* key);
PyObject* tensor_item(PyObject* self, PyObject*);
int tensor_set_requires_grad(PyObject* self, PyObject* value, void*);
void check_single(TensorImpl& t, const char* op);  // it has one element
extern PyMethodDef tensor_methods[];
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);
std::string user_line();  // "train.py:12, in step", for messages
// The user's line of a captured call, which a replay has instead of frames.
struct KnownOrigin {
  PyObject* code = nullptr;
  int32_t instruction = 0;
  uint32_t module = 0;
};
class WithOrigin {  // for a scope; null: where the frames say
 public:
  explicit WithOrigin(const KnownOrigin* known);
  ~WithOrigin();

 private:
  const KnownOrigin* before_;
};
// A Python string of which there is one only: many ops have the same name, and come from the same line.
nb::object shared_text(const std::string& text);
// The line of the user as such a string; worked out only where it is another one than in the call before.
class UserLine {
 public:
  nb::object now();

 private:
  nb::object code_, text_;
  int32_t instruction_ = 0;
  uint32_t module_ = 0;
};

}  // namespace weft

namespace nanobind::detail {
template <>
struct type_caster<weft::Tensor> {
  NB_TYPE_CASTER(weft::Tensor, const_name("Tensor"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (src.is_none()) {
      value = weft::Tensor();
      return true;
    }
    if (!weft::is_tensor(src.ptr())) return false;
    value = weft::tensor_of(src.ptr());
    return true;
  }
  static handle from_cpp(const weft::Tensor& t, rv_policy, cleanup_list*) noexcept { return weft::wrap(t); }
};
}  // namespace nanobind::detail
