// A step of the recorded graph: what made a tensor, and the edges to what made its inputs.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "core/origin.h"
#include "core/refs.h"

namespace weft {

class Tensor;
struct Node;
struct TensorImpl;
struct Opaque;

struct Edge {
  Ref<Node> node;     // empty: no gradient wanted
  uint32_t slot = 0;  // which output of that node
};

using Grads = std::vector<Tensor>;
using NodeSet = std::unordered_set<Node*>;

// Callables from Python or C++ that watch a node or a tensor; kept out of line since few have any.
struct Hook : Counted {
  bool removed = false;  // by its handle: it is not called any more, and leaves its list when that is next added to
  virtual ~Hook() = default;
  // What the walk calls it for. Each may replace the gradients it is given.
  virtual void on_gradient(Tensor& grad) = 0;
  virtual void after_accumulate(const Tensor& leaf) = 0;
  virtual void before_node(Grads& grads) = 0;
  virtual void after_node(Grads& results, const Grads& grads) = 0;
  void destroy() { delete this; }
};
using Hooks = std::vector<Ref<Hook>>;

// Is shown everything that a node or tensor owns a count of: how bind/ lets Python's collector see through the graph.
// What is absent (an index that is a slice, a gradient that is not wanted) is skipped here, for every traversal.
class OwnedVisitor {
 public:
  void tensor(TensorImpl* t) {
    if (t) on_tensor(t);
  }
  void node(Node* n) {
    if (n) on_node(n);
  }
  void hook(Hook* h) {
    if (h) on_hook(h);
  }
  void opaque(Opaque* o) {
    if (o) on_opaque(o);
  }
  void object(void* pyobj) {
    if (pyobj) on_object(pyobj);
  }

 protected:
  ~OwnedVisitor() = default;

 private:
  virtual void on_tensor(TensorImpl* t) = 0;
  virtual void on_node(Node* n) = 0;
  virtual void on_hook(Hook* h) = 0;
  virtual void on_opaque(Opaque* o) = 0;
  virtual void on_object(void* pyobj) = 0;
};

struct NodeHooks {
  // before(grads): may replace the gradients that arrive; after(result, grads): may replace those that leave.
  Hooks before, after;
  std::vector<TensorImpl*> retaining;  // outputs that keep their gradient; each leaves the list when it goes
};

struct Node : Counted {
  uint32_t outputs = 1;  // how many tensors it made
  uint32_t edge_count = 0;
  uint64_t sequence = 0;  // order of creation in this process: backward walks from the largest down
  Edge* edges = nullptr;
  NodeHooks* hooks = nullptr;
  void* pyobj = nullptr;  // the Python object that stands for this node while one does (borrowed)
  // The node that applies this one to a part of what arrives there, and owns it.
  Node* outer = nullptr;
  Origin origin;
  uint64_t mark = 0;    // scratch of the walk
  bool passes = false;  // what arrives goes on as it is, along one edge for each output
  bool folded = false;  // it stands for a part of the graph that was never made, and gets other edges when that is
  uint32_t place = 0;

  virtual ~Node();
  virtual std::string name() const = 0;                       // "MulBackward0"
  virtual Grads apply(Grads&& grads, bool create_graph) = 0;  // gradients of the outputs -> of the edges
  virtual void release() {}                                   // lets go of what it keeps for backward
  virtual bool released() const { return false; }
  virtual bool keeps() const { return false; }    // anything: then it can be walked once, unless the graph is retained
  virtual TensorImpl* leaf() { return nullptr; }  // of the node that adds to a leaf's grad
  // Where the gradient of an output goes on: to this node, or to that part of the outer node's output.
  Edge output_edge(uint32_t slot) { return outer ? outer->part_edge() : Edge{Ref<Node>(this), slot}; }
  virtual Edge part_edge() { return {}; }
  // Makes the part of the graph for which it stands, and leads to it from now on. False: there is none, or it is there.
  // A walk whose results have a graph asks for it.
  virtual bool unfold() { return false; }
  // The same where gradients of some outputs are asked for, or have hooks, that are made of those of others; in any
  // other case there is nothing to do. Outputs are given bit by bit: those whose gradients arrive, and that are asked
  // for.
  virtual bool look_inside(uint64_t, uint64_t) { return false; }
  // Whether the gradient of an output goes on to one of these nodes, to which some of its edges lead.
  virtual bool leads_to(const NodeSet&, uint32_t) const { return true; }
  inline static uint64_t unfolded = 0;        // how many were, by now
  virtual size_t bytes() const = 0;           // of this object with its trailing arrays
  virtual void visit_owned(OwnedVisitor& v);  // edges, hooks, and what it keeps
  // Tensors whose memory this node keeps alive, for looking into the graph.
  virtual std::vector<std::pair<std::string, Tensor>> saved() = 0;

  NodeHooks& more_hooks() {
    if (!hooks) hooks = new NodeHooks;
    return *hooks;
  }
  void destroy();   // without recursion, however long the chain behind it
  void renumber();  // takes a new sequence number: a node must be newer than what its edges lead to
  static uint64_t reserve(uint64_t count);  // the last number that was taken; the next `count` will not be

 protected:
  Node();
};

int64_t live_nodes();

}  // namespace weft
