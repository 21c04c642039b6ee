// Properties of sparse tensors.
#include "ops/sparse.h"
#include "bind/python.h"

namespace weft {
namespace {

Entries& entries_for(const Tensor& t, const char* what) {
  if (!t.sparse())
    fail(what, ": expected a tensor of layout ", name_of(Layout::SparseCoo), " or another sparse one, got ",
         name_of(t->layout));
  return entries_of(t);
}

}  // namespace

void bind_sparse(nb::module_& m) {
  m.def("_sparse_indices", [](Tensor t, const char* what) { return alias(entries_for(t, what).indices); });
  m.def("_sparse_values", [](Tensor t, const char* what) { return alias(entries_for(t, what).values); });
  m.def("_sparse_coalesced", [](Tensor t, const char* what) { return entries_for(t, what).coalesced; });
  m.def("_sparse_layout", [](Tensor t) { return name_of(t->layout); });
  m.def("_sparse_dim", [](Tensor t) { return t.sparse() ? sparse_dims(t) : 0; });
}

}  // namespace weft
