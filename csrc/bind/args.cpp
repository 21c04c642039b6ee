// Ops as Python callables: arguments are read by the signature, overloads tried in order.
#include "bind/args.h"

#include <structmember.h>

#include <unordered_map>

#include "bind/observer.h"
#include "exec/program.h"
#include "ops/api.h"
#include "ops/recording.h"

namespace weft {

PyTypeObject* OpType = nullptr;

namespace {

PyObject *g_out, *g_axis, *g_keepdims, *g_dim, *g_keepdim, *g_device, *g_layout, *g_requires_grad, *g_pin_memory,
    *g_input, *g_self;
PyObject* g_check_device = nullptr;  // a Python callable: raises for anything but the CPU

// A tensor stands for a number if it has no dimensions, and no gradient that would be lost.
bool is_number(TensorImpl& t) { return t.sizes.empty() && !wants_grad(t); }

// Sizes, counts and places may also be tensors of one element, whatever their shape.
bool read_int(PyObject* o, int64_t* v, bool any_shape) {
  if (PyLong_CheckExact(o) || (PyLong_Check(o) && !PyBool_Check(o))) {
    *v = PyLong_AsLongLong(o);
    if (*v == -1 && PyErr_Occurred()) throw PythonError();
    return true;
  }
  if (is_tensor(o)) {
    TensorImpl& t = *impl_of(o);
    if (!(is_number(t) || (any_shape && t.numel == 1)) || !is_integral(t.dtype) || t.dtype == DType::Bool) return false;
    *v = 0;
    visit(t.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) *v = int64_t(*reinterpret_cast<T*>(t.data()));
    });
    return true;
  }
  if (PyBool_Check(o) || PyFloat_Check(o) || !PyIndex_Check(o)) return false;
  PyObject* i = PyNumber_Index(o);
  if (!i) return !clear_refusal();
  *v = PyLong_AsLongLong(i);
  Py_DECREF(i);
  if (*v == -1 && PyErr_Occurred()) throw PythonError();
  return true;
}

bool read_ints(PyObject* o, Dims* d) {
  int64_t v;
  if (read_int(o, &v, true)) {
    d->push(v);
    return true;
  }
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  nb::object items;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    if (!items.is_valid() && !PyLong_CheckExact(PySequence_Fast_GET_ITEM(o, i))) {  // reading it may run Python code
      items = items_of(o);
      o = items.ptr();
    }
    if (!read_int(PySequence_Fast_GET_ITEM(o, i), &v, true)) return false;
    d->push(v);
  }
  return true;
}

bool read_tensors(PyObject* o, TensorList* list, bool holes) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {  // runs no Python code
    PyObject* item = PySequence_Fast_GET_ITEM(o, i);
    if (is_tensor(item))
      list->push_back(tensor_of(item));
    else if (item == Py_None && holes)
      list->push_back(Tensor());
    else
      return false;
  }
  return true;
}

// A tensor without dimensions as a number.
bool read_element(PyObject* o, Value* v) {
  if (!is_tensor(o) || !is_number(*impl_of(o))) return false;
  nb::object number = nb::steal(wrap_number(impl_of(o)->dtype, impl_of(o)->data()));
  return read_number(number.ptr(), v);
}

bool read_value(const Param& p, PyObject* o, Value* v) {
  if (o == Py_None) {
    *v = Value();
    return p.nullable;
  }
  switch (p.type) {
    case Type::Tensor:
      if (!is_tensor(o)) return false;
      *v = Value(tensor_of(o));
      return true;
    case Type::Operand:
      if (is_tensor(o)) {
        *v = Value(tensor_of(o));
        return true;
      }
      return read_number(o, v);
    case Type::Tensors: {
      TensorList list;
      if (!read_tensors(o, &list, p.holes)) return false;
      *v = Value(std::move(list));
      return true;
    }
    case Type::Scalar: return read_number(o, v) || read_element(o, v);
    case Type::Int: {
      int64_t i;
      if (!read_int(o, &i, !p.name.starts_with("dim"))) return false;
      *v = Value(i);
      return true;
    }
    case Type::Float:
      if (!(read_number(o, v) || read_element(o, v)) || v->tag() == Tag::Complex) return false;
      *v = Value(v->real());
      return true;
    case Type::Bool:
      if (PyBool_Check(o))
        *v = Value(o == Py_True);
      else if (!(read_number(o, v) && v->tag() == Tag::Bool))
        return false;
      return true;
    case Type::Ints:
    case Type::Varargs: {
      Dims d;
      if (!read_ints(o, &d)) return false;
      *v = Value(std::move(d));
      return true;
    }
    case Type::DType: {
      DType t;
      if (!read_dtype(o, &t)) return false;
      *v = Value(t);
      return true;
    }
    case Type::Text:
      if (!PyUnicode_Check(o)) return false;
      *v = Value(text_of(o));
      return true;
    case Type::Object: *v = Value(Ref<Opaque>(new PyOpaque(o))); return true;
  }
  return false;
}

