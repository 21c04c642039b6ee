// The instruction sets of this build, and the choice between them when it runs.
#pragma once

#include "built_sets.h"  // made by CMake
#include "simd/sets.h"

// What stands for a row of simd/sets.h if it was built: WEFT_HAS_<name> is 0 or 1.
#define WEFT_BUILT_0(...)
#define WEFT_BUILT_1(...) __VA_ARGS__
#define WEFT_BUILT_EXPANDED(has) WEFT_BUILT_##has
#define WEFT_BUILT(has) WEFT_BUILT_EXPANDED(has)

namespace weft {

#define WEFT_NAME_OF_SET(set, ...) WEFT_BUILT(WEFT_HAS_##set)(set, )
enum class Isa { WEFT_SETS(WEFT_NAME_OF_SET) };
#undef WEFT_NAME_OF_SET

Isa machine_isa();  // the best set that was built and that this CPU has; WEFT_ISA in the environment may lower it
const char* name_of(Isa isa);

}  // namespace weft

// Defines, in choose.cpp, what WEFT_DECLARE_KERNELS declares.
#define WEFT_CHOOSE_KERNELS(Table, family)                                           \
  WEFT_SETS(WEFT_DECLARE_TABLE, Table, family)                                       \
  const Table& family() {                                                            \
    static constexpr const Table* tables[] = {WEFT_SETS(WEFT_TABLE, Table, family)}; \
    static const Table& chosen = *tables[int(machine_isa())];                        \
    return chosen;                                                                   \
  }                                                                                  \
  static const Table& family##_at_load = family(); /* a fork never meets a thread that is choosing */
#define WEFT_DECLARE_TABLE(set, processor, bits, flags, cpu, bytes, Table, family) \
  WEFT_BUILT(WEFT_HAS_##set)(namespace set { extern const Table family##_table; })
#define WEFT_TABLE(set, processor, bits, flags, cpu, bytes, Table, family) \
  WEFT_BUILT(WEFT_HAS_##set)(&set::family##_table, )
