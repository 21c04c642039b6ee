// Calls from the outside: watched for a trace, made by name for a graph, and ops declared in Python.
#include <unordered_map>

#include "bind/args.h"
#include "core/event_log.h"
#include "core/forward_origin.h"
#include "ops/api.h"
#include "ops/autocast.h"
#include "ops/boundary.h"
#include "ops/clock.h"
#include "ops/lapack.h"
#include "ops/recording.h"

namespace weft {

PyObject* value_to_python(const Value& v) {
  switch (v.tag()) {
    case Tag::None: Py_RETURN_NONE;
    case Tag::Tensor: return wrap(v.tensor());
    case Tag::Int: return PyLong_FromLongLong(v.integer());
    case Tag::Float: return PyFloat_FromDouble(v.real());
    case Tag::Bool: return PyBool_FromLong(v.flag());
    case Tag::Complex: return PyComplex_FromDoubles(v.complex().real(), v.complex().imag());
    case Tag::DType: return wrap_dtype(v.dtype());
    case Tag::Ints: {
      PyObject* t = PyTuple_New(v.ints().size());
      for (int i = 0; i < v.ints().size(); ++i) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(v.ints()[i]));
      return t;
    }
    case Tag::Tensors: {
      PyObject* t = PyList_New(Py_ssize_t(v.tensors().size()));
      for (size_t i = 0; i < v.tensors().size(); ++i) PyList_SET_ITEM(t, Py_ssize_t(i), wrap(v.tensors()[i]));
      return t;
    }
    case Tag::Text: return PyUnicode_FromString(v.text().c_str());
    case Tag::Object: {
      auto* o = dynamic_cast<PyOpaque*>(v.object());
      PyObject* object = o ? o->object : Py_None;
      Py_INCREF(object);
      return object;
    }
  }
  Py_RETURN_NONE;
}

namespace {

nb::tuple arguments_of(Call& c) {
  PyObject* t = PyTuple_New(c.count);
  for (int i = 0; i < c.count; ++i) PyTuple_SET_ITEM(t, i, value_to_python(c.arg(i)));
  return nb::steal<nb::tuple>(t);
}
nb::tuple outputs_of(Call& c) {
  PyObject* t = PyTuple_New(c.out_count);
  for (int i = 0; i < c.out_count; ++i) PyTuple_SET_ITEM(t, i, wrap(c.out[i]));
  return nb::steal<nb::tuple>(t);
}

// What the recorder does itself is not the user's: a Watch need not look at it, which takes time. A debugger may.
struct Unwatched {
  bool paused = false;
  Unwatched() {
    t_telling = true;
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState* thread = PyThreadState_Get();
    paused = t_watched && !thread->c_tracefunc;
    if (paused) PyThreadState_EnterTracing(thread);
#endif
  }
  ~Unwatched() {
#if PY_VERSION_HEX >= 0x030B0000
    if (paused) PyThreadState_LeaveTracing(PyThreadState_Get());
#endif
    t_telling = false;
  }
};

thread_local int64_t t_call_took = -1;

// Hands what it sees to methods of a Python object: Recorder in weft/jit/recorder.py.
struct PyRecorder final : Recorder {
  nb::object target;
  UserLine line;
  bool watches = false;  // the calls are only looked at: Python and compiled functions do as if nobody recorded

