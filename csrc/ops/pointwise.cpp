#include "ops/pointwise.h"

#include <algorithm>
#include <cmath>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/order.h"

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

// ---- running

namespace {

constexpr int kBlock = 512;  // elements that are cast, gathered or repeated at a time: they stay in the first cache
constexpr int kMaxOperands = kRowOperands + 3;  // with the output
constexpr int kMaxDims = kMaxRank;

struct Plan {
  int operands = 0, dims = 0;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxOperands][kMaxDims];  // in elements of each operand
  const char* data[kMaxOperands];
  DType dtypes[kMaxOperands];
  int64_t numel = 0;
};

struct Buffers {
  alignas(64) char at[kMaxOperands][kBlock * 16];
};

void repeat_number(const Value& v, DType type, char* buffer, int64_t n) {
  int64_t size = item_size(type);
  if (v.is_tensor())
    copy_kernels().convert(v.tensor().dtype(), type, v.tensor().data(), buffer, 1);
  else
    v.store(type, buffer);
  switch (size) {
    case 1: std::memset(buffer + 1, buffer[0], size_t(n - 1)); break;
    case 4: std::fill_n(reinterpret_cast<uint32_t*>(buffer), n, *reinterpret_cast<uint32_t*>(buffer)); break;
    case 8: std::fill_n(reinterpret_cast<uint64_t*>(buffer), n, *reinterpret_cast<uint64_t*>(buffer)); break;
    default:
      for (int64_t i = 1; i < n; ++i) std::memcpy(buffer + i * size, buffer, size_t(size));
  }
}

// All operands lie like the output, or are single elements: one flat run.
bool run_flat(const Tensor& out, const Operands& in, DType type, DType result, const Loops& loops) {
  if (out.dtype() != result) return false;
  int64_t n = out.numel();
  bool single[kMaxOperands];
  int singles = 0;
  for (int i = 0; i < in.count; ++i) {
    const Value& v = *in.v[i];
    single[i] = !v.is_tensor() || v.tensor().dtype() != type || v.tensor().numel() != n ||
                v.tensor().dim() != out.dim() ||
                !((v.tensor().contiguous() && out.contiguous()) || v.tensor().strides() == out.strides());
    if (single[i] && v.is_tensor() && v.tensor().numel() != 1) return false;
    singles += single[i];
  }
  if (!out.contiguous() && !is_dense(out.sizes(), out.strides())) return false;
  bool last = all_lie_last(out, in.v, single, in.count);
  int64_t in_size = item_size(type), out_size = item_size(result);
  char* p[kMaxOperands] = {last ? as_it_lies(out) : out.data()};
  int64_t step[kMaxOperands] = {out_size};
  PointwiseKernel kernel = loops.all;
  bool after_first = !single[0] && singles == in.count - 1, first_of_two = singles == 1 && in.count == 2;
  if ((after_first || first_of_two) && singles && loops.single[after_first])
    kernel = loops.single[after_first], singles = 0;
  bool whole = singles == 0;  // the kernel needs no copies of a single element
  Buffers buffers;
  for (int i = 0; i < in.count; ++i) {
    p[i + 1] = single[i] ? buffers.at[i] : last ? as_it_lies(in.v[i]->tensor()) : in.v[i]->tensor().data();
    step[i + 1] = single[i] ? 0 : in_size;
    if (single[i]) repeat_number(*in.v[i], type, buffers.at[i], whole ? 1 : std::min<int64_t>(n, kBlock));
  }
  if (last) set_lies_last(out);
  if (whole && n <= kGrain) {
    kernel(p, n);
    return true;
  }
  parallel_shares(n, kGrain, 64, [&](int64_t begin, int64_t end) {
    char* q[kMaxOperands];
    int64_t length = whole ? end - begin : kBlock;
    for (int64_t at = begin; at < end; at += length) {
      for (int i = 0; i <= in.count; ++i) q[i] = p[i] + at * step[i];
      kernel(q, std::min(length, end - at));
    }
  });
  return true;
}

