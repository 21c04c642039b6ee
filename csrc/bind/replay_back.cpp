#include "bind/replay_back.h"

#include "ops/api.h"
#include "ops/record.h"

namespace weft {
namespace {

class CompiledNode final : public Node {
 public:
  static Ref<Node> make(const Ref<CompiledBack>& how, const std::vector<Tensor>& leaves) {
    uint32_t n = uint32_t(leaves.size());
    char* block = static_cast<char*>(pool_allocate(sizeof(CompiledNode) + sizeof(Edge) * n));
    auto* node = new (block) CompiledNode(how);
    node->edges = reinterpret_cast<Edge*>(block + sizeof(CompiledNode));
    node->edge_count = n;
    for (uint32_t i = 0; i < n; ++i) new (node->edges + i) Edge(gradient_edge(*leaves[i].get()));
    node->outputs = uint32_t(how->outputs.size());
    node->renumber();
    node->origin = Origin::here();
    return Ref<Node>(node);
  }
  explicit CompiledNode(const Ref<CompiledBack>& how) : how_(how) {}

  // With its version: it must be the same when it is read.
  void keep(const Tensor& t) { kept_.push_back({t, t->storage->version}); }

  std::string name() const override { return "CompiledBackward0"; }
  size_t bytes() const override { return sizeof(CompiledNode) + sizeof(Edge) * edge_count; }
  bool released() const override { return freed_; }
  void release() override {
    kept_.clear();
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
    for (auto& k : kept_) v.tensor(k.first.get());
  }

  Grads apply(Grads&& grads, bool create_graph) override {
    if (freed_) fail_freed(*this);
    if (create_graph)
      fail_missing(
          "compile: a compiled function has no second derivatives outside of it; call the function itself, or compile "
          "one that computes them inside");
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < how_->outputs.size(); ++i)
      inputs.push_back(grads[i] ? contiguous_of(grads[i]) : zeros(how_->outputs[i].sizes, how_->outputs[i].dtype));
    for (size_t i = 0; i < kept_.size(); ++i) {
      const auto& [t, version] = kept_[i];
      if (t->storage->version != version)
        fail(
            "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor ",
            "of shape ", t.sizes(), " that a compiled function read", origin.at(), " was changed in place",
            t->storage->changed.at());
      if (i < how_->saved) inputs.push_back(t);
    }
    Program& program = *how_->program;
    while (program.running()) g_let_others_run();
    if (!program.fits(inputs))
      fail("a tensor that a compiled function read", origin.at(), " has got other memory before its backward pass");
    std::vector<Tensor> made = program.run(inputs);
    Grads results(edge_count);
    for (uint32_t i = 0; i < edge_count; ++i)
      if (how_->gradients[i] >= 0) results[i] = made[size_t(how_->gradients[i])];
    return results;
  }

 private:
  Ref<CompiledBack> how_;
  std::vector<std::pair<Tensor, uint32_t>> kept_;
  bool freed_ = false;
};

}  // namespace

void record_compiled(const Ref<CompiledBack>& how, const std::vector<Tensor>& leaves, const std::vector<Tensor>& kept,
                     const std::vector<Tensor>& outputs) {
  Ref<Node> node = CompiledNode::make(how, leaves);
  for (const Tensor& t : kept) static_cast<CompiledNode&>(*node).keep(t);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->set_history(node, uint32_t(i));
}

}  // namespace weft
