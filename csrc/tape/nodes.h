// The nodes of the tape: those that ops leave behind, that of a leaf, and that of a base whose view was changed.
#pragma once

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

  std::string name() const override;
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

Tensor placed(const Tensor& t, const Edge& edge);  // the same elements, at that place in the graph
void visit_kept(const Value& v, OwnedVisitor& visitor);
[[noreturn]] void fail_freed(const Node& node);

}  // namespace weft
