// Nodes are numbered as they are made, and a node's inputs are older than the node: walking from the newest to the oldest, every
// gradient is complete when its node's turn comes. A heap of waiting nodes is all the order this needs.
#include "tape/backward.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ops/api.h"

namespace weft {

HookRunner g_hooks;

namespace {

uint64_t g_walk = 0;

struct Waiting {
  Ref<Node> node;
  Grads grads;
};

struct Capture {
  uint32_t slot;
  size_t input;
};

class Walk {
 public:
  explicit Walk(const BackwardRequest& r) : request_(r), id_(++g_walk) {}

  std::vector<Tensor> run() {
    GradMode mode(request_.create_graph);
    found_.resize(request_.inputs.size());
    for (size_t i = 0; i < request_.inputs.size(); ++i) watch(i);
    if (!request_.inputs.empty()) find_needed();
    for (size_t i = 0; i < request_.roots.size(); ++i) {
      Edge e = gradient_edge(*request_.roots[i].get());
      arrive(e, request_.grads[i]);
    }
    int polls = 0;
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), older);
      Waiting w = std::move(waiting_[heap_.back()]);
      free_.push_back(heap_.back());
      heap_.pop_back();
      w.node->mark = 0;
      if ((++polls & 15) == 0 && g_interpreter.interrupted && g_interpreter.interrupted()) throw PythonError();
      visit(w);
    }
    return std::move(found_);
  }

 private:
  struct Older {
    const std::vector<Waiting>& all;
    bool operator()(uint32_t a, uint32_t b) const { return all[a].node->sequence < all[b].node->sequence; }
  };

  void watch(size_t i) {
    Edge e = gradient_edge(*request_.inputs[i].get());
    if (e.node) captures_[e.node.get()].push_back({e.slot, i});
    pinned_.push_back(e.node);
  }

  // The nodes from which an input can be reached; others are left alone.
  void find_needed() {
    std::vector<Node*> order;
    std::unordered_set<Node*> seen;
    std::vector<Node*> stack;
    for (auto& root : request_.roots)
      if (Edge e = gradient_edge(*root.get()); e.node && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      order.push_back(n);
      for (uint32_t i = 0; i < n->edge_count; ++i)
        if (Node* next = n->edges[i].node.get(); next && seen.insert(next).second) stack.push_back(next);
    }
    std::sort(order.begin(), order.end(), [](Node* a, Node* b) { return a->sequence < b->sequence; });
    for (Node* n : order) {
      bool needed = captures_.count(n);
      for (uint32_t i = 0; i < n->edge_count && !needed; ++i) needed = needed_.count(n->edges[i].node.get());
      if (needed) needed_.insert(n);
    }
    selective_ = true;
  }

  void arrive(const Edge& e, Tensor g) {
    if (!e.node || !g) return;
    if (selective_ && !needed_.count(e.node.get())) return;
    Node* n = e.node.get();
    if (n->mark != id_) {
      n->mark = id_;
      if (free_.empty()) {
        n->place = uint32_t(waiting_.size());
        waiting_.push_back({e.node, Grads(n->outputs)});
      } else {
        n->place = free_.back();
        free_.pop_back();
        waiting_[n->place].node = e.node;
        waiting_[n->place].grads.assign(n->outputs, Tensor());
      }
      heap_.push_back(n->place);
      std::push_heap(heap_.begin(), heap_.end(), older);
    }
    Tensor& sum = waiting_[n->place].grads[e.slot];
    if (!sum) {
      sum = std::move(g);
    } else if (!request_.create_graph && sum->refs == 1 && sum->storage->refs == 1 && sum.dtype() == g.dtype() &&
               sum.contiguous() && !sum.wants_grad()) {
      add.into(sum, g);
    } else {
      sum = sum + g;
    }
  }

  void visit(Waiting& w) {
    Node& n = *w.node;
    if (n.hooks)
      for (auto& h : std::vector<Ref<Hook>>(n.hooks->before)) g_hooks.before_node(*h, w.grads);
    TensorImpl* leaf = n.leaf();
    if (leaf && leaf->extra)
      for (auto& h : std::vector<Ref<Hook>>(leaf->extra->hooks)) g_hooks.on_tensor(*h, w.grads[0]);
    auto capture = captures_.find(&n);
    if (capture != captures_.end()) {
      for (const Capture& c : capture->second) found_[c.input] = w.grads[c.slot];
      bool beyond = false;  // is an input further back?
      for (uint32_t i = 0; i < n.edge_count && !beyond; ++i) beyond = needed_.count(n.edges[i].node.get());
      if (!beyond && !(leaf && request_.accumulate)) return;
    }
    Grads given;
    if (n.hooks && !n.hooks->after.empty()) given = w.grads;
    Grads results = n.apply(std::move(w.grads), request_.create_graph);
    if (!request_.retain_graph) n.release();
    if (n.hooks)
      for (auto& h : std::vector<Ref<Hook>>(n.hooks->after)) g_hooks.after_node(*h, results, given);
    if (leaf && leaf->extra)
      for (auto& h : std::vector<Ref<Hook>>(leaf->extra->after_accumulate)) g_hooks.after_accumulate(*h, Tensor(leaf));
    if (t_modes.anomaly && t_modes.anomaly_nan) check_nan(n, results);
    if (results.size() < n.edge_count) return;
    for (uint32_t i = 0; i < n.edge_count; ++i) arrive(n.edges[i], std::move(results[i]));
  }

  static void check_nan(Node& n, const Grads& results) {
    static const OpRef any{"any"};
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i] || !is_inexact(results[i].dtype()) || results[i].numel() == 0) continue;
      GradMode off(false);
      if (!*any(isnan(results[i])).data<bool>()) continue;
      std::string ranges;
      if (!n.released())
        for (auto& [name, t] : n.saved()) ranges += "\n  " + name + ": " + describe_range(t);
      fail("Function '", n.name(), "' returned nan values in its ", i, "th output. The forward call was made", n.origin.at(),
           ranges.empty() ? "" : ", with", ranges);
    }
  }

  static std::string describe_range(const Tensor& t) {
    std::ostringstream s;
    s << name_of(t.dtype()) << " tensor of shape " << t.sizes();
    if (!is_floating(t.dtype()) || t.numel() == 0) return s.str();
    Tensor values = contiguous_of(to_dtype(t->grad_fn ? detach(t) : t, DType::Double));
    double lo = INFINITY, hi = -INFINITY;
    int64_t nans = 0;
    for (int64_t i = 0; i < values.numel(); ++i) {
      double v = values.data<double>()[i];
      if (std::isnan(v)) ++nans;
      else lo = std::min(lo, v), hi = std::max(hi, v);
    }
    s << " in [" << lo << ", " << hi << "]";
    if (nans) s << " with " << nans << " NaN";
    return s.str();
  }

  const BackwardRequest& request_;
  uint64_t id_;
  bool selective_ = false;
  std::vector<Waiting> waiting_;
  std::vector<uint32_t> heap_, free_;
  Older older{waiting_};
  std::unordered_map<Node*, std::vector<Capture>> captures_;
  std::unordered_set<Node*> needed_;
  std::vector<Ref<Node>> pinned_;
  std::vector<Tensor> found_;
};

}  // namespace

std::vector<Tensor> run_backward(const BackwardRequest& request) { return Walk(request).run(); }

}  // namespace weft