  template <class... Args>
  void tell(const char* method, const char* format, Args... args) {
    Recorder* self = std::exchange(t_recorder, nullptr);  // what the recorder does itself is not traced
    nb::object r;
    {
      Unwatched quiet;
      r = nb::steal(PyObject_CallMethod(target.ptr(), method, format, args...));
    }
    t_recorder = self;
    if (!r.is_valid()) throw PythonError();
  }
  void record(Call& c) override {
    int64_t began = std::exchange(t_call_began, 0);
    t_call_took = began ? nanoseconds_now() - began : -1;
    tell("record", "OOOOOOO", shared_text(c.op.name).ptr(), arguments_of(c).ptr(), outputs_of(c).ptr(),
         c.inplace ? Py_True : Py_False, line.now().ptr(), c.given_out ? Py_True : Py_False,
         t_modes.grad ? Py_True : Py_False);
  }
  void became(const Tensor& t, const Tensor& view) override {
    tell("became", "OO", nb::steal(wrap(t)).ptr(), nb::steal(wrap(view)).ptr());
  }
  void read(const char* what, const Tensor& t) override {
    tell("read", "ssO", what, user_line().c_str(), nb::steal(wrap(t)).ptr());
  }
  void hooked() override { tell("hooked", "s", user_line().c_str()); }
  void grad_read(const Tensor& t) override { tell("grad_read", "O", nb::steal(wrap(t)).ptr()); }
  void grad_set(const Tensor& t) override {
    tell("grad_set", "OO", nb::steal(wrap(t)).ptr(), nb::steal(wrap(Tensor(t->grad))).ptr());
  }
  void walks() override { tell("walks", nullptr); }
  void lost(const char* what) override { tell("lost", "ss", what, user_line().c_str()); }
};

thread_local Recorder* t_paused = nullptr;
thread_local std::vector<Recorder*> t_outer;  // those that wait while a nested one sees the ops

// Whether a tensor is held by one owner in Python, and by nothing else.
bool has_one_owner(PyObject* o) {
  return Py_REFCNT(o) == 1 && !reinterpret_cast<PyTensor*>(o)->weakrefs && impl_of(o)->refs == 1 &&
         impl_of(o)->layout == Layout::Strided;
}

// The keys of `values` are all tensors that a recorder has seen, so that no other gets their address. Where nobody
// else holds them, their memory and their history go: else a recorded call would need memory for all that it ever made.
// Looks only when more than a few megabytes came since `mark`; returns the next one.
int64_t forget_elements(nb::dict values, int64_t mark) {
  constexpr int64_t kMuch = int64_t(4) << 20;
  int64_t now = memory_stats().live;
  if (now < mark + kMuch) return std::min(mark, now);
  std::vector<PyObject*> held;  // what goes with a history may run Python code, which may record more
  for (auto [t, value] : values) held.push_back(t.ptr());
  for (int round = 0; round < 2; ++round) {  // a history that goes may have held others
    std::unordered_map<Storage*, uint32_t> owners;
    for (PyObject* o : held) {
      if (!has_one_owner(o)) continue;
      TensorImpl& t = *impl_of(o);
      t.set_history(nullptr, 0);
      t.base = nullptr;
    }
    for (PyObject* o : held)
      if (has_one_owner(o)) ++owners[impl_of(o)->storage.get()];
    std::erase_if(owners, [](const auto& each) {
      const auto& [s, count] = each;
      return !s->block || s->shown || s->readers || s->refs != count;
    });
    for (PyObject* o : held) {
      if (!has_one_owner(o)) continue;
      TensorImpl& t = *impl_of(o);
      if (owners.count(t.storage.get())) t.set_geometry(Dims{0}, Dims{1}, 0);
    }
    for (auto& [s, count] : owners) s->forget();
  }
  return memory_stats().live;
}

const Op& op_named(const std::string& name) {
  Op* op = Registry::get().find(name);
  if (!op) fail("there is no op named '", name, "'");
  return *op;
}

void push_arguments(Call& c, nb::handle args) {
  size_t n = nb::len(args);
  if (n > c.op.params.size()) fail_type(c.op.name, ": takes ", c.op.params.size(), " arguments, got ", n);
  for (size_t i = 0; i < n; ++i) c.push(value_from(c.op.params[i], nb::object(args[i]).ptr()));
  c.fill_defaults();
}

nb::object call_op(const std::string& name, nb::tuple args, bool inplace) {
  Call c(op_named(name));
  push_arguments(c, args);
  c.inplace = inplace || c.op.is(kInplaceOnly);
  check_arguments(c);
  AutocastOff as_recorded;
  run_call(c);
  return outputs_of(c);
}

// ---- ops declared in Python

// What a shape rule said of the last call: it looks at nothing but shapes, dtypes and plain arguments.
class LastShapes {
 public:
  bool give(Call& c) const {
    if (!known_ || c.count != int(asked_.size())) return false;
    for (int i = 0; i < c.count; ++i)
      if (!asked_[size_t(i)].fits(c.arg(i))) return false;
    for (size_t i = 0; i < found_.size(); ++i) c.give(int(i), meta(found_[i].dtype, found_[i].sizes));
    return true;
  }
  void keep(Call& c) {
    known_ = false;
    asked_.clear(), found_.clear();
    for (int i = 0; i < c.count; ++i) {
      const Value& v = c.arg(i);
      if (v.tag() > Tag::Bool && v.tag() != Tag::Text) return;
      asked_.emplace_back(v);
    }
    for (int i = 0; i < c.out_count; ++i) found_.push_back({c.out[i].dtype(), c.out[i].sizes()});
    known_ = true;
  }

