// What a pointwise row is made of, for files compiled per instruction set.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/dtype.h"

namespace weft {

// p[0] is the output, p[1…] the inputs: n contiguous elements each, of the row's compute type.
using PointwiseKernel = void (*)(char* const* p, int64_t n);

constexpr int kRowOperands = 4;  // of a row, at most

struct PointwiseKernels {
  PointwiseKernel forward[kDTypes] = {};
  PointwiseKernel single[2][kDTypes] = {};  // of two operands the first, or all after the first, are one for all n
  PointwiseKernel back[kRowOperands][kDTypes] = {};  // of each operand: (gradient, operands…, result) -> gradient
  bool real_result = false;                          // of complex operands
  bool rounds_numbers = false;  // half types: what it gives is the same if numbers are rounded first
};

constexpr int kMaxRows = 80;  // of one file

// How the dtypes of the operands decide those of the computation and of the result.
enum class Rule : uint8_t {
  promote,   // the common type of the operands
  floating,  // the same, integers become the default float
  counting,  // the same, bool becomes int64
  compare,   // computed in the common type, gives bool
  truth,     // each operand as a truth value, gives bool
  scaled,    // the common type of the tensors, into which numbers must fit
  choose,    // the common type of all but the first, which is a condition
  alike,     // the type of the first operand, which all others must have (a last one without dimensions may not)
};

struct RowSpec {
  std::string_view signature, doc;
  Rule rule = Rule::promote;
  uint32_t traits = 0;
  std::string_view no_derivative = {};
  std::string_view aliases = {};
};

}  // namespace weft
