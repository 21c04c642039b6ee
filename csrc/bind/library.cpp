// LAPACK and BLAS, found by Python (weft/linalg/openblas.py): where their functions are, and how many threads they
// have.
#include "bind/python.h"
#include "ops/lapack.h"

namespace weft {
namespace {

PyObject *g_find = nullptr, *g_use_threads = nullptr;

void* find(const char* name, DType type) {
  nb::object dtype = nb::steal(wrap_dtype(type));
  nb::object address = nb::steal(PyObject_CallFunction(g_find, "sO", name, dtype.ptr()));
  if (!address.is_valid()) throw PythonError();
  return reinterpret_cast<void*>(nb::cast<uintptr_t>(address));
}

void use_threads(int count) {
  static int before = 0;
  if (count == before) return;
  nb::object done = nb::steal(PyObject_CallFunction(g_use_threads, "i", count));
  if (!done.is_valid()) throw PythonError();
  before = count;
}

}  // namespace

void bind_library(nb::module_& m) {
  m.def("_set_lapack", [](nb::object find_function, nb::object set_threads) {
    g_find = find_function.release().ptr();
    g_use_threads = set_threads.release().ptr();
    g_lapack = {find, use_threads};
  });
}

}  // namespace weft