// Sorts the dimensions by the output's strides, largest first, and merges those that lie as one in all operands.
void simplify(Plan& plan) {
  int order[kMaxDims], n = 0;
  for (int d = 0; d < plan.dims; ++d)
    if (plan.sizes[d] != 1) order[n++] = d;
  std::stable_sort(order, order + n, [&](int a, int b) { return plan.strides[0][a] > plan.strides[0][b]; });
  Plan out = plan;
  out.dims = 0;
  for (int k = 0; k < n; ++k) {
    int d = order[k], last = out.dims - 1;
    bool merge = last >= 0;
    for (int i = 0; merge && i < plan.operands; ++i) merge = out.strides[i][last] == plan.strides[i][d] * plan.sizes[d];
    if (!merge) last = out.dims++;
    out.sizes[last] = merge ? out.sizes[last] * plan.sizes[d] : plan.sizes[d];
    for (int i = 0; i < plan.operands; ++i) out.strides[i][last] = plan.strides[i][d];
  }
  if (out.dims == 0) {
    out.sizes[0] = 1;
    for (int i = 0; i < plan.operands; ++i) out.strides[i][0] = 1;
    out.dims = 1;
  }
  plan = out;
}

// The work is cut into tiles of step[d] indices of each dimension d. A tile is run
//   flat:   in one call. Only the first dimension that has more than one index in it is cut, so that it lies flat in
//           operands that do. All others are copied to a buffer and back.
//   turned: row by row, because an operand runs along the columns of the output. A block of it is turned in a buffer.
//   rows:   row by row, in place. One of two operands may be a single element in each row.
struct Tiling {
  enum { flat, turned, rows } way = flat;
  int single = -1;
  int64_t step[kMaxDims], parts[kMaxDims], size = 1, tiles = 1;
};

// Whether operand i runs along another dimension than the output; if so, moves that one to the second place from the
// end.
bool turns(Plan& plan, int i) {
  int last = plan.dims - 1, d = 0;
  if (plan.strides[i][last] <= 1 || plan.sizes[last] < 16 || item_size(plan.dtypes[i]) > 8) return false;
  while (d < last && !(plan.strides[i][d] == 1 && plan.sizes[d] >= 8)) ++d;
  if (d == last) return false;
  for (; d < last - 1; ++d) {
    std::swap(plan.sizes[d], plan.sizes[d + 1]);
    for (int k = 0; k < plan.operands; ++k) std::swap(plan.strides[k][d], plan.strides[k][d + 1]);
  }
  return true;
}

Tiling tile(Plan& plan, DType type, DType result, const Loops& loops) {
  Tiling t;
  int last = plan.dims - 1, split = last;
  if (plan.strides[0][last] == 1 && plan.dtypes[0] == result) {
    int in_place = 0, other = 0;
    for (int i = 1; i < plan.operands; ++i) {
      if (plan.strides[i][last] == 1 && plan.dtypes[i] == type)
        ++in_place;
      else
        other = i;
    }
    if (in_place == 1 && plan.operands == 3 && loops.single[other - 1] && plan.strides[other][last] == 0 &&
        plan.dtypes[other] == type)
      t.single = other - 1;
    if ((t.single >= 0 || other == 0) && plan.sizes[last] >= 32) t.way = Tiling::rows;
    for (int i = 1; t.way == Tiling::flat && i < plan.operands; ++i)
      if (turns(plan, i)) t.way = Tiling::turned;
  }
  std::fill_n(t.step, plan.dims, int64_t(1));
  if (t.way == Tiling::rows) {
    t.step[last] = std::min<int64_t>(plan.sizes[last], kGrain);
    if (last) t.step[last - 1] = std::min(plan.sizes[last - 1], std::max<int64_t>(1, 4096 / t.step[last]));
  } else if (t.way == Tiling::turned) {
    t.step[last] = std::min<int64_t>(plan.sizes[last], 64);
    t.step[last - 1] = std::min<int64_t>(plan.sizes[last - 1],
                                         kBlock * 16 / 64 / std::max<int64_t>(2, item_size(type)));
  } else {
    int64_t inner = 1;
    while (split > 0 && inner * plan.sizes[split] <= kBlock / 2) {
      inner *= plan.sizes[split];
      t.step[split] = plan.sizes[split];
      --split;
    }
    t.step[split] = std::min(plan.sizes[split], kBlock / inner);
  }
  for (int d = 0; d < plan.dims; ++d) {
    t.parts[d] = (plan.sizes[d] + t.step[d] - 1) / t.step[d];
    t.tiles *= t.parts[d];
    t.size *= t.step[d];
  }
  return t;
}

