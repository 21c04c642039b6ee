// The Python objects of tensors: made, kept by the graph, shown to Python's collector, freed.
#include "bind/life.h"

#include <unordered_map>

#include "bind/hooks.h"
#include "bind/memory.h"

namespace weft {
namespace {

PyTensor* as_tensor(PyObject* o) { return reinterpret_cast<PyTensor*>(o); }

// ---- objects that the collector does not know yet
//
// Telling the collector of every tensor would cost each op time, and more collections. So a new object only joins this
// list, and when a collection of older objects begins, those that are still alive are shown to the collector.

PyTensor g_unknown = {{}, nullptr, nullptr, nullptr, &g_unknown, &g_unknown};

void join_unknown(PyTensor* o) {
  o->older = g_unknown.older;
  o->newer = &g_unknown;
  o->older->newer = g_unknown.older = o;
}
void leave_unknown(PyTensor* o) {
  if (!o->newer) return;
  o->older->newer = o->newer;
  o->newer->older = o->older;
  o->newer = o->older = nullptr;
}

bool g_collecting_all = false;  // a full collection runs: it may take its time

PyObject* before_collection(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyObject* generation = n == 2 && PyDict_Check(args[1]) ? PyDict_GetItemString(args[1], "generation") : nullptr;
  g_collecting_all = generation && PyLong_AsLong(generation) == 2 &&
                     PyUnicode_CompareWithASCIIString(args[0], "start") == 0;
  if (generation && PyLong_AsLong(generation) > 0 && PyUnicode_CompareWithASCIIString(args[0], "start") == 0)
    show_all_to_collector();
  Py_RETURN_NONE;
}
PyMethodDef g_before_collection = {"before_collection", (PyCFunction)(void (*)())before_collection, METH_FASTCALL,
                                   "Shows the collector the tensors that it does not know yet."};

// ---- what an object keeps alive
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
  static constexpr int64_t kMost = 20000;  // natives looked at in one walk, unless all generations are collected

  template <class T>
  bool all_owners_met(T* p) {
    if (p == root_) {  // as the history of a leaf's own grad, under create_graph, leads back to the leaf
      ++met_root_;
      return false;
    }
    return p->refs == 1 || ++met_[p] == p->refs;
  }
  void on_tensor(TensorImpl* t) override {
    if (all_owners_met(t)) tensors_.push_back(t);
  }
  void on_node(Node* n) override {
    if (all_owners_met(n)) nodes_.push_back(n);
  }
  void on_hook(Hook* h) override {
    if (all_owners_met(h)) object(static_cast<PyHook*>(h)->callable);
  }
  void on_opaque(Opaque* o) override {
    if (!all_owners_met(o)) return;
    if (auto* packed = dynamic_cast<Packed*>(o)) {
      object(packed->object.ptr());
      object(packed->unpack.ptr());
    }
  }
  void on_object(void* o) override { objects_.push_back(static_cast<PyObject*>(o)); }

