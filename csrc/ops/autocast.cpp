#include "ops/autocast.h"

#include <algorithm>
#include <unordered_map>

#include "ops/api.h"

namespace weft {

thread_local Autocast t_autocast;

namespace {

struct Kept {
  Tensor from, to;  // holding `from` keeps its address its own
  uint32_t changes;
  bool recorded;
};
// A pointer: a thread that ends must not free tensors without the interpreter.
thread_local std::unordered_map<TensorImpl*, Kept>* t_kept = nullptr;

bool may_cast(const Tensor& t) { return t && !t.sparse() && is_floating(t.dtype()) && t.dtype() != DType::Double; }

// Parameters: what views and results are cast to is not asked for again.
bool worth_keeping(const Tensor& t, DType type) {
  return t_autocast.cache && type == t_autocast.type && t.dtype() == DType::Float && t->requires_grad && t.is_leaf() &&
         !t->base && !t_recorder && !t_modes.inference;
}

Tensor cast_once(const Tensor& t, DType type) {
  if (!t_kept) t_kept = new std::unordered_map<TensorImpl*, Kept>;
  auto it = t_kept->find(t.get());
  if (it != t_kept->end()) {
    const Kept& k = it->second;
    if (k.to.dtype() == type && k.changes == t->storage->changes && (k.recorded || !t_modes.grad)) return k.to;
  }
  Tensor to = to_dtype(t, type);
  (*t_kept)[t.get()] = Kept{t, to, t->storage->changes, t_modes.grad};
  return to;
}

// The tensors of a call that a list is about.
TensorList tensors_of(Call& c) {
  TensorList found;
  for (int i = 0; i < c.count; ++i) {
    Value& v = c.arg(i);
    if (v.is_tensor()) found.push_back(v.tensor());
    if (v.tag() == Tag::Tensors) found.insert(found.end(), v.tensors().begin(), v.tensors().end());
  }
  return found;
}

}  // namespace

Tensor autocast_to(const Tensor& t, DType type) {
  if (!may_cast(t) || t.dtype() == type) return t;
  return worth_keeping(t, type) ? cast_once(t, type) : to_dtype(t, type);
}

DType autocast_type(Cast cast, const TensorList& tensors) {
  if (cast == Cast::Lower) return t_autocast.type;
  if (cast == Cast::Float) return DType::Float;
  for (const Tensor& t : tensors)
    if (may_cast(t) && t.dtype() != t_autocast.type) return DType::Float;
  return t_autocast.type;
}

void forget_casts() { delete std::exchange(t_kept, nullptr); }

void run_cast(Call& c) {
  TensorList tensors = tensors_of(c);
  DType type = autocast_type(c.op.cast, tensors);
  bool sparse = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t && t.sparse(); });
  for (int i = 0; i < c.count && !sparse; ++i) {
    Value& v = c.arg(i);
    if (v.is_tensor()) v = Value(autocast_to(v.tensor(), type));
    if (v.tag() == Tag::Tensors)
      for (Tensor& t : v.tensors()) t = autocast_to(t, type);
  }
  AutocastOff off;
  run_call(c);
}

}  // namespace weft
