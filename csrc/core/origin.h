// Where in the user's program something was made: a code object and an instruction in it, plus the path of the module
// that ran. core/ knows no Python; bind/ installs the hooks that read and explain an origin.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace weft {

struct OriginHooks {
  void (*here)(void** code, int32_t* instruction, uint32_t* module) = nullptr;  // gives a new count of code
  void (*release)(void* code) = nullptr;
  std::string (*describe)(void* code, int32_t instruction, uint32_t module) = nullptr;
};
extern OriginHooks g_origin_hooks;

class Origin {
 public:
  Origin() = default;
  Origin(Origin&& o) noexcept
      : code_(std::exchange(o.code_, nullptr)), instruction_(o.instruction_), module_(o.module_) {}
  Origin& operator=(Origin&& o) noexcept {
    std::swap(code_, o.code_);
    instruction_ = o.instruction_;
    module_ = o.module_;
    return *this;
  }
  ~Origin() {
    if (code_) g_origin_hooks.release(code_);
  }

  static Origin here() {
    Origin o;
#ifndef WEFT_NO_PROVENANCE
    if (g_origin_hooks.here) g_origin_hooks.here(&o.code_, &o.instruction_, &o.module_);
#endif
    return o;
  }
  explicit operator bool() const { return code_ != nullptr; }
  // "train.py:12, in forward (module net.layer1)", or "" where it is not known.
  std::string describe() const { return code_ ? g_origin_hooks.describe(code_, instruction_, module_) : std::string(); }
  // The same, set in a sentence: " at train.py:12".
  std::string at() const {
    auto s = describe();
    return s.empty() ? s : " at " + s;
  }

 private:
  void* code_ = nullptr;
  int32_t instruction_ = 0;
  uint32_t module_ = 0;
};

}  // namespace weft