  void drain() {
    for (int64_t i = 0; i < kMost || g_collecting_all; ++i) {
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

// ---- from making to freeing

constexpr int kSpare = 256;
PyTensor* g_spare[kSpare];  // objects of the exact type, ready for reuse
int g_spares = 0;

PyObject* new_object(TensorImpl* impl) {
  PyTensor* o;
  if (g_spares) {
    o = g_spare[--g_spares];
    PyObject_Init((PyObject*)o, TensorType);
  } else {
    o = PyObject_GC_New(PyTensor, TensorType);
    if (!o) throw PythonError();
  }
  o->impl = impl;
  o->dict = nullptr;
  o->weakrefs = nullptr;
  join_unknown(o);
  ++impl->refs;
  impl->pyobj = o;
  return (PyObject*)o;
}

// Python lets go of an object that the graph still holds. One with state of its own, or whose tensor may be in a cycle
// that only the collector can find, stays, owned by its tensor.
bool stay_for_graph(PyTensor* o) {
  TensorImpl* t = o->impl;
  if (!t || t->refs <= 1 || t->pyobj != o || t->pinned_pyobj) return false;
  bool state = Py_TYPE(o) != TensorType || o->dict || (t->grad && t->grad->grad_fn);
  if (!state) return false;
  t->pinned_pyobj = true;
  --t->refs;
  return true;
}

void drop_impl(PyTensor* o) {
  TensorImpl* impl = std::exchange(o->impl, nullptr);
  if (!impl) return;
  impl->pyobj = nullptr;
  if (--impl->refs == 0) impl->destroy();
}

}  // namespace

void tensor_dealloc(PyObject* self) {
  PyTensor* o = as_tensor(self);
  if (stay_for_graph(o)) {
    Py_SET_REFCNT(self, 1);
    track(self);
    return;
  }
  leave_unknown(o);
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  drop_impl(o);
  Py_CLEAR(o->dict);
  PyTypeObject* type = Py_TYPE(self);
  if (type != TensorType)
    type->tp_free(self);
  else if (g_spares < kSpare)
    g_spare[g_spares++] = o;
  else
    PyObject_GC_Del(self);
  Py_DECREF(type);
}

void tensor_finalize(PyObject* self) {  // for subclasses: called by Python's own dealloc
  if (!stay_for_graph(as_tensor(self))) return;
  Py_INCREF(self);
  auto* head = reinterpret_cast<uintptr_t*>(self) - 2;  // the collector's header: let the finalizer run again later
  head[1] &= ~uintptr_t(1);
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  PyTensor* o = as_tensor(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  TensorImpl* t = o->impl;
  if (!t || (!t->grad_fn && !t->grad && !t->base && !t->extra)) return 0;
  return Owned(t, !t->pinned_pyobj).visit(visit, arg);
}

int tensor_clear(PyObject* self) {
  PyTensor* o = as_tensor(self);
  if (o->impl && Owned(o->impl, !o->impl->pinned_pyobj).alone()) {
    Tensor held(o->impl);
    held->retain_grad(false);
    Ref<Node> made_by = std::move(held->grad_fn);
    Ref<TensorImpl> grad = std::move(held->grad);
    if (held->extra) Hooks gone = std::move(held->extra->hooks), gone_too = std::move(held->extra->after_accumulate);
  }
  Py_CLEAR(o->dict);
  return 0;
}

int tensor_setattr(PyObject* self, PyObject* name, PyObject* value) {
  if (PyObject_GenericSetAttr(self, name, value) < 0) return -1;
  if (as_tensor(self)->dict) {
    track(self);
    if (value && is_tensor(value)) track(value);
  }
  return 0;
}

void track(void* o) {
  if (!o) return;
  leave_unknown(static_cast<PyTensor*>(o));
  if (!PyObject_GC_IsTracked(static_cast<PyObject*>(o))) PyObject_GC_Track(o);
}

void show_all_to_collector() {
  while (g_unknown.newer != &g_unknown) track(g_unknown.newer);
}

int traverse_owned(Node* n, visitproc visit, void* arg) { return Owned(n, true).visit(visit, arg); }
bool owns_alone(Node* n) { return Owned(n, true).alone(); }

PyObject* wrap(const Tensor& t) {
  if (!t) Py_RETURN_NONE;
  TensorImpl* impl = t.get();
  if (!impl->pyobj) return new_object(impl);
  auto* o = static_cast<PyObject*>(impl->pyobj);
  if (impl->pinned_pyobj) {  // Python owns the object again, and the object the tensor
    impl->pinned_pyobj = false;
    ++impl->refs;
    return o;
  }
  Py_INCREF(o);
  return o;
}

PyObject* wrap_as(const Tensor& t, PyTypeObject* type) {
  if (type == TensorType) return wrap(t);
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw PythonError();
  as_tensor(o)->impl = t.get();
  ++t->refs;
  t->pyobj = o;
  return o;
}

void bind_life() {
  nb::object callbacks = nb::module_::import_("gc").attr("callbacks");
  callbacks.attr("append")(nb::steal(PyCFunction_New(&g_before_collection, nullptr)));
}

}  // namespace weft
