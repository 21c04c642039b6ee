#include "bind/preconditions.h"

#include <algorithm>

namespace weft {
namespace {

bool any(const Hooks& hooks) {
  return std::any_of(hooks.begin(), hooks.end(), [](const Ref<Hook>& h) { return !h->removed; });
}

// Which of the inputs a tensor is, or how many there are.
size_t number_of(const TensorImpl& t, const std::vector<Tensor>& inputs) {
  size_t i = 0;
  while (i < inputs.size() && inputs[i].get() != &t) ++i;
  return i;
}

}  // namespace

bool has_hooks(const TensorImpl& t) {
  if (t.extra && (any(t.extra->hooks) || any(t.extra->after_accumulate))) return true;
  return t.grad_fn && t.grad_fn->hooks && (any(t.grad_fn->hooks->before) || any(t.grad_fn->hooks->after));
}

bool Nesting::flatten(PyObject* x, std::vector<PyObject*>& leaves) const {
  if (!type) {
    leaves.push_back(x);
    return true;
  }
  if (Py_TYPE(x) != type) return false;
  if (keys) {
    if (size_t(PyDict_GET_SIZE(x)) != items.size()) return false;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (size_t i = 0; PyDict_Next(x, &at, &key, &value); ++i)
      if (key != PyTuple_GET_ITEM(keys, Py_ssize_t(i)) || !items[i].flatten(value, leaves)) return false;
    return true;
  }
  if (size_t(PySequence_Fast_GET_SIZE(x)) != items.size()) return false;
  for (size_t i = 0; i < items.size(); ++i)
    if (!items[i].flatten(PySequence_Fast_GET_ITEM(x, Py_ssize_t(i)), leaves)) return false;
  return true;
}

Nesting Preconditions::nesting_of(nb::handle o) {
  Nesting n;
  if (o.is_none()) return n;
  n.type = reinterpret_cast<PyTypeObject*>(keep(o[0]));
  if (n.type == &PyDict_Type) n.keys = keep(o[2]);
  for (nb::handle item : nb::object(o[1])) n.items.push_back(nesting_of(item));
  return n;
}

bool Preconditions::hold(PyObject* const* args, size_t count, std::vector<Tensor>& inputs) const {
  if (t_modes.grad != grad_ || t_modes.inference != inference_ || t_modes.anomaly || t_modes.autocast != autocast_ ||
      (autocast_ && t_autocast.type != small_) || t_recorder || g_saved_hooks || default_dtype() != default_dtype_)
    return false;
  if (count != arguments_.size()) return false;
  inputs.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    PyObject* given = args[i];
    const Argument& a = arguments_[i];
    if (a.value) {
      if (!same(given, a.value)) return false;
      continue;
    }
    if (reinterpret_cast<PyObject*>(Py_TYPE(given)) != a.type) return false;
    if (a.role < 0) continue;
    TensorImpl& t = *impl_of(given);
    if (number_of(t, inputs) != a.number) return false;
    if (a.number < inputs.size()) continue;
    if (role(t) != a.role || has_hooks(t) || attributes(given)) return false;
    inputs.emplace_back(&t);
  }
  if (guards_ && guards_->failing() >= 0) return false;
  if (compares_identity_ &&
      std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& t) { return strangers_.count(t.get()) > 0; }))
    return false;
  return std::all_of(roles_.begin(), roles_.end(), [](const Role& r) {
    return role(*r.t.get()) == r.role && !has_hooks(*r.t.get()) && attributes(*r.t.get()) == r.attributes;
  });
}

}  // namespace weft
