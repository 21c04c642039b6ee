#include "ops/record.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string_view>

#include "ops/strided.h"

namespace weft {

thread_local bool t_keeps_lock = false;
thread_local Visitor* t_visitor = nullptr;

// ---- nodes of ops

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
  if (v.tag() == Tag::Object) return placed(g_interpreter.unpack(v.object()), edge);
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

std::string describe_range(const Tensor& t) {
  if (t.sparse()) return "sparse tensor with values, a " + describe_range(entries_of(t).values);
  std::ostringstream s;
  s << name_of(t.dtype()) << " tensor of shape " << t.sizes();
  if (!is_floating(t.dtype()) || t.numel() == 0) return s.str();
  GradMode off(false);
  Recorder* tracing = std::exchange(t_recorder, nullptr);
  Tensor values = contiguous_of(to_dtype(alias(t), DType::Double));
  t_recorder = tracing;
  double lo = INFINITY, hi = -INFINITY;
  int64_t nans = 0;
  for (int64_t i = 0; i < values.numel(); ++i) {
    double v = values.data<double>()[i];
    if (std::isnan(v))
      ++nans;
    else
      lo = std::min(lo, v), hi = std::max(hi, v);
  }
  if (nans < values.numel()) s << " in [" << lo << ", " << hi << "]";
  if (nans) s << " with " << nans << " NaN";
  return s.str();
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
Value place_value(const TensorImpl& t) {
  Dims all{t.offset};
  for (int64_t n : t.sizes) all.push(n);
  for (int64_t n : t.strides) all.push(n);
  return Value(std::move(all));
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
  return next && (!t_visitor || !t_visitor->needed || t_visitor->needed->count(next));
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

Tensor value_of(const Share& share, const Dims& sizes) {
  static const OpRef matrix_product{"matrix_product"};
  if (share.kind == Share::product) return matrix_product(share.left, share.right, true, false);
  return index_add.into(zeros(sizes, share.right.dtype()), 0, share.left, share.right);
}

void Grad::give_product(int i, const Tensor& turned, const Tensor& other) {
  give_share(i, {Share::product, turned, other});
}
void Grad::give_rows(int i, const Tensor& index, const Tensor& rows) { give_share(i, {Share::rows, index, rows}); }

void Grad::give_share(int i, const Share& share) {
  if (!needs(i)) return;
  bool as_it_is = share.right.dtype() == node_.metas[i].dtype;
  const Dims& sizes = node_.metas[i].sizes;
  if (as_it_is && t_visitor && t_visitor->takes(node_.edges[i], share, sizes)) return;
  give(i, value_of(share, sizes));
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

// ---- history
//
// One rule for views, whichever op made them: a view is its base, seen through sizes, strides and an offset, and its
// history follows from that of the base. docs/architecture/views.md says what this means for changes in place.

// Made before its base, a leaf, was told to require a gradient.
static bool view_came_early(const TensorImpl& t) {
  return !t.grad_fn && !t.requires_grad && !t.unrecorded_view && t.base->requires_grad;
}
bool view_is_stale(const TensorImpl& t) {
  return t.base && (t.view_version != t.storage->version || view_came_early(t));
}

// False once the view or its base was given other memory, through `.data`: they share none any more.
static bool still_a_view(TensorImpl& t) {
  if (t.base && t.base->storage.get() != t.storage.get()) t.base = nullptr;
  return bool(t.base);
}

static Tensor seen_from_base(const TensorImpl& t) {
  static const OpRef view_as_real{"view_as_real"}, view_as_complex{"view_as_complex"};
  Tensor base(t.base.get());
  if (t.dtype == base.dtype()) return as_strided(base, t.sizes, t.strides, t.offset);
  if (is_complex(base.dtype())) return as_strided(view_as_real(base), t.sizes, t.strides, t.offset);
  Dims sizes = t.sizes, strides = t.strides;  // pairs of numbers
  for (int64_t& s : strides) s *= 2;
  sizes.push(2);
  strides.push(1);
  return view_as_complex(as_strided(base, sizes, strides, 2 * t.offset));
}

// A view whose base was changed, itself or through another view, gets its history from the base again. It stays stale
// where that is not known.
static void refresh_view(TensorImpl& t) {
  if (!still_a_view(t)) return;
  const TensorImpl& base = *t.base;
  bool pair = is_complex(base.dtype) ? t.dtype == real_of(base.dtype)
                                     : is_complex(t.dtype) && base.dtype == real_of(t.dtype);
  bool has_gradient = t.dtype == base.dtype || pair;  // bits read as another type have none
  bool changed = base.grad_fn || (base.requires_grad && view_came_early(t));
  if (has_gradient && changed && (t.unrecorded_view || (t.extra && t.extra->view_fixed))) return;
  t.view_version = t.storage->version;
  if (!has_gradient || !changed) return;
  GradMode on(true);
  Tensor again = seen_from_base(t);
  t.set_history(again->grad_fn, again->slot);
}

bool wants_grad(TensorImpl& t) {
  if (!view_is_stale(t)) [[likely]]
    return t.wants_grad();
  refresh_view(t);
  return t.wants_grad() || view_is_stale(t);  // gradient_edge says what is wrong with a stale one
}

bool shows_grad(TensorImpl& t) {
  return wants_grad(t) || (t.unrecorded_view && still_a_view(t) && wants_grad(*t.base));
}

Edge gradient_edge(TensorImpl& t) {
  if (view_is_stale(t)) {
    refresh_view(t);
    if (view_is_stale(t))
      fail(t.unrecorded_view ? "A view was created in no_grad mode" : "This view was returned by a custom Function",
           " and its base or another view of its base has been modified in place", t.storage->changed.at(),
           ": its gradient is not known any more. Make the view again, after the change");
  }
  if (t.grad_fn) return {t.grad_fn, t.slot};
  if (t.requires_grad) return {AccumulateGrad::of(t), 0};
  return {};
}

uint32_t versions_of(const TensorList& list) {
  uint32_t sum = 0;
  for (const Tensor& t : list)
    if (t) sum += t->storage->version;
  return sum;
}

void check_apart(const Tensor& target, const char* op) {
  if (target->contiguous || target.numel() <= 1 || target.sparse()) return;
  if (overlaps_itself(target.sizes(), target.strides()))
    fail(op,
         ": unsupported operation: more than one element of the written-to tensor refers to a single memory location "
         "(shape ",
         target.sizes(), ", strides ", target.strides(),
         "). Please clone() the tensor before performing the operation.");
}

void check_changeable(const Tensor& self, const char* op) {
  bool all_equal = std::string_view(op) == "zero_" || std::string_view(op) == "fill";  // then sharing does no harm
  if (!all_equal) check_apart(self, op);
}

void check_inplace(const Tensor& self, const char* op) {
  if (!self->storage->writable) fail(op, ": the memory of this tensor is read-only");
  if (self->inference && !t_modes.inference)
    fail(op,
         ": Inplace update to inference tensor outside InferenceMode is not allowed. Clone it first: x = x.clone()");
  check_changeable(self, op);
  if (!t_modes.grad) return;
  if (self->requires_grad && self.is_leaf())
    fail(op,
         ": a leaf Variable that requires grad is being used in an in-place operation. Change it inside "
         "`with no_grad():`, or work on a copy (x = x.clone()).");
  if (self->unrecorded_view && still_a_view(*self.get()) && wants_grad(*self->base.get()))
    fail(
        op,
        ": A view was created in no_grad mode and is being modified inplace with grad mode enabled. Make both the view "
        "and the change under no_grad(), or neither");
  if (self->base && self->base->requires_grad && !self->base->grad_fn)
    fail(op,
         ": a view of a leaf Variable that requires grad is being used in an in-place operation. Change it inside "
         "`with no_grad():`, or make a copy of the leaf first.");
}

void check_rebase(const Tensor& self, bool by_others) {
  if (by_others) check_apart(self, "in-place change");  // else each of them would get the gradient of one place
  if (!still_a_view(*self.get())) return;
  Tensor base(self->base.get());
  if (self->extra && self->extra->view_fixed)
    fail("this view was returned by a custom Function: it must not be changed in place; use the out-of-place function ",
         "or clone() it");
  if (self.dtype() != base.dtype())
    fail("in-place change of a view whose dtype is ", name_of(self.dtype()), " while that of its base is ",
         name_of(base.dtype()), ": it cannot be recorded; clone() the view first");
  int64_t first = self->offset - base->offset;
  if (overlaps_itself(base.sizes(), base.strides()) || first < 0 ||
      first + span_of(self.sizes(), self.strides()) > span_of(base.sizes(), base.strides()))
    fail("in-place change of a view that reaches beyond its base (shape ", base.sizes(), ", strides ", base.strides(),
         "), or whose base has elements that share memory: clone() the base first");
}

void rebase_history(Tensor& self, Ref<Node> node) {
  if (!self->base) return self->set_history(std::move(node), 0);
  Tensor base(self->base.get());
  Ref<Node> copy = CopySlices::make(base, self, std::move(node));
  base->set_history(copy, 0);
  refresh_view(*self.get());
}

// Whether both show the same elements, in whatever order.
static bool same_elements(const Tensor& a, const Tensor& b) {
  auto steps = [](const Tensor& t) {
    std::vector<std::pair<int64_t, int64_t>> found;
    for (int i = 0; i < t.dim(); ++i)
      if (t.size(i) != 1) found.emplace_back(t.stride(i), t.size(i));
    std::sort(found.begin(), found.end());
    return found;
  };
  if (a->offset != b->offset || a.numel() != b.numel()) return a.numel() == 0 && b.numel() == 0;
  return (is_dense(a.sizes(), a.strides()) && is_dense(b.sizes(), b.strides())) || steps(a) == steps(b);
}

void take_geometry(Tensor& t, const Tensor& view) {
  check_inplace(t, "in-place view");
  if (!t->base && t->grad_fn && !same_elements(t, view))
    fail("as_strided_: it would leave out elements of a tensor that is no view itself, and their gradients with them; ",
         "use as_strided()");
  Tensor again = view;
  if (!view->grad_fn && !t.is_leaf()) {  // no_grad forgets changes of values, not which element is which
    GradMode on(true);
    again = as_strided(t, view.sizes(), view.strides(), view->offset);
  }
  t->set_geometry(view.sizes(), view.strides(), view->offset);
  if (again->grad_fn) t->set_history(again->grad_fn, again->slot);
  t->storage->touch();
  t->view_version = t->storage->version;
  if (t_recorder) t_recorder->became(t, view);
}

Ref<Node> CopySlices::make(const Tensor& base, const Tensor& view, Ref<Node> change) {
  uint32_t edges = change->edge_count;
  Edge first = gradient_edge(*base.get());
  size_t bytes = sizeof(CopySlices) + sizeof(Edge) * edges;
  char* block = static_cast<char*>(pool_allocate(bytes));
  auto* n = new (block) CopySlices;
  n->edges = reinterpret_cast<Edge*>(block + sizeof(CopySlices));
  n->edge_count = edges;
  new (n->edges) Edge(std::move(first));  // not the first edge of `change`, which goes to the view before the change
  for (uint32_t i = 1; i < edges; ++i) new (n->edges + i) Edge(change->edges[i]);
  n->change = std::move(change);
  n->change->outer = n;
  n->dtype = base.dtype();
  n->base_sizes = base.sizes();
  n->base_strides = base.strides();
  n->view_sizes = view.sizes();
  n->view_strides = view.strides();
  n->view_offset = view->offset - base->offset;
  n->origin = Origin::here();
  return Ref<Node>(n);
}

// A second derivative that meets the changed view as a kept output goes on to the part of the base that it is.
Edge CopySlices::part_edge() {
  GradMode on(true);
  Tensor whole = placed(empty_strided(base_sizes, base_strides, dtype), {Ref<Node>(this), 0});
  Tensor part = as_strided(whole, view_sizes, view_strides, view_offset);
  return {part->grad_fn, part->slot};
}

void CopySlices::visit_owned(OwnedVisitor& v) {
  Node::visit_owned(v);
  v.node(change.get());
}

size_t CopySlices::bytes() const { return sizeof(CopySlices) + sizeof(Edge) * edge_count; }

Grads CopySlices::apply(Grads&& grads, bool create_graph) {
  Tensor g = grads[0];
  if (!g) return Grads(edge_count);
  Tensor laid_out = spread(g, base_strides);  // as the base is
  Tensor part = as_strided(laid_out, view_sizes, view_strides, view_offset);
  Grads inner(1);
  inner[0] = part;
  Grads results;
  {
    Visiting alone(nullptr);  // its edge to the base is not one of the graph
    results = change->apply(std::move(inner), create_graph);
  }
  if (edges[0].node) {
    Tensor slice = results[0] ? results[0] : zeros(view_sizes, g.dtype());
    results[0] = replace_strided(laid_out, slice, view_sizes, view_strides, view_offset);
    if (!is_dense(base_sizes, base_strides)) results[0] = as_strided(results[0], base_sizes, base_strides, 0);
  }
  return results;
}

}  // namespace weft
