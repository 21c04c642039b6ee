// The native module weft._C.
#include <thread>

#include "bind/life.h"
#include "bind/memory.h"
#include "bind/python.h"
#include "bind/summary.h"
#include "core/interrupt.h"

namespace weft {

namespace {
PyObject* g_linalg_error = nullptr;

PyObject* exception_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Runtime: return PyExc_RuntimeError;
    case ErrorKind::Type: return PyExc_TypeError;
    case ErrorKind::Value: return PyExc_ValueError;
    case ErrorKind::Index: return PyExc_IndexError;
    case ErrorKind::NotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::Memory: return PyExc_MemoryError;
    case ErrorKind::LinAlg: return g_linalg_error ? g_linalg_error : PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}
}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const Error& e) {
    std::string text = e.text;
    for (const std::string& line : {e.line, user_line()})
      if (!line.empty()) text += "\n  at " + line;
    PyErr_SetString(exception_for(e.kind), text.c_str());
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const nb::builtin_exception& e) {
    PyErr_SetString(e.type() == nb::exception_type::buffer_error ? PyExc_BufferError : PyExc_RuntimeError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

// For `make sanitize` and `make tsan`: a fault that the sanitizers must catch, or they catch nothing.
static int plant_fault(const std::string& kind) {
  if (kind == "race") {
    volatile int shared = 0;
    auto count = [&] {
      for (int i = 0; i < 1000; ++i) shared = shared + 1;
    };
    std::thread one(count), other(count);
    one.join(), other.join();
    return shared;
  }
  if (kind == "heap") {
    volatile int* p = new int[4];
    volatile int i = 4;
    int v = p[i];
    delete[] p;
    return v;
  }
  volatile int shift = 40;
  return 1 << shift;
}

}  // namespace weft

NB_MODULE(_C, m) {
  using namespace weft;
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error&) {
      set_python_error();
    } catch (const Interrupted&) {
      set_python_error();
    } catch (const PythonError&) {
    }
  });
  bind_frames(m);
  bind_types(m);
  bind_tensor(m);
  bind_life();
  bind_ops(m);
  bind_autograd(m);
  bind_interop(m);
  bind_sparse(m);
  bind_library(m);
  bind_trace(m);
  bind_summary(m);
  bind_indexing(m);
  bind_random(m);
  bind_update(m);
  bind_program(m);
  bind_fused(m);
  bind_machine(m);
  bind_way_back(m);
  bind_guards(m);
  bind_dict_watcher(m);
  bind_replay(m);
  bind_call_sequence(m);
  bind_call_hook(m);
  bind_module_call(m);
  bind_modes(m);
  bind_threads(m);
  bind_event_log(m);
  bind_memory(m);
  m.def("_set_linalg_error", [](nb::object e) { g_linalg_error = e.release().ptr(); });
  m.def("_plant_fault", plant_fault);
}
