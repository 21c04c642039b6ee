// The number of threads, and what of the CPU's state they have.
#include <nanobind/stl/vector.h>

#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "bind/python.h"
#include "loops/parallel.h"

namespace weft {
namespace {

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
    nb::gil_scoped_release free;
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
  m.def("get_num_threads", num_threads);
  m.def("set_num_threads", choose_num_threads);
  m.def("_flush_denormals", flush_denormals);
  m.def("_try_loop", try_loop, nb::arg("n"), nb::arg("microseconds") = 0, nb::arg("failing") = -1);
}

}  // namespace weft
