// Calls of LAPACK and BLAS, which take nothing but pointers: once for each matrix of a batch.
#include <array>
#include <new>
#include <utility>
#include <vector>

#include "bind/python.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr size_t kMostPointers = 32;

template <size_t>
using Pointer = void*;
template <size_t... I>
void call_with(void* function, void** p, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(Pointer<I>...)>(function)(p[I]...);
}
template <size_t... N>
constexpr auto callers(std::index_sequence<N...>) {
  using Caller = void (*)(void*, void**);
  return std::array<Caller, sizeof...(N)>{[](void* f, void** p) { call_with(f, p, std::make_index_sequence<N>()); }...};
}

struct Buffer {
  Py_buffer view;
  Buffer(const Buffer&) = delete;
  explicit Buffer(PyObject* o) {
    if (PyObject_GetBuffer(o, &view, PyBUF_STRIDED_RO)) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view); }
};

// What a function is given: letters, numbers, and arrays whose first dimension is the batch, unless they have only one.
class Arguments {
 public:
  explicit Arguments(const nb::tuple& args) {
    if (args.size() > kMostPointers) fail("_call_each: more than ", kMostPointers, " arguments");
    for (nb::handle a : args) add(a.ptr());
  }
  ~Arguments() {
    for (; buffers_ > 0; --buffers_) buffer(buffers_ - 1).~Buffer();
  }
  Arguments(const Arguments&) = delete;
  void run(void* function) {
    static constexpr auto table = callers(std::make_index_sequence<kMostPointers + 1>());
    for (Py_ssize_t i = 0; i < count_; ++i) {
      if (i) leave_if_interrupted();
      table[size_](function, pointers_);
      for (size_t k = 0; k < size_; ++k) pointers_[k] = static_cast<char*>(pointers_[k]) + steps_[k];
    }
  }

 private:
  void add(PyObject* a) {
    steps_[size_] = 0;
    if (PyBytes_CheckExact(a)) {
      pointers_[size_] = PyBytes_AS_STRING(a);
    } else if (PyLong_CheckExact(a)) {
      int overflow;
      long value = PyLong_AsLongAndOverflow(a, &overflow);
      if (overflow || value != int32_t(value)) fail("LAPACK counts with 32 bits, got a size of ", nb::str(a).c_str());
      numbers_[size_] = int32_t(value);
      pointers_[size_] = &numbers_[size_];
    } else {
      const Py_buffer& view = (new (memory_ + buffers_ * sizeof(Buffer)) Buffer(a))->view;
      ++buffers_;
      pointers_[size_] = view.buf;
      if (view.ndim > 1) {
        if (count_ >= 0 && count_ != view.shape[0])
          fail("_call_each: batches of ", count_, " and of ", view.shape[0], " matrices");
        count_ = view.shape[0], steps_[size_] = view.strides[0];
      }
    }
    ++size_;
  }
  Buffer& buffer(size_t i) { return *std::launder(reinterpret_cast<Buffer*>(memory_ + i * sizeof(Buffer))); }

  void* pointers_[kMostPointers];
  Py_ssize_t steps_[kMostPointers];
  int32_t numbers_[kMostPointers];
  alignas(Buffer) char memory_[kMostPointers * sizeof(Buffer)];
  size_t size_ = 0, buffers_ = 0;
  Py_ssize_t count_ = -1;
};

}  // namespace

void bind_library(nb::module_& m) {
  // Other threads may run Python meanwhile: the arrays are held, and nobody else knows them.
  m.def("_call_each", [](uintptr_t function, const nb::tuple& args) {
    Arguments all(args);
    nb::gil_scoped_release unlocked;
    all.run(reinterpret_cast<void*>(function));
  });
}

}  // namespace weft
