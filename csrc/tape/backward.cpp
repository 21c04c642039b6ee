// Nodes are numbered as they are made, and a node's inputs are older than the node: walking from the newest to the
// oldest, every gradient is complete when its node's turn comes. A heap of waiting nodes is all the order this needs.
#include "tape/backward.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/forward_origin.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/autocast.h"
#include "ops/events.h"
#include "ops/recording.h"
#include "tape/anomaly.h"

namespace weft {

thread_local ActiveWalk* t_walk = nullptr;

Tensor value_of(const DeferredGrad& deferred, const Dims& sizes) {
  static const OpRef matrix_product{"matrix_product"};
  if (deferred.kind == DeferredGrad::product) return matrix_product(deferred.left, deferred.right, true, false);
  return index_add.into(zeros(sizes, deferred.right.dtype()), 0, deferred.left, deferred.right);
}

namespace {

uint64_t g_walk = 0;
bool g_marking = false;  // a walk is using the marks in the nodes: another one that runs meanwhile keeps its own

// A copy, which a trace knows of.
Tensor copy_of(const Tensor& t) {
  GradMode off(false);
  return t_recorder ? clone_of(t) : clone_data(t);
}

// Deferred gradients of a leaf that wait to be computed together: copies, since hooks may change what they were made
// of.
struct DeferredGrads {
  std::vector<DeferredGrad> all;
  Dims sizes;
  int64_t numel = 0;
};

struct Waiting {
  Ref<Node> node;
  Grads grads;
  std::unique_ptr<DeferredGrads> deferred;
};

struct Capture {
  uint32_t slot;
  size_t input;
};

class Walk final : private ActiveWalk {
 public:
  explicit Walk(const BackwardRequest& r) : request_(r), id_(++g_walk), marking_(!std::exchange(g_marking, true)) {}
  ~Walk() {
    if (marking_) g_marking = false;
  }

