// The graph from Python: nodes, hooks, backward, and nodes that are written in Python.
#include <optional>
#include <unordered_map>

#include "bind/args.h"
#include "bind/hooks.h"
#include "bind/life.h"
#include "bind/memory.h"
#include "bind/observer.h"
#include "ops/api.h"
#include "tape/backward.h"
#include "tape/nodes.h"
#include "tape/record.h"
#include "tape/views.h"

namespace weft {

void bind_nan(nb::module_& m);  // in nan.cpp

PyTypeObject* NodeType = nullptr;

namespace {

// ---- nodes as Python objects

struct PyNode {
  PyObject_HEAD Node* node;  // owned
};

Node& node_in(PyObject* o) { return *reinterpret_cast<PyNode*>(o)->node; }

void node_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Node* n = std::exchange(reinterpret_cast<PyNode*>(self)->node, nullptr);
  if (n) {
    n->pyobj = nullptr;
    if (--n->refs == 0) n->destroy();
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}
int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Node* n = reinterpret_cast<PyNode*>(self)->node;
  return n ? traverse_owned(n, visit, arg) : 0;
}
int node_clear(PyObject* self) {
  auto* o = reinterpret_cast<PyNode*>(self);
  if (!o->node || !owns_alone(o->node)) return 0;
  Ref<Node> n = Ref<Node>::adopt(std::exchange(o->node, nullptr));
  n->pyobj = nullptr;
  return 0;
}
PyObject* node_name(PyObject* o, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(node_in(o).name().c_str()); });
}
PyObject* node_repr(PyObject* o) {
  return PyUnicode_FromFormat("<%s object at %p>", node_in(o).name().c_str(), &node_in(o));
}
PyObject* node_next(PyObject* o, void*) {
  return guarded([&] {
    Node& n = node_in(o);
    PyObject* all = PyTuple_New(n.edge_count);
    for (uint32_t i = 0; i < n.edge_count; ++i)
      PyTuple_SET_ITEM(all, i, Py_BuildValue("(NI)", wrap_node(n.edges[i].node), n.edges[i].slot));
    return all;
  });
}
PyObject* node_origin(PyObject* o, void*) {
  return guarded([&] { return PyUnicode_FromString(node_in(o).origin.describe().c_str()); });
}
PyObject* node_sequence(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(node_in(o).sequence); }
PyObject* node_variable(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    auto* n = dynamic_cast<AccumulateGrad*>(&node_in(o));
    if (!n) {
      PyErr_SetString(PyExc_AttributeError, "only AccumulateGrad has a variable");
      return nullptr;
    }
    return wrap(Tensor(n->variable));
  });
}
PyObject* node_saved(PyObject* o, PyObject*) {
  return guarded([&] {
    auto found = node_in(o).saved();
    PyObject* t = PyTuple_New(Py_ssize_t(found.size()));
    for (size_t i = 0; i < found.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), wrap(found[i].second));
    return t;
  });
}
PyObject* node_saved_fields(PyObject* o, PyObject*) {
  return guarded([&] {
    nb::list all;
    for (auto& [field, t] : node_in(o).saved()) all.append(nb::steal(Py_BuildValue("(sN)", field.c_str(), wrap(t))));
    return PyList_AsTuple(all.ptr());
  });
}

class PyFunctionNode;
PyObject* context_of(Node& n);

