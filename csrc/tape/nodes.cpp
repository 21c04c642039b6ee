#include "tape/nodes.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "core/interpreter.h"
#include "ops/api.h"
#include "ops/recording.h"
#include "tape/record.h"
#include "tape/walk.h"

namespace weft {

// ---- nodes of ops

// A view by square brackets has the name that PyTorch gives its last step: it takes one view for each subscript,
// but for slices of all among others.
std::string name_of_subscript(const Dims& sizes, const Dims& spec) {
  const char* last = "AliasBackward0";
  for (int i = 0, d = 0; i + 2 < spec.size(); i += 3) {
    int64_t step = spec[i];
    if (step < 0) {
      last = "UnsqueezeBackward0";
      continue;
    }
    bool whole = spec.size() > 3 && step == 1 && spec[i + 1] == 0 && spec[i + 2] == sizes[d];
    if (!whole) last = step == 0 ? "SelectBackward0" : "SliceBackward0";
    ++d;
  }
  return last;
}

std::string OpNode::name() const {
  static const OpRef view_at{"view_at"};
  if (&op != &view_at.op()) {
    std::string name = op.node_name;
    size_t at = name.find("2D");
    if (at != std::string::npos && metas[0].sizes.size() == 5) name[at] = '3';  // of a batch of volumes
    return name;
  }
  return name_of_subscript(metas[0].sizes, args[1].ints());
}

OpNode::OpNode(const Op& op, int inputs, int args, int kept)
    : op(op), inputs(inputs), arg_count(args), kept_count(kept) {}

OpNode* OpNode::make(const Op& op, int inputs, int args, int kept) {
  size_t at = sizeof(OpNode);
  size_t edges = at, metas = edges + sizeof(Edge) * size_t(inputs), values = metas + sizeof(InputMeta) * size_t(inputs);
  size_t outs = values + sizeof(Value) * size_t(args), slots = outs + sizeof(Value) * size_t(kept);
  size_t total = slots + size_t(kept);
  char* block = static_cast<char*>(pool_allocate(total));
  auto* n = new (block) OpNode(op, inputs, args, kept);
  n->bytes_ = total;
  n->edges = reinterpret_cast<Edge*>(block + edges);
  n->edge_count = uint32_t(inputs);
  n->metas = reinterpret_cast<InputMeta*>(block + metas);
  n->args = reinterpret_cast<Value*>(block + values);
  n->kept = reinterpret_cast<Value*>(block + outs);
  n->kept_slot = reinterpret_cast<uint8_t*>(block + slots);
  for (int i = 0; i < inputs; ++i) {
    new (n->edges + i) Edge;
    new (n->metas + i) InputMeta;
  }
  for (int i = 0; i < args; ++i) new (n->args + i) Value;
  for (int i = 0; i < kept; ++i) new (n->kept + i) Value;
  return n;
}

OpNode::~OpNode() {
  for (int i = 0; i < inputs; ++i) metas[i].~InputMeta();
  for (int i = 0; i < arg_count; ++i) args[i].~Value();
  for (int i = 0; i < kept_count; ++i) kept[i].~Value();
}

static bool holds_tensors(const Value& v) {
  return v.tag() == Tag::Tensor || v.tag() == Tag::Tensors || v.tag() == Tag::Object;
}

bool OpNode::keeps() const { return kept_count > 0 || std::any_of(args, args + arg_count, holds_tensors); }

void OpNode::release() {
  if (!keeps()) return;
  for (int i = 0; i < arg_count; ++i)
    if (holds_tensors(args[i])) args[i] = Value();
  for (int i = 0; i < kept_count; ++i) kept[i] = Value();
  freed = true;
}

Tensor placed(const Tensor& t, const Edge& edge) {
  if (!edge.node) return t;
  Tensor out = alias(t);
  out->grad_fn = edge.node;
  out->slot = edge.slot;
  return out;
}

Tensor OpNode::unpack(Value& v, const char* what, int index, const Edge& edge) {
  if (v.tag() == Tag::Object) return placed(interpreter::unpack(v.object()), edge);
  if (!v.is_tensor()) {
    if (v.is_number()) return scalar_tensor(v, v.tag() == Tag::Complex ? DType::ComplexDouble : DType::Double, true);
    if (freed) fail_freed(*this);
    fail(op.base, ": its derivative asks for ", what, " ", index, ", which was not kept");
  }
  const Tensor& t = v.tensor();
  if (t->storage->version != v.extra)
    fail("one of the variables needed for gradient computation has been modified by an inplace operation: ", what, " ",
         index, " of ", op.base, ", a ", name_of(t.dtype()), " tensor of shape ", t.sizes(), ", was kept at version ",
         v.extra, " by the forward call", origin.at(), ", but is at version ", t->storage->version,
         ": it was changed in place", t->storage->changed.at());
  return std::string_view(what) == "output" ? placed(t, edge) : t;  // kept without its place; an input has it
}

void visit_kept(const Value& v, OwnedVisitor& visitor) {
  if (v.is_tensor())
    visitor.tensor(v.tensor().get());
  else if (v.tag() == Tag::Object)
    visitor.opaque(v.object());
  else if (v.tag() == Tag::Tensors)
    for (const Tensor& t : v.tensors()) visitor.tensor(t.get());
}

void OpNode::visit_owned(OwnedVisitor& v) {
  Node::visit_owned(v);
  for (int i = 0; i < arg_count; ++i) visit_kept(args[i], v);
  for (int i = 0; i < kept_count; ++i) visit_kept(kept[i], v);
}

int OpNode::arg_of_input(int position) const {
  int p = 0;
  for (int i = 0; i < arg_count; ++i) {
    Type type = op.params[size_t(i)].type;
    if (type != Type::Tensor && type != Type::Operand) continue;
    if (p++ == position) return i;
  }
  return -1;
}

Grads OpNode::apply(Grads&& grads, bool create_graph) {
  if (freed) fail_freed(*this);
  Grad d(*this, grads, create_graph);
  d.results.resize(size_t(inputs));
  try {
    if (op.form.back)
      op.form.back(d);
    else
      op.py_back(d);
  } catch (Error& e) {  // an op of the derivative has no form for sparse gradients: say whose derivative
    for (const Tensor& g : grads)
      if (g && g.sparse()) e.text = name() + " of a sparse gradient: " + e.text;
    throw;
  }
  return std::move(d.results);
}

std::vector<std::pair<std::string, Tensor>> OpNode::saved() {
  if (freed) fail_freed(*this);
  std::vector<std::pair<std::string, Tensor>> found;
  for (int i = 0; i < arg_count; ++i)
    if (args[i].is_tensor() || args[i].tag() == Tag::Object)
      if (op.params[size_t(i)].type != Type::Object)
        found.emplace_back(op.params[size_t(i)].name, unpack(args[i], "input", i));
  for (int i = 0; i < kept_count; ++i)
    if (!kept[i].none())
      found.emplace_back(i ? "result" + std::to_string(i) : "result",
                         unpack(kept[i], "output", i, output_edge(kept_slot[i])));
  return found;
}

void fail_freed(const Node& node) {
  fail("Trying to backward through the graph a second time: the tensors that ", node.name(), " kept, made",
       node.origin.at(),
       ", were freed by an earlier backward. Either this part of the graph was carried over from an earlier "
       "step (detach() it there), or call backward(retain_graph=True) the first time.");
}

// ---- what a derivative sees

namespace {
// Where a tensor of the list was changed in place.
std::string last_change(const TensorList& list) {
  for (const Tensor& t : list)
    if (t && t->storage->version) return ", was changed in place" + t->storage->changed.at();
  return "";
}
}  // namespace

const Tensor& Grad::g(int i) {
  Tensor& t = incoming_[size_t(i)];
  if (!t) {
    const InputMeta& m = node_.output_metas.at(size_t(i));
    t = zeros(m.sizes, m.dtype);
  }
  return t;
}

Tensor Grad::x(int i) {
  int at = node_.arg_of_input(i);
  return node_.unpack(node_.args[at], "input", i, create_graph ? node_.edges[i] : Edge());
}

Tensor Grad::y(int i) {
  for (int k = 0; k < node_.kept_count; ++k)
    if (node_.kept_slot[k] == i)
      return node_.unpack(node_.kept[k], "output", i, create_graph ? node_.output_edge(uint32_t(i)) : Edge());
  fail(node_.op.base, ": its derivative asks for output ", i, ", which was not kept");
}

const Value& Grad::arg(int i) const {
  const Value& v = node_.args[i];
  if (v.tag() == Tag::Tensors && versions_of(v.tensors()) != v.extra)
    fail("one of the variables needed for gradient computation has been modified by an inplace operation: a tensor ",
         "of '", node_.op.params[size_t(i)].name, "' of ", node_.op.base, ", kept by the forward call",
         node_.origin.at(), last_change(v.tensors()));
  return v;
}
Place Grad::place() const {
  const Dims& all = node_.args[0].ints();
  int n = all.size() / 2;
  return {Dims(all.data() + 1, n), Dims(all.data() + 1 + n, n), all[0]};
}
const Dims& Grad::shape(int i) const { return node_.metas[i].sizes; }
DType Grad::dtype(int i) const { return node_.metas[i].dtype; }
bool Grad::needs(int i) const {
  if (i >= node_.inputs) return false;
  Node* next = node_.edges[i].node.get();
  return next && (!t_walk || !t_walk->needed || t_walk->needed->count(next));
}
int Grad::inputs() const { return node_.inputs; }
const Op& Grad::op() const { return node_.op; }

void Grad::give(int i, Tensor t) {
  if (!needs(i) || !t) return;
  const InputMeta& m = node_.metas[i];
  if (!(t.sizes() == m.sizes)) t = sum_to(t, m.sizes);
  if (t.dtype() != m.dtype) {
    if (is_complex(t.dtype()) && !is_complex(m.dtype)) t = real_part(t);
    if (t.dtype() != m.dtype) t = to_dtype(t, m.dtype);
  }
  results[size_t(i)] = std::move(t);
}

void Grad::give_product(int i, const Tensor& turned, const Tensor& other) {
  give_deferred(i, {DeferredGrad::product, turned, other});
}
void Grad::give_rows(int i, const Tensor& index, const Tensor& rows) {
  give_deferred(i, {DeferredGrad::rows, index, rows});
}

void Grad::give_deferred(int i, const DeferredGrad& deferred) {
  if (!needs(i)) return;
  bool as_it_is = deferred.right.dtype() == node_.metas[i].dtype;
  const Dims& sizes = node_.metas[i].sizes;
  if (as_it_is && t_walk && t_walk->defers(node_.edges[i], deferred, sizes)) return;
  give(i, value_of(deferred, sizes));
}

// ---- leaves

Ref<Node> AccumulateGrad::of(TensorImpl& leaf) {
  TensorExtra& more = leaf.more();
  if (!more.accumulate) more.accumulate = new (pool_allocate(sizeof(AccumulateGrad))) AccumulateGrad(leaf);
  return Ref<Node>(more.accumulate);
}

void AccumulateGrad::visit_owned(OwnedVisitor& v) {
  Node::visit_owned(v);
  v.tensor(variable.get());
}

AccumulateGrad::~AccumulateGrad() {
  if (variable->extra) variable->extra->accumulate = nullptr;
}

Grads AccumulateGrad::apply(Grads&& grads, bool create_graph) {
  Tensor g = std::move(grads[0]);
  if (!g) return {};
  struct KeepsLock {  // else two threads could both find no grad, or add to it at once
    bool before = std::exchange(t_keeps_lock, true);
    ~KeepsLock() { t_keeps_lock = before; }
  } keeps_lock;
  TensorImpl& v = *variable;
  if (!(g.sizes() == v.sizes))
    fail("AccumulateGrad: a gradient of shape ", g.sizes(), " arrived at a leaf of shape ", v.sizes);
  if (t_recorder) t_recorder->grad_read(Tensor(&v));
  Tensor before(v.grad);
  if (!before) {
    // Steal the gradient if nobody else can see its memory, else copy it.
    const Tensor& m = g.sparse() ? entries_of(g).values : g;
    bool ours = g->refs == 1 && g->storage->refs == 1 && m->storage->refs == 1 && m->contiguous &&
                m->numel == m->storage->bytes / item_size(g.dtype());
    if (!create_graph && !ours) g = clone_of(g);
    if (!create_graph && g.wants_grad()) g = alias(g);
    v.grad = g.ref();
    if (t_recorder) t_recorder->grad_set(Tensor(&v));
  } else if (create_graph || (before.sparse() && !g.sparse())) {
    v.grad = (before + g).ref();
    if (t_recorder) t_recorder->grad_set(Tensor(&v));
  } else {
    GradMode off(false);
    add.into(before, g);
  }
  return {};
}

}  // namespace weft