 private:
  struct Shape {
    DType dtype;
    Dims sizes;
  };
  struct Asked {
    Tag tag;
    Shape shape;   // of a tensor
    Value number;  // or a text
    explicit Asked(const Value& v) : tag(v.tag()) {
      if (v.is_tensor())
        shape = {v.tensor().dtype(), v.tensor().sizes()};
      else
        number = v;
    }
    bool fits(const Value& v) const {
      if (v.tag() != tag) return false;
      switch (tag) {
        case Tag::Tensor: return v.tensor().dtype() == shape.dtype && v.tensor().sizes() == shape.sizes;
        case Tag::Text: return v.text() == number.text();
        case Tag::Float: return std::bit_cast<int64_t>(v.real()) == std::bit_cast<int64_t>(number.real());
        case Tag::None: return true;
        default: return v.integer() == number.integer();
      }
    }
  };
  bool known_ = false;
  std::vector<Asked> asked_;
  std::vector<Shape> found_;
};

void infer_in_python(nb::object f, Call& c) {
  nb::object metas = nb::steal(PyObject_CallObject(f.ptr(), arguments_of(c).ptr()));
  if (!metas.is_valid()) throw PythonError();
  int i = 0;
  for (nb::handle m : metas) {
    Dims sizes;
    for (nb::handle s : nb::object(m[0])) sizes.push(nb::cast<int64_t>(s));
    DType t;
    if (!read_dtype(nb::object(m[1]).ptr(), &t))
      fail_type(c.op.base, ": its shape rule must give (shape, dtype) pairs");
    c.give(i++, meta(t, sizes));
  }
}

// What Python may keep of a tensor: not the memory of a program, which is another value's later.
Tensor to_keep(const Tensor& t) { return t && t->storage->planned ? clone_of(t) : t; }

void run_in_python(nb::object f, Call& c) {
  GradMode off(false);
  Recorder* tracing = std::exchange(t_recorder, nullptr);
  Call own(c.op);
  for (int i = 0; i < c.count; ++i) {
    const Value& v = c.arg(i);
    if (v.tag() == Tag::Tensor) {
      own.push(Value(to_keep(v.tensor())));
    } else if (v.tag() == Tag::Tensors) {
      TensorList list;
      for (const Tensor& t : v.tensors()) list.push_back(to_keep(t));
      own.push(Value(std::move(list)));
    } else {
      own.push(v);
    }
  }
  for (int i = 0; i < c.out_count; ++i) own.give(i, to_keep(c.out[i]));
  nb::object r = nb::steal(
      PyObject_CallFunctionObjArgs(f.ptr(), outputs_of(own).ptr(), arguments_of(own).ptr(), nullptr));
  t_recorder = tracing;
  if (!r.is_valid()) throw PythonError();
  for (int i = 0; i < c.out_count; ++i)
    if (own.out[i].get() != c.out[i].get()) copy_data(c.out[i], own.out[i]);
}

void back_in_python(nb::object f, Grad& d) {
  nb::object view = nb::cast(&d, nb::rv_policy::reference);
  nb::object r = nb::steal(PyObject_CallOneArg(f.ptr(), view.ptr()));
  if (!r.is_valid()) throw PythonError();
  int i = 0;
  for (nb::handle g : r) {
    if (!g.is_none()) d.give(i, to_tensor(g, "a gradient"));
    ++i;
  }
}

void declare_op(std::string signature, std::string doc, nb::object infer, nb::object run, nb::object back,
                uint32_t keeps, std::string no_derivative) {
  auto* texts = new std::string[3]{std::move(signature), std::move(doc),
                                   std::move(no_derivative)};  // live as long as the op
  Form form;
  form.signature = texts[0];
  form.doc = texts[1];
  form.no_derivative = texts[2];
  form.traits = kKeepsLock | kNoMethod;
  form.keeps = keeps;
  Op& op = Registry::get().add(form);
  op.python = true;
  op.py_infer = [infer, last = std::make_shared<LastShapes>()](Call& c) {
    if (last->give(c)) return;
    infer_in_python(infer, c);
    last->keep(c);
  };
  if (run.is_none()) {
    op.form.run = Kernel::find(op.base);
    if (!op.form.run) fail("there is no kernel for ", op.base);
  } else {
    op.py_run = [run](Call& c) { run_in_python(run, c); };
  }
  if (!back.is_none()) op.py_back = [back](Grad& d) { back_in_python(back, d); };
  intern_params(op);
}

}  // namespace

bool says_forward_lines(Recorder* recorder) {
  auto* r = dynamic_cast<PyRecorder*>(recorder);
  return r && !r->watches;
}

