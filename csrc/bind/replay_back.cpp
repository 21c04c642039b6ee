#include "bind/replay_back.h"

#include <nanobind/stl/shared_ptr.h>

#include "ops/api.h"
#include "ops/record.h"

namespace weft {
namespace {

class CompiledNode final : public Node {
 public:
  static Ref<Node> make(const Ref<CompiledBack>& how, PyObject* build, const std::vector<Tensor>& leaves) {
    uint32_t n = uint32_t(leaves.size());
    char* block = static_cast<char*>(pool_allocate(sizeof(CompiledNode) + sizeof(Edge) * n));
    auto* node = new (block) CompiledNode(how, build);
    node->edges = reinterpret_cast<Edge*>(block + sizeof(CompiledNode));
    node->edge_count = n;
    for (uint32_t i = 0; i < n; ++i) new (node->edges + i) Edge(gradient_edge(*leaves[i].get()));
    node->outputs = uint32_t(how->outputs.size());
    node->renumber();
    node->origin = Origin::here();
    return Ref<Node>(node);
  }
  CompiledNode(const Ref<CompiledBack>& how, PyObject* build) : how_(how), build_(build) { Py_INCREF(build_); }
  ~CompiledNode() override { Py_DECREF(build_); }

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
    v.object(build_);
    for (auto& k : kept_) v.tensor(k.first.get());
  }

  Grads apply(Grads&& grads, bool create_graph) override {
    if (freed_) fail_freed(*this);
    if (create_graph)
      fail_missing(
          "compile: a compiled function has no second derivatives outside of it; call the function itself, or compile "
          "one that computes them inside");
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
      if (t->storage->version != version)
        fail(
            "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor ",
            "of shape ", t.sizes(), " that a compiled function read", origin.at(), " was changed in place",
            t->storage->changed.at());
      if (i < how_->saved) inputs.push_back(t);
    }
    if (!how_->programs[which]) how_->programs[which] = built(which);
    Program& program = *how_->programs[which];
    while (program.running()) g_let_others_run();
    if (!program.fits(inputs))
      fail("a tensor that a compiled function read", origin.at(), " has got other memory before its backward pass");
    std::vector<Tensor> made = program.run(inputs);
    Grads results(edge_count);
    for (uint32_t i = 0; i < edge_count; ++i)
      if (int r = how_->gradients[which][i]; r >= 0) results[i] = made[size_t(r)];
    return results;
  }

 private:
  std::shared_ptr<Program> built(size_t which) {
    nb::list saved;
    for (size_t i = 0; i < how_->saved; ++i) saved.append(nb::steal(wrap(kept_[i].first)));
    nb::object made = nb::steal(PyObject_CallFunction(build_, "nO", Py_ssize_t(which + 1), saved.ptr()));
    if (!made.is_valid()) throw PythonError();
    return nb::cast<std::shared_ptr<Program>>(made);
  }

  Ref<CompiledBack> how_;
  PyObject* build_;
  std::vector<std::pair<Tensor, uint32_t>> kept_;
  bool freed_ = false;
};

}  // namespace

bool CompiledBack::stale() const {
  for (const auto& p : programs)
    if (p && !p->running() && p->stale()) return true;
  return false;
}

void record_compiled(const Ref<CompiledBack>& how, PyObject* build, const std::vector<Tensor>& leaves,
                     const std::vector<Tensor>& kept, const std::vector<Tensor>& outputs) {
  Ref<Node> node = CompiledNode::make(how, build, leaves);
  for (const Tensor& t : kept) static_cast<CompiledNode&>(*node).keep(t);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->set_history(node, uint32_t(i));
}

}  // namespace weft
