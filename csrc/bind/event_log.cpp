// Recordings (core/event_log.h) as Python makes and reads them: weft/profiler/recording.py.
#include <nanobind/stl/string.h>

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind/python.h"
#include "core/event_log.h"
#include "ops/events.h"

namespace weft {
namespace {

// While one is alive, no garbage is collected: a finaliser or another thread could change what is being read.
class NoCollection {
 public:
  NoCollection() : on_(PyGC_Disable()) {}
  ~NoCollection() {
    if (on_) PyGC_Enable();
  }
  NoCollection(const NoCollection&) = delete;

 private:
  bool on_;
};

nb::object tuple_of_location(const Origin& origin, bool module) {
  interpreter::Location at;
  if (origin.code()) at = interpreter::locate(origin.code(), origin.instruction(), origin.module());
  if (!module) return nb::make_tuple(shared_text(at.file), at.line, shared_text(at.function));
  return nb::make_tuple(shared_text(at.file), at.line, shared_text(at.function), shared_text(at.module));
}

// A tensor: (dtype, size, size, …); a list of them; None for what is no tensor.
nb::object read_shape(const std::vector<int64_t>& from, size_t& at) {
  int64_t rank = from[at++];
  if (rank == -1) return nb::none();
  if (rank == -2) {
    nb::list all;
    for (int64_t n = from[at++]; n > 0; --n) all.append(read_shape(from, at));
    return all;
  }
  nb::object made = nb::steal(PyTuple_New(Py_ssize_t(rank + 1)));
  PyTuple_SET_ITEM(made.ptr(), 0, wrap_dtype(DType(from[at++])));
  for (int64_t i = 0; i < rank; ++i) PyTuple_SET_ITEM(made.ptr(), Py_ssize_t(i + 1), PyLong_FromLongLong(from[at++]));
  return made;
}

nb::list read_shapes(const std::vector<int64_t>& from, size_t at) {
  nb::list all;
  for (int64_t n = from[at++]; n > 0; --n) all.append(read_shape(from, at));
  return all;
}

// Where those that begin there end.
size_t end_of_shapes(const std::vector<int64_t>& from, size_t at) {
  for (int64_t left = from[at++]; left > 0; --left) {
    int64_t rank = from[at++];
    if (rank >= 0) at += size_t(rank) + 1;
    if (rank == -2) left += from[at++];
  }
  return at;
}

// Shapes of calls as Python objects. The same shapes are one object: most events have some that came before.
class Shapes {
 public:
  // Of the arguments and of the results; None where they are not recorded.
  nb::object of(const Recording& r, size_t event) {
    const Event& e = r.event(event);
    if (e.shapes < 0) return nb::none();
    const std::vector<int64_t>& from = r.numbers(event);
    nb::object given = part(from, e.shapes), made = part(from, e.results);
    nb::object& both = pairs_[{given.ptr(), made.ptr()}];
    if (!both.is_valid()) both = nb::make_tuple(given, made);
    return both;
  }

 private:
  nb::object part(const std::vector<int64_t>& from, int32_t begin) {
    if (begin < 0) return none_;
    size_t end = end_of_shapes(from, size_t(begin));
    std::string numbers(reinterpret_cast<const char*>(from.data() + begin), (end - size_t(begin)) * sizeof(int64_t));
    nb::object& known = known_[numbers];
    if (!known.is_valid()) known = read_shapes(from, size_t(begin));
    return known;
  }