  std::vector<Tensor> run() {
    GradMode mode(request_.create_graph);
    AutocastOff as_recorded;  // the forward pass has chosen the types
    found_.resize(request_.inputs.size());
    if (!request_.inputs.empty()) {
      do {
        watch_all();
        find_needed();
      } while ((request_.create_graph && unfold()) || (!request_.arrivals && look_inside()));
    }
    for (size_t i = 0; i < request_.roots.size(); ++i) arrive(request_.roots[i], request_.grads[i]);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), older);
      Waiting w = std::move(waiting_[heap_.back()]);
      free_.push_back(heap_.back());
      heap_.pop_back();
      if (marking_)
        w.node->mark = 0;
      else
        places_.erase(w.node.get());
      leave_if_interrupted();
      visit(w);
    }
    if (!t_found_infinite)
      for (const Ref<Node>& n : held_) n->release();
    return std::move(found_);
  }

 private:
  struct Older {
    const std::vector<Waiting>& all;
    bool operator()(uint32_t a, uint32_t b) const { return all[a].node->sequence < all[b].node->sequence; }
  };

  void watch_all() {
    captures_.clear();
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const Edge* e = &request_.inputs[i];
      while (e->node && e->node->passes) e = &e->node->edges[e->slot];
      if (e->node) captures_[e->node.get()].push_back({e->slot, i});
    }
  }

  // The nodes from which an input can be reached; others are left alone.
  void find_needed() {
    unfolded_ = Node::unfolded;
    needed_.clear();
    std::vector<Node*> order;
    std::unordered_set<Node*> seen;
    std::vector<Node*> stack;
    for (const Edge& e : request_.roots)
      if (e.node && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      order.push_back(n);
      if (request_.arrivals && captures_.count(n)) continue;
      for (uint32_t i = 0; i < n->edge_count; ++i)
        if (Node* next = n->edges[i].node.get(); next && seen.insert(next).second) stack.push_back(next);
    }
    std::sort(order.begin(), order.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
    several_ = false;
    for (Node* n : order) {
      bool asked = captures_.count(n), needed = asked;
      for (uint32_t i = 0; i < n->edge_count && !needed; ++i) needed = needed_.count(n->edges[i].node.get());
      if (needed) needed_.insert(n);
      several_ |= needed && n->outputs > 1 && (asked || n->hooks);
    }
    selective_ = true;
  }

  // Whether an input can be reached from a node. Another thread, or a hook, may have unfolded one since the last look.
  bool is_needed(Node* n) {
    if (unfolded_ != Node::unfolded) {
      watch_all();
      find_needed();
    }
    return needed_.count(n);
  }

  // The same from one of its outputs.
  bool is_needed(const Edge& e) {
    if (!is_needed(e.node.get())) return false;
    if (!e.node->folded) return true;
    if (auto asked = captures_.find(e.node.get()); asked != captures_.end())
      for (const Capture& c : asked->second)
        if (c.slot == e.slot) return true;
    return e.node->leads_to(needed_, e.slot);
  }

  // Unfolds the nodes on the way to an input; false if there was none to unfold.
  bool unfold() {
    std::vector<Ref<Node>> found;  // which own nothing of each other any more, once unfolded
    for (Node* n : needed_)
      for (uint32_t i = 0; i < n->edge_count; ++i)
        if (needed_.count(n->edges[i].node.get())) {
          found.push_back(Ref<Node>(n));
          break;
        }
    bool unfolded = false;
    for (const Ref<Node>& n : found) unfolded |= n->unfold();
    return unfolded;
  }

  // The same for those of which a gradient is asked for that arrives inside.
  bool look_inside() {
    if (!several_) return false;
    std::unordered_map<Node*, uint64_t> arriving;
    auto note = [&](const Edge& e) {
      if (e.node && e.node->outputs > 1 && e.node->outputs <= 64 && needed_.count(e.node.get()))
        arriving[e.node.get()] |= uint64_t(1) << e.slot;
    };
    for (const Edge& e : request_.roots) note(e);
    for (Node* n : needed_)
      for (uint32_t i = 0; i < n->edge_count; ++i) note(n->edges[i]);
    std::vector<Ref<Node>> found;
    for (const auto& [n, slots] : arriving) found.push_back(Ref<Node>(n));
    bool unfolded = false;
    for (const Ref<Node>& node : found) {
      Node* n = node.get();
      uint64_t asked = 0;
      if (auto found = captures_.find(n); found != captures_.end())
        for (const Capture& c : found->second) asked |= uint64_t(1) << c.slot;
      if (asked || n->hooks) unfolded |= n->look_inside(arriving[n], asked);
    }
    return unfolded;
  }

  void arrive(const Edge& e, Tensor g) {
    if (!e.node || !g) return;
    if (e.node->passes && !e.node->hooks && !captures_.count(e.node.get()))
      return arrive(e.node->edges[e.slot], std::move(g));
    if (selective_ && !is_needed(e)) return;
    if (request_.arrivals && captures_.count(e.node.get())) return note(e, {std::move(g), {}});
    add_up(waiting_[place_of(e.node)].grads[e.slot], std::move(g));
  }

  void note(const Edge& e, Arrival arrival) {
    for (const Capture& c : captures_[e.node.get()])
      if (c.slot == e.slot) return (*request_.arrivals)[c.input].push_back(std::move(arrival));
    fail("a gradient goes on to a result of ", e.node->name(), e.node->origin.at(), " that is none of the inputs");
  }

  void add_up(Tensor& sum, Tensor g) {
    if (!sum) {
      sum = std::move(g);
    } else if (!request_.create_graph && sum->refs == 1 && sum->storage->refs == 1 && sum.dtype() == g.dtype() &&
               sum.contiguous() && !sum.wants_grad()) {  // so it is not sparse
      add.into(sum, g);
    } else {
      sum = sum + g;
    }
  }

  // A weight that is used many times with few rows (a cell that is called step by step, words looked up one by one) has
  // its gradients joined to one product: else each of them would write and add a matrix of the weight's size. They wait
  // as long as they need less memory than it.
  bool defers(const Edge& e, const DeferredGrad& deferred, const Dims& sizes) override {
    int64_t numel = deferred.left.numel() + deferred.right.numel(), whole = numel_of(sizes);
    if (whole_ || !e.node->leaf() || request_.create_graph || 4 * numel > whole) return false;
    if (request_.arrivals) {
      note(e, {Tensor(), deferred});
      return true;
    }
    if (e.node->refs == 1) return false;  // no other edge leads there: there is nothing to join it with
    Waiting& w = waiting_[place_of(e.node)];
    if (!w.deferred) w.deferred = std::make_unique<DeferredGrads>();
    w.deferred->sizes = sizes;
    w.deferred->all.push_back({deferred.kind, copy_of(deferred.left), copy_of(deferred.right)});
    w.deferred->numel += numel;
    if (w.deferred->numel > whole) settle(w);
    return true;
  }

  void settle(Waiting& w) {
    static const OpRef cat{"cat"};
    std::unique_ptr<DeferredGrads> deferred = std::exchange(w.deferred, nullptr);
    for (DeferredGrad::Kind kind : {DeferredGrad::product, DeferredGrad::rows}) {
      TensorList left, right;
      for (const DeferredGrad& d : deferred->all)
        if (d.kind == kind) left.push_back(d.left), right.push_back(d.right);
      if (left.empty()) continue;
      bool one = left.size() == 1;
      add_up(w.grads[0],
             value_of({kind, one ? left[0] : cat(left, 0), one ? right[0] : cat(right, 0)}, deferred->sizes));
    }
  }

  // Where the gradients of a node wait; it begins to wait with its first one.
  uint32_t place_of(const Ref<Node>& node) {
    Node* n = node.get();
    if (marking_) {
      if (n->mark != id_) {
        n->mark = id_;
        n->place = begin_waiting(node);
      }
      return n->place;
    }
    auto [it, added] = places_.try_emplace(n, 0);
    if (added) it->second = begin_waiting(node);
    return it->second;
  }

  uint32_t begin_waiting(const Ref<Node>& node) {
    uint32_t place = uint32_t(waiting_.size());
    if (free_.empty()) {
      waiting_.push_back({node, Grads(node->outputs), {}});
    } else {
      place = free_.back();
      free_.pop_back();
      waiting_[place].node = node;
      waiting_[place].grads.assign(node->outputs, Tensor());
    }
    heap_.push_back(place);
    std::push_heap(heap_.begin(), heap_.end(), older);
    return place;
  }

  static uint64_t given_to(const Waiting& w) {
    uint64_t found = 0;
    for (size_t i = 0; i < w.grads.size() && i < 64; ++i) found |= uint64_t(bool(w.grads[i])) << i;
    return found;
  }

  void visit(Waiting& w) {
    Node& n = *w.node;
    if (w.deferred) settle(w);
    if (!selective_ && ((request_.create_graph && n.unfold()) || (n.hooks && n.look_inside(given_to(w), 0)))) {
      for (uint32_t i = 0; i < n.edge_count; ++i) arrive({w.node, i}, std::move(w.grads[i]));
      return;
    }
    if (n.hooks) {
      each_hook(n.hooks->before, [&](Hook& h) { h.before_node(w.grads); });
      if (!n.hooks->retaining.empty()) retain(n.hooks->retaining, w.grads);
    }
    TensorImpl* leaf = n.leaf();
    if (leaf && leaf->extra) each_hook(leaf->extra->hooks, [&](Hook& h) { h.on_gradient(w.grads[0]); });
    if (leaf && t_checks_leaves && request_.accumulate && !all_finite(w.grads[0])) t_found_infinite = true;
    auto capture = captures_.find(&n);
    if (capture != captures_.end()) {
      for (const Capture& c : capture->second) found_[c.input] = w.grads[c.slot];
      bool beyond = false;  // is an input further back?
      for (uint32_t i = 0; i < n.edge_count && !beyond; ++i) beyond = is_needed(n.edges[i].node.get());
      if (!beyond && !(leaf && request_.accumulate)) return;
    }
    bool checking = t_modes.anomaly && t_modes.anomaly_nan;
    Grads given;
    if (checking || (n.hooks && !n.hooks->after.empty())) given = w.grads;
    Grads results;
    {
      needed = selective_ ? &needed_ : nullptr;
      whole_ = checking || (n.hooks && !n.hooks->after.empty());
      WithWalk active(this);
      std::optional<ForwardOrigin> line;
      if (t_recorder && says_forward_lines(t_recorder)) line.emplace(n.origin);
      results = is_recording() ? apply_recorded(n, std::move(w.grads), request_.create_graph)
                               : n.apply(std::move(w.grads), request_.create_graph);
    }
    std::vector<Edge> edges;  // those that the results are for, whoever unfolds the node from now on
    if (n.folded) edges.assign(n.edges, n.edges + n.edge_count);
    if (checking) check_nan(n, results, given);
    if (!request_.retain_graph) {
      if (t_checks_leaves)
        held_.push_back(w.node);  // should a gradient not be finite, the walk is taken again
      else
        n.release();
    }
    if (n.hooks) each_hook(n.hooks->after, [&](Hook& h) { h.after_node(results, given); });
    if (leaf && leaf->extra)
      each_hook(leaf->extra->after_accumulate, [&](Hook& h) { h.after_accumulate(Tensor(leaf)); });
    const Edge* to = edges.empty() ? n.edges : edges.data();
    size_t count = edges.empty() ? n.edge_count : edges.size();
    if (results.size() < count) return;
    for (size_t i = 0; i < count; ++i) arrive(to[i], std::move(results[i]));
  }

  // In memory of its own: others that were given the same gradient may be changed in place.
  static void retain(const std::vector<TensorImpl*>& retaining, const Grads& grads) {
    for (const Tensor& t : std::vector<Tensor>(retaining.begin(), retaining.end()))
      if (const Tensor& g = grads[t->slot]) {
        if (t_recorder) t_recorder->grad_read(t);
        t->grad = (t->grad ? Tensor(t->grad) + g : clone_of(g)).ref();
        if (t_recorder) t_recorder->grad_set(t);
      }
  }

  // A hook may add or remove hooks: those that were there at the beginning are called.
  template <class F>
  static void each_hook(const Hooks& hooks, F&& f) {
    if (hooks.empty()) return;
    for (auto& h : Hooks(hooks))
      if (!h->removed) f(*h);
  }

  const BackwardRequest& request_;
  uint64_t id_;
  bool marking_;
  bool selective_ = false;
  uint64_t unfolded_ = 0;  // how many nodes were when needed_ was found
  bool several_ = false;   // a gradient of one of several outputs of a node is asked for, or has hooks
  bool whole_ = false;     // somebody looks at what the node gives: nothing of it may wait
  std::vector<Waiting> waiting_;
  std::vector<uint32_t> heap_, free_;
  Older older{waiting_};
  std::unordered_map<Node*, std::vector<Capture>> captures_;
  NodeSet needed_;
  std::unordered_map<Node*, uint32_t> places_;  // when not marking
  std::vector<Tensor> found_;
  std::vector<Ref<Node>> held_;  // to be released at the end
};

}  // namespace

std::vector<Tensor> run_backward(const BackwardRequest& request) {
  if (!is_recording()) return Walk(request).run();
  RecordedRange range("backward");
  return Walk(request).run();
}

std::vector<Tensor> gradients_of(const TensorList& outputs, const TensorList& grads, const TensorList& inputs,
                                 bool create_graph) {
  BackwardRequest r;
  r.create_graph = create_graph;
  r.retain_graph = create_graph;
  r.accumulate = false;
  r.grads = grads;
  for (const Tensor& t : outputs) r.roots.push_back(gradient_edge(*t.get()));
  for (const Tensor& t : inputs) r.inputs.push_back(gradient_edge(*t.get()));
  return run_backward(r);
}

}  // namespace weft
