#include "ops/pointwise.h"

#include <algorithm>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/api.h"

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

constexpr int kBlock = 512;      // elements that are cast, gathered or repeated at a time: they stay in the first cache
constexpr int kMaxOperands = 6;  // with the output
constexpr int kMaxDims = 64;

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
bool run_flat(const Tensor& out, const Operands& in, DType type, DType result, PointwiseKernel kernel) {
  if (out.dtype() != result) return false;
  int singles = 0;
  for (int i = 0; i < in.count; ++i) {
    const Value& v = *in.v[i];
    if (!v.is_tensor()) {
      ++singles;
      continue;
    }
    const Tensor& t = v.tensor();
    if (t.dtype() == type && t.numel() == out.numel() && t.dim() == out.dim() &&
        ((t.contiguous() && out.contiguous()) || t.strides() == out.strides()))
      continue;
    if (t.numel() != 1) return false;
    ++singles;
  }
  if (!out.contiguous() && !is_dense(out.sizes(), out.strides())) return false;
  int64_t n = out.numel(), in_size = item_size(type), out_size = item_size(result);
  char* p[kMaxOperands] = {out.data()};
  if (!singles) {
    for (int i = 0; i < in.count; ++i) p[i + 1] = in.v[i]->tensor().data();
    if (n <= kGrain) {
      kernel(p, n);
      return true;
    }
    parallel_chunks(n, kGrain, [&](int64_t begin, int64_t end) {
      char* q[kMaxOperands] = {p[0] + begin * out_size};
      for (int i = 0; i < in.count; ++i) q[i + 1] = p[i + 1] + begin * in_size;
      kernel(q, end - begin);
    });
    return true;
  }
  Buffers buffers;
  int64_t step[kMaxOperands] = {out_size};
  for (int i = 0; i < in.count; ++i) {
    const Value& v = *in.v[i];
    bool single = !v.is_tensor() ||
                  !(v.tensor().dtype() == type && v.tensor().numel() == n && v.tensor().dim() == out.dim());
    p[i + 1] = single ? buffers.at[i] : v.tensor().data();
    step[i + 1] = single ? 0 : in_size;
    if (single) repeat_number(v, type, buffers.at[i], std::min<int64_t>(n, kBlock));
  }
  parallel_chunks(n, kGrain, [&](int64_t begin, int64_t end) {
    char* q[kMaxOperands];
    for (int64_t at = begin; at < end; at += kBlock) {
      for (int i = 0; i <= in.count; ++i) q[i] = p[i] + at * step[i];
      kernel(q, std::min<int64_t>(kBlock, end - at));
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

// A tile is `count` steps of dimension `split` times all of the dimensions behind it: at most kBlock elements.
struct Tiling {
  int split;
  int64_t inner, per_tile, tiles_per_row, tiles;
};

Tiling tile(const Plan& plan) {
  Tiling t{plan.dims - 1, 1, 0, 0, 0};
  while (t.split > 0 && t.inner * plan.sizes[t.split] <= kBlock / 2) t.inner *= plan.sizes[t.split--];
  t.per_tile = std::max<int64_t>(1, kBlock / t.inner);
  // Operands that lie flat in the tile need no buffer: then tiles may be as long as the dimension.
  t.tiles_per_row = (plan.sizes[t.split] + t.per_tile - 1) / t.per_tile;
  t.tiles = t.tiles_per_row;
  for (int d = 0; d < t.split; ++d) t.tiles *= plan.sizes[d];
  return t;
}

struct TileRunner {
  const Plan& plan;
  const Tiling& tiling;
  DType type, result;
  PointwiseKernel kernel;
  bool direct[kMaxOperands], fixed[kMaxOperands];

  TileRunner(const Plan& plan, const Tiling& t, DType type, DType result, PointwiseKernel k)
      : plan(plan), tiling(t), type(type), result(result), kernel(k) {
    for (int i = 0; i < plan.operands; ++i) {
      bool flat = plan.dtypes[i] == (i ? type : result);
      int64_t step = 1;
      for (int d = plan.dims - 1; d >= t.split; --d) {
        flat = flat && plan.strides[i][d] == step;
        step *= plan.sizes[d];
      }
      direct[i] = flat;
      fixed[i] = i > 0 && !flat;  // the same content in every tile
      for (int d = 0; d <= t.split; ++d) fixed[i] = fixed[i] && plan.strides[i][d] == 0;
    }
  }

  void run(int64_t begin, int64_t end) const {
    Buffers buffers;
    for (int i = 1; i < plan.operands; ++i)
      if (fixed[i]) load(i, plan.data[i], std::min(tiling.per_tile, plan.sizes[tiling.split]), buffers.at[i]);
    for (int64_t k = begin; k < end; ++k) {
      int64_t rest = k / tiling.tiles_per_row, first = (k % tiling.tiles_per_row) * tiling.per_tile;
      int64_t count = std::min(tiling.per_tile, plan.sizes[tiling.split] - first);
      int64_t offset[kMaxOperands];
      for (int i = 0; i < plan.operands; ++i) offset[i] = first * plan.strides[i][tiling.split];
      for (int d = tiling.split - 1; d >= 0; --d) {
        int64_t at = rest % plan.sizes[d];
        rest /= plan.sizes[d];
        for (int i = 0; i < plan.operands; ++i) offset[i] += at * plan.strides[i][d];
      }
      char* p[kMaxOperands];
      for (int i = 0; i < plan.operands; ++i) {
        char* source = const_cast<char*>(plan.data[i]) + offset[i] * item_size(plan.dtypes[i]);
        p[i] = direct[i] ? source : buffers.at[i];
        if (i && !direct[i] && !fixed[i]) load(i, source, count, buffers.at[i]);
      }
      kernel(p, count * tiling.inner);
      if (!direct[0])
        store(const_cast<char*>(plan.data[0]) + offset[0] * item_size(plan.dtypes[0]), count, buffers.at[0]);
    }
  }

 private:
  void tile_shape(int64_t count, int64_t* sizes, int64_t* flat) const {
    int n = plan.dims - tiling.split;
    sizes[0] = count;
    for (int d = 1; d < n; ++d) sizes[d] = plan.sizes[tiling.split + d];
    int64_t step = 1;
    for (int d = n - 1; d >= 0; --d) {
      flat[d] = step;
      step *= sizes[d];
    }
  }
  void load(int i, const char* source, int64_t count, char* buffer) const {
    int64_t sizes[kMaxDims], flat[kMaxDims];
    tile_shape(count, sizes, flat);
    copy_kernels().copy(type, buffer, flat, plan.dtypes[i], source, plan.strides[i] + tiling.split, sizes,
                        plan.dims - tiling.split);
  }
  void store(char* target, int64_t count, const char* buffer) const {
    int64_t sizes[kMaxDims], flat[kMaxDims];
    tile_shape(count, sizes, flat);
    copy_kernels().copy(plan.dtypes[0], target, plan.strides[0] + tiling.split, result, buffer, flat, sizes,
                        plan.dims - tiling.split);
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

void run_pointwise(const Tensor& out, const Operands& in, DType type, DType result, PointwiseKernel kernel) {
  if (out.numel() == 0) return;
  if (run_flat(out, in, type, result, kernel)) return;
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
  Tiling tiling = tile(plan);
  TileRunner runner(plan, tiling, type, result, kernel);
  int64_t grain = std::max<int64_t>(1, kGrain / (tiling.inner * tiling.per_tile));
  parallel_chunks(tiling.tiles, grain, [&](int64_t begin, int64_t end) { runner.run(begin, end); });
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
  if (!row.base->forward[int(compute)]) fail("\"", op, "\" not implemented for '", name_of(common), "'");
  DType result = row.rule == Rule::compare || row.rule == Rule::truth ? DType::Bool : common;
  if (row.base->real_result) result = real_of(result);
  return {common, compute, result};
}

void pointwise_infer(Call& c) {
  const Row& row = *static_cast<const Row*>(c.op.form.row);
  Operands in = operands_of(c, row);
  bool any = false;
  for (int i = 0; i < in.count; ++i) any = any || in.v[i]->is_tensor();
  if (!any) fail_type(c.op.base, "(): at least one of the arguments must be a Tensor, got only numbers");
  Types types = types_of(in, row, c.name());
  if (c.op.is(kRefusesNegative) && is_integral(types.common) && in.v[1]->is_number() && in.v[1]->integer() < 0)
    fail(c.op.base, ": Integers to negative integer powers are not allowed.");
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

uint32_t pointwise_keeps(const Op& op, uint32_t needs) {
  const Row& row = *static_cast<const Row*>(op.form.row);
  uint32_t keeps = 0;
  for (int i = 0; i < row.operands; ++i)
    if (needs & (1u << i)) keeps |= row.keeps[i];
  return keeps;
}

void pointwise_back(Grad& d) {
  const Row& row = *static_cast<const Row*>(d.op().form.row);
  const Tensor& g = d.g();
  for (int i = 0; i < row.operands; ++i) {
    if (!d.needs(i) || !row.derivative[i]) continue;
    Tensor t[5] = {g};
    bool real = is_floating(g.dtype());
    for (int k = 0; k < row.operands; ++k) {
      if (!(row.keeps[i] & (1u << k))) continue;
      t[k + 1] = d.x(k);
      real = real && is_floating(t[k + 1].dtype());
    }
    if (row.keeps[i] & keep::y0) t[row.operands + 1] = d.y();
    if (t[row.operands + 1]) real = real && is_floating(t[row.operands + 1].dtype());
    PointwiseKernel kernel = d.create_graph || t_recorder || !real ? nullptr : row.back(i, compute_of(g.dtype()));
    if (!kernel) {
      d.give(i, row.derivative[i](t));
      continue;
    }
    Value values[5];
    Operands in;
    in.count = row.operands + 2;
    for (int k = 0; k < in.count; ++k) {
      values[k] = Value(t[k] ? t[k] : g);
      in.v[k] = &values[k];
    }
    Tensor out = pointwise_meta(in, g.dtype(), d.op().base.c_str());
    give_memory(*out.get());
    run_pointwise(out, in, compute_of(g.dtype()), compute_of(g.dtype()), kernel);
    d.give(i, std::move(out));
  }
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
  f.infer = pointwise_infer;
  f.run = pointwise_run;
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
#define WEFT_ROW_FILES(X) X(arithmetic) X(unary) X(compare) X(elementary) X(special)
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
