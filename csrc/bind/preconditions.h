// What must hold of a call for a replay of a captured one (weft/jit/compile): modes, arguments, guards.
#pragma once

#include <unordered_set>
#include <vector>

#include "bind/guards.h"
#include "bind/python.h"
#include "ops/autocast.h"
#include "tape/record.h"

namespace weft {

bool has_hooks(const TensorImpl& t);  // whether somebody is called when its gradient is there

// A structure of tuples, lists and dicts with keys of text. Invariant: it flattens to as many leaves as it has.
struct Nesting {
  PyTypeObject* type = nullptr;  // null: a leaf
  PyObject* keys = nullptr;      // of a dict, in order
  std::vector<Nesting> items;

  // Appends the leaves of x, borrowed; false where x has another structure.
  bool flatten(PyObject* x, std::vector<PyObject*>& leaves) const;
};

class Preconditions {
 public:
  // The modes are those of now, with these of gradients.
  void set_modes(bool grad, bool inference) {
    grad_ = grad, inference_ = inference;
    autocast_ = t_modes.autocast, small_ = t_autocast.type;
  }
  // The next argument is an input: the next one, or one that was given before. It is of the class of that tensor, with
  // the same role.
  void take_input(size_t number, nb::object like) {
    arguments_.push_back({nullptr, keep(like.type()), role(*tensor_of(like.ptr()).get()), number});
  }
  // The next argument is this object, or an equal one of the same simple type.
  void take_value(nb::object o) { arguments_.push_back({keep(o), nullptr, 0, 0}); }
  // The next argument is of this class, and need not be equal.
  void take_any(nb::object type) { arguments_.push_back({nullptr, keep(type), -1, 0}); }
  // What Python can see is as it was.
  void set_guards(nb::object guards) {
    keep(guards);
    guards_ = &nb::cast<Guards&>(guards);
  }
  // No input is one of these tensors.
  void set_strangers(const std::vector<Tensor>& tensors) {
    compares_identity_ = true;
    for (const Tensor& t : tensors) strangers_.insert(t.get());
  }
  // How the arguments lie in those of a call, where these are containers. Without keywords.
  void set_nesting(nb::object nesting) { nesting_ = nesting_of(nesting); }
  bool is_nested() const { return nesting_.type; }
  // The arguments, borrowed, given the tuple of those of a call; false where it has another structure.
  bool flatten(PyObject* args, std::vector<PyObject*>& leaves) const {
    return nesting_.type && nesting_.flatten(args, leaves);
  }
  // t has the role that it has now, and no hooks.
  void require_role(Tensor t) { roles_.push_back({t, role(*t.get()), attributes(*t.get())}); }

  // Whether all is as it must be; finds the inputs among the arguments.
  bool hold(PyObject* const* args, size_t count, std::vector<Tensor>& inputs) const;

  PyObject* refs() const { return refs_.ptr(); }
  void drop_refs() { refs_ = nb::list(); }

 protected:
  PyObject* keep(nb::handle o) {
    refs_.append(o);
    return o.ptr();
  }
  // None: a leaf; else (type, [parts]), with the keys of a dict behind them.
  Nesting nesting_of(nb::handle o);

 private:
  struct Argument {
    PyObject* value;  // null: a tensor, or any object of a class
    PyObject* type;   // of the tensor or object
    int role;         // -1: no tensor
    size_t number;    // among the inputs
  };
  struct Role {
    Tensor t;
    int role;
    Py_ssize_t attributes;
  };

  nb::list refs_;  // every Python object that is held, where the collector sees them
  DType default_dtype_ = default_dtype();
  bool grad_ = true, inference_ = false, autocast_ = false, compares_identity_ = false;
  DType small_ = DType::BFloat16;  // with autocast
  std::vector<Argument> arguments_;
  Nesting nesting_;
  Guards* guards_ = nullptr;
  std::unordered_set<const TensorImpl*> strangers_;
  std::vector<Role> roles_;
};

}  // namespace weft
