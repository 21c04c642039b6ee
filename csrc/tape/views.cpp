// Which history a view has, and what a change in place does to it.
//
// One rule, whichever op made the view: a view is its base, seen through sizes, strides and an offset, and its history
// follows from that of the base. docs/architecture/views.md says what this means for changes in place.
#include "tape/views.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "ops/api.h"
#include "ops/strided.h"
#include "tape/nodes.h"
#include "tape/walk.h"

namespace weft {

// Made before its base, a leaf, was set to require a gradient.
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
    WithWalk alone(nullptr);  // its edge to the base is not one of the graph
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
