// Hooks written in Python, and what the graph shows to Python's collector.
#pragma once

#include "bind/args.h"
#include "ops/recording.h"

namespace weft {

// What a handle and its hook share. The handle owns neither the hook nor what that hangs on, so none of them keeps
// another alive.
struct Ticket : Counted {
  Hook* hook = nullptr;  // while it lives
  uint64_t id = 0;
  void destroy() { delete this; }
};

struct PyHook final : Hook {
  PyHook(PyObject* f, int slot) : callable(f), slot(slot), ticket(new Ticket) {
    static uint64_t ids = 0;
    Py_INCREF(f);
    ticket->hook = this;
    ticket->id = ++ids;
  }
  ~PyHook() override {
    ticket->hook = nullptr;
    Py_XDECREF(callable);
  }
  void drop() {
    removed = true;
    Py_CLEAR(callable);
  }
  void on_gradient(Tensor& grad) override;
  void after_accumulate(const Tensor& leaf) override;
  void before_node(Grads& grads) override;
  void after_node(Grads& results, const Grads& grads) override;

  PyObject* callable;
  int slot;  // of a hook on one output of a node: the gradient of a tensor that is no leaf; else -1
  Ref<Ticket> ticket;

 private:
  nb::object call(nb::handle a, nb::handle b = {});
};

struct HookHandle {
  Ref<Ticket> ticket;
  void remove() {
    if (ticket->hook) static_cast<PyHook*>(ticket->hook)->drop();
  }
};

HookHandle add_hook(Hooks& hooks, nb::handle f, const char* what, int slot = -1);

// A saved tensor as the user's pack hook left it.
struct Packed final : Opaque {
  nb::object object, unpack;
};

nb::object tuple_of(const Grads& grads);
void replace_grads(Grads& grads, nb::handle r, const char* what);  // by the tensors that a hook or function returned

void bind_hooks(nb::module_& m);

}  // namespace weft
