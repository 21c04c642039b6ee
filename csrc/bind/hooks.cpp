#include "bind/hooks.h"

#include <unordered_map>

#include "tape/backward.h"

namespace weft {

HookHandle add_hook(Hooks& hooks, nb::handle f, const char* what, int slot) {
  if (!PyCallable_Check(f.ptr())) fail_type(what, ": expected a callable, got ", Py_TYPE(f.ptr())->tp_name);
  std::erase_if(hooks, [](const Ref<Hook>& h) { return h->removed; });
  auto* hook = new PyHook(f.ptr(), slot);
  hooks.push_back(Ref<Hook>(hook));
  return {hook->ticket};
}

nb::object tuple_of(const Grads& grads) {
  PyObject* t = PyTuple_New(Py_ssize_t(grads.size()));
  for (size_t i = 0; i < grads.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), wrap(grads[i]));
  return nb::steal(t);
}

void replace_grads(Grads& grads, nb::handle r, const char* what) {
  if (r.is_none()) return;
  nb::object items = is_tensor(r.ptr()) ? nb::object(nb::make_tuple(r)) : nb::borrow(r);
  if (!PyTuple_Check(items.ptr()) && !PyList_Check(items.ptr()))
    fail_type(what, " must return a Tensor, a tuple or None");
  if (size_t(PySequence_Size(items.ptr())) != grads.size())
    fail(what, " returned ", PySequence_Size(items.ptr()), " gradients, expected ", grads.size());
  for (size_t i = 0; i < grads.size(); ++i) {
    nb::object item = nb::steal(PySequence_GetItem(items.ptr(), Py_ssize_t(i)));
    grads[i] = item.is_none() ? Tensor() : to_tensor(item, "a gradient");
  }
}

namespace {

nb::object call_hook(Hook& hook, nb::handle a, nb::handle b = {}) {
  nb::object f = nb::borrow(static_cast<PyHook&>(hook).callable);  // it may remove itself
  nb::object r = nb::steal(PyObject_CallFunctionObjArgs(f.ptr(), a.ptr(), b.ptr(), nullptr));
  if (!r.is_valid()) throw PythonError();
  return r;
}

void on_tensor(Hook& hook, Tensor& grad) {
  if (!grad) return;
  nb::object r = call_hook(hook, nb::steal(wrap(grad)));
  if (r.is_none()) return;
  Tensor t = to_tensor(r, "the gradient that a hook returns");
  if (!(t.sizes() == grad.sizes()))
    fail("hook: the gradient it returned has shape ", t.sizes(), ", expected ", grad.sizes());
  if (t.dtype() != grad.dtype())
    fail("hook: the gradient it returned has dtype ", name_of(t.dtype()), ", expected ", name_of(grad.dtype()));
  grad = t;
}

void before_node(Hook& hook, Grads& grads) {
  if (int slot = static_cast<PyHook&>(hook).slot; slot >= 0) return on_tensor(hook, grads[size_t(slot)]);
  replace_grads(grads, call_hook(hook, tuple_of(grads)), "a node's pre-hook");
}
void after_node(Hook& hook, Grads& results, const Grads& grads) {
  replace_grads(results, call_hook(hook, tuple_of(results), tuple_of(grads)), "a node's hook");
}
void after_accumulate(Hook& hook, const Tensor& leaf) { call_hook(hook, nb::steal(wrap(leaf))); }

// ---- garbage
//
// Python's collector frees cycles of Python objects, and a cycle may lead through the graph: a tensor's node holds a
// hook, whose closure holds the tensor. So a tensor or node object shows the collector every Python object that it
// alone keeps alive: what hangs on natives whose every owner was met on the way from it.

class Owned final : OwnedVisitor {
 public:
  // `by_object`: the Python object owns a count of the native one (else it is the other way round).
  template <class T>
  Owned(T* root, bool by_object) : root_(root), met_root_(by_object) {
    root->visit_owned(*this);
    drain();
    alone_ = met_root_ == root->refs;
  }
  bool alone() const { return alone_; }  // nothing outside keeps the root alive
  int visit(visitproc f, void* arg) const {
    if (alone_)
      for (PyObject* o : objects_)
        if (int stop = f(o, arg)) return stop;
    return 0;
  }

 private:
  static constexpr int kMost = 20000;  // natives looked at in one walk: the collector comes by often

  template <class T>
  bool all_owners_met(T* p) {
    if (p == root_) {  // as the history of a leaf's own grad, under create_graph, leads back to the leaf
      ++met_root_;
      return false;
    }
    return p->refs == 1 || ++met_[p] == p->refs;
  }
  void tensor(TensorImpl* t) override {
    if (all_owners_met(t)) tensors_.push_back(t);
  }
  void node(Node* n) override {
    if (all_owners_met(n)) nodes_.push_back(n);
  }
  void hook(Hook* h) override {
    if (all_owners_met(h)) object(static_cast<PyHook*>(h)->callable);
  }
  void opaque(Opaque* o) override {
    if (!all_owners_met(o)) return;
    if (auto* packed = dynamic_cast<Packed*>(o)) {
      object(packed->object.ptr());
      object(packed->unpack.ptr());
    }
  }
  void object(void* o) override {
    if (o) objects_.push_back(static_cast<PyObject*>(o));
  }

