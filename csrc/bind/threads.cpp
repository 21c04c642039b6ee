// Threads: their number, their turns with the interpreter, what of the CPU's state they have, and one switch of loops.
#include <cxxabi.h>
#include <nanobind/stl/vector.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "bind/python.h"
#include "core/interpreter.h"
#include "core/interrupt.h"
#include "loops/conv.h"
#include "loops/parallel.h"

namespace weft {
namespace {

PyObject *g_getsignal = nullptr, *g_default_int_handler = nullptr, *g_sigint = nullptr;

// What an interpreter that is about to end does to threads of Python that want its lock: up to Python 3.13 it unwinds
// their stacks, which destructors do not let pass, and the process would abort. Such a thread sleeps instead, as it
// does from Python 3.14 on.
template <class F>
auto or_sleep(const F& take) {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// For tests: Ctrl-C arrives when loops ask for the n-th time, and so in the middle of one. They ask whenever they can
// then, so it does not matter how fast the machine is.
std::atomic<int64_t> g_asked = 0, g_interrupt_at = 0;

// Returns how often they have asked since it was called last; 0: no Ctrl-C arrives.
int64_t interrupt_at(int64_t n) {
  g_interrupt_at = n;
  g_patience = n > 0 ? 0 : kPatience;
  return g_asked.exchange(0);
}

}  // namespace

void* interpreter::release_lock() { return PyEval_SaveThread(); }

void interpreter::take_lock(void* state) {
  or_sleep([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}

void interpreter::let_others_run() {
  Unlocked free;
  std::this_thread::sleep_for(std::chrono::microseconds(100));
}

// No Python runs here, since a kernel is at work on tensors and on work space. So a handler of the user's is not
// called, nor is its signal consumed: the interpreter calls it when the op has returned, as for every other signal.
// (Telling Python of the signal a second time instead would write to asyncio's wake-up descriptor again.)
bool interpreter::interrupted() {
  if (++g_asked == g_interrupt_at) PyErr_SetInterrupt();
  PyGILState_STATE before = or_sleep(PyGILState_Ensure);
  nb::object handler = nb::steal(PyObject_CallOneArg(g_getsignal, g_sigint));  // written in C
  bool yes = handler.is(g_default_int_handler) && PyOS_InterruptOccurred();
  if (!handler.is_valid()) PyErr_Clear();
  handler.reset();
  PyGILState_Release(before);
  return yes;
}

namespace {

void find_signal_functions() {
  nb::module_ signals = nb::module_::import_("_signal");
  g_getsignal = signals.attr("getsignal").ptr();
  g_default_int_handler = signals.attr("default_int_handler").ptr();
  g_sigint = nb::int_(SIGINT).release().ptr();
  Py_INCREF(g_getsignal), Py_INCREF(g_default_int_handler);
}

void choose_num_threads(int n) {
  if (n < 1) fail("set_num_threads: expected a positive number of threads, got ", n);
  set_num_threads(n);
}

// Lets numbers too small for full precision count as zero, on this thread and wherever its loops run; false where the
// CPU cannot.
bool flush_denormals([[maybe_unused]] bool on) {
#if defined(__SSE2__)
  constexpr unsigned kFlush = 0x8040;  // results, and operands
  _mm_setcsr(on ? _mm_getcsr() | kFlush : _mm_getcsr() & ~kFlush);
  return true;
#else
  return false;
#endif
}

// For tests: a parallel loop of n items, each of which takes that long. The thread that each ran on, and -1 for items
// that did not run, or twice. The item `failing` throws.
std::vector<int> try_loop(int64_t n, int64_t microseconds, int64_t failing) {
  std::vector<int> on(size_t(n), -1), times(size_t(n), 0);
  {
    WithExec own(fixed_exec());
    Unlocked free;
    parallel_each(n, [&](int64_t i) {
      uint64_t start = ticks();
      while (ticks() - start < uint64_t(microseconds) * 3000) {
      }
      if (i == failing) fail_value("item ", i, " fails");
      on[size_t(i)] = ++times[size_t(i)] == 1 ? thread_index() : -1;
    });
  }
  return on;
}

}  // namespace

void bind_threads(nb::module_& m) {
  find_signal_functions();
  m.def("get_num_threads", num_threads);
  m.def("set_num_threads", choose_num_threads);
  m.def("_flush_denormals", flush_denormals);
  m.def("_winograd", [] { return g_winograd; });
  m.def("_set_winograd", [](bool on) { g_winograd = on; });
  m.def("_interrupt_at", interrupt_at);
  m.def("_try_loop", try_loop, nb::arg("n"), nb::arg("microseconds") = 0, nb::arg("failing") = -1);
}

}  // namespace weft