// What a call brings beside the op's own parameters.
struct Extras {
  std::vector<Tensor> out;
  bool has_out = false, requires_grad = false;
};

bool same_name(PyObject* a, PyObject* b) { return a == b || (PyUnicode_Compare(a, b) == 0); }

// Reads the keyword into its slot; -1: not a parameter.
int find_param(const Op& op, PyObject* name) {
  if (same_name(name, g_axis))
    name = g_dim;
  else if (same_name(name, g_keepdims))
    name = g_keepdim;
  else if (same_name(name, g_self))
    name = g_input;
  for (size_t i = 0; i < op.params.size(); ++i)
    if (same_name((PyObject*)op.params[i].interned, name)) return int(i);
  return -1;
}

bool read_out(const Op& op, PyObject* o, Extras* extras) {
  if (o == Py_None) return true;
  extras->has_out = true;
  TensorList list;
  if (is_tensor(o))
    list.push_back(tensor_of(o));
  else if (!read_tensors(o, &list, false))
    return false;
  if (list.size() != op.results.size()) return false;
  extras->out = std::move(list);
  return true;
}

// True if the keyword is one that many ops take; *ok says whether its value is right.
bool read_common_keyword(const Op& op, PyObject* name, PyObject* o, Extras* extras, bool* ok) {
  *ok = true;
  if (same_name(name, g_out) && !op.is(kNoOut) && !op.is(kView)) {
    *ok = read_out(op, o, extras);
    return true;
  }
  if (!op.is(kCreation)) return false;
  if (same_name(name, g_requires_grad)) {
    *ok = PyBool_Check(o) || o == Py_None;
    extras->requires_grad = o == Py_True;
    return true;
  }
  if (same_name(name, g_device)) {
    if (o != Py_None && g_check_device) {
      nb::object checked = nb::steal(PyObject_CallOneArg(g_check_device, o));
      if (!checked.is_valid()) throw PythonError();
    }
    return true;
  }
  if (same_name(name, g_layout)) {
    if (o == Py_None) return true;
    nb::object text = nb::steal(PyObject_Str(o));
    if (!text.is_valid()) throw PythonError();
    if (PyUnicode_CompareWithASCIIString(text.ptr(), "torch.strided") != 0)
      fail_missing(op.base, ": layout=", nb::cast<std::string>(text), ": weft has torch.strided");
    return true;
  }
  if (same_name(name, g_pin_memory)) {
    if (o == Py_True)
      fail_missing(op.base, ": pin_memory=True: weft has no device that would profit from pinned memory");
    return true;
  }
  return false;
}

// False; says why to whom that matters.
template <class... Parts>
[[gnu::cold, gnu::noinline]] bool misfit(std::string* why, const Parts&... parts) {
  if (!why) return false;
  std::ostringstream s;
  (s << ... << parts);
  *why = s.str();
  return false;
}

// Tells of tensors that were read as the numbers they hold: what follows depends on them.
void tell_number(PyObject* o) {
  if (is_tensor(o)) t_recorder->read("a tensor as a number", tensor_of(o));
}
[[gnu::cold, gnu::noinline]] void tell_numbers(PyObject* const* args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!args[i]) continue;
    if (PyTuple_Check(args[i]) || PyList_Check(args[i])) {
      nb::object items = items_of(args[i]);
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(items.ptr()); ++k) tell_number(PyTuple_GET_ITEM(items.ptr(), k));
    } else {
      tell_number(args[i]);
    }
  }
}
bool takes_numbers(Type t) {
  return t == Type::Scalar || t == Type::Int || t == Type::Float || t == Type::Ints || t == Type::Varargs;
}

