#include "bind/dict_watcher.h"

#include <unordered_map>
#include <utility>

namespace weft {
namespace {

#if PY_VERSION_HEX < 0x030D0000

const uint64_t* version_tag(PyObject* dict) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
}

#else

// The counts of all watched dicts. Never destroyed: dicts die after the statics of this library.
std::unordered_map<PyObject*, std::shared_ptr<uint64_t> >& watched() {
  static auto& counts = *new std::unordered_map<PyObject*, std::shared_ptr<uint64_t> >;
  return counts;
}

bool g_instance_dicts_fire = false;  // set by the self-test of weft/jit/guards.py

// Called before each change of a watched dict.
int on_change(PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*) {
  auto found = watched().find(dict);
  if (found == watched().end()) return 0;
  ++*found->second;
  if (event == PyDict_EVENT_DEALLOCATED) watched().erase(found);
  return 0;
}

// The watcher of this process; negative: there is none, other libraries have taken all eight.
int watcher() {
  static int id = [] {
    int made = PyDict_AddWatcher(on_change);
    if (made < 0) PyErr_Clear();
    return made;
  }();
  return id;
}

// Python 3.13.0 does not call watchers when an attribute is stored in an object that keeps its values inline
// (cpython#125608). The dict of such an object has a table of values.
bool is_reported(PyObject* dict) { return g_instance_dicts_fire || !reinterpret_cast<PyDictObject*>(dict)->ma_values; }

#endif

}  // namespace

DictVersion::DictVersion(PyObject* dict) : dict_(dict) {
  if (PyODict_Check(dict)) return;  // move_to_end() changes its order and counts as no change
#if PY_VERSION_HEX < 0x030D0000
  count_ = version_tag(dict);
#else
  if (watcher() < 0 || !is_reported(dict)) return;
  std::shared_ptr<uint64_t>& count = watched()[dict];
  if (!count) {
    count = std::make_shared<uint64_t>(1);
    if (PyDict_Watch(watcher(), dict) < 0) {
      PyErr_Clear();
      watched().erase(dict);
      return;
    }
  }
  watched_ = count;
  count_ = count.get();
#endif
}

DictVersion::DictVersion(DictVersion&& other) noexcept
    : dict_(std::exchange(other.dict_, nullptr)),
      watched_(std::move(other.watched_)),
      count_(std::exchange(other.count_, nullptr)) {}

DictVersion::~DictVersion() {
#if PY_VERSION_HEX >= 0x030D0000
  if (!watched_ || watched_.use_count() > 2) return;  // others still ask for it
  auto found = watched().find(dict_);
  if (found == watched().end() || found->second != watched_) return;  // the dict has died
  if (PyDict_Unwatch(watcher(), dict_) < 0) PyErr_Clear();
  watched().erase(found);
#endif
}

void bind_dict_watcher(nb::module_& m) {
  // For the self-test: the count before and after change() was called, or None where changes are not counted.
  m.def("_dict_changes", [](nb::dict dict, nb::callable change) -> nb::object {
    DictVersion changes(dict.ptr());
    if (!changes.count()) return nb::none();
    uint64_t before = *changes.count();
    change();
    return nb::make_tuple(before, *changes.count());
  });
  // Whether changes of the dicts of objects are believed to be reported; returns what was believed before.
  m.def("_believe_instance_dicts", [](bool believe) {
#if PY_VERSION_HEX < 0x030D0000
    (void)believe;
    return true;
#else
    return std::exchange(g_instance_dicts_fire, believe);
#endif
  });
}

}  // namespace weft
