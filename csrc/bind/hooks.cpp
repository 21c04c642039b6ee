#include "bind/hooks.h"

#include "bind/life.h"

namespace weft {

HookHandle add_hook(Hooks& hooks, nb::handle f, const char* what, int slot) {
  if (!PyCallable_Check(f.ptr())) fail_type(what, ": expected a callable, got ", Py_TYPE(f.ptr())->tp_name);
  if (hooks.size() == hooks.capacity()) {  // rarely, so that a thousand hooks cost a thousand steps
    std::erase_if(hooks, [](const Ref<Hook>& h) { return h->removed; });
    if (2 * hooks.size() >= hooks.capacity()) hooks.reserve(2 * hooks.capacity() + 4);
  }
  auto* hook = new PyHook(f.ptr(), slot);
  hooks.push_back(Ref<Hook>(hook));
  return {hook->ticket};
}

nb::object tuple_of(const Grads& grads) {
  PyObject* t = PyTuple_New(Py_ssize_t(grads.size()));
  for (size_t i = 0; i < grads.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), wrap(grads[i]));
  return nb::steal(t);
}

void replace_grads(Grads& grads, nb::handle r, const char* what) {
  if (r.is_none()) return;
  if (!is_tensor(r.ptr()) && !PyTuple_Check(r.ptr()) && !PyList_Check(r.ptr()))
    fail_type(what, " must return a Tensor, a tuple or None");
  nb::object items = is_tensor(r.ptr()) ? nb::object(nb::make_tuple(r)) : items_of(r.ptr());
  size_t n = size_t(PyTuple_GET_SIZE(items.ptr()));
  if (n != grads.size()) fail(what, " returned ", n, " gradients, expected ", grads.size());
  for (size_t i = 0; i < n; ++i) {
    nb::handle item = PyTuple_GET_ITEM(items.ptr(), Py_ssize_t(i));
    grads[i] = item.is_none() ? Tensor() : to_tensor(item, "a gradient");
  }
}

nb::object PyHook::call(nb::handle a, nb::handle b) {
  if (t_recorder) t_recorder->hooked();
  nb::object f = nb::borrow(callable);  // it may remove itself
  nb::object r = nb::steal(PyObject_CallFunctionObjArgs(f.ptr(), a.ptr(), b.ptr(), nullptr));
  if (!r.is_valid()) throw PythonError();
  return r;
}

void PyHook::on_gradient(Tensor& grad) {
  if (!grad) return;
  nb::object r = call(nb::steal(wrap(grad)));
  if (r.is_none()) return;
  Tensor t = to_tensor(r, "the gradient that a hook returns");
  if (!(t.sizes() == grad.sizes()))
    fail("hook: the gradient it returned has shape ", t.sizes(), ", expected ", grad.sizes());
  if (t.dtype() != grad.dtype())
    fail("hook: the gradient it returned has dtype ", name_of(t.dtype()), ", expected ", name_of(grad.dtype()));
  grad = t;
}

void PyHook::before_node(Grads& grads) {
  if (slot >= 0) return on_gradient(grads[size_t(slot)]);
  replace_grads(grads, call(tuple_of(grads)), "a node's pre-hook");
}
void PyHook::after_node(Grads& results, const Grads& grads) {
  replace_grads(results, call(tuple_of(results), tuple_of(grads)), "a node's hook");
}
void PyHook::after_accumulate(const Tensor& leaf) {
  nb::object r = call(nb::steal(wrap(leaf)));
  if (!r.is_none())
    fail_type("register_post_accumulate_grad_hook: the hook must return None, not ", Py_TYPE(r.ptr())->tp_name,
              "; change .grad itself");
}

namespace {

HookHandle hook_gradient(Tensor t, nb::handle f) {
  if (!wants_grad(*t.get())) fail("register_hook: cannot register a hook on a tensor that doesn't require gradient");
  track(t->pyobj);
  if (t.is_leaf()) return add_hook(t->more().hooks, f, "register_hook");
  return add_hook(t->grad_fn->more_hooks().before, f, "register_hook", int(t->slot));
}
HookHandle hook_accumulated(Tensor t, nb::handle f) {
  if (!wants_grad(*t.get())) fail("register_post_accumulate_grad_hook: the tensor does not require gradient");
  if (!t.is_leaf()) fail("post accumulate grad hooks cannot be registered on non-leaf tensors");
  track(t->pyobj);
  return add_hook(t->more().after_accumulate, f, "register_post_accumulate_grad_hook");
}

}  // namespace

void bind_hooks(nb::module_& m) {
  nb::class_<HookHandle>(m, "RemovableHandle")
      .def("remove", &HookHandle::remove, "Takes the hook away.")
      .def_prop_ro("id", [](HookHandle& h) { return h.ticket->id; })
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](HookHandle& h, nb::args) { h.remove(); });
  m.def("_register_hook", hook_gradient);
  m.def("_register_post_accumulate_grad_hook", hook_accumulated);
}

}  // namespace weft