// saved_tensors, _saved_<name>, and for user functions whatever their ctx has.
PyObject* node_getattr(PyObject* o, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  return guarded([&]() -> PyObject* {
    static PyObject* prefix = PyUnicode_InternFromString("_saved_");
    if (PyUnicode_Tailmatch(name, prefix, 0, PY_SSIZE_T_MAX, -1) == 1) {
      PyErr_Clear();
      const std::string whole = text_of(name);
      std::string_view text = whole;
      text.remove_prefix(7);
      for (auto& [field, t] : node_in(o).saved())
        if (field == text || (text == "self" && field == "input")) return wrap(t);
      PyErr_Format(PyExc_AttributeError, "%s keeps no %U", node_in(o).name().c_str(), name);
      return nullptr;
    }
    if (PyObject* ctx = context_of(node_in(o))) {
      PyErr_Clear();
      return PyObject_GetAttr(ctx, name);
    }
    return nullptr;
  });
}
PyObject* node_inputs(PyObject* o, PyObject*);
PyObject* node_attributes(PyObject* o, PyObject*) {
  return guarded([&] {
    nb::dict all;
    if (auto* n = dynamic_cast<OpNode*>(&node_in(o)))
      for (int i = 0; i < n->arg_count; ++i) {
        Tag tag = n->args[i].tag();
        Type type = n->op.params[size_t(i)].type;
        bool tensor = type == Type::Tensor || tag == Tag::Tensor || tag == Tag::Tensors;
        if (tag == Tag::None || tensor || tag == Tag::Object) continue;
        all[n->op.params[size_t(i)].name.c_str()] = nb::steal(value_to_python(n->args[i]));
      }
    return all.release().ptr();
  });
}
PyObject* node_saved_property(PyObject* o, void*) { return node_saved(o, nullptr); }
PyObject* node_metadata(PyObject* o, void*) {
  (void)o;
  return PyDict_New();
}
PyObject* node_hash_eq(PyObject* a, PyObject* b, int how) {
  if (how != Py_EQ && how != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool same = PyObject_TypeCheck(b, NodeType) &&
              reinterpret_cast<PyNode*>(a)->node == reinterpret_cast<PyNode*>(b)->node;
  return PyBool_FromLong(same == (how == Py_EQ));
}
Py_hash_t node_hash(PyObject* o) { return Py_hash_t(uintptr_t(&node_in(o)) >> 4); }
PyObject* node_register_hook(PyObject* o, PyObject* f) {
  return guarded([&] { return nb::cast(add_hook(node_in(o).more_hooks().after, f, "register_hook")).release().ptr(); });
}
PyObject* node_register_prehook(PyObject* o, PyObject* f) {
  return guarded(
      [&] { return nb::cast(add_hook(node_in(o).more_hooks().before, f, "register_prehook")).release().ptr(); });
}

PyMethodDef node_methods[] = {
  {"name", node_name, METH_NOARGS, "The name of the op, as MulBackward0."},
  {"_saved", node_saved, METH_NOARGS, "The tensors kept for backward."},
  {"_saved_fields", node_saved_fields, METH_NOARGS, "The same with their names."},
  {"_inputs", node_inputs, METH_NOARGS, "Of each input that wants a gradient (size, dtype), else None."},
  {"_attributes", node_attributes, METH_NOARGS, "The arguments of the op that are no tensors, by name."},
  {"_sequence_nr", node_sequence, METH_NOARGS, "The order of creation."},
  {"register_hook", node_register_hook, METH_O, "Calls f(grad_inputs, grad_outputs) after this node ran in backward."},
  {"register_prehook", node_register_prehook, METH_O, "Calls f(grad_outputs) before this node runs in backward."},
  {}};
PyGetSetDef node_fields[] = {
  {"next_functions", node_next, nullptr, "The nodes that made the inputs, with the number of their output.", nullptr},
  {"origin", node_origin, nullptr, "The user's file and line that made this node, and the module.", nullptr},
  {"variable", node_variable, nullptr, "The leaf of an AccumulateGrad.", nullptr},
  {"saved_tensors", node_saved_property, nullptr, "The tensors kept for backward.", nullptr},
  {"metadata", node_metadata, nullptr, "A dict for the user.", nullptr},
  {}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, (void*)node_dealloc},
                            {Py_tp_repr, (void*)node_repr},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_fields},
                            {Py_tp_getattro, (void*)node_getattr},
                            {Py_tp_richcompare, (void*)node_hash_eq},
                            {Py_tp_hash, (void*)node_hash},
                            {Py_tp_traverse, (void*)node_traverse},
                            {Py_tp_clear, (void*)node_clear},
                            {Py_tp_doc, (void*)"A step of the recorded graph."},
                            {}};
