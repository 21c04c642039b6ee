// Triangular systems of equations: float, double and complex numbers.
#pragma once

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// Element (i, j) of the matrix lies at i * row + j * column, one of which is 1.
struct Triangle {
  bool upper, unit;  // unit: its diagonal is one, and not read
  const char* data;
  int64_t row, column;
};

struct TriangularKernels {
  // count vectors of n numbers, each without gaps: x becomes what the triangle times it would be x.
  void (*vectors)(DType type, const Triangle& a, int64_t n, void* x, int64_t count);
  // The same for the rows of x (n, width), whose first elements are `step` apart.
  void (*rows)(DType type, const Triangle& a, int64_t n, void* x, int64_t width, int64_t step);
};

WEFT_DECLARE_KERNELS(TriangularKernels, triangular_kernels)

// Solves a * result = x for x (n, width) without gaps, where it lies.
void solve_triangle(DType type, const Triangle& a, int64_t n, void* x, int64_t width);

}  // namespace weft
