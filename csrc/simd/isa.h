// One source, several instruction sets.
//
// A file named *.isa.cpp is compiled once for each instruction set of simd/sets.h, with WEFT_ISA defined as its name.
// What it defines lives in namespace weft::WEFT_ISA, so the copies never meet in the linker. Such a file hands out its
// kernels through a table of function pointers; loops/choose.cpp picks the table for the machine.
//
// Rules for these files: nothing from the standard library that is not inlined, unless one of its template arguments is
// a type of namespace WEFT_ISA (else the linker may keep the copy that an older CPU cannot run); no exceptions, no
// allocation, no Python. Intrinsics stand in simd/<name>.h only.
#pragma once

#ifndef WEFT_ISA
#define WEFT_ISA base
#endif

// Declares, in a family's header, the table `Table` and the reference `family()` to the chosen one.
#define WEFT_DECLARE_KERNELS(Table, family) const Table& family();