PyType_Spec node_spec = {
  "weft.autograd.graph.Node", sizeof(PyNode), 0,
  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// The class of a node carries its name, for programs that ask `type(x.grad_fn).__name__`.
PyTypeObject* node_type_of(const Node& n) {
  static std::unordered_map<std::string, PyTypeObject*> made;  // a name stays where it is: old Pythons point to it
  auto [at, fresh] = made.try_emplace("weft.autograd.graph." + n.name(), nullptr);
  if (fresh || !at->second) {
    PyType_Spec spec = node_spec;
    spec.name = at->first.c_str();
    at->second = (PyTypeObject*)PyType_FromSpecWithBases(&spec, (PyObject*)NodeType);
    if (!at->second) throw PythonError();
  }
  return at->second;
}

// ---- functions written in Python

class PyFunctionNode final : public Node {
 public:
  PyFunctionNode(PyObject* ctx, std::string name) : ctx_(ctx), name_(std::move(name)) { Py_INCREF(ctx_); }
  ~PyFunctionNode() override { Py_XDECREF(ctx_); }
  std::string name() const override { return name_; }
  size_t bytes() const override { return sizeof(PyFunctionNode) + sizeof(Edge) * edge_count; }
  bool released() const override { return freed_; }
  bool keeps() const override { return !kept.empty(); }
  void release() override {
    kept.clear();
    freed_ = true;
  }
  std::vector<std::pair<std::string, Tensor>> saved() override {
    if (freed_) fail_freed(*this);
    std::vector<std::pair<std::string, Tensor>> found;
    for (size_t i = 0; i < kept.size(); ++i) found.emplace_back(std::to_string(i), unpack(i));
    return found;
  }
  Grads apply(Grads&& grads, bool) override {
    nb::object given = tuple_of(grads), self = nb::steal(wrap_node(Ref<Node>(this)));
    nb::object r = nb::steal(PyObject_CallMethod(ctx_, "_run_backward", "OO", self.ptr(), given.ptr()));
    if (!r.is_valid()) throw PythonError();
    Grads results(edge_count);
    replace_grads(results, r, name_.c_str());
    return results;
  }
  PyObject* context() const { return ctx_; }
  void visit_owned(OwnedVisitor& v) override {
    Node::visit_owned(v);
    v.object(ctx_);
    for (auto& k : kept) {
      visit_kept(k.value, v);
      v.node(k.edge.node.get());
    }
  }

  struct Kept {
    Value value;
    int slot;        // of an output; else -1
    Edge edge = {};  // of an input that a hook packed
  };
  std::vector<Kept> kept;
  std::vector<InputMeta> metas;  // of the inputs that want a gradient

 private:
  Tensor unpack(size_t i) {
    Value& v = kept[i].value;
    if (v.none()) return Tensor();
    Edge own = kept[i].slot < 0 ? Edge() : output_edge(uint32_t(kept[i].slot));
    if (v.tag() == Tag::Object) return placed(interpreter::unpack(v.object()), own.node ? own : kept[i].edge);
    const Tensor& t = v.tensor();
    if (t->storage->version != v.extra)
      fail(
          "one of the variables needed for gradient computation has been modified by an inplace operation: saved "
          "tensor ",
          i, " of ", name_, ", of shape ", t.sizes(), ", was saved at version ", v.extra, " by the forward call",
          origin.at(), ", but is at version ", t->storage->version, ": it was changed in place",
          t->storage->changed.at());
    return placed(t, own);
  }
  PyObject* ctx_;
  std::string name_;
  bool freed_ = false;
};

PyObject* context_of(Node& n) {
  auto* f = dynamic_cast<PyFunctionNode*>(&n);
  return f ? f->context() : nullptr;
}

// What a node knows of its input `i`.
std::optional<InputMeta> meta_of(Node& n, uint32_t i) {
  if (auto* op = dynamic_cast<OpNode*>(&n)) return op->metas[i];
  if (auto* f = dynamic_cast<PyFunctionNode*>(&n)) return f->metas[i];
  auto* slices = dynamic_cast<CopySlices*>(&n);
  if (!slices) return std::nullopt;
  auto found = meta_of(*slices->change, i);
  if (found && i == 0) found->sizes = slices->base_sizes;
  return found;
}

// The call of an op that a node stands for, or None: the op's name, the node's number, the line, and the arguments. A
// tensor with a history is (node, output); one of which nothing was kept, and one that was not given, is None.
nb::object call_of(nb::handle o) {
  if (!PyObject_TypeCheck(o.ptr(), NodeType)) throw nb::type_error("_call_of: takes a node");
  auto* n = dynamic_cast<OpNode*>(&node_in(o.ptr()));
  if (!n) return nb::none();
  if (n->freed) fail_freed(*n);
  int position = 0, singles = 0;
  for (int i = 0; i < n->arg_count; ++i) {
    Type type = n->op.params[size_t(i)].type;
    singles += type == Type::Tensor || type == Type::Operand;
  }
  auto tensor = [&](const Value* v, size_t k) -> nb::object {
    const Edge& e = n->edges[position++];
    if (e.node) return nb::steal(Py_BuildValue("(NI)", wrap_node(e.node), e.slot));
    if (!v || v->none() || v->tag() == Tag::Ints) return nb::none();
    return nb::steal(v->tag() == Tag::Tensors ? wrap(v->tensors()[k]) : value_to_python(*v));
  };
  nb::list args;
  for (int i = 0; i < n->arg_count; ++i) {
    Type type = n->op.params[size_t(i)].type;
    if (type == Type::Tensor || type == Type::Operand) {
      args.append(tensor(&n->args[i], 0));
    } else if (type == Type::Tensors) {
      nb::list all;
      bool kept = n->args[i].tag() == Tag::Tensors;
      for (int k = 0; k < n->inputs - singles; ++k) all.append(tensor(kept ? &n->args[i] : nullptr, size_t(k)));
      args.append(all);
    } else {
      args.append(nb::steal(value_to_python(n->args[i])));
    }
  }
  return nb::make_tuple(n->op.name, n->sequence, n->origin.describe(), args);
}

PyObject* node_inputs(PyObject* o, PyObject*) {
  return guarded([&] {
    Node& n = node_in(o);
    nb::list all;
    for (uint32_t i = 0; i < n.edge_count; ++i) {
      auto m = n.edges[i].node ? meta_of(n, i) : std::nullopt;
      all.append(m ? nb::steal(Py_BuildValue("(NN)", wrap_size(m->sizes), wrap_dtype(m->dtype))) : nb::none());
    }
    return PyList_AsTuple(all.ptr());
  });
}

Value keep_for_function(const Tensor& t) {
  if (g_saved_hooks)
    if (auto packed = interpreter::pack(t)) return Value(std::move(packed));
  Value v(t);
  v.extra = t->storage->version;
  return v;
}

// One node for a user's Function: see weft/autograd/function.py for the contract.
void function_record(nb::handle ctx, nb::tuple inputs, nb::tuple outputs, nb::tuple to_save, std::string name) {
  uint32_t n = uint32_t(nb::len(inputs));
  char* block = static_cast<char*>(pool_allocate(sizeof(PyFunctionNode) + sizeof(Edge) * n));
  auto* node = new (block) PyFunctionNode(ctx.ptr(), std::move(name));
  node->edges = reinterpret_cast<Edge*>(block + sizeof(PyFunctionNode));
  node->edge_count = n;
  for (uint32_t i = 0; i < n; ++i) new (node->edges + i) Edge;
  Ref<Node> owned(node);
  node->origin = Origin::here();
  std::vector<Tensor> given;
  for (uint32_t i = 0; i < n; ++i) {
    given.push_back(to_tensor(inputs[i], "an input"));
    node->edges[i] = gradient_edge(*given.back().get());
    node->metas.push_back({given.back().sizes(), given.back().dtype()});
  }
  node->renumber();
  node->outputs = uint32_t(std::max<size_t>(1, nb::len(outputs)));
  std::vector<Tensor> made;
  for (size_t i = 0; i < nb::len(outputs); ++i) {
    Tensor t = to_tensor(outputs[i], "an output");
    bool changed = false;
    for (auto& g : given) changed = changed || g.is(t);
    if (changed && t->base) {
      if (node->outputs != 1) fail(node->name(), ": a view that is changed in place must be the only output");
      rebase_history(t, owned);
    } else {
      if (t->base) t->more().view_fixed = true;  // a change in place would pass by this function's backward
      t->unrecorded_view = false;
      t->set_history(owned, uint32_t(i));
    }
    track(t->pyobj);
    made.push_back(t);
  }
  for (size_t i = 0; i < nb::len(to_save); ++i) {
    if (to_save[i].is_none()) {
      node->kept.push_back({Value(), -1});
      continue;
    }
    Tensor t = to_tensor(to_save[i], "save_for_backward");
    int slot = -1;
    for (size_t k = 0; k < made.size(); ++k)
      if (made[k].is(t)) slot = int(k);
    Value value = keep_for_function(slot >= 0 ? alias(t) : t);
    bool packed = value.tag() == Tag::Object && slot < 0 && wants_grad(*t.get());
    node->kept.push_back({std::move(value), slot, packed ? gradient_edge(*t.get()) : Edge()});
  }
}

// ---- saved tensor hooks

struct SavedHooks {
  nb::object pack, unpack;
};
thread_local std::vector<SavedHooks> t_saved_hooks;

}  // namespace