// Fills the call; on failure says why. Most calls that fail here fit the next overload: without `why` no text is made.
bool read_arguments(const Op& op, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Call& c, Extras* extras,
                    std::string* why) {
  size_t n = op.params.size();
  PyObject* given[kMaxArgs] = {};
  Dims spread;
  int spread_at = -1;
  Py_ssize_t spread_from = 0;
  size_t slot = 0;
  for (Py_ssize_t i = 0; i < nargs; ++i, ++slot) {
    if (slot >= n || op.params[slot].keyword_only)
      return misfit(why, "takes ", slot, " positional arguments but ", nargs, " were given");
    given[slot] = args[i];
    int64_t v;
    if (op.params[slot].type == Type::Varargs && read_int(args[i], &v, true)) {
      spread_at = int(slot);
      spread_from = i;
      spread.push(v);
      for (++i; i < nargs; ++i) {
        if (!read_int(args[i], &v, true))
          return misfit(why, "argument '", op.params[slot].name, "': expected ints, got ", Py_TYPE(args[i])->tp_name);
        spread.push(v);
      }
    }
  }
  if (kwnames) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[nargs + k];
      int at = find_param(op, name);
      bool ok = true;
      if (at < 0) {
        if (!read_common_keyword(op, name, value, extras, &ok))
          return misfit(why, "got an unexpected keyword argument '", text_of(name), "'");
        if (!ok) return misfit(why, "argument '", text_of(name), "' is not right: got ", Py_TYPE(value)->tp_name);
        continue;
      }
      if (given[at]) return misfit(why, "got multiple values for argument '", op.params[size_t(at)].name, "'");
      given[at] = value;
    }
  }
  for (size_t i = 0; i < n; ++i) {
    const Param& p = op.params[i];
    if (int(i) == spread_at) {
      c.push(Value(spread));
    } else if (!given[i]) {
      if (!p.has_default) return misfit(why, "missing argument '", p.name, "'");
      c.push(p.fallback);
    } else {
      Value v;
      if (!read_value(p, given[i], &v))
        return misfit(why, "argument '", p.name, "' must be ", name_of(p.type), ", not ", Py_TYPE(given[i])->tp_name);
      c.push(std::move(v));
    }
  }
  if (t_recorder) [[unlikely]] {
    if (spread_at >= 0) tell_numbers(args + spread_from, nargs - spread_from);
    for (size_t i = 0; i < n; ++i)
      if (int(i) != spread_at && takes_numbers(op.params[i].type)) tell_numbers(given + i, 1);
  }
  return true;
}

PyObject* run_and_wrap(Call& c, Extras& extras) {
  if (extras.has_out) c.given_out = extras.out.data();
  run_call(c);
  if (extras.requires_grad) {
    if (!is_inexact(c.out[0].dtype()))
      fail(c.op.base, ": Only Tensors of floating point and complex dtype can require gradients, got ",
           name_of(c.out[0].dtype()));
    c.out[0]->requires_grad = true;
  }
  return results_of(c);
}

struct PyOp {
  PyObject_HEAD vectorcallfunc call;
  OpSet* set;
};

[[noreturn, gnu::cold, gnu::noinline]] void fail_overloads(const OpSet& set, PyObject* const* args, Py_ssize_t nargs,
                                                           PyObject* kwnames) {
  std::ostringstream s;
  s << set.name << "(): ";
  if (set.ops.size() > 1) s << "received an invalid combination of arguments. Expected one of:";
  for (const Op* op : set.ops) {
    Call c(*op);
    Extras extras;
    std::string why;
    read_arguments(*op, args, nargs, kwnames, c, &extras, &why);
    if (set.ops.size() == 1)
      s << why << ". Expected " << op->form.signature;
    else
      s << "\n * " << op->form.signature << "  (" << why << ")";
  }
  throw Error(ErrorKind::Type, s.str());
}

// So many arguments without a name do not fit: seen before a call is made of them.
bool are_too_many(const Op& op, Py_ssize_t nargs) {
  for (size_t i = 0; i < size_t(nargs); ++i) {
    if (i >= op.params.size() || op.params[i].keyword_only) return true;
    if (op.params[i].type == Type::Varargs) return false;
  }
  return false;
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const OpSet& set = *reinterpret_cast<PyOp*>(self)->set;
  Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (t_observer) [[unlikely]]
    return tell_call(self, args, size_t(nargs), kwnames);
  return guarded([&]() -> PyObject* {
    for (const Op* op : set.ops) {
      if (are_too_many(*op, nargs)) continue;
      Call c(*op);
      Extras extras;
      if (!read_arguments(*op, args, nargs, kwnames, c, &extras, nullptr)) continue;
      c.inplace = set.inplace || op->is(kInplaceOnly);
      if (c.inplace && !c.arg(0).is_tensor()) fail_type(set.name, ": the first argument must be a Tensor");
      return run_and_wrap(c, extras);
    }
    fail_overloads(set, args, nargs, kwnames);
  });
}

