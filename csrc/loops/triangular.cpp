#include "loops/triangular.h"

#include "core/memory.h"
#include "loops/copy.h"
#include "loops/gemm.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kFew = 4;    // columns that are solved as vectors
constexpr int64_t kLeaf = 48;  // unknowns that are found one by one; more are halved, and joined by a product

// The unknowns [low, high).
void solve_rows(DType type, const Triangle& a, int64_t low, int64_t high, char* x, int64_t width) {
  const int64_t item = item_size(type), middle = (low + high) / 2;
  auto row = [&](int64_t i) { return x + i * width * item; };
  if (high - low <= kLeaf) {
    Triangle part = a;
    part.data += low * (a.row + a.column) * item;
    return triangular_kernels().rows(type, part, high - low, row(low), width, width);
  }
  leave_if_interrupted();
  const int64_t halves[2][2] = {{low, middle}, {middle, high}};
  const auto &first = halves[a.upper], &second = halves[!a.upper];
  solve_rows(type, a, first[0], first[1], x, width);
  gemm(type, a.column != 1, false, second[1] - second[0], width, first[1] - first[0],
       a.data + (second[0] * a.row + first[0] * a.column) * item, a.column == 1 ? a.row : a.column, row(first[0]),
       width, row(second[0]), width, -1, 1);
  solve_rows(type, a, second[0], second[1], x, width);
}

}  // namespace

void solve_triangle(DType type, const Triangle& a, int64_t n, void* x, int64_t width) {
  char* to = static_cast<char*>(x);
  if (width > kFew) return solve_rows(type, a, 0, n, to, width);
  if (width == 1) return triangular_kernels().vectors(type, a, n, to, 1);
  Scratch turned(n * width * item_size(type));
  const int64_t sizes[2] = {width, n}, as_rows[2] = {n, 1}, as_columns[2] = {1, width};
  copy_kernels().copy(type, turned.as<char>(), as_rows, type, to, as_columns, sizes, 2);
  triangular_kernels().vectors(type, a, n, turned.as<char>(), width);
  copy_kernels().copy(type, to, as_columns, type, turned.as<char>(), as_rows, sizes, 2);
}

}  // namespace weft
