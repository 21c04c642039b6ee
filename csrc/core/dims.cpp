#include "core/dims.h"

#include <algorithm>
#include <vector>

namespace weft {

void Size::leaves_64_bits(int64_t a, const char* operation, int64_t b) {
  fail(ErrorKind::Memory, "size ", a, operation, b, " does not fit in 64 bits");
}

std::ostream& operator<<(std::ostream& s, const Dims& d) {
  s << '[';
  for (int i = 0; i < d.size(); ++i) s << (i ? ", " : "") << d[i];
  return s << ']';
}

std::string to_string(const Dims& d) {
  std::ostringstream s;
  s << d;
  return s.str();
}

void refuse_rank(int n) { fail("tensors have at most ", kMaxRank, " dimensions, got ", n); }

void refuse_sizes(const Dims& sizes) {
  for (int64_t s : sizes)
    if (s < 0) fail("negative dimension ", s, " in the sizes ", sizes);
  fail(ErrorKind::Memory, "out of memory: a tensor of sizes ", sizes, " has more than 2^56 elements");
}

int64_t extent_of(const Dims& sizes) {
  if (sizes.size() > kMaxRank) refuse_rank(sizes.size());
  int64_t extent = 1;
  for (int64_t s : sizes)
    if (s != 0 && (s < 0 || __builtin_mul_overflow(extent, s, &extent) || extent > kMaxExtent)) refuse_sizes(sizes);
  return extent;
}

void check_steps(const Dims& strides, int64_t offset) {
  bool fits = offset >= 0 && offset <= kMaxExtent;
  for (int64_t s : strides) fits &= s >= 0 && s <= kMaxExtent;
  if (!fits) fail("strides and offsets are numbers from 0 to 2^56, got strides ", strides, " and offset ", offset);
}

int64_t numel_of(const Dims& sizes) {
  Size n = 1;
  bool zero = false;
  for (int64_t s : sizes) {
    if (s == 0)
      zero = true;
    else
      n *= s;
  }
  return zero ? 0 : int64_t(n);
}

int64_t span_of(const Dims& sizes, const Dims& strides) {
  Size span = 1;
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    span += strides[i] * (sizes[i] - 1);
  }
  return span;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size());
  Size step = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool is_contiguous(const Dims& sizes, const Dims& strides) {
  Size step = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (strides[i] != step) return numel_of(sizes) == 0;
    step *= sizes[i];
  }
  return true;
}

namespace {
// The dimensions from the innermost (smallest stride) outwards; size-one dimensions keep their place.
Dims inner_to_outer(const Dims& sizes, const Dims& strides) {
  Dims order(sizes.size());
  for (int i = 0; i < sizes.size(); ++i) order[i] = sizes.size() - 1 - i;
  // An insertion sort that skips what has no order: broadcast dimensions (stride 0) and those of size 1.
  auto comparable = [&](int d) { return strides[d] != 0 && sizes[d] != 1; };
  for (int i = 1; i < order.size(); ++i) {
    int at = i;
    if (!comparable(int(order[at]))) continue;
    for (int j = i - 1; j >= 0; --j) {
      if (!comparable(int(order[j]))) continue;
      if (strides[int(order[j])] <= strides[int(order[at])]) break;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  return order;
}
}  // namespace

bool is_dense(const Dims& sizes, const Dims& strides) {
  if (is_contiguous(sizes, strides)) return true;
  Size step = 1;
  for (int64_t d : inner_to_outer(sizes, strides)) {
    if (sizes[int(d)] == 1) continue;
    if (strides[int(d)] != step) return false;
    step *= sizes[int(d)];
  }
  return true;
}

Dims strides_like(const Dims& sizes, const Dims& strides) {
  Dims out(sizes.size());
  Size step = 1;
  for (int64_t d : inner_to_outer(sizes, strides)) {
    out[int(d)] = step;
    step *= std::max<int64_t>(sizes[int(d)], 1);
  }
  return out;
}

namespace {
// Whether each dimension steps over all that the dimensions before it reach, from the innermost outwards: then no two
// indices meet.
template <class F>
bool steps_over(const Dims& sizes, const Dims& strides, const F& nth) {
  __int128 reach = 0;
  for (int i = 0; i < sizes.size(); ++i) {
    int d = nth(i);
    if (sizes[d] == 1) continue;
    if (strides[d] <= reach) return false;
    reach += __int128(strides[d]) * (sizes[d] - 1);
  }
  return true;
}
}  // namespace

bool overlaps_itself(const Dims& sizes, const Dims& strides) {
  int last = sizes.size() - 1;
  if (steps_over(sizes, strides, [&](int i) { return last - i; })) return false;
  int64_t numel = numel_of(sizes);
  if (numel <= 1) return false;
  Dims order = inner_to_outer(sizes, strides);
  if (steps_over(sizes, strides, [&](int i) { return int(order[i]); })) return false;
  __int128 extent = 1;
  for (int i = 0; i < sizes.size(); ++i) {
    if (strides[i] == 0 && sizes[i] > 1) return true;
    extent += __int128(strides[i]) * (sizes[i] - 1);
  }
  // Strides may interlock: then every place is visited. Where that would take too long it counts as an overlap.
  constexpr int64_t kMostPlaces = int64_t(1) << 32;
  if (numel > extent || extent > kMostPlaces) return true;
  std::vector<bool> taken(size_t(extent), false);
  Dims at(sizes.size());
  Size place = 0;
  for (int64_t i = 0; i < numel; ++i) {
    if (taken[size_t(int64_t(place))]) return true;
    taken[size_t(int64_t(place))] = true;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      place += strides[d];
      if (++at[d] < sizes[d]) break;
      place -= strides[d] * sizes[d];
      at[d] = 0;
    }
  }
  return false;
}

Dims broadcast(const Dims& a, const Dims& b, const char* op) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  Dims out(longer);
  int shift_a = out.size() - a.size(), shift_b = out.size() - b.size();
  for (int i = 0; i < out.size(); ++i) {
    int64_t x = 1, y = 1;
    if (i >= shift_a) x = a[i - shift_a];
    if (i >= shift_b) y = b[i - shift_b];
    if (x != y && x != 1 && y != 1)
      fail(op, ": the size of tensor a (", x, ") must match the size of tensor b (", y, ") at dimension ", i,
           "; got shapes ", a, " and ", b);
    out[i] = x == 1 ? y : x;
  }
  return out;
}

int wrap_dim(int64_t dim, int n, const char* op) {
  int64_t lo = n == 0 ? -1 : -n, hi = n == 0 ? 0 : n - 1;
  if (dim < lo || dim > hi)
    fail_index(op, ": Dimension out of range (expected to be in range of [", lo, ", ", hi, "], but got ", dim, ")");
  return int(dim < 0 ? dim + (n == 0 ? 1 : n) : dim);
}

}  // namespace weft
