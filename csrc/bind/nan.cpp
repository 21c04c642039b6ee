// What weft.debug.nan_origin needs: a backward pass that is checked, and looks at nodes to compute them again.
#include "bind/args.h"
#include "bind/memory.h"
#include "ops/parts.h"
#include "tape/anomaly.h"

namespace weft {

void bind_nan(nb::module_& m);

namespace {

// Calls `walk`, which is _run_backward, with the same arguments. Returns what was not finite: nothing, a root or a
// gradient given to one (then there is no walk), or the gradient of a leaf (then the graph stays).
const char* run_backward_checked(const nb::object& walk, nb::tuple tensors, nb::tuple grads, nb::object retain_graph,
                                 nb::object create_graph, nb::object inputs, nb::object allow_unused,
                                 nb::object accumulate) {
  auto run = [&] { walk(tensors, grads, retain_graph, create_graph, inputs, allow_unused, accumulate); };
  if (t_checks_leaves) {  // inside of another one, which looks at all
    run();
    return "";
  }
  for (nb::handle t : tensors)
    if (is_tensor(t.ptr()) && !all_finite(Tensor(impl_of(t.ptr())))) return "root";
  for (nb::handle g : grads)
    if (is_tensor(g.ptr()) && !all_finite(Tensor(impl_of(g.ptr())))) return "given";
  struct Checking {
    Checking() { t_checks_leaves = true, t_found_infinite = false; }
    ~Checking() { t_checks_leaves = t_found_infinite = false; }
  } checking;
  run();
  return t_found_infinite ? "leaf" : "";
}

Node& checked_node(nb::handle o, const char* caller) {
  if (!PyObject_TypeCheck(o.ptr(), NodeType)) throw nb::type_error(caller);
  return node_of(o.ptr());
}

}  // namespace

void bind_nan(nb::module_& m) {
  nb::object walk = m.attr("_run_backward");
  m.def(
      "_run_backward_checked",
      [walk](nb::tuple tensors, nb::tuple grads, nb::object retain, nb::object create, nb::object inputs,
             nb::object allow_unused, nb::object accumulate) {
        return run_backward_checked(walk, tensors, grads, retain, create, inputs, allow_unused, accumulate);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("_keep_inputs", [](bool on) { t_keeps_inputs = on; });  // nodes keep what it takes to compute them again
  m.def("_all_finite", [](Tensor t) { return all_finite(t); });
  m.def("_parts_of", [](nb::handle o) -> nb::object {  // (dim, widths) of a node of split, chunk or unbind, or None
    const Parts* parts = parts_of(checked_node(o, "_parts_of: takes a node"));
    if (!parts) return nb::none();
    return nb::make_tuple(parts->dim, nb::steal(wrap_size(parts->widths)));
  });
  // A compiled call becomes the nodes of its ops; false: this is none.
  m.def("_unfold", [](nb::handle o) { return checked_node(o, "_unfold: takes a node").unfold(); });
}

}  // namespace weft