void bind_trace(nb::module_& m) {
  // Until _stop_recording, this recorder sees the ops, or none does; nested: the one that did sees them again after
  // that.
  m.def(
      "_start_recording",
      [](nb::object f, bool nested) {
        auto* outer = dynamic_cast<PyRecorder*>(t_recorder);
        if (t_recorder && !nested && !(outer && outer->watches)) fail("a trace is already being taken on this thread");
        bool differentiated = !f.is_none() && nb::cast<bool>(f.attr("traces"));
        t_outer.push_back(std::exchange(t_recorder, nullptr));
        if (f.is_none()) return;
        auto* r = new PyRecorder;
        r->target = f;
        r->differentiated = differentiated;
        r->watches = nb::cast<bool>(nb::getattr(f, "watches", nb::bool_(false)));
        t_recorder = r;
      },
      nb::arg().none(), nb::arg() = false);
  m.def("_is_number", [](Tensor t) { return t->wrapped_number; });  // made from a Python number by an op
  m.def("_is_untracked", [](Tensor t) { return t->untracked; });    // .data
  m.def("_geometry", [](Tensor t) {                                 // its shape, dtype and strides, if it has some
    auto numbers = [](const Dims& d) {
      PyObject* made = PyTuple_New(d.size());
      for (int i = 0; i < d.size(); ++i) PyTuple_SET_ITEM(made, i, PyLong_FromLongLong(d[i]));
      return nb::steal(made);
    };
    nb::object strides = t.sparse() ? nb::none() : numbers(t.strides());
    return nb::make_tuple(numbers(t.sizes()), nb::steal(wrap_dtype(t.dtype())), strides);
  });
  m.def("_place", [](Tensor t) {  // the same for tensors that begin at the same place of the same memory
    return nb::make_tuple(reinterpret_cast<uintptr_t>(t->storage.get()), t->offset);
  });
  m.def("_recorder", []() -> nb::object {  // what a trace or a capture on this thread tells of, or None
    auto* r = dynamic_cast<PyRecorder*>(t_recorder);
    return r && !r->watches ? r->target : nb::none();
  });
  m.def("_step_watcher", []() -> nb::object {  // the same; True while a profiler records; or None
    auto* r = dynamic_cast<PyRecorder*>(t_recorder);
    return r && !r->watches ? r->target : is_recording() ? nb::borrow(Py_True) : nb::none();
  });
  m.def("_watching_recorder", []() -> nb::object {  // which observes the calls of this thread and keeps no graph
    auto* r = dynamic_cast<PyRecorder*>(t_recorder);
    return r && r->watches ? r->target : nb::none();
  });
  m.def("_call_time", [] { return t_call_took; });  // nanoseconds of the call that a recorder observes now, or -1
  m.def("_custom_function", [](const char* name, bool pure) {  // is about to run, with a derivative of its own
    if (auto* r = dynamic_cast<PyRecorder*>(t_recorder))
      r->tell("custom_function", "ssO", name, user_line().c_str(), pure ? Py_True : Py_False);
  });
  m.def("_pause_recording", [] {  // true: resume it
    if (!t_recorder) return false;
    t_paused = std::exchange(t_recorder, nullptr);
    return true;
  });
  m.def("_resume_recording", [] { t_recorder = std::exchange(t_paused, nullptr); });
  m.def("_stop_recording", [] {
    delete std::exchange(t_recorder, t_outer.back());
    t_outer.pop_back();
  });
  m.def("_forget_elements", forget_elements);
  m.def("_has_op", [](const std::string& name) { return Registry::get().find(name) != nullptr; });
  m.def("_call_op", call_op);
  m.def("_declare_op", declare_op, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
        nb::arg());
  m.def("_op_function", [](const std::string& base) {
    auto* set = new OpSet{base, "", {}, false};
    for (Op* op : Registry::get().all()) {
      if (op->base != base) continue;
      set->ops.push_back(op);
      if (set->doc.empty()) set->doc = op->form.doc;
    }
    if (set->ops.empty()) fail("there is no op named '", base, "'");
    return nb::steal(make_op_function(set));
  });
  nb::class_<Grad>(m, "Grad", "What a derivative is given.")
      .def(
          "g", [](Grad& d, int i) { return d.g(i); }, nb::arg("i") = 0, "The gradient of output i.")
      .def("has_g", &Grad::has_g, "Whether a gradient of output i arrived.")
      .def("x", &Grad::x, "A kept input.")
      .def("y", &Grad::y, nb::arg("i") = 0, "A kept output.")
      .def(
          "arg", [](Grad& d, int i) { return nb::steal(value_to_python(d.arg(i))); }, "An argument by its place.")
      .def(
          "shape", [](Grad& d, int i) { return nb::steal(wrap_size(d.shape(i))); }, "The shape of input i.")
      .def("needs", &Grad::needs, "Whether input i wants a gradient.")
      .def("inputs", &Grad::inputs, "The number of tensor inputs.")
      .def_ro("create_graph", &Grad::create_graph);
}

}  // namespace weft