  struct Hash {
    size_t operator()(const std::pair<PyObject*, PyObject*>& p) const {
      return (size_t(p.first) >> 4) * 31 + size_t(p.second);
    }
  };
  nb::list none_;
  std::unordered_map<std::string, nb::object> known_;
  std::unordered_map<std::pair<PyObject*, PyObject*>, nb::object, Hash> pairs_;
};

// At most `count` events from `first` on: (kind, name, begin, end, parent, thread, allocated, freed, sequence, detail,
// origin, stack, shapes, failed, unfinished). Those that are not over have end 0.
nb::list events_of(const Recording& r, size_t first, size_t count) {
  NoCollection quiet;
  nb::list all;
  Shapes shapes;
  std::vector<nb::object> texts;
  for (const std::string& text : r.texts()) texts.push_back(shared_text(text));
  for (size_t i = first; i < r.size() && i - first < count; ++i) {
    const Event& e = r.event(i);
    int64_t allocated = e.end ? e.allocated : 0, freed = e.end ? e.freed : 0;
    all.append(nb::make_tuple(int(e.kind), texts[e.name], e.begin, e.end, e.parent, e.thread, allocated, freed,
                              e.sequence, texts[e.detail], e.origin, e.stack, shapes.of(r, i), e.failed, e.unfinished));
  }
  return all;
}

nb::list origins_of(const Recording& r) {
  NoCollection quiet;
  nb::list all;
  for (const Origin& origin : r.origins()) all.append(tuple_of_location(origin, true));
  return all;
}

nb::list frames_of(const Recording& r) {
  NoCollection quiet;
  nb::list all;
  for (const Recording::Frame& f : r.frames()) all.append(nb::make_tuple(f.outer, tuple_of_location(f.at, false)));
  return all;
}

nb::list memory_of(const Recording& r) {
  NoCollection quiet;
  nb::list all;
  for (const MemoryEvent& m : r.memory())
    all.append(nb::make_tuple(m.at, m.address, m.bytes, m.live, m.thread, m.event));
  return all;
}

RecordingOptions options_of(bool shapes, bool origins, bool stacks, bool memory, int64_t every, int64_t limit) {
  if (every < 1) fail_value("Recording: every must be at least 1, got ", every);
  if (limit < 1) fail_value("Recording: limit must be at least 1, got ", limit);
  return {shapes,
          origins,
          stacks,
          memory,
          uint32_t(std::min<int64_t>(every, UINT32_MAX)),
          size_t(std::min<int64_t>(limit, INT32_MAX))};
}

// A range that Python opens and closes, perhaps not in order.
class OpenRange {
 public:
  OpenRange(const std::string& name, const std::string& detail) : event_(EventKind::range) {
    event_.each([&](Recording& r, Event& e, size_t) {
      e.name = r.text(name);
      e.detail = r.text(detail);
    });
    event_.here();
  }
  void close(bool failed) {
    if (failed) event_.failed();
    event_.finish();
  }

 private:
  Recorded event_;
};

}  // namespace

void bind_event_log(nb::module_& m) {
  m.def("_is_recording", [] { return is_recording(); });
  m.def("_recorder_clock", recorder_clock);
  m.def("_thread_number", thread_number);
  nb::class_<OpenRange>(m, "OpenRange", "A named range in the recordings that are on, until it is closed.")
      .def(nb::init<const std::string&, const std::string&>(), nb::arg("name"), nb::arg("detail") = "")
      .def("close", &OpenRange::close, nb::arg("failed") = false);
  nb::class_<Recording>(m, "Recording", "What ran when: events of ops, nodes, instructions and ranges, and memory.")
      .def(
          "__init__",
          [](Recording* r, bool shapes, bool origins, bool stacks, bool memory, int64_t every, int64_t limit) {
            new (r) Recording(options_of(shapes, origins, stacks, memory, every, limit));
          },
          nb::arg("shapes") = false, nb::arg("origins") = true, nb::arg("stacks") = false, nb::arg("memory") = false,
          nb::arg("every") = 1, nb::arg("limit") = 1000000)
      .def("start", &Recording::start, "Forgets what was recorded, and records.")
      .def("stop", &Recording::stop, "Events that are not over end now.")
      .def("events", events_of, nb::arg("first") = 0, nb::arg("count") = SIZE_MAX)
      .def_prop_ro("origins", origins_of, "(file, line, function, module) by number.")
      .def_prop_ro("frames", frames_of, "(number of the outer frame, (file, line, function)) by number.")
      .def_prop_ro("memory", memory_of, "(time, address, bytes, bytes in use, thread, event) of each block.")
      .def_prop_ro("on", &Recording::on)
      .def_prop_ro("began", &Recording::began, "Nanoseconds of the steady clock.")
      .def_prop_ro("stopped", &Recording::stopped)
      .def_prop_ro("dropped", &Recording::dropped, "Events beyond the limit, which are not recorded.")
      .def("__len__", &Recording::size);
}

}  // namespace weft
