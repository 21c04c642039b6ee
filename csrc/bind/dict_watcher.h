// Counts of the changes of dicts, so that guards on a dict that has not changed cost one comparison.
#pragma once

#include <cstdint>
#include <memory>

#include "bind/python.h"

namespace weft {

// A count that grows with every change of one dict. To Python 3.12 the interpreter keeps it (the version tag of a
// dict); later a watcher does (PyDict_Watch), unless the interpreter is known not to call it (see _dict_changes).
class DictVersion {
 public:
  DictVersion() = default;
  explicit DictVersion(PyObject* dict);  // which the owner of this object keeps alive
  ~DictVersion();
  DictVersion(DictVersion&& other) noexcept;
  DictVersion& operator=(DictVersion&&) = delete;

  // Null: the changes of this dict are not counted, its content must be compared.
  const uint64_t* count() const { return count_; }

 private:
  PyObject* dict_ = nullptr;
  std::shared_ptr<uint64_t> watched_;
  const uint64_t* count_ = nullptr;
};

}  // namespace weft
