// A group of pointwise ops that run as one loop, whose machine code weft/jit/codegen makes. What the group does is said
// by a text, which is an argument of the op `fused`; here it is known by that text.
#pragma once

#include "ops/op.h"

namespace weft {

constexpr int kMaxFused = 32;  // inputs and outputs of one group

struct FusedKernel : Opaque {
  FusedKernel() = default;
  FusedKernel(const FusedKernel&) = delete;
  ~FusedKernel() override;  // nobody finds it any more, and its machine code is let go of
  // p: the elements of the outputs, of what is reduced (if anything is), and of the inputs; n of each, at least
  // `lanes`.
  using Function = void (*)(char* const* p, int64_t n);
  struct Input {
    DType dtype;
    bool once;  // one element along the last dimension: the loop reads it once
  };
  struct Argument {
    int value = -1;  // the number of a value: inputs come first, then the results of steps
    Value plain;
  };
  // What eager would do. Without an op: a number, expanded to a shape (number, sizes, dtype).
  struct Step {
    const Op* op;
    std::vector<Argument> arguments;
    DType dtype;
  };
  Function function = nullptr;
  int lanes = 1;
  std::vector<Input> inputs;
  std::vector<Step> steps;
  std::vector<int> outputs;  // values
  bool reduces = false;      // the last step and output is a reduction of the value before
  std::string text;          // of the group
  void* code = nullptr;      // the object of the interpreter that keeps the machine code
};

// A kernel lives as long as a call or program has it (Text::made); those that were asked for last live on, so that a
// program that is built again finds them.
void add_fused(Ref<FusedKernel> kernel);
bool has_fused(const std::string& text);
int fused_count();                      // that live
constexpr int kMaxFusedKernels = 4096;  // at the same time
constexpr size_t kRecentFused = 128;    // that live although nobody may have them
void forget_recent_fused();

}  // namespace weft
