#include "bind/replay_backward.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "bind/hooks.h"
#include "core/fork.h"
#include "ops/api.h"
#include "ops/recording.h"
#include "tape/nodes.h"

namespace weft {
namespace {

constexpr uint64_t kMostNodes = uint64_t(1) << 20;  // of a call that is unfolded
constexpr size_t kMostPrograms = 64;                // that are kept as programs

Bits bits_of(const nb::bytes& b) { return Bits(std::string_view(b.c_str(), b.size())); }
std::vector<Bits> bits_of(const std::vector<nb::bytes>& all) {
  std::vector<Bits> found;
  for (const nb::bytes& b : all) found.push_back(bits_of(b));
  return found;
}

// The graph that an eager call leaves, from its results to what it was given.
class GraphOfCall {
 public:
  // `numbers`: which leaf each of the edges `to` leads to.
  GraphOfCall(const std::vector<Edge>& from, const std::vector<Edge>& to, const std::vector<size_t>& numbers,
              size_t leaves)
      : leaves_(leaves) {
    for (size_t i = 0; i < to.size(); ++i) {
      ends_.insert(to[i].node.get());
      at(to[i].node.get()).leaves.add(numbers[i]);
    }
    std::unordered_set<Node*> found;
    auto find = [&](Node* n) {
      if (n && found.insert(n).second) order_.push_back(n);
    };
    for (size_t i = 0; i < from.size(); ++i) {
      Node* n = from[i].node.get();
      find(n);
      if (n) at(n).results |= uint64_t(1) << i;
    }
    for (size_t i = 0; i < order_.size(); ++i) each_edge(order_[i], [&](const Edge& e) { find(e.node.get()); });
    std::sort(order_.begin(), order_.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
    for (Node* n : order_) {
      Seen& s = at(n);  // which stays where it is
      each_edge(n, [&](const Edge& e) { s.leaves.add(at(e.node.get()).leaves); });
    }
    for (size_t i = order_.size(); i-- > 0;) {
      uint64_t results = at(order_[i]).results;
      each_edge(order_[i], [&](const Edge& e) { at(e.node.get()).results |= results; });
    }
  }

  // Calls f(node, results, leaves) for the nodes that keep something.
  template <class F>
  void each_part(const F& f) {
    for (Node* n : order_)
      if (!ends_.count(n) && n->keeps()) f(*n, at(n).results, at(n).leaves);
  }

  std::vector<ResultInGraph> about(const std::vector<Edge>& results) {
    std::vector<ResultInGraph> found(results.size());
    for (size_t i = 0; i < results.size(); ++i) found[i].leaves = at(results[i].node.get()).leaves;
    for (Node* n : order_)
      each_edge(n, [&](const Edge& e) {
        for (size_t i = 0; i < results.size(); ++i)
          if (results[i].node.get() == e.node.get() && results[i].slot == e.slot) found[i].others |= at(n).results;
      });
    return found;
  }

 private:
  struct Seen {
    uint64_t results = 0;
    Bits leaves;
  };
  Seen& at(Node* n) {
    auto [it, added] = seen_.try_emplace(n);
    if (added) it->second.leaves = Bits(leaves_);
    return it->second;
  }
  template <class F>
  void each_edge(Node* n, const F& f) const {
    if (ends_.count(n)) return;
    for (uint32_t e = 0; e < n->edge_count; ++e)
      if (n->edges[e].node) f(n->edges[e]);
  }

  size_t leaves_;
  std::unordered_map<Node*, Seen> seen_;
  std::unordered_set<Node*> ends_;
  std::vector<Node*> order_;  // the oldest first
};

class Spent final : public Node {
 public:
  std::string name() const override { return "CompiledBackward0"; }
  Grads apply(Grads&&, bool) override { fail_freed(*this); }
  bool released() const override { return true; }
  size_t bytes() const override { return sizeof(Spent); }
  std::vector<std::pair<std::string, Tensor>> saved() override { return {}; }
};

class CompiledNode final : public Node {
 public:
  static Ref<Node> make(const Ref<BackwardShared>& how, PyObject* path, CompiledCall call) {
    uint32_t n = uint32_t(call.leaves.size()), room = std::max(n, uint32_t(how->outputs.size()));
    char* block = static_cast<char*>(pool_allocate(sizeof(CompiledNode) + sizeof(Edge) * room));
    auto* node = new (block) CompiledNode(how, path);
    node->room_ = room;
    node->edges = reinterpret_cast<Edge*>(block + sizeof(CompiledNode));
    node->edge_count = n;
    node->folded = true;
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
  CompiledNode(const Ref<BackwardShared>& how, PyObject* path) : how_(how), path_(path) { Py_INCREF(path_); }
  ~CompiledNode() override { Py_DECREF(path_); }

  std::string name() const override { return "CompiledBackward0"; }
  size_t bytes() const override { return sizeof(CompiledNode) + sizeof(Edge) * room_; }
  bool released() const override { return !freed_.empty(); }
  bool keeps() const override { return !how_->parts.empty(); }
  void release() override {
    if (passes || touched_.empty()) return;
    freed_.resize(how_->parts.size());
    for (size_t p : touched_) freed_[p] = true;
    touched_.clear();
    let_go();
  }
  std::vector<std::pair<std::string, Tensor>> saved() override {
    std::vector<std::pair<std::string, Tensor>> found;
    for (size_t i = 0; i < kept_.size(); ++i)
      if (kept_[i].first) found.emplace_back(std::to_string(i), kept_[i].first);
    if (found.empty() && !freed_.empty()) fail_freed(*this);
    return found;
  }
  void visit_owned(OwnedVisitor& v) override {
    Node::visit_owned(v);
    v.object(path_);
    for (auto& k : kept_)
      if (k.first) v.tensor(k.first.get());
    for (auto& t : inputs_) v.tensor(t.get());
  }

  // Gradients that have a graph need one to go along: the function is recomputed eagerly, and leaves its nodes.
  bool unfold() override {
    if (passes) return false;
    if (all_spent()) fail_freed(*this);
    size_t at = 0;
    each_read([&](const Tensor& t) {
      if (!(Mark(t) == read_[at++])) fail_changed(t);
    });
    nb::list inputs;
    for (const Tensor& t : inputs_) inputs.append(nb::steal(wrap(t)));
    uint64_t since = reserve(0);
    GradMode on(true);
    nb::object made = nb::steal(PyObject_CallMethod(path_, "recompute", "O", inputs.ptr()));
    if (!made.is_valid()) throw PythonError();
    while (applying_) interpreter::let_others_run();  // other threads need its edges, and what it keeps
    if (passes) return true;                          // another thread was quicker
    std::vector<Edge> next;
    for (uint32_t i = 0; i < outputs; ++i) next.push_back(gradient_edge(*to_tensor(made[i], "a result").get()));
    put_in_place(next, since);
    free_again(next);
    lead_to(next);
    passes = true;
    folded = false;
    ++unfolded;
    kept_.clear();
    inputs_.clear();
    read_.clear();
    move_hooks();
    return true;
  }

  // The gradient of a result is more than what arrives here, if those of others go through it.
  bool look_inside(uint64_t arriving, uint64_t asked) override {
    if (hooks) {
      for (TensorImpl* t : hooks->retaining) asked |= uint64_t(1) << t->slot;
      for (const Ref<Hook>& h : hooks->before)
        if (int slot = slot_of(h); slot >= 0) asked |= uint64_t(1) << slot;
    }
    if (passes) return asked && move_hooks();
    for (size_t i = 0; i < outputs; ++i)
      if ((asked >> i & 1) && (how_->results[i].others & arriving)) return unfold();
    return false;
  }

  bool leads_to(const NodeSet& needed, uint32_t slot) const override {
    if (passes) return true;
    for (uint32_t i = 0; i < edge_count; ++i)
      if (how_->results[slot].leaves.has(how_->leaf_of[i]) && needed.count(edges[i].node.get())) return true;
    return false;
  }

  Grads apply(Grads&& grads, bool create_graph) override {
    if (passes) return std::move(grads);
    if (create_graph) fail("a compiled call", origin.at(), " was not unfolded");
    Claim applying(applying_);
    std::vector<Tensor> inputs;
    uint64_t which = 0;
    for (size_t i = 0; i < how_->outputs.size(); ++i) {
      if (!grads[i]) continue;
      which |= uint64_t(1) << i;
      inputs.push_back(in_order(grads[i]));
    }
    if (!which) return Grads(edge_count);
    Bits wanted(how_->leaves);
    for (uint32_t i = 0; i < edge_count; ++i)
      if (is_wanted(edges[i])) wanted.add(how_->leaf_of[i]);
    std::vector<size_t> touched = parts_between(which, wanted);
    std::shared_ptr<BackwardProgram> backward = program_for(which);
    for (size_t i = 0; i < kept_.size(); ++i) {
      const auto& [t, version] = kept_[i];
      if (!backward->needs[i].meets(wanted)) continue;
      if (!t) fail_freed(*this);
      if (t->storage->version != version) fail_changed(t);
    }
    for (size_t i : backward->takes) inputs.push_back(kept_or_zeros(i));
    Program& program = *backward->program;
    program.wait_for_turn();
    if (!program.fits(inputs))
      fail("a tensor that a compiled function read", origin.at(), " has got other memory before its backward pass");
    std::vector<Tensor> made = Program::Run(program)(inputs);
    Grads results(edge_count);
    for (uint32_t i = 0; i < edge_count; ++i) {
      const PartOfGradient& part = backward->gradients[i];
      if (part.left < 0 || !is_wanted(edges[i])) continue;
      const Tensor& left = made[size_t(part.left)];
      results[i] = part.right < 0 ? left : joined(edges[i], {part.kind, left, made[size_t(part.right)]});
    }
    touched_ = std::move(touched);
    return results;
  }

 private:
  static bool is_wanted(const Edge& e) {
    return e.node && (!t_walk || !t_walk->needed || t_walk->needed->count(e.node.get()));
  }

  // The gradient of a leaf, or nothing if the walk joins its share with others.
  static Tensor joined(const Edge& e, const DeferredGrad& share) {
    const Dims& sizes = e.node->leaf()->sizes;
    return t_walk && t_walk->defers(e, share, sizes) ? Tensor() : value_of(share, sizes);
  }

  // Contiguous, with the strides that this has by rule: along a single element any other would do.
  static Tensor in_order(const Tensor& g) {
    Tensor t = contiguous_of(g);
    Dims strides = contiguous_strides(t.sizes());
    return t.strides() == strides ? t : view_of(t, t.sizes(), strides, t->offset);
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

  // The parts of the graph that an eager walk would visit; none of them may be freed.
  std::vector<size_t> parts_between(uint64_t which, const Bits& wanted) const {
    std::vector<size_t> found;
    for (size_t p = 0; p < how_->parts.size(); ++p) {
      const PartOfGraph& part = how_->parts[p];
      if (!(part.results & which) || !part.leaves.meets(wanted)) continue;
      if (!freed_.empty() && freed_[p]) fail_freed(*this);
      found.push_back(p);
    }
    return found;
  }

  // Drops what no walk can reach any more.
  void let_go() {
    std::vector<Bits> reached;  // for each result: the leaves to which gradients cannot go any more
    for (size_t i = 0; i < outputs; ++i) {
      Bits& spent = reached.emplace_back(how_->leaves);
      for (size_t p = 0; p < freed_.size(); ++p)
        if (freed_[p] && how_->parts[p].results >> i & 1) spent.add(how_->parts[p].leaves);
    }
    for (size_t k = 0; k < kept_.size(); ++k) {
      bool needed = false;
      for (size_t i = 0; i < outputs && !needed; ++i) {
        Bits left = how_->uses[i][k];
        left.remove(reached[i]);
        needed = left.any();
      }
      if (!needed) kept_[k].first = Tensor();
    }
    if (!all_spent()) return;
    inputs_.clear();
    read_.clear();
  }

  // Whether a part of the graph of a result was freed.
  bool is_spent(size_t result) const {
    for (size_t p = 0; p < freed_.size(); ++p)
      if (freed_[p] && how_->parts[p].results >> result & 1) return true;
    return false;
  }
  bool all_spent() const {
    for (size_t i = 0; i < outputs; ++i)
      if (!is_spent(i)) return false;
    return true;
  }

  // What was let go of is not needed for the gradients that are wanted; the program computes all of them.
  Tensor kept_or_zeros(size_t i) const {
    if (kept_[i].first) return kept_[i].first;
    const Tensor& like = how_->like[i];
    Tensor t = empty_strided(like.sizes(), like.strides(), like.dtype());
    std::memset(t->storage->data, 0, size_t(t->storage->bytes));
    return t;
  }

  std::shared_ptr<BackwardProgram> program_for(uint64_t which) {
    auto found = how_->programs.find(which);
    if (found != how_->programs.end()) return found->second;
    nb::list saved;
    for (size_t i = 0; i < how_->like.size(); ++i) saved.append(nb::steal(wrap(kept_or_zeros(i))));
    nb::object made = nb::steal(PyObject_CallMethod(path_, "build", "KO", (unsigned long long)which, saved.ptr()));
    if (!made.is_valid()) throw PythonError();
    using Parts = std::vector<std::tuple<int, int, int>>;
    auto [program, parts, takes, needs] = nb::cast<
        std::tuple<std::shared_ptr<Program>, Parts, std::vector<size_t>, std::vector<nb::bytes>>>(made);
    auto backward = std::make_shared<BackwardProgram>();
    backward->program = std::move(program);
    for (const auto& [kind, left, right] : parts)
      backward->gradients.push_back({left, right, kind < 0 ? DeferredGrad::product : DeferredGrad::Kind(kind)});
    backward->takes = std::move(takes);
    backward->needs = bits_of(needs);
    if (how_->programs.size() >= kMostPrograms) how_->programs.clear();
    return how_->programs.try_emplace(which, std::move(backward)).first->second;  // or another thread was quicker
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

  // What earlier walks have freed of the call is freed of the nodes that stand for it now.
  void free_again(const std::vector<Edge>& from) {
    if (freed_.empty()) return;
    std::vector<Edge> to(edges, edges + edge_count);
    GraphOfCall(from, to, how_->leaf_of, how_->leaves).each_part([&](Node& n, uint64_t results, const Bits& leaves) {
      for (size_t p = 0; p < freed_.size(); ++p)
        if (freed_[p] && how_->parts[p].results == results && how_->parts[p].leaves.bytes() == leaves.bytes())
          n.release();
    });
  }

  // The result whose gradient a hook receives; -1: none.
  static int slot_of(const Ref<Hook>& h) { return h->removed ? -1 : static_cast<PyHook&>(*h.get()).slot; }

  // Hooks on gradients of results go to where all of the gradient is. Whether there are any.
  bool move_hooks() {
    if (!hooks) return false;
    bool moved = !hooks->retaining.empty();
    for (TensorImpl* t : std::vector<TensorImpl*>(hooks->retaining))
      t->set_history(edges[t->slot].node, edges[t->slot].slot);
    for (const Ref<Hook>& h : Hooks(hooks->before)) {
      int slot = slot_of(h);
      if (slot < 0) continue;
      moved = true;
      const Edge& e = edges[slot];
      static_cast<PyHook&>(*h.get()).slot = int(e.slot);
      e.node->more_hooks().before.push_back(h);
      std::erase_if(hooks->before, [&](const Ref<Hook>& other) { return other.get() == h.get(); });
    }
    if (hooks->before.empty() && hooks->after.empty()) delete std::exchange(hooks, nullptr);
    return moved;
  }

  void lead_to(const std::vector<Edge>& next) {
    for (uint32_t i = 0; i < edge_count; ++i) edges[i].~Edge();
    edge_count = outputs;
    for (uint32_t i = 0; i < edge_count; ++i) new (edges + i) Edge(next[i]);
  }

  Ref<BackwardShared> how_;
  PyObject* path_;
  std::vector<std::pair<Tensor, uint32_t>> kept_;  // with the version that they must have; or none, if let go of
  std::vector<Tensor> inputs_;
  std::vector<Mark> read_;       // the inputs, then what is outside
  uint32_t room_ = 0;            // for edges: to the leaves, or to the results of the call once it is unfolded
  int32_t applying_ = 0;         // threads that are in apply()
  uint64_t first_ = 0;           // after it come the numbers of the nodes that it stands for
  std::vector<size_t> touched_;  // the parts of the graph that the last walk went through
  std::vector<bool> freed_;      // by part; empty: none is
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<CompiledBackward>(self)->path());
  return 0;
}
int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<CompiledBackward>(self)->drop_path();
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, (void*)traverse}, {Py_tp_clear, (void*)clear}, {}};

}  // namespace

bool BackwardShared::stale() const {
  for (const auto& [which, backward] : programs)
    if (backward->program->stale()) return true;
  return false;
}

Ref<Node> spent_node() {
  Ref<Node> node(new (pool_allocate(sizeof(Spent))) Spent);
  node->origin = Origin::here();
  return node;
}

CompiledBackward::CompiledBackward(nb::object path, const std::vector<std::pair<uint64_t, nb::bytes>>& parts,
                                   size_t leaves, std::vector<size_t> leaf_of,
                                   const std::vector<std::vector<nb::bytes>>& uses,
                                   const std::vector<std::pair<uint64_t, nb::bytes>>& results, nb::list bases,
                                   nb::list watched, nb::list outside)
    : path_(std::move(path)), back_(new BackwardShared) {
  for (const auto& [results, leaves] : parts) back_->parts.push_back({results, bits_of(leaves)});
  back_->leaves = leaves;
  back_->leaf_of = std::move(leaf_of);
  for (const auto& [others, leaves] : results) back_->results.push_back({others, bits_of(leaves)});
  for (const auto& row : uses) back_->uses.push_back(bits_of(row));
  for (nb::handle o : outside) back_->outside.push_back(to_tensor(o, "a tensor"));
  for (nb::handle o : watched) watched_.push_back(to_tensor(o, "a tensor"));
  for (nb::handle o : bases) {
    Base& base = bases_.emplace_back();
    base.is_view = !o.is_none();
    if (!base.is_view) continue;
    base.fixed = nb::cast<bool>(o[1]);
    if (nb::isinstance<nb::int_>(o[0]))
      base.number = nb::cast<int>(o[0]);
    else
      base.outside = to_tensor(o[0], "a tensor");
  }
}

void CompiledBackward::set_bases(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Base& base = bases_[i];
    if (!base.is_view) continue;
    TensorImpl& t = *outputs[i].get();
    const Tensor& of = base.outside       ? base.outside
                       : base.number >= 0 ? outputs[size_t(base.number)]
                                          : inputs[size_t(-1 - base.number)];
    t.base = of->base ? of->base : of.ref();
    if (t.base->storage.get() != t.storage.get()) fail("a view that a compiled function returns has got other memory");
    t.view_version = t.storage->version;
    if (base.fixed) t.more().view_fixed = true;
  }
}

void CompiledBackward::record(CompiledCall call) {
  if (back_->outputs.empty() || back_->stale()) {
    auto next = Ref<BackwardShared>(new BackwardShared);  // nodes of earlier calls keep theirs
    next->parts = back_->parts;
    next->leaf_of = back_->leaf_of;
    next->leaves = back_->leaves;
    next->uses = back_->uses;
    next->results = back_->results;
    next->outside = back_->outside;
    for (const Tensor& t : call.outputs) next->outputs.push_back({t.sizes(), t.dtype()});
    for (const Tensor& t : call.kept) next->like.push_back(meta_strided(t.dtype(), t.sizes(), t.strides()));
    back_ = std::move(next);
  }
  for (const Tensor& t : watched_) call.kept.push_back(t);
  std::vector<Tensor> outputs = std::move(call.outputs);
  set_bases(outputs, call.inputs);
  Ref<Node> node = CompiledNode::make(back_, path_.ptr(), std::move(call));
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->set_history(node, uint32_t(i));
}

namespace {

nb::bytes bytes_of(std::string_view bits) { return nb::bytes(bits.data(), bits.size()); }

// The parts of the graph between results and leaves: (results, leaves), bit by bit; and what there is to know of each
// result: (the others whose gradients go through it, the leaves that it leads to).
nb::tuple graph_of_call(nb::list results, nb::list leaves) {
  std::vector<Edge> from, to;
  for (nb::handle o : results) from.push_back(gradient_edge(*to_tensor(o, "a result").get()));
  for (nb::handle o : leaves) to.push_back(gradient_edge(*to_tensor(o, "a leaf").get()));
  std::vector<size_t> numbers(to.size());
  std::iota(numbers.begin(), numbers.end(), size_t(0));
  GraphOfCall graph(from, to, numbers, to.size());
  std::map<std::pair<uint64_t, std::string>, bool> parts;
  graph.each_part([&](Node&, uint64_t from, const Bits& to) { parts[{from, std::string(to.bytes())}] = true; });
  nb::list made, known;
  for (const auto& [part, _] : parts) made.append(nb::make_tuple(part.first, bytes_of(part.second)));
  for (const ResultInGraph& r : graph.about(from)) known.append(nb::make_tuple(r.others, bytes_of(r.leaves.bytes())));
  return nb::make_tuple(made, known);
}

}  // namespace

void bind_way_back(nb::module_& m) {
  m.def("_graph_of_call", graph_of_call);
  m.def("_root_of", [](Tensor t) { return t->base ? Tensor(t->base) : t; });  // what it is a view of, or itself
  m.def("_is_fixed_view", [](Tensor t) { return t->extra && t->extra->view_fixed; });
  nb::class_<CompiledBackward>(m, "CompiledBackward", nb::type_slots(slots),
                               "How gradients go back through calls of one kind.")
      .def(nb::init<nb::object, const std::vector<std::pair<uint64_t, nb::bytes>>&, size_t, std::vector<size_t>,
                    const std::vector<std::vector<nb::bytes>>&, const std::vector<std::pair<uint64_t, nb::bytes>>&,
                    nb::list, nb::list, nb::list>())
      .def("record",
           [](CompiledBackward& backward, nb::list inputs, nb::list leaves, nb::list saved, nb::list outputs) {
             auto tensors = [](nb::list given) {
               std::vector<Tensor> found;
               for (nb::handle o : given) found.push_back(to_tensor(o, "a tensor"));
               return found;
             };
             backward.record({tensors(inputs), tensors(leaves), tensors(saved), tensors(outputs)});
           });
}

}  // namespace weft
