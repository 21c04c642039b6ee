// The numbers of numbers.inc as arrays: data, and so the same for all instruction sets.
#pragma once

namespace weft::numbers {

#define WEFT_NUMBERS(type, name, ...) alignas(64) inline constexpr type name[] = {__VA_ARGS__};
#include "loops/numbers.inc"
#undef WEFT_NUMBERS

}  // namespace weft::numbers