struct TileRunner {
  const Plan& plan;
  const Tiling& tiling;
  DType type, result;
  PointwiseKernel kernel;
  bool direct[kMaxOperands], fixed[kMaxOperands];
  int first = 0;           // the first dimension with more than one index in a tile
  int64_t flat[kMaxDims];  // the strides of a buffer, from there on

  TileRunner(const Plan& plan, const Tiling& t, DType type, DType result, const Loops& loops)
      : plan(plan), tiling(t), type(type), result(result) {
    kernel = t.way == Tiling::rows && t.single >= 0 ? loops.single[t.single] : loops.all;
    while (first < plan.dims - 1 && t.step[first] == 1) ++first;
    for (int64_t d = plan.dims - 1, step = 1; d >= first; --d) {
      flat[d] = step;
      step *= t.step[d];
    }
    for (int i = 0; i < plan.operands; ++i) {
      bool lies = true;
      fixed[i] = i > 0;  // the same content in every tile
      for (int d = plan.dims - 1; d >= 0; --d) {
        if (d >= first) lies = lies && plan.strides[i][d] == flat[d];
        if (t.parts[d] > 1) fixed[i] = fixed[i] && plan.strides[i][d] == 0;
      }
      if (t.way == Tiling::turned) lies = plan.strides[i][plan.dims - 1] == 1;
      direct[i] = t.way == Tiling::rows || (lies && plan.dtypes[i] == (i ? type : result));
      fixed[i] = fixed[i] && !direct[i];
    }
  }

  void run(int64_t begin, int64_t end) const {
    Buffers buffers;
    for (int i = 1; i < plan.operands; ++i)
      if (fixed[i]) load(i, plan.data[i], tiling.step, buffers.at[i]);
    int64_t at[kMaxDims], count[kMaxDims], rest = begin;
    char *source[kMaxOperands], *p[kMaxOperands];
    for (int i = 0; i < plan.operands; ++i) source[i] = const_cast<char*>(plan.data[i]);
    for (int d = plan.dims - 1; d >= 0; --d) {
      at[d] = rest % tiling.parts[d] * tiling.step[d];
      rest /= tiling.parts[d];
      move(source, d, at[d]);
    }
    for (int64_t k = begin; k < end; ++k) {
      for (int d = first; d < plan.dims; ++d) count[d] = std::min(tiling.step[d], plan.sizes[d] - at[d]);
      for (int i = 0; i < plan.operands; ++i) {
        p[i] = direct[i] ? source[i] : buffers.at[i];
        if (i && !direct[i] && !fixed[i]) load(i, source[i], count, buffers.at[i]);
      }
      if (tiling.way == Tiling::flat || plan.dims == 1)
        kernel(p, count[first] * flat[first]);
      else
        run_rows(p, first < plan.dims - 1 ? count[first] : 1, count[plan.dims - 1]);
      if (!direct[0]) store(source[0], count, buffers.at[0]);
      for (int d = plan.dims - 1; d >= 0; --d) {  // to the next tile
        at[d] += tiling.step[d];
        move(source, d, tiling.step[d]);
        if (at[d] < plan.sizes[d]) break;
        move(source, d, -at[d]);
        at[d] = 0;
      }
    }
  }

 private:
  void move(char** source, int d, int64_t steps) const {
    for (int i = 0; i < plan.operands; ++i) source[i] += steps * plan.strides[i][d] * item_size(plan.dtypes[i]);
  }
  void run_rows(char** p, int64_t rows, int64_t columns) const {
    int64_t step[kMaxOperands];  // in bytes
    for (int i = 0, d = plan.dims - 2; i < plan.operands; ++i)
      step[i] = direct[i] ? plan.strides[i][d] * item_size(plan.dtypes[i]) : tiling.step[d + 1] * item_size(type);
    for (int64_t r = 0; r < rows; ++r) {
      kernel(p, columns);
      for (int i = 0; i < plan.operands; ++i) p[i] += step[i];
    }
  }
  void load(int i, const char* source, const int64_t* count, char* buffer) const {
    copy_kernels().copy(type, buffer, flat + first, plan.dtypes[i], source, plan.strides[i] + first, count + first,
                        plan.dims - first);
  }
  void store(char* target, const int64_t* count, const char* buffer) const {
    copy_kernels().copy(plan.dtypes[0], target, plan.strides[0] + first, result, buffer, flat + first, count + first,
                        plan.dims - first);
  }
};

