#include "bind/replay_back.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "ops/api.h"
#include "ops/record.h"

namespace weft {
namespace {

constexpr uint64_t kMostNodes = uint64_t(1) << 20;  // of a call that is unfolded

class CompiledNode final : public Node {
 public:
  static Ref<Node> make(const Ref<CompiledBack>& how, PyObject* ways, CompiledCall call) {
    uint32_t n = uint32_t(call.leaves.size()), room = std::max(n, uint32_t(how->outputs.size()));
    char* block = static_cast<char*>(pool_allocate(sizeof(CompiledNode) + sizeof(Edge) * room));
    auto* node = new (block) CompiledNode(how, ways);
    node->room_ = room;
    node->edges = reinterpret_cast<Edge*>(block + sizeof(CompiledNode));
    node->edge_count = n;
    for (uint32_t i = 0; i < n; ++i) new (node->edges + i) Edge(gradient_edge(*call.leaves[i].get()));
    node->outputs = uint32_t(how->outputs.size());
    node->first_ = reserve(kMostNodes);
    node->renumber();
    node->origin = Origin::here();
    node->kept_.reserve(call.kept.size());
    for (const Tensor& t : call.kept) node->kept_.push_back({t, t->storage->version});
    node->inputs_ = std::move(call.inputs);
    node->read_.reserve(node->inputs_.size() + how->outside.size());
    node->each_read([&](const Tensor& t) { node->read_.push_back(Mark(t)); });
    return Ref<Node>(node);
  }
  CompiledNode(const Ref<CompiledBack>& how, PyObject* ways) : how_(how), ways_(ways) { Py_INCREF(ways_); }
  ~CompiledNode() override { Py_DECREF(ways_); }

  std::string name() const override { return "CompiledBackward0"; }
  size_t bytes() const override { return sizeof(CompiledNode) + sizeof(Edge) * room_; }
  bool released() const override { return freed_; }
  void release() override {
    kept_.clear();
    inputs_.clear();
    freed_ = true;
  }
  std::vector<std::pair<std::string, Tensor>> saved() override {
    if (freed_) fail_freed(*this);
    std::vector<std::pair<std::string, Tensor>> found;
    for (size_t i = 0; i < kept_.size(); ++i) found.emplace_back(std::to_string(i), kept_[i].first);
    return found;
  }
  void visit_owned(OwnedVisitor& v) override {
    Node::visit_owned(v);
    v.object(ways_);
    for (auto& k : kept_) v.tensor(k.first.get());
    for (auto& t : inputs_) v.tensor(t.get());
  }

  // Gradients that have a graph need one to go along: the function runs once more, and leaves its nodes.
  bool unfold() override {
    if (passes) return false;
    if (freed_) fail_freed(*this);
    size_t at = 0;
    each_read([&](const Tensor& t) {
      if (!(Mark(t) == read_[at++])) fail_changed(t);
    });
    nb::list inputs;
    for (const Tensor& t : inputs_) inputs.append(nb::steal(wrap(t)));
    uint64_t since = reserve(0);
    nb::object made = nb::steal(PyObject_CallMethod(ways_, "again", "O", inputs.ptr()));
    if (!made.is_valid()) throw PythonError();
    if (passes) return true;  // another thread was quicker
    std::vector<Edge> next;
    for (uint32_t i = 0; i < outputs; ++i) next.push_back(gradient_edge(*to_tensor(made[i], "a result").get()));
    put_in_place(next, since);
    lead_to(next);
    passes = true;
    kept_.clear();
    inputs_.clear();
    return true;
  }

  Grads apply(Grads&& grads, bool create_graph) override {
    if (freed_) fail_freed(*this);
    if (passes) return std::move(grads);
    if (create_graph) fail("a compiled call", origin.at(), " was not unfolded");
    std::vector<Tensor> inputs;
    size_t which = 0;
    for (size_t i = 0; i < how_->outputs.size(); ++i) {
      if (!grads[i]) continue;
      which |= size_t(1) << i;
      inputs.push_back(contiguous_of(grads[i]));
    }
    if (!which) return Grads(edge_count);
    --which;
    for (size_t i = 0; i < kept_.size(); ++i) {
      const auto& [t, version] = kept_[i];
      if (t->storage->version != version) fail_changed(t);
      if (i < how_->saved) inputs.push_back(t);
    }
    if (!how_->programs[which]) {
      std::shared_ptr<Program> made = built(which);
      if (!how_->programs[which]) how_->programs[which] = std::move(made);  // or another thread was quicker
    }
    std::shared_ptr<Program> kept = how_->programs[which];
    Program& program = *kept;
    while (program.running()) g_let_others_run();
    if (!program.fits(inputs))
      fail("a tensor that a compiled function read", origin.at(), " has got other memory before its backward pass");
    std::vector<Tensor> made = program.run(inputs);
    Grads results(edge_count);
    for (uint32_t i = 0; i < edge_count; ++i) {
      const PartOfGradient& part = how_->gradients[which][i];
      if (part.left < 0 || !is_wanted(edges[i])) continue;
      const Tensor& left = made[size_t(part.left)];
      results[i] = part.right < 0 ? left : joined(edges[i], {part.kind, left, made[size_t(part.right)]});
    }
    return results;
  }

 private:
  static bool is_wanted(const Edge& e) {
    return e.node && (!t_visitor || !t_visitor->needed || t_visitor->needed->count(e.node.get()));
  }

  // The gradient of a leaf, or nothing if the walk joins its share with others.
  static Tensor joined(const Edge& e, const Share& share) {
    const Dims& sizes = e.node->leaf()->sizes;
    return t_visitor && t_visitor->takes(e, share, sizes) ? Tensor() : value_of(share, sizes);
  }