Node& node_of(PyObject* object) { return node_in(object); }

Ref<Opaque> interpreter::pack(const Tensor& t) {
  if (t_saved_hooks.empty()) return nullptr;
  SavedHooks hooks = t_saved_hooks.back();
  auto* packed = new Packed;
  Ref<Opaque> owned(packed);
  nb::object o = nb::steal(wrap(t));
  GradMode off(false);
  packed->object = nb::steal(PyObject_CallOneArg(hooks.pack.ptr(), o.ptr()));
  if (!packed->object.is_valid()) throw PythonError();
  packed->unpack = hooks.unpack;
  return owned;
}

Tensor interpreter::unpack(Opaque* o) {
  auto* packed = static_cast<Packed*>(o);
  nb::object r = nb::steal(PyObject_CallOneArg(packed->unpack.ptr(), packed->object.ptr()));
  if (!r.is_valid()) throw PythonError();
  return to_tensor(r, "what the unpack hook returns");
}

namespace {

// ---- backward

[[noreturn]] void fail_no_history(const Tensor& t, size_t i) {
  std::ostringstream s;
  s << "element " << i << " of tensors does not require grad and does not have a grad_fn";
  if (t->cut) {
    s << ": the graph was cut by " << t->cut->what << t->cut->origin.at();
  } else if (!is_inexact(t.dtype())) {
    s << ": its dtype is " << name_of(t.dtype()) << ", and only floating point and complex tensors have gradients";
  } else {
    s << ": no tensor that went into it requires grad (set requires_grad=True on the leaf you want a gradient of)";
  }
  throw Error(ErrorKind::Runtime, s.str());
}

// A tensor, or a GradientEdge (node, output_nr, …) in its place.
struct Place {
  Tensor tensor;  // empty for a GradientEdge
  Edge edge;
};

Place place_of(nb::handle o, const char* what) {
  if (is_tensor(o.ptr())) {
    Tensor t = tensor_of(o.ptr());
    return {t, wants_grad(*t.get()) ? gradient_edge(*t.get()) : Edge()};
  }
  if (!PyTuple_Check(o.ptr()) || PyTuple_GET_SIZE(o.ptr()) < 2 ||
      !PyObject_TypeCheck(PyTuple_GET_ITEM(o.ptr(), 0), NodeType))
    fail_type(what, " must be a Tensor or a GradientEdge, not ", Py_TYPE(o.ptr())->tp_name);
  return {
    Tensor(),
    {Ref<Node>(&node_in(PyTuple_GET_ITEM(o.ptr(), 0))), nb::cast<uint32_t>(nb::handle(PyTuple_GET_ITEM(o.ptr(), 1)))}};
}

std::string shape_text(const Tensor& t) {
  std::ostringstream s;
  s << t.sizes();
  return s.str();
}

// What accumulates in a tensor that is no leaf but was asked for by inputs=.
void add_to_grad(const Tensor& t, const Tensor& g) {
  Tensor before(t->grad);
  t->grad = (before ? before + g : clone_of(g)).ref();  // memory of its own: users change it in place
}

nb::object run_backward_from_python(nb::tuple tensors, nb::tuple grads, bool retain_graph, bool create_graph,
                                    nb::object inputs, bool allow_unused, bool accumulate) {
  if (t_recorder) t_recorder->walks();
  BackwardRequest r;
  r.retain_graph = retain_graph;
  r.create_graph = create_graph;
  r.accumulate = accumulate;
  for (size_t i = 0; i < nb::len(tensors); ++i) {
    Place root = place_of(tensors[i], "backward: a root");
    if (!root.edge.node) fail_no_history(root.tensor, i);
    Tensor g = to_tensor(grads[i], "backward: a gradient");
    if (root.tensor) {
      track(root.tensor->pyobj);
      if (g.dtype() != root.tensor.dtype()) g = to_dtype(g, root.tensor.dtype());
    }
    r.roots.push_back(root.edge);
    r.grads.push_back(g);
  }
  std::vector<Tensor> wanted;
  if (!inputs.is_none()) {
    for (nb::handle h : inputs) {
      Place input = place_of(h, "grad: an input");
      if (!input.edge.node)
        fail("One of the differentiated Tensors does not require grad: input ", wanted.size(), " of shape ",
             input.tensor.sizes());
      r.inputs.push_back(input.edge);
      wanted.push_back(input.tensor);
    }
    if (r.inputs.empty()) fail("grad: inputs argument cannot be empty");
  }
  std::vector<Tensor> found = run_backward(r);
  if (accumulate) {
    for (size_t i = 0; i < found.size(); ++i)
      if (wanted[i] && !wanted[i].is_leaf() && found[i] && !(wanted[i]->extra && wanted[i]->extra->retain_grad))
        add_to_grad(wanted[i], found[i]);
    return nb::none();
  }
  nb::list out;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i] && !allow_unused)
      fail("One of the differentiated Tensors appears to not have been used in the graph: input ", i,
           wanted[i] ? " of shape " : "", wanted[i] ? shape_text(wanted[i]) : "",
           ". Set allow_unused=True if this is the desired behavior.");
    out.append(nb::steal(wrap(found[i])));
  }
  return nb::tuple(out);
}

