// Ops as C++ functions, for derivatives and compositions. Every call goes through the dispatcher.
#pragma once

#include "ops/op.h"

namespace weft {

// clang-format off
#define WEFT_REFS(X) \
  X(abs) X(sgn) X(sign) X(neg) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(rsqrt) \
  X(square) X(reciprocal) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(tanh) X(asin) X(acos) X(atan) X(sigmoid) X(erf) \
  X(floor) X(ceil) X(trunc) X(conj) X(add) X(sub) X(mul) X(div) X(pow) X(atan2) X(maximum) X(minimum) X(eq) X(ne) \
  X(lt) X(le) X(gt) X(ge) X(where) X(isnan) X(logical_and) X(logical_or) X(logical_not) X(matmul) X(mm) X(bmm) \
  X(permute) X(expand) X(squeeze) X(unsqueeze) X(transpose) X(view) X(reshape) X(as_strided) \
  X(replace_strided) X(layout_as) X(select) X(slice) X(detach) X(contiguous) X(cumsum) X(gather) \
  X(index_select) X(index_add) X(scatter_add) X(masked_fill) X(flip) X(tril) X(triu) X(copy_)
// clang-format on
#define X(name)                   \
  namespace ref {                 \
  inline const OpRef name{#name}; \
  }                               \
  using ref::name;
WEFT_REFS(X)
#undef X
namespace ref {
inline const OpRef sum_dim{"sum.dim"};
inline const OpRef sum_all{"sum"};
}  // namespace ref
using ref::sum_all;
using ref::sum_dim;

// The truth of a 0-d bool, for C++ that goes on in one of two ways: a trace or a program is notified.
inline bool decide(const Tensor& t) {
  if (t_recorder) t_recorder->read("bool()", t);
  return *t.data<bool>();
}

// Makers without history.
Tensor zeros(const Dims& sizes, DType dtype);
Tensor full(const Dims& sizes, const Value& value, DType dtype);
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);
Tensor arange(int64_t n);                                                      // int64
Tensor scalar_tensor(const Value& number, DType dtype, bool wrapped = false);  // 0-d

Tensor clone_of(const Tensor& t);                   // contiguous copy, recorded
Tensor to_dtype(const Tensor& t, DType dtype);      // recorded cast; t itself when it has that dtype
Tensor sum_to(const Tensor& t, const Dims& sizes);  // undoes broadcasting
Tensor real_part(const Tensor& t);
inline Tensor conj_of(const Tensor& t) { return is_complex(t.dtype()) ? conj(t) : t; }  // what a derivative takes
Tensor contiguous_of(const Tensor& t);                                                  // t or a contiguous copy

// Writes src into dst elementwise with a cast; no history, no version. Geometry may differ by broadcasting of src.
void copy_data(const Tensor& dst, const Tensor& src);
void fill_data(const Tensor& dst, const Value& value);
Tensor clone_data(const Tensor& t);            // a copy with the same strides if dense; no history
void resize_to(Tensor& t, const Dims& sizes);  // contiguous, the storage grows if it must
// The rules of out=: whether target may take the result, itself or (`casts`) cast to target's dtype.
void check_out(const Tensor& target, const Tensor& result, const char* op, bool casts);
void check_apart(const Tensor& target, const char* op);     // what is written to has a place for each element
void check_changeable(const Tensor& self, const char* op);  // the same of what an op changes in place
bool overlaps_partly(Call& c, const Tensor& written);  // an input shares memory with it, but not element by element

// Arithmetic on tensors and numbers, as derivatives write it.
#define WEFT_ARITHMETIC(symbol, op)                                                    \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return op(a, b); } \
  inline Tensor operator symbol(const Tensor& a, double b) { return op(a, b); }        \
  inline Tensor operator symbol(double a, const Tensor& b) { return op(a, b); }
WEFT_ARITHMETIC(+, add)
WEFT_ARITHMETIC(-, sub)
WEFT_ARITHMETIC(*, mul)
WEFT_ARITHMETIC(/, div)
WEFT_ARITHMETIC(==, eq)
WEFT_ARITHMETIC(!=, ne)
WEFT_ARITHMETIC(<, lt)
WEFT_ARITHMETIC(<=, le)
WEFT_ARITHMETIC(>, gt)
WEFT_ARITHMETIC(>=, ge)
#undef WEFT_ARITHMETIC
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator&&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator||(const Tensor& a, const Tensor& b) { return logical_or(a, b); }

}  // namespace weft