  // A tensor as it was during the call: it must be that when it is read again.
  struct Mark {
    explicit Mark(const Tensor& t) : storage(t->storage), version(storage ? storage->version : 0) {}
    bool operator==(const Mark& o) const { return storage.get() == o.storage.get() && version == o.version; }
    Ref<Storage> storage;  // kept, so that no other one gets its address
    uint32_t version;
  };

  template <class F>
  void each_read(const F& f) const {
    for (const Tensor& t : inputs_) f(t);
    for (const Tensor& t : how_->outside) f(t);
  }

  [[noreturn]] void fail_changed(const Tensor& t) const {
    fail("one of the variables needed for gradient computation has been modified by an inplace operation: a tensor ",
         "of shape ", t.sizes(), " that a compiled function read", origin.at(), " was changed in place",
         t->storage->changed.at());
  }

  std::shared_ptr<Program> built(size_t which) {
    nb::list saved;
    for (size_t i = 0; i < how_->saved; ++i) saved.append(nb::steal(wrap(kept_[i].first)));
    nb::object made = nb::steal(PyObject_CallMethod(ways_, "build", "nO", Py_ssize_t(which + 1), saved.ptr()));
    if (!made.is_valid()) throw PythonError();
    return nb::cast<std::shared_ptr<Program>>(made);
  }

  // The nodes that were made since a number was the last, down from these edges: they get numbers that were reserved
  // for them, as if they had been made by the call.
  void put_in_place(const std::vector<Edge>& from, uint64_t since) {
    std::vector<Node*> made;
    std::unordered_set<Node*> seen;
    auto find = [&](const Edge& e) {
      Node* n = e.node.get();
      if (n && n->sequence > since && seen.insert(n).second) made.push_back(n);
    };
    for (const Edge& e : from) find(e);
    for (size_t at = 0; at < made.size(); ++at)
      for (uint32_t i = 0; i < made[at]->edge_count; ++i) find(made[at]->edges[i]);
    if (made.size() >= kMostNodes) fail("a compiled call of more than ", kMostNodes, " ops has no second derivative");
    std::sort(made.begin(), made.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
    for (size_t i = 0; i < made.size(); ++i) made[i]->sequence = first_ + 1 + i;
  }

  void lead_to(const std::vector<Edge>& next) {
    for (uint32_t i = 0; i < edge_count; ++i) edges[i].~Edge();
    edge_count = outputs;
    for (uint32_t i = 0; i < edge_count; ++i) new (edges + i) Edge(next[i]);
  }

  Ref<CompiledBack> how_;
  PyObject* ways_;
  std::vector<std::pair<Tensor, uint32_t>> kept_;  // with the version that they must have
  std::vector<Tensor> inputs_;
  std::vector<Mark> read_;  // the inputs, then what is outside
  uint32_t room_ = 0;       // for edges: to the leaves, or to the results of the call once it is unfolded
  uint64_t first_ = 0;      // after it come the numbers of the nodes that it stands for
  bool freed_ = false;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<WayBack>(self)->ways());
  return 0;
}
int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<WayBack>(self)->drop_ways();
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, (void*)traverse}, {Py_tp_clear, (void*)clear}, {}};

}  // namespace

bool CompiledBack::stale() const {
  for (const auto& p : programs)
    if (p && !p->running() && p->stale()) return true;
  return false;
}

WayBack::WayBack(nb::object ways, const std::vector<std::vector<Part>>& gradients, size_t saved, nb::list watched,
                 nb::list outside)
    : ways_(std::move(ways)), back_(new CompiledBack) {
  back_->programs.resize(gradients.size());
  for (const auto& row : gradients) {
    auto& parts = back_->gradients.emplace_back();
    for (const auto& [kind, left, right] : row)
      parts.push_back({left, right, kind < 0 ? Share::product : Share::Kind(kind)});
  }
  back_->saved = saved;
  for (nb::handle o : outside) back_->outside.push_back(to_tensor(o, "a tensor"));
  for (nb::handle o : watched) watched_.push_back(to_tensor(o, "a tensor"));
}

void WayBack::record(CompiledCall call) {
  if (back_->outputs.empty() || back_->stale()) {
    auto next = Ref<CompiledBack>(new CompiledBack);  // nodes of earlier calls keep theirs
    next->gradients = back_->gradients;
    next->programs.resize(next->gradients.size());
    next->saved = back_->saved;
    next->outside = back_->outside;
    for (const Tensor& t : call.outputs) next->outputs.push_back({t.sizes(), t.dtype()});
    back_ = std::move(next);
  }
  for (const Tensor& t : watched_) call.kept.push_back(t);
  std::vector<Tensor> outputs = std::move(call.outputs);
  Ref<Node> node = CompiledNode::make(back_, ways_.ptr(), std::move(call));
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->set_history(node, uint32_t(i));
}

void bind_way_back(nb::module_& m) {
  nb::class_<WayBack>(m, "WayBack", nb::type_slots(slots), "How gradients go back through calls of one kind.")
      .def(nb::init<nb::object, const std::vector<std::vector<WayBack::Part>>&, size_t, nb::list, nb::list>())
      .def("record", [](WayBack& way, nb::list inputs, nb::list leaves, nb::list saved, nb::list outputs) {
        auto tensors = [](nb::list given) {
          std::vector<Tensor> found;
          for (nb::handle o : given) found.push_back(to_tensor(o, "a tensor"));
          return found;
        };
        way.record({tensors(inputs), tensors(leaves), tensors(saved), tensors(outputs)});
      });
}

}  // namespace weft