PyObject* op_get(PyObject* self, PyObject* obj, PyObject*) {
  if (!obj || obj == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, obj);
}
PyObject* op_repr(PyObject* self) {
  return PyUnicode_FromFormat("<weft op %s>", reinterpret_cast<PyOp*>(self)->set->name.c_str());
}
PyObject* op_name(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<PyOp*>(self)->set->name.c_str());
}
PyObject* op_doc(PyObject* self, void*) {
  OpSet& set = *reinterpret_cast<PyOp*>(self)->set;
  std::string s;
  for (const Op* op : set.ops) {
    s += std::string(op->form.signature) + "\n";
  }
  return PyUnicode_FromString((s + "\n" + set.doc).c_str());
}
PyObject* op_reduce(PyObject* self, PyObject*) { return op_name(self, nullptr); }

PyGetSetDef op_fields[] = {{"__name__", op_name, nullptr, nullptr, nullptr},
                           {"__qualname__", op_name, nullptr, nullptr, nullptr},
                           {"__doc__", op_doc, nullptr, nullptr, nullptr},
                           {}};
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef op_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOp, call), READONLY, nullptr}, {}};
PyType_Slot op_slots[] = {{Py_tp_call, (void*)PyVectorcall_Call},
                          {Py_tp_descr_get, (void*)op_get},
                          {Py_tp_repr, (void*)op_repr},
                          {Py_tp_getset, op_fields},
                          {Py_tp_methods, op_methods},
                          {Py_tp_members, op_members},
                          {}};
PyType_Spec op_spec = {"weft.Op", sizeof(PyOp), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, op_slots};

}  // namespace

bool push_operand(Call& c, PyObject* o) {
  if (is_tensor(o)) {
    c.push(Value(tensor_of(o)));
    return true;
  }
  Value v;
  if (!read_number(o, &v)) return false;
  c.push(std::move(v));
  return true;
}

// What Python calls the operator of an op.
static const char* operator_of(const std::string& op, bool inplace) {
  static const std::unordered_map<std::string, std::pair<const char*, const char*>> names{
    {"add", {"add", "iadd"}},
    {"sub", {"sub", "isub"}},
    {"mul", {"mul", "imul"}},
    {"div", {"truediv", "itruediv"}},
    {"floor_divide", {"floordiv", "ifloordiv"}},
    {"remainder", {"mod", "imod"}},
    {"pow", {"pow", "ipow"}},
    {"matmul", {"matmul", "imatmul"}},
    {"bitwise_and", {"and_", "iand"}},
    {"bitwise_or", {"or_", "ior"}},
    {"bitwise_xor", {"xor", "ixor"}},
    {"bitwise_left_shift", {"lshift", "ilshift"}},
    {"bitwise_right_shift", {"rshift", "irshift"}},
  };
  auto found = names.find(op);
  if (found == names.end()) return op.c_str();  // lt, le, eq …
  return inplace ? found->second.second : found->second.first;
}

PyObject* call_binary(const OpRef& op, PyObject* a, PyObject* b, bool inplace) {
  if (t_observer) [[unlikely]]
    return tell_operator(operator_of(op.op().base, inplace), {a, b});
  return guarded([&]() -> PyObject* {
    Call c(op.op());
    if (!push_operand(c, a) || !push_operand(c, b)) Py_RETURN_NOTIMPLEMENTED;
    c.inplace = inplace;
    c.fill_defaults();
    run_call(c);
    return wrap(c.out[0]);
  });
}

PyObject* make_op_function(OpSet* set) {
  auto* o = PyObject_New(PyOp, OpType);
  o->call = op_vectorcall;
  o->set = set;
  return (PyObject*)o;
}

Value value_from(const Param& p, PyObject* o) {
  Value v;
  if (!read_value(p, o, &v))
    fail_type("argument '", p.name, "' must be ", name_of(p.type), ", not ", Py_TYPE(o)->tp_name);
  if (t_recorder && takes_numbers(p.type)) [[unlikely]]
    tell_numbers(&o, 1);
  return v;
}

void intern_params(Op& op) {
  for (Param& p : op.params)
    if (!p.interned) p.interned = PyUnicode_InternFromString(p.name.c_str());
}