// What arrives at each input by way of these roots, and no further: gradients, and shares as (kind, left, right).
nb::list arrivals_at(nb::list roots, nb::list grads, nb::list inputs) {
  BackwardRequest r;
  r.retain_graph = true;
  r.accumulate = false;
  for (size_t i = 0; i < nb::len(roots); ++i) {
    r.roots.push_back(place_of(roots[i], "a root").edge);
    r.grads.push_back(to_tensor(grads[i], "a gradient"));
  }
  for (nb::handle h : inputs) r.inputs.push_back(place_of(h, "an input").edge);
  Arrivals arrivals(r.inputs.size());
  r.arrivals = &arrivals;
  run_backward(r);
  nb::list found;
  for (const auto& at : arrivals) {
    nb::list row;
    for (const Arrival& a : at) {
      if (a.whole)
        row.append(nb::steal(wrap(a.whole)));
      else
        row.append(
            nb::make_tuple(int(a.deferred.kind), nb::steal(wrap(a.deferred.left)), nb::steal(wrap(a.deferred.right))));
    }
    found.append(row);
  }
  return found;
}

}  // namespace

PyObject* wrap_node(const Ref<Node>& n) {
  if (!n) Py_RETURN_NONE;
  if (n->pyobj) {
    auto* o = static_cast<PyObject*>(n->pyobj);
    Py_INCREF(o);
    return o;
  }
  auto* o = PyObject_GC_New(PyNode, node_type_of(*n));
  if (!o) throw PythonError();
  o->node = n.get();
  ++n->refs;
  n->pyobj = o;
  PyObject_GC_Track(o);
  return (PyObject*)o;
}