  void drain() {
    for (int i = 0; i < kMost; ++i) {
      if (!tensors_.empty()) {
        TensorImpl* t = tensors_.back();
        tensors_.pop_back();
        t->visit_owned(*this);
      } else if (!nodes_.empty()) {
        Node* n = nodes_.back();
        nodes_.pop_back();
        n->visit_owned(*this);
      } else {
        return;
      }
    }
  }

  void* root_;
  uint32_t met_root_;
  bool alone_;
  std::unordered_map<void*, uint32_t> met_;
  std::vector<TensorImpl*> tensors_;
  std::vector<Node*> nodes_;
  std::vector<PyObject*> objects_;
};

}  // namespace

// Tensors are shown to the collector once they can be part of a cycle: when they get attributes, hooks, or a history in
// Python.
void track(void* o) {
  if (o && !PyObject_GC_IsTracked(static_cast<PyObject*>(o))) PyObject_GC_Track(o);
}

int traverse_owned(Node* n, visitproc visit, void* arg) { return Owned(n, true).visit(visit, arg); }
bool owns_alone(Node* n) { return Owned(n, true).alone(); }

namespace {

PyTensor* as_tensor(PyObject* o) { return reinterpret_cast<PyTensor*>(o); }

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  PyTensor* o = as_tensor(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  return o->impl ? Owned(o->impl, !o->impl->pinned_pyobj).visit(visit, arg) : 0;
}

int tensor_clear(PyObject* self) {
  PyTensor* o = as_tensor(self);
  if (o->impl && Owned(o->impl, !o->impl->pinned_pyobj).alone()) {
    Tensor held(o->impl);
    Ref<Node> made_by = std::move(held->grad_fn);
    Ref<TensorImpl> grad = std::move(held->grad);
    if (held->extra) Hooks gone = std::move(held->extra->hooks), gone_too = std::move(held->extra->after_accumulate);
  }
  Py_CLEAR(o->dict);
  return 0;
}

// Python lets go of an object that the graph still holds. One with state of its own, or whose tensor may be in a cycle
// that only the collector can find, stays, owned by its tensor. (A finalizer does the same, but Python calls one only
// once.)
destructor g_dealloc = nullptr, g_finalize = nullptr;
void tensor_dealloc(PyObject* self) {
  PyTensor* o = as_tensor(self);
  TensorImpl* t = o->impl;
  bool state = Py_TYPE(self) != TensorType || (t && t->grad && t->grad->grad_fn);
  if (state && t && t->refs > 1 && t->pyobj == o && !t->pinned_pyobj) {
    t->pinned_pyobj = true;
    --t->refs;
    Py_SET_REFCNT(self, 1);
    track(self);
    return;
  }
  g_dealloc(self);
}
void tensor_finalize(PyObject* self) {
  TensorImpl* t = as_tensor(self)->impl;
  if (t && !t->pinned_pyobj) g_finalize(self);
}

int tensor_setattr(PyObject* self, PyObject* name, PyObject* value) {
  if (PyObject_GenericSetAttr(self, name, value) < 0) return -1;
  if (as_tensor(self)->dict) {
    track(self);
    if (value && is_tensor(value)) track(value);
  }
  return 0;
}

HookHandle on_gradient(Tensor t, nb::handle f) {
  if (!wants_grad(*t.get())) fail("register_hook: cannot register a hook on a tensor that doesn't require gradient");
  track(t->pyobj);
  if (t.is_leaf()) return add_hook(t->more().hooks, f, "register_hook");
  return add_hook(t->grad_fn->more_hooks().before, f, "register_hook", int(t->slot));
}
HookHandle on_accumulated(Tensor t, nb::handle f) {
  if (!wants_grad(*t.get())) fail("register_post_accumulate_grad_hook: the tensor does not require gradient");
  if (!t.is_leaf()) fail("post accumulate grad hooks cannot be registered on non-leaf tensors");
  track(t->pyobj);
  return add_hook(t->more().after_accumulate, f, "register_post_accumulate_grad_hook");
}

}  // namespace

void bind_hooks(nb::module_& m) {
  TensorType->tp_traverse = tensor_traverse;
  TensorType->tp_clear = tensor_clear;
  g_dealloc = std::exchange(TensorType->tp_dealloc, tensor_dealloc);
  g_finalize = std::exchange(TensorType->tp_finalize, tensor_finalize);
  TensorType->tp_setattro = tensor_setattr;
  PyType_Modified(TensorType);
  g_hooks = {on_tensor, after_accumulate, before_node, after_node};
  nb::class_<HookHandle>(m, "RemovableHandle")
      .def("remove", &HookHandle::remove, "Takes the hook away.")
      .def_prop_ro("id", [](HookHandle& h) { return h.ticket->id; })
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](HookHandle& h, nb::args) { h.remove(); });
  m.def("_register_hook", on_gradient);
  m.def("_register_post_accumulate_grad_hook", on_accumulated);
}

}  // namespace weft
