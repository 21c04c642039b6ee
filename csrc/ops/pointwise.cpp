#include "ops/pointwise.h"

#include <algorithm>
#include <cmath>

#include "loops/copy.h"
#include "ops/api.h"
#include "ops/order.h"
#include "simd/choose.h"

namespace weft {

// ---- dtypes

namespace {

// Dimensioned tensors outrank 0-d ones, which outrank numbers; a lower rank only counts when its kind is higher.
DType outrank(int higher, int lower) {
  if (higher < 0) return DType(lower);
  if (lower < 0) return DType(higher);
  DType h = DType(higher), l = DType(lower);
  if (is_complex(h)) return h;
  if (is_floating(h)) return is_complex(l) ? complex_of(h) : h;
  if (h == DType::Bool || is_inexact(l)) return promote(h, l);
  return h;
}

}  // namespace

DType common_dtype(const Operands& in) {
  int dimensioned = -1, zero_dim = -1, number = -1;
  auto join = [](int& rank, DType t) { rank = rank < 0 ? int(t) : int(promote(DType(rank), t)); };
  for (int i = 0; i < in.count; ++i) {
    const Value& v = *in.v[i];
    if (!v.is_tensor())
      join(number, v.number_dtype());
    else if (v.tensor()->wrapped_number)
      join(number, v.tensor().dtype());
    else
      join(v.tensor().dim() ? dimensioned : zero_dim, v.tensor().dtype());
  }
  if (zero_dim < 0 && number < 0) return DType(dimensioned);
  int lower = zero_dim < 0 && number < 0 ? -1 : int(outrank(zero_dim, number));
  return outrank(dimensioned, lower);
}

Tensor pointwise_meta(const Operands& in, DType dtype, const char* op) {
  const Tensor* first = nullptr;
  bool same = true, contiguous = true;
  for (int i = 0; i < in.count; ++i) {
    if (!in.v[i]->is_tensor()) continue;
    const Tensor& t = in.v[i]->tensor();
    contiguous = contiguous && t.contiguous();
    if (!first)
      first = &t;
    else
      same = same && t.sizes() == first->sizes() && (contiguous || t.strides() == first->strides());
  }
  if (same && contiguous) return meta(dtype, first->sizes());
  if (same && is_dense(first->sizes(), first->strides())) return meta_strided(dtype, first->sizes(), first->strides());
  Dims sizes = first->sizes();
  for (int i = 0; i < in.count; ++i)
    if (in.v[i]->is_tensor() && !(in.v[i]->tensor().sizes() == sizes))
      sizes = broadcast(sizes, in.v[i]->tensor().sizes(), op);
  // A permuted operand of the full shape decides the order of dimensions.
  for (int i = 0; i < in.count; ++i) {
    if (!in.v[i]->is_tensor()) continue;
    const Tensor& t = in.v[i]->tensor();
    if (t.sizes() == sizes && t.dim() > 1) {
      if (t.contiguous()) break;
      return meta_strided(dtype, sizes, strides_like(sizes, t.strides()));
    }
  }
  return meta(dtype, sizes);
}

// ---- the ops

namespace {

Operands operands_of(Call& c, const Row& row) {
  Operands in;
  in.count = row.operands;
  for (int i = 0; i < row.operands; ++i) in.v[i] = &c.arg(i);
  return in;
}

// Whether an operand is of a half type, or a number that it holds. Rows that give one of their operands may round it
// first, unless it became a zero: that one's sign would be seen.
bool is_exact(const Value& v, DType type, bool may_round) {
  if (v.is_tensor()) return v.tensor().dtype() == type;
  if (v.tag() == Tag::Complex) return false;
  const float x = float(v.real()), near = type == DType::Half ? float(Half(x)) : float(BFloat16(x));
  return near == x || (may_round && near != 0);
}

// What the kernel computes in, and what it gives.
struct Types {
  DType common, compute, result;
};

Types types_of(const Operands& in, const Row& row, const char* op) {
  DType common;
  if (row.rule == Rule::choose) {
    Operands chosen{2, {in.v[1], in.v[2]}};
    common = common_dtype(chosen);
  } else if (row.rule == Rule::scaled) {
    Operands tensors;
    for (int i = 0; i < in.count; ++i)
      if (in.v[i]->is_tensor()) tensors.v[tensors.count++] = in.v[i];
    common = common_dtype(tensors);
  } else if (row.rule == Rule::alike) {
    common = in.v[0]->tensor().dtype();
  } else if (in.count == 1)
    common = in.v[0]->tensor().dtype();
  else if (in.count == 2 && in.v[0]->is_tensor() && in.v[1]->is_tensor() &&
           in.v[0]->tensor().dtype() == in.v[1]->tensor().dtype())
    common = in.v[0]->tensor().dtype();
  else
    common = common_dtype(in);
  if (row.rule == Rule::floating && is_integral(common)) common = default_dtype();
  if (row.rule == Rule::counting && common == DType::Bool) common = DType::Int64;
  DType compute = row.rule == Rule::truth ? DType::Bool : compute_of(common);
  if (is_half(common) && row.base->forward[int(common)]) {  // a loop of its own, for which no operand is rounded
    bool all = true;
    for (int i = 0; i < in.count; ++i) all = all && is_exact(*in.v[i], common, row.base->rounds_numbers);
    if (all) compute = common;
  }
  if (!row.base->forward[int(compute)]) fail_missing("\"", op, "\" not implemented for '", name_of(common), "'");
  DType result = row.rule == Rule::compare || row.rule == Rule::truth ? DType::Bool : common;
  if (row.base->real_result) result = real_of(result);
  return {common, compute, result};
}

// Operands that the op refuses for their dtype, before any common one is looked for.
void check_dtypes(Call& c, const Operands& in, Rule rule) {
  auto dtype = [&](int i) { return in.v[i]->is_tensor() ? in.v[i]->tensor().dtype() : in.v[i]->number_dtype(); };
  if (c.op.is(kRefusesBool))
    for (int i = 0; i < in.count; ++i)
      if (dtype(i) == DType::Bool)
        fail(c.op.base, ": bool has no differences and no negatives, but operand ", i,
             " is bool. To invert a mask use ~ or logical_not(), to see where two differ use ^, or cast to integers");
  if (rule == Rule::choose && dtype(0) != DType::Bool && dtype(0) != DType::UInt8)
    fail(c.op.base, ": expected a condition of dtype bool, got ", name_of(dtype(0)));
  if (rule == Rule::alike)
    for (int i = 1; i < in.count; ++i)
      if (in.v[i]->is_tensor() && dtype(i) != dtype(0) && !(i == 2 && in.v[i]->tensor().dim() == 0))
        fail(c.op.base, ": expected '", c.op.params[size_t(i)].name, "' to have the dtype of '", c.op.params[0].name,
             "', ", name_of(dtype(0)), ", got ", name_of(dtype(i)));
}

// A number that scales tensors of a type, which has to be able to hold it.
void check_scale(Call& c, int i, DType type) {
  const Value& v = c.arg(i);
  if (!v.is_number()) return;
  bool part = v.tag() == Tag::Float && v.real() != std::trunc(v.real());
  if ((v.tag() == Tag::Complex && !is_complex(type)) || (part && is_integral(type)))
    fail(c.op.base, ": '", c.op.params[size_t(i)].name, "' is ", v, ", which tensors of dtype ", name_of(type),
         " cannot be scaled by");
  check_fits(v, type, c.name());
}

void pointwise_infer(Call& c) {
  const Row& row = *static_cast<const Row*>(c.op.form.row);
  Operands in = operands_of(c, row);
  bool any = false;
  for (int i = 0; i < in.count; ++i) any = any || in.v[i]->is_tensor();
  if (!any) fail_type(c.op.base, "(): at least one of the arguments must be a Tensor, got only numbers");
  check_dtypes(c, in, row.rule);
  Types types = types_of(in, row, c.name());
  if (row.rule == Rule::scaled)
    for (int i = 0; i < in.count; ++i) check_scale(c, i, types.common);
  if (c.op.is(kRefusesNegative) && is_integral(types.common) && in.v[1]->is_number() && in.v[1]->integer() < 0)
    fail(c.op.base, ": Integers to negative integer powers are not allowed.");
  if (c.op.is(kRefusesNegative) && types.common == DType::Bool && !in.v[1]->is_number())
    fail_missing(c.op.base,
                 ": \"pow\" not implemented for 'Bool'");  // as in PyTorch, which only knows the powers 0 and 1
  c.give(0, pointwise_meta(in, types.result, c.name()));
}

void refuse_zeros(const Value& divisor, const char* op) {
  bool zero;
  if (divisor.is_number()) {
    zero = !divisor.flag();
  } else {
    const Tensor& t = divisor.tensor();
    Scratch truths(t.numel());
    Dims flat = contiguous_strides(t.sizes());
    copy_kernels().copy(DType::Bool, truths.as<char>(), flat.data(), t.dtype(), t.data(), t.strides().data(),
                        t.sizes().data(), t.dim());
    zero = t.numel() && std::memchr(truths.as<char>(), 0, size_t(t.numel()));
  }
  if (zero) fail(op, ": ZeroDivisionError: integer division by zero");
}

void pointwise_run(Call& c) {
  const Row& row = *static_cast<const Row*>(c.op.form.row);
  Operands in = operands_of(c, row);
  Types t = types_of(in, row, c.name());
  if (c.op.is(kRefusesZero) && is_integral(t.common)) refuse_zeros(*in.v[1], c.name());
  run_pointwise(c.out[0], in, t.compute, is_half(t.result) ? t.compute : t.result, row.forward(t.compute));
}

bool pointwise_any_order(Call& c) {
  const Row& row = *static_cast<const Row*>(c.op.form.row);
  const Tensor& out = c.out[0];
  bool number[kRowOperands];
  Operands in = operands_of(c, row);
  for (int i = 0; i < in.count; ++i) {
    number[i] = !in.v[i]->is_tensor() || in.v[i]->tensor().numel() == 1;
    if (!number[i] && in.v[i]->tensor().dtype() != out.dtype()) return false;
  }
  return compute_of(out.dtype()) == DType::Float && all_lie_last_or_scale(out, in.v, number, in.count);
}

std::vector<Row*>& all_rows() {
  static std::vector<Row*> rows;
  return rows;
}

}  // namespace

void register_pointwise(const RowSpec& spec, Row* row) {
  Form f;
  f.signature = spec.signature;
  f.doc = spec.doc;
  f.traits = spec.traits | kOverwrites;
  bool keeps_type = row->operands == 1 && (row->rule == Rule::promote || row->rule == Rule::compare);
  if (!keeps_type && row->rule != Rule::choose) f.traits |= kCastsOut;
  f.infer = pointwise_infer;
  f.run = pointwise_run;
  f.any_order = pointwise_any_order;
  f.row = row;
  f.no_derivative = spec.no_derivative;
  f.aliases = spec.aliases;
  for (auto* derivative : row->derivative) {
    if (!derivative) continue;
    f.back = pointwise_back;
    f.keeps_when = pointwise_keeps;
  }
  Registry::get().add(f);
  all_rows().push_back(row);
}

// The files of rows. Each registers its ops once, from the copy for the base instruction set.
#define WEFT_ROW_FILES(X) X(arithmetic) X(unary) X(compare) X(elementary) X(special) X(activation) X(loss)
#define WEFT_DECLARE_ROWS(set, processor, bits, flags, cpu, bytes, file) \
  WEFT_BUILT(WEFT_HAS_##set)(namespace set { const PointwiseKernels* file##_kernels(); })
#define WEFT_ROWS(set, processor, bits, flags, cpu, bytes, file) WEFT_BUILT(WEFT_HAS_##set)(set::file##_kernels, )
#define X(file) WEFT_SETS(WEFT_DECLARE_ROWS, file)
WEFT_ROW_FILES(X)
#undef X

namespace {
struct LoadRows {
  LoadRows() {
#define X(file) load({WEFT_SETS(WEFT_ROWS, file)});
    WEFT_ROW_FILES(X)
#undef X
  }
  using Kernels = const PointwiseKernels* (*)();
  static void load(std::initializer_list<Kernels> sets) {
    size_t first = all_rows().size();
    const PointwiseKernels* table = sets.begin()[0]();
    if (machine_isa() == Isa::base) return;
    const PointwiseKernels* fast = sets.begin()[int(machine_isa())]();
    for (size_t i = first; i < all_rows().size(); ++i) all_rows()[i]->best = fast + (all_rows()[i]->base - table);
  }
} load_rows;
}  // namespace

}  // namespace weft
