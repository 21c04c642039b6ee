// One source, several instruction sets.
//
// A file named *.isa.cpp is compiled once for each instruction set, with WEFT_ISA defined as base, avx2 or
// avx512. What it defines lives in namespace weft::WEFT_ISA, so the copies never meet in the linker. Such a
// file hands out its kernels through a table of function pointers; choose.cpp picks the table for the machine.
//
// Rules for these files: nothing from the standard library that is not inlined, unless one of its template
// arguments is a type of namespace WEFT_ISA (else the linker may keep the copy that an older CPU cannot run);
// no exceptions, no allocation, no Python.
#pragma once

#ifndef WEFT_ISA
#define WEFT_ISA base
#endif

namespace weft {
enum class Isa { base, avx2, avx512 };
Isa machine_isa();  // the best set that was built and that this CPU has; WEFT_ISA in the environment may lower it
}  // namespace weft

// Declares, in a family's header, the table `Table` and the reference `family()` to the chosen one.
#define WEFT_DECLARE_KERNELS(Table, family) const Table& family();

// Defines it, in choose.cpp.
#if defined(WEFT_HAVE_AVX512)
#define WEFT_CHOOSE_KERNELS(Table, family)                                             \
  namespace base {                                                                     \
  extern const Table family##_table;                                                   \
  }                                                                                    \
  namespace avx2 {                                                                     \
  extern const Table family##_table;                                                   \
  }                                                                                    \
  namespace avx512 {                                                                   \
  extern const Table family##_table;                                                   \
  }                                                                                    \
  const Table& family() {                                                              \
    static const Table& chosen = machine_isa() == Isa::avx512 ? avx512::family##_table \
                                 : machine_isa() == Isa::avx2 ? avx2::family##_table   \
                                                              : base::family##_table;  \
    return chosen;                                                                     \
  }                                                                                    \
  static const Table& family##_at_load = family(); /* a fork never meets a thread that is choosing */
#else
#define WEFT_CHOOSE_KERNELS(Table, family) \
  namespace base {                         \
  extern const Table family##_table;       \
  }                                        \
  const Table& family() { return base::family##_table; }
#endif
