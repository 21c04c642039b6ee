// Recording: the nodes that ops leave on the tape.
#pragma once

#include <unordered_set>

#include "ops/op.h"

namespace weft {

struct InputMeta {
  Dims sizes;
  DType dtype;
};

// A node made by an op. Its arrays stand behind it in the same block: edges, metas, arguments, kept outputs.
class OpNode final : public Node {
 public:
  static OpNode* make(const Op& op, int inputs, int args, int kept_outputs);
  ~OpNode() override;

  const Op& op;
  const int inputs, arg_count, kept_count;
  bool freed = false;
  InputMeta* metas;    // of the inputs that want a gradient
  Value* args;         // as called; tensors only where backward needs them
  Value* kept;         // outputs that backward needs
  uint8_t* kept_slot;  // which output each of them is
  uint32_t output_mask = 0;

  std::string name() const override { return op.node_name; }
  Grads apply(Grads&& grads, bool create_graph) override;
  void release() override;
  bool released() const override { return freed; }
  bool keeps() const override;
  size_t bytes() const override { return bytes_; }
  void visit_owned(OwnedVisitor& v) override;
  std::vector<std::pair<std::string, Tensor>> saved() override;

  // What was kept, its version checked; at its place in the graph (edge), which what a hook unpacked does not know.
  Tensor unpack(Value& v, const char* what, int index, const Edge& edge = {});
  int arg_of_input(int position) const;  // the argument a tensor position belongs to
  std::vector<InputMeta> output_metas;   // shapes of several outputs, for zeros
  std::unique_ptr<std::string> ranges;   // of the inputs, taken under detect_anomaly

 private:
  OpNode(const Op& op, int inputs, int args, int kept);
  size_t bytes_ = 0;
};

// Adds to a leaf's grad.
class AccumulateGrad final : public Node {
 public:
  static Ref<Node> of(TensorImpl& leaf);  // the one node of this leaf while it lives
  explicit AccumulateGrad(TensorImpl& leaf) : variable(Ref<TensorImpl>(&leaf)) {}
  ~AccumulateGrad() override;
  Ref<TensorImpl> variable;
  std::string name() const override { return "AccumulateGrad"; }
  TensorImpl* leaf() override { return variable.get(); }
  Grads apply(Grads&& grads, bool create_graph) override;
  size_t bytes() const override { return sizeof(AccumulateGrad); }
  void visit_owned(OwnedVisitor& v) override;
  std::vector<std::pair<std::string, Tensor>> saved() override { return {}; }
};

// The node of a base tensor after one of its views was changed in place by `change`.
class CopySlices final : public Node {
 public:
  static Ref<Node> make(const Tensor& base, const Tensor& view, Ref<Node> change);
  ~CopySlices() override { change->outer = nullptr; }
  Ref<Node> change;
  Dims base_sizes, base_strides, view_sizes, view_strides;
  int64_t view_offset = 0;  // from the start of the base
  DType dtype = DType::Float;
  std::string name() const override { return "CopySlices"; }
  Grads apply(Grads&& grads, bool create_graph) override;
  void release() override { change->release(); }
  bool released() const override { return change->released(); }
  bool keeps() const override { return change->keeps(); }
  Edge part_edge() override;
  size_t bytes() const override;
  void visit_owned(OwnedVisitor& v) override;
  std::vector<std::pair<std::string, Tensor>> saved() override { return change->saved(); }
};

Tensor placed(const Tensor& t, const Edge& edge);        // the same elements, at that place in the graph
Edge gradient_edge(TensorImpl& t);                       // where the gradient of t flows
bool wants_grad(TensorImpl& t);                          // looks through views whose base changed
bool shows_grad(TensorImpl& t);                          // as the user sees it: a constant view says what its base says
void rebase_history(Tensor& self, Ref<Node> node);       // after an in-place change
uint32_t versions_of(const TensorList& list);            // grows with every change of one of them
void check_apart(const Tensor& target, const char* op);  // what is written to has a place for each element
void check_changeable(const Tensor& self, const char* op);  // the same of what an op changes in place
void check_inplace(const Tensor& self, const char* op);     // leaf, view and inference rules
void check_rebase(const Tensor& self, bool by_others);  // can a change of self be recorded? (others: with a gradient)
void take_geometry(Tensor& t, const Tensor& view);      // t becomes what `view`, a view of it, is
Value place_value(const TensorImpl& t);                 // what Grad::place reads
void visit_kept(const Value& v, OwnedVisitor& visitor);
std::string describe_range(const Tensor& t);  // "float32 tensor of shape [2] in [0, 1]"
[[noreturn]] void fail_freed(const Node& node);

// Part of a leaf's gradient that is not computed yet: turned(left) right, or rows (right) to be added where left says.
struct Share {
  enum Kind : uint8_t { product, rows } kind;
  Tensor left, right;
};
Tensor value_of(const Share& share, const Dims& sizes);  // the gradient, of the leaf's sizes

// What a walk wants to know and to be told while it visits a node.
struct Visitor {
  // Part of a gradient of these sizes. False: it wants the gradient itself.
  virtual bool takes(const Edge& edge, const Share& share, const Dims& sizes) = 0;
  const NodeSet* needed = nullptr;  // the nodes that lead to the inputs asked for; null: all are wanted

 protected:
  ~Visitor() = default;
};
extern thread_local Visitor* t_visitor;
class Visiting {  // for a scope
 public:
  explicit Visiting(Visitor* visitor) : before_(std::exchange(t_visitor, visitor)) {}
  ~Visiting() { t_visitor = before_; }
  Visiting(const Visiting&) = delete;

 private:
  Visitor* before_;
};

// Set while a gradient is added to a leaf: the interpreter lock stays held, so that threads add one after the other.
extern thread_local bool t_keeps_lock;

}  // namespace weft
