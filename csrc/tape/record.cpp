// Recording: what stays of a call on the tape.
#include "tape/record.h"

#include <algorithm>

#include "core/interpreter.h"
#include "ops/api.h"
#include "tape/anomaly.h"
#include "tape/nodes.h"
#include "tape/views.h"

namespace weft {

int g_saved_hooks = 0;

uint32_t versions_of(const TensorList& list) {
  uint32_t sum = 0;
  for (const Tensor& t : list)
    if (t) sum += t->storage->version;
  return sum;
}

Value place_value(const TensorImpl& t) {
  Dims all{t.offset};
  for (int64_t n : t.sizes) all.push(n);
  for (int64_t n : t.strides) all.push(n);
  return Value(std::move(all));
}

namespace {

// The kept tensor: itself with its version, or what the user's pack hook made of it.
Value keep_tensor(const Tensor& t) {
  if (t->inference)
    fail(
        "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor "
        "and use it in autograd: x = x.clone()");
  if (g_saved_hooks) {
    uint32_t before = t->storage->version;
    auto packed = interpreter::pack(t);
    if (t->storage->version != before)
      fail(
          "A saved tensor pack hook is modifying its input in place. Tensors provided as input to a pack hook can not "
          "be modified by in-place operations as this can lead to unexpected side-effects.");
    if (packed) return Value(std::move(packed));
  }
  Value v(t);
  v.extra = t->storage->version;
  return v;
}

// Whether an input that backward does not need is kept for nan_origin. One that the call writes would own its own node.
bool keeps_for_replay(Call& c, const Tensor& t) {
  return t_keeps_inputs && !(t && (wants_grad(*t.get()) || (c.inplace && t.is(c.tensor(0)))));
}

}  // namespace

// In place this happens before anything is written: what may not be kept is refused while the data is as it was.
Ref<Node> record_inputs(Call& c, uint32_t wanting, int inputs, const Tensor& original_self) {
  uint32_t keeps = keeps_of(c, wanting);
  Ref<OpNode> n(OpNode::make(c.op, inputs, c.count, __builtin_popcount(keeps >> 16)));
  n->origin = Origin::here();
  each_input(c, [&](int p, TensorImpl* t) {
    if (!t || !wants_grad(*t)) return;
    n->edges[p] = gradient_edge(*t);
    n->metas[p].sizes = t->sizes;
    n->metas[p].dtype = t->dtype;
  });
  n->renumber();
  int position = 0;
  for (int i = 0; i < c.count; ++i) {
    Value& v = c.arg(i);
    Type type = c.op.params[size_t(i)].type;
    if (v.tag() == Tag::Tensors) {
      if (keeps & keep::inputs & (1u << std::min(position, 15))) {
        n->args[i] = v;
        n->args[i].extra = versions_of(v.tensors());
      } else if (keeps_for_replay(c, Tensor())) {
        n->args[i] = v;
      }
      position += int(v.tensors().size());
    } else if (type == Type::Tensor || type == Type::Operand) {
      bool wanted = keeps & (1u << std::min(position, 15));
      if (v.is_tensor() && wanted) {
        bool self = original_self && (position == 0 || v.tensor().is(c.tensor(0)));
        n->args[i] = keep_tensor(self ? original_self : v.tensor());
      } else if (!v.is_tensor() || keeps_for_replay(c, v.tensor()))
        n->args[i] = v;
      ++position;
    } else {
      n->args[i] = v;
    }
  }
  if (c.op.form.keeps_place) n->args[0] = place_value(*c.tensor(0).get());
  if (t_modes.anomaly) note_ranges(*n, c);
  return Ref<Node>(n.get());
}

void record_outputs(Ref<Node> node, Call& c, uint32_t wanting) {
  OpNode& n = static_cast<OpNode&>(*node);
  uint32_t keeps = keeps_of(c, wanting);
  int k = 0;
  for (int i = 0; i < c.out_count; ++i) {
    if (!(keeps & (keep::y0 << i))) continue;
    n.kept_slot[k] = uint8_t(i);
    n.kept[k++] = keep_tensor(alias(c.out[i]));
  }
  n.outputs = uint32_t(std::max(c.out_count, 1));
  if (c.out_count > 1)
    for (int i = 0; i < c.out_count; ++i) n.output_metas.push_back({c.out[i].sizes(), c.out[i].dtype()});
  if (c.inplace) return rebase_history(c.out[0], std::move(node));
  bool any = false;
  for (int i = 0; i < c.out_count; ++i)
    if (is_inexact(c.out[i].dtype())) {
      c.out[i]->set_history(node, uint32_t(i));
      any = true;
    }
  if (!any) note_cut(c, wanting);
}

void note_cut(Call& c, uint32_t wanting) {
  Ref<Cut> cut;
  if (wanting) {
    cut = Ref<Cut>(new Cut);
    if (!t_modes.grad)
      cut->what = c.op.base + " ran under no_grad";
    else if (c.op.base == "detach")
      cut->what = "detach()";
    else if (c.op.differentiable())
      cut->what = c.op.base + ", whose result is " + name_of(c.out[0].dtype()) + ": integers have no gradient";
    else
      cut->what = c.op.base + " has no derivative";
    cut->origin = Origin::here();
  } else {
    each_input(c, [&](int, TensorImpl* t) {
      if (t && t->cut && !cut) cut = t->cut;
    });
    if (!cut) return;
  }
  for (int i = 0; i < c.out_count; ++i) c.out[i]->cut = cut;
}

}  // namespace weft
