// What kernels around LAPACK share: matrices as it wants them, its complaints, triangles.
#include "ops/lapack.h"

#include <cmath>
#include <unordered_map>

#include "loops/triangular.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {

LapackHooks g_lapack;

namespace {

std::unordered_map<std::string_view, Kernel::Run>& kernels() {
  static std::unordered_map<std::string_view, Kernel::Run> all;
  return all;
}

}  // namespace

Kernel::Kernel(const char* base, Run run) { kernels()[base] = run; }

Kernel::Run Kernel::find(std::string_view base) {
  auto found = kernels().find(base);
  return found == kernels().end() ? nullptr : found->second;
}

int32_t narrow(int64_t size) {
  if (size != int32_t(size)) fail("LAPACK counts with 32 bits, got a size of ", size);
  return int32_t(size);
}

Tensor turned(const Tensor& t) {
  Dims sizes = t.sizes(), strides = t.strides();
  const int d = t.dim();
  std::swap(sizes[d - 1], sizes[d - 2]), std::swap(strides[d - 1], strides[d - 2]);
  return view_of(t, sizes, strides, t->offset);
}

Tensor columns_of(const Tensor& t) {
  Tensor view = turned(t), copy = empty(view.sizes(), t.dtype());
  copy_data(copy, view);
  return copy;
}

Tensor expanded(const Tensor& t, const Tensor& like) {
  Dims sizes = like.sizes(), strides(like.dim());
  const int lead = like.dim() - t.dim();
  for (int d = 0; d < like.dim(); ++d) {
    if (d >= like.dim() - 2) sizes[d] = t.size(d - lead);
    if (d >= lead) strides[d] = t.size(d - lead) == 1 && sizes[d] != 1 ? 0 : int64_t(t.strides()[d - lead]);
  }
  return view_of(t, sizes, strides, t->offset);
}

static Tensor in_rows(const Tensor& t, DType type) {
  if (t.dtype() == type && t.contiguous()) return t;
  Tensor copy = empty(t.sizes(), type);
  copy_data(copy, t);
  return copy;
}
Tensor in_rows(const Tensor& t) { return in_rows(t, t.dtype()); }
Tensor as_int32(const Tensor& t) { return in_rows(t, DType::Int32); }

void zero_beside(const Tensor& t, bool upper) {
  const Matrices m(t);
  const int64_t item = item_size(t.dtype());
  for (int64_t i = 0; i < m.count * m.rows; ++i) {
    char* row = t.data() + i * m.columns * item;
    const int64_t r = i % m.rows, first = std::min(m.columns, upper ? 0 : r + 1), last = upper ? r : m.columns;
    if (std::min(last, m.columns) > first)
      std::memset(row + first * item, 0, size_t((std::min(last, m.columns) - first) * item));
  }
}

namespace {

void conjugate(DType type, char* data, int64_t count) {
  visit_numbers(real_of(type), [&](auto zero) {
    auto* x = reinterpret_cast<decltype(zero)*>(data);
    for (int64_t i = 0; i < count; ++i) x[2 * i + 1] = -x[2 * i + 1];
  });
}

}  // namespace

void conjugate(const Tensor& t) {
  if (is_complex(t.dtype())) conjugate(t.dtype(), t.data(), t.numel());
}

bool is_finite(DType type, const char* data, int64_t count) {
  auto look = [&](auto zero, auto exponent, int64_t n) {  // all ones: infinite or NaN
    using Bits = decltype(zero);
    const Bits* x = reinterpret_cast<const Bits*>(data);
    Bits found = 0;
    for (int64_t i = 0; i < n; ++i) found |= Bits((x[i] & exponent) == exponent);
    return !found;
  };
  if (is_complex(type)) count *= 2;
  if (real_of(type) == DType::Float) return look(uint32_t(), uint32_t(0x7f800000), count);
  return look(uint64_t(), uint64_t(0x7ff0000000000000), count);
}

bool failed(const Infos& infos) {
  return std::any_of(infos.begin(), infos.end(), [](int32_t i) { return i != 0; });
}

void check_pivots(const Tensor& pivots, int64_t rows) {
  const int32_t* p = pivots.data<int32_t>();
  const auto [low, high] = std::minmax_element(p, p + pivots.numel());
  if (pivots.numel() && (*low < 1 || *high > rows))
    fail("expected pivots from 1 to ", rows, ", the number of rows, got some from ", *low, " to ", *high);
}

void refuse_failed(const Infos& infos, int dims, std::string_view complaint) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i]) continue;
    const size_t colon = complaint.find(": ") + 2;
    const std::string which = dims > 2 ? "(Batch element " + std::to_string(i) + "): " : "";
    fail(ErrorKind::LinAlg, complaint.substr(0, colon), which, complaint.substr(colon));
  }
}

void solve_with(DType type, const char* a, bool upper, bool unit, bool adjoint, int64_t n, char* x, int64_t width) {
  if (!adjoint) return solve_triangle(type, {upper, unit, a, n, 1}, n, x, width);
  // A^H x = b is A^T conj(x) = conj(b)
  if (is_complex(type)) conjugate(type, x, n * width);
  solve_triangle(type, {!upper, unit, a, 1, n}, n, x, width);
  if (is_complex(type)) conjugate(type, x, n * width);
}

}  // namespace weft