void bind_autograd(nb::module_& m) {
  NodeType = (PyTypeObject*)PyType_FromSpec(&node_spec);
  m.attr("Node") = nb::handle((PyObject*)NodeType);
  bind_hooks(m);
  m.def("_function_record", function_record);
  define_observed(m, "_run_backward", run_backward_from_python, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
                  nb::arg().none(), nb::arg(), nb::arg());
  m.def("_arrivals_at", arrivals_at);
  m.def("_call_of", call_of);
  m.def("_grad_enabled", [] { return t_modes.grad; });
  m.def("_set_grad_enabled", [](bool on) { return std::exchange(t_modes.grad, on); });
  m.def("_inference_mode", [] { return t_modes.inference; });
  m.def("_set_inference_mode", [](bool on) { return std::exchange(t_modes.inference, on); });
  m.def("_anomaly", [] { return t_modes.anomaly; });
  m.def("_set_anomaly", [](bool on, bool check_nan) {
    bool before_on = std::exchange(t_modes.anomaly, on), before_nan = std::exchange(t_modes.anomaly_nan, check_nan);
    return nb::make_tuple(before_on, before_nan);
  });
  bind_nan(m);
  m.def("_push_saved_hooks", [](nb::object pack, nb::object unpack) {
    t_saved_hooks.push_back({pack, unpack});
    ++g_saved_hooks;
  });
  m.def("_pop_saved_hooks", [] {
    if (t_saved_hooks.empty()) return;
    t_saved_hooks.pop_back();
    --g_saved_hooks;
  });
  m.def("_has_saved_hooks", [] { return !t_saved_hooks.empty(); });
  m.def("_increment_version", [](Tensor t) { t->storage->touch(); });
  // Whether gradients flow through it. (`requires_grad` of a view that was made under no_grad is that of its base.)
  m.def("_wants_grad", [](Tensor t) { return wants_grad(*t.get()); });
}

}  // namespace weft