void add_operand(Plan& plan, const Tensor& t) {
  int i = plan.operands++, shift = plan.dims - t.dim();
  plan.data[i] = t.data();
  plan.dtypes[i] = t.dtype();
  for (int d = 0; d < plan.dims; ++d)
    plan.strides[i][d] = d < shift || t.size(d - shift) == 1 ? 0 : t.stride(d - shift);
}

}  // namespace

void run_pointwise(const Tensor& out, const Operands& in, DType type, DType result, const Loops& loops) {
  if (out.numel() == 0) return;
  if (run_flat(out, in, type, result, loops)) return;
  Plan plan;
  plan.dims = out.dim();
  plan.numel = out.numel();
  for (int d = 0; d < plan.dims; ++d) plan.sizes[d] = out.size(d);
  add_operand(plan, out);
  char numbers[kMaxOperands][16];
  for (int i = 0; i < in.count; ++i) {
    if (in.v[i]->is_tensor()) {
      add_operand(plan, in.v[i]->tensor());
      continue;
    }
    int k = plan.operands++;
    in.v[i]->store(type, numbers[i]);
    plan.data[k] = numbers[i];
    plan.dtypes[k] = type;
    for (int d = 0; d < plan.dims; ++d) plan.strides[k][d] = 0;
  }
  simplify(plan);
  Tiling tiling = tile(plan, type, result, loops);
  TileRunner runner(plan, tiling, type, result, loops);
  parallel_shares(tiling.tiles, std::max<int64_t>(1, kGrain / tiling.size), 1,
                  [&](int64_t begin, int64_t end) { runner.run(begin, end); });
}

// ---- the ops

namespace {

Operands operands_of(Call& c, const Row& row) {
  Operands in;
  in.count = row.operands;
  for (int i = 0; i < row.operands; ++i) in.v[i] = &c.arg(i);
  return in;
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
  bool number[kMaxOperands];
  Operands in = operands_of(c, row);
  for (int i = 0; i < in.count; ++i) {
    number[i] = !in.v[i]->is_tensor() || in.v[i]->tensor().numel() == 1;
    if (!number[i] && in.v[i]->tensor().dtype() != DType::Float) return false;
  }
  return out.dtype() == DType::Float && all_lie_last(out, in.v, number, in.count);
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
#define X(file)                             \
  namespace base {                          \
  const PointwiseKernels* file##_kernels(); \
  }                                         \
  namespace avx2 {                          \
  const PointwiseKernels* file##_kernels(); \
  }                                         \
  namespace avx512 {                        \
  const PointwiseKernels* file##_kernels(); \
  }
WEFT_ROW_FILES(X)
#undef X

namespace {
struct LoadRows {
  LoadRows() {
#ifdef WEFT_HAVE_AVX512
#define X(file)                                                                    \
  load(base::file##_kernels, machine_isa() == Isa::avx512 ? avx512::file##_kernels \
                             : machine_isa() == Isa::avx2 ? avx2::file##_kernels   \
                                                          : nullptr);
#else
#define X(file) load(base::file##_kernels, nullptr);
#endif
    WEFT_ROW_FILES(X)
#undef X
  }
  using Kernels = const PointwiseKernels* (*)();
  static void load(Kernels base, Kernels best) {
    size_t first = all_rows().size();
    const PointwiseKernels* table = base();
    if (!best) return;
    const PointwiseKernels* fast = best();
    for (size_t i = first; i < all_rows().size(); ++i) all_rows()[i]->best = fast + (all_rows()[i]->base - table);
  }
} load_rows;
}  // namespace

}  // namespace weft
