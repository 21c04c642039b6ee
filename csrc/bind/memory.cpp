// What tensors and nodes own, as a table that Python reads: weft/debug/memory_graph.py.
#include "bind/memory.h"

#include <unordered_map>
#include <variant>
#include <vector>

#include "bind/hooks.h"
#include "core/free_blocks.h"

namespace weft {
namespace {

// All that is owned by some tensors and nodes, directly or by way of others. It holds a count of each, so that nothing
// is freed while objects are made of it.
class OwnedGraph final : OwnedVisitor {
 public:
  size_t add_root(PyObject* o) {
    if (is_tensor(o)) return number(impl_of(o));
    if (PyObject_TypeCheck(o, NodeType)) return number(&node_of(o));
    throw nb::type_error("_owned_graph: takes tensors and nodes");
  }

  void walk() {
    for (next_ = 0; next_ < things_.size(); ++next_) {
      if (auto* t = std::get_if<Ref<TensorImpl>>(&things_[next_].what)) {
        Ref<TensorImpl> held = *t;  // things_ grows
        held->visit_owned(*this);
        if (held->storage)
          if (auto* entries = dynamic_cast<Entries*>(held->storage->attached.get())) {
            tensor(entries->indices.get());
            tensor(entries->values.get());
          }
      } else if (auto* n = std::get_if<Ref<Node>>(&things_[next_].what)) {
        Ref<Node> held = *n;
        held->visit_owned(*this);
      }
    }
  }

  // ([(kind, object, numbers of what it owns, Python objects that it owns, facts)], [storages], [numbers of roots]).
  nb::object read(nb::list roots) {
    nb::list all;
    for (Thing& thing : things_) all.append(std::visit([&](auto& what) { return describe(thing, *what); }, thing.what));
    return nb::make_tuple(all, storages_, roots);
  }

 private:
  struct Thing {
    std::variant<Ref<TensorImpl>, Ref<Node>, Ref<Opaque>, Ref<Hook>> what;
    std::vector<size_t> owned;
    std::vector<nb::object> objects;
  };

  template <class T>
  size_t number(T* p) {
    auto [it, is_new] = numbers_.try_emplace(p, things_.size());
    if (is_new) things_.push_back({Ref<T>(p), {}, {}});
    return it->second;
  }
  template <class T>
  size_t found(T* p) {
    size_t i = number(p);
    if (next_ != kNone) things_[next_].owned.push_back(i);
    return i;
  }

  void on_tensor(TensorImpl* t) override { found(t); }
  void on_node(Node* n) override { found(n); }
  void on_hook(Hook* h) override {
    size_t i = found(h);
    auto* hook = static_cast<PyHook*>(h);
    if (hook->callable && things_[i].objects.empty()) things_[i].objects.push_back(nb::borrow(hook->callable));
  }
  void on_opaque(Opaque* o) override {
    size_t i = found(o);
    auto* packed = dynamic_cast<Packed*>(o);
    if (packed && things_[i].objects.empty()) things_[i].objects = {packed->object, packed->unpack};
  }
  void on_object(void* o) override { things_[next_].objects.push_back(nb::borrow(static_cast<PyObject*>(o))); }

  nb::object row(const char* kind, nb::object object, const Thing& thing, nb::object facts) {
    nb::list owned, objects;
    for (size_t i : thing.owned) owned.append(i);
    for (const nb::object& o : thing.objects) objects.append(o);
    return nb::make_tuple(shared_text(kind), object, owned, objects, facts);
  }
  nb::object describe(const Thing& thing, TensorImpl& t) {
    nb::object object = t.pyobj ? nb::steal(wrap(Tensor(&t))) : nb::none();
    int64_t grad = t.grad ? int64_t(numbers_.at(t.grad.get())) : -1,
            made_by = t.grad_fn ? int64_t(numbers_.at(t.grad_fn.get())) : -1;
    return row("tensor", object, thing,
               nb::make_tuple(storage(t.storage.get()), grad, made_by, nb::steal(wrap_dtype(t.dtype)),
                              nb::steal(wrap_size(t.sizes))));
  }
  nb::object describe(const Thing& thing, Node& n) {
    interpreter::Location at;
    if (n.origin.code()) at = interpreter::locate(n.origin.code(), n.origin.instruction(), n.origin.module());
    return row("node", nb::none(), thing,
               nb::make_tuple(shared_text(n.name()), shared_text(at.file), at.line, shared_text(at.function),
                              shared_text(at.module), n.sequence, n.bytes()));
  }
  nb::object describe(const Thing& thing, Opaque&) { return row("kept", nb::none(), thing, nb::none()); }
  nb::object describe(const Thing& thing, Hook&) { return row("hook", nb::none(), thing, nb::none()); }

  // The number of a storage, or -1: (address of its data, bytes that were asked for, bytes of its block or 0 where the
  // memory is someone else's).
  int64_t storage(Storage* s) {
    if (!s) return -1;
    auto [it, is_new] = storage_numbers_.try_emplace(s, storage_numbers_.size());
    if (is_new) storages_.append(nb::make_tuple(uint64_t(uintptr_t(s->data)), s->bytes, s->block));
    return int64_t(it->second);
  }

  static constexpr size_t kNone = SIZE_MAX;
  size_t next_ = kNone;  // whose belongings are visited; none while roots are added
  std::vector<Thing> things_;
  std::unordered_map<void*, size_t> numbers_;
  std::unordered_map<Storage*, size_t> storage_numbers_;
  nb::list storages_;
};

nb::object owned_graph(nb::list roots) {
  OwnedGraph graph;
  nb::list numbers;
  for (nb::handle o : roots) numbers.append(graph.add_root(o.ptr()));
  graph.walk();
  return graph.read(numbers);
}

}  // namespace

void bind_memory(nb::module_& m) {
  m.def("_show_all_to_collector", show_all_to_collector);
  m.def("_owned_graph", owned_graph);
  m.def("_free_blocks", [] {
    nb::list all;
    for (const FreeBlocks& b : free_blocks()) all.append(nb::make_tuple(b.bytes, b.count));
    return all;
  });
}

}  // namespace weft