// name -> callable, for functions, methods and in-place twins; aliases included.
static void collect(nb::dict functions, nb::dict methods) {
  struct Sets {
    OpSet *function = nullptr, *method = nullptr, *inplace = nullptr;
  };
  std::unordered_map<std::string, Sets> sets;
  std::vector<std::string> order;
  auto add = [](OpSet*& set, const std::string& name, const Op* op, bool inplace) {
    if (!set) set = new OpSet{name, "", {}, inplace};
    bool plain = op->name == op->base;  // the plain overload is tried first, and its doc is the doc
    set->ops.insert(plain ? set->ops.begin() : set->ops.end(), op);
    if (set->doc.empty() || plain) set->doc = op->form.doc;
  };
  for (Op* op : Registry::get().all()) {
    intern_params(*op);
    if (op->is(kHidden)) continue;
    std::vector<std::string> names{op->base};
    for (std::string_view rest = op->form.aliases; !rest.empty();) {
      size_t comma = rest.find(',');
      std::string_view one = rest.substr(0, comma);
      while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
      names.emplace_back(one);
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    bool has_self = !op->params.empty() && (op->params[0].type == Type::Tensor || op->params[0].type == Type::Operand);
    for (auto& name : names) {
      if (!sets.count(name)) order.push_back(name);
      Sets& s = sets[name];
      if (!op->is(kNoFunction)) add(s.function, name, op, false);
      if (!op->is(kNoMethod) && has_self) add(s.method, name, op, false);
      if (op->is(kInplace)) add(s.inplace, name + "_", op, true);
    }
  }
  for (auto& name : order) {
    Sets& s = sets[name];
    if (s.function) functions[name.c_str()] = nb::steal(make_op_function(s.function));
    if (s.method) methods[name.c_str()] = nb::steal(make_op_function(s.method));
    if (s.inplace) {
      nb::object f = nb::steal(make_op_function(s.inplace));
      methods[(name + "_").c_str()] = f;
      if (s.function) functions[(name + "_").c_str()] = f;
    }
  }
}

void bind_ops(nb::module_& m) {
  OpType = (PyTypeObject*)PyType_FromSpec(&op_spec);
  m.attr("Op") = nb::handle((PyObject*)OpType);
  struct {
    PyObject** at;
    const char* text;
  } names[] = {{&g_out, "out"},
               {&g_axis, "axis"},
               {&g_keepdims, "keepdims"},
               {&g_dim, "dim"},
               {&g_keepdim, "keepdim"},
               {&g_device, "device"},
               {&g_layout, "layout"},
               {&g_requires_grad, "requires_grad"},
               {&g_pin_memory, "pin_memory"},
               {&g_input, "input"},
               {&g_self, "self"}};
  for (auto& n : names) *n.at = PyUnicode_InternFromString(n.text);
  m.def("_collect_ops", collect);
  m.def("_check_out", [](Tensor target, Tensor result, const std::string& name, bool casts) {
    check_out(target, result, name.c_str(), casts);
  });
  m.def("_set_device_check", [](nb::object f) { g_check_device = f.release().ptr(); });
  // What weft.ops.registry() is made of.
  m.def("_ops", [] {
    nb::list all;
    for (const Op* op : Registry::get().all()) {
      nb::dict d;
      auto text = [](std::string_view s) { return nb::str(s.data(), s.size()); };
      d["name"] = op->name;
      d["base"] = op->base;
      d["signature"] = text(op->form.signature);
      d["doc"] = text(op->form.doc);
      d["aliases"] = text(op->form.aliases);
      d["no_derivative"] = text(op->form.no_derivative);
      d["derivative"] = op->differentiable();
      d["composed"] = op->form.compose != nullptr;
      d["pointwise"] = op->form.row != nullptr;
      d["inplace"] = op->is(kInplace);
      d["inplace_only"] = op->is(kInplaceOnly);
      d["out"] = !op->is(kNoOut) && !op->is(kView) && !op->is(kInplaceOnly);
      d["method"] = !op->is(kNoMethod);
      d["function"] = !op->is(kNoFunction);
      d["view"] = op->is(kView);
      d["creation"] = op->is(kCreation);
      d["hidden"] = op->is(kHidden);
      d["python"] = op->python;
      d["static"] = Program::can_hold(*op);
      all.append(d);
    }
    return all;
  });
}

}  // namespace weft
