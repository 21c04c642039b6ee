// The list of instruction sets: one row each, from the one that every CPU has to the fastest. CMake reads the rows for
// what to compile (each *.isa.cpp once for each row), simd/choose.h for what to run, and weft/jit through _C for how
// wide its loops are. A further set is a row here and a header simd/<name>.h.
//
//   ROW(name, processor, bits of a vector, flags of the compiler, features of the CPU, those for products of bytes)
#pragma once

// clang-format off
#define WEFT_SETS(ROW, ...) \
  ROW(base, any, 128, "", , WEFT_NEVER, __VA_ARGS__) \
  ROW(avx2, x86_64, 256, "-mavx2 -mfma -mf16c -mbmi2", \
      WEFT_CPU(avx2) WEFT_CPU(fma) WEFT_CPU(bmi2) WEFT_CPU(f16c), WEFT_CPU(avxvnni), __VA_ARGS__) \
  ROW(avx512, x86_64, 512, "-mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512", \
      WEFT_CPU(avx2) WEFT_CPU(fma) WEFT_CPU(bmi2) WEFT_CPU(f16c) WEFT_CPU(avx512f) WEFT_CPU(avx512dq) WEFT_CPU(avx512bw) \
      WEFT_CPU(avx512vl), WEFT_CPU(avx512vnni), __VA_ARGS__)
// clang-format on
