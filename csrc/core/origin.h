// Where in the user's program something was made: a code object and an instruction in it, plus the path of the module
// that ran.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/interpreter.h"

namespace weft {

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
    if (code_) interpreter::release(code_);
  }

  static Origin here() {
    Origin o;
#ifndef WEFT_NO_PROVENANCE
    interpreter::find_origin(&o.code_, &o.instruction_, &o.module_);
#endif
    return o;
  }
  // The same place with a count of its own.
  static Origin of(void* code, int32_t instruction, uint32_t module) {
    Origin o;
    if (code) interpreter::keep(code);
    o.code_ = code, o.instruction_ = instruction, o.module_ = module;
    return o;
  }
  void* code() const { return code_; }
  int32_t instruction() const { return instruction_; }
  uint32_t module() const { return module_; }
  explicit operator bool() const { return code_ != nullptr; }
  // "train.py:12, in forward (module net.layer1)", or "" where it is not known.
  std::string describe() const {
    return code_ ? interpreter::describe_origin(code_, instruction_, module_) : std::string();
  }
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
