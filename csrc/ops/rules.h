// What shape rules ask of their arguments. Each throws "op: argument must …, got …" and costs a compare where all is
// well. An argument that may be None is only looked at where it is given.
#pragma once

#include "ops/op.h"

namespace weft {

template <class... Rule>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(Call& c, int i, const Rule&... rule) {
  std::ostringstream got;
  const Value& v = c.arg(i);
  if (v.is_tensor())
    got << name_of(v.tensor().dtype()) << v.tensor().sizes();
  else
    got << v;
  fail(c.name(), ": ", c.op.params[size_t(i)].name, " must ", rule..., ", got ", got.str());
}

// ---- tensors

inline void expect_shape(Call& c, int i, const Dims& sizes) {
  if (c.has(i) && !(c.tensor(i).sizes() == sizes)) refuse(c, i, "have shape ", sizes);
}
inline void expect_numel(Call& c, int i, int64_t n) {
  if (c.has(i) && c.tensor(i).numel() != n) refuse(c, i, "have ", n, " elements");
}
inline void expect_dim(Call& c, int i, int least, int most = kMaxRank) {
  if (!c.has(i)) return;
  int n = c.tensor(i).dim();
  if (n >= least && n <= most) return;
  least == most ? refuse(c, i, "have ", least, " dimensions")
                : refuse(c, i, "have ", least, " to ", most, " dimensions");
}
inline void expect_dtype(Call& c, int i, DType t) {
  if (c.has(i) && c.tensor(i).dtype() != t) refuse(c, i, "be of ", name_of(t));
}
inline void expect_floating(Call& c, int i) {
  if (c.has(i) && !is_floating(c.tensor(i).dtype())) refuse(c, i, "be of a floating dtype");
}
inline void expect_contiguous(Call& c, int i) {
  if (c.has(i) && !c.tensor(i).contiguous()) refuse(c, i, "be contiguous");
}
// What a kernel reads as it lies: elements of one type, in order.
inline void expect_plain(Call& c, int i, DType t, const Dims& sizes) {
  expect_dtype(c, i, t);
  expect_shape(c, i, sizes);
  expect_contiguous(c, i);
}

// ---- numbers

inline void expect_range(Call& c, int i, int64_t least, int64_t most) {
  if (c.has(i) && (c.integer(i) < least || c.integer(i) > most)) refuse(c, i, "be from ", least, " to ", most);
}
// A dimension of n, counted from the front.
inline int expect_axis(Call& c, int i, int n) {
  if (c.integer(i) < 0 || c.integer(i) >= n) refuse(c, i, "be a dimension of ", n);
  return int(c.integer(i));
}
inline void expect_count(Call& c, int i, int n) {
  if (c.ints(i).size() != n) refuse(c, i, "have ", n, " numbers");
}
inline void expect_not_negative(Call& c, int i) {
  for (int64_t n : c.ints(i))
    if (n < 0) refuse(c, i, "have no negative number");
}

}  // namespace weft
