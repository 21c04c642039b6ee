// Runs the loops of pointwise rows over operands of any layout and type.
#include <algorithm>

#include "loops/copy.h"
#include "loops/parallel.h"
#include "ops/order.h"
#include "ops/pointwise.h"

namespace weft {
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
    case 2: std::fill_n(reinterpret_cast<uint16_t*>(buffer), n, *reinterpret_cast<uint16_t*>(buffer)); break;
    case 4: std::fill_n(reinterpret_cast<uint32_t*>(buffer), n, *reinterpret_cast<uint32_t*>(buffer)); break;
    case 8: std::fill_n(reinterpret_cast<uint64_t*>(buffer), n, *reinterpret_cast<uint64_t*>(buffer)); break;
    default:
      for (int64_t i = 1; i < n; ++i) std::memcpy(buffer + i * size, buffer, size_t(size));
  }
}

// A flat run whose operands have other types than the kernel: blocks of them are converted before it and after it.
struct ConvertingRun {
  PointwiseKernel kernel;
  int count;  // of operands, with the output
  char* p[kMaxOperands];
  int64_t step[kMaxOperands];  // bytes from element to element; 0: a block that stays
  DType from[kMaxOperands];    // what they lie as
  bool converts[kMaxOperands];
  int same[kMaxOperands];  // an operand before it with the same content, or itself
  DType type, result;
  int64_t length;  // of a block

  void operator()(int64_t begin, int64_t end) const {
    Buffers buffers;
    char* q[kMaxOperands];
    for (int64_t at = begin; at < end; at += length) {
      int64_t n = std::min(length, end - at);
      for (int i = count - 1; i >= 0; --i) q[i] = converts[i] ? buffers.at[same[i]] : p[i] + at * step[i];
      for (int i = 1; i < count; ++i)
        if (converts[i] && same[i] == i) copy_kernels().convert(from[i], type, p[i] + at * step[i], q[i], n);
      kernel(q, n);
      if (converts[0]) copy_kernels().convert(result, from[0], q[0], p[0] + at * step[0], n);
    }
  }
};

constexpr int64_t kConverted = 1024;  // elements of a block, at most

// All operands lie like the output, or are single elements: one flat run.
bool run_flat(const Tensor& out, const Operands& in, DType type, DType result, const Loops& loops) {
  int64_t n = out.numel();
  bool single[kMaxOperands], converts = out.dtype() != result;
  int singles = 0;
  for (int i = 0; i < in.count; ++i) {
    const Value& v = *in.v[i];
    bool lies = v.is_tensor() && v.tensor().numel() == n && v.tensor().dim() == out.dim() &&
                ((v.tensor().contiguous() && out.contiguous()) || v.tensor().strides() == out.strides());
    bool other = lies && v.tensor().dtype() != type;
    single[i] = !lies || (other && n == 1);
    if (single[i] && v.is_tensor() && v.tensor().numel() != 1) return false;
    singles += single[i];
    converts = converts || (other && !single[i]);
  }
  if (!out.contiguous() && !is_dense(out.sizes(), out.strides())) return false;
  bool last = all_lie_last(out, in.v, single, in.count);
  ConvertingRun run;
  run.count = in.count + 1, run.type = type, run.result = result;
  run.length = std::min<int64_t>(kConverted, kBlock * 16 / std::max(item_size(type), item_size(result)));
  run.p[0] = last ? as_it_lies(out) : out.data(), run.step[0] = item_size(out.dtype());
  run.from[0] = out.dtype(), run.converts[0] = out.dtype() != result, run.same[0] = 0;
  run.kernel = loops.all;
  bool after_first = !single[0] && singles == in.count - 1, first_of_two = singles == 1 && in.count == 2;
  if ((after_first || first_of_two) && singles && loops.single[after_first])
    run.kernel = loops.single[after_first], singles = 0;
  bool whole = singles == 0;  // the kernel needs no copies of a single element
  int64_t length = converts ? run.length : kBlock;
  Buffers buffers;
  for (int i = 0; i < in.count; ++i) {
    const Value& v = *in.v[i];
    int k = i + 1;
    run.p[k] = single[i] ? buffers.at[i] : last ? as_it_lies(v.tensor()) : v.tensor().data();
    run.from[k] = single[i] ? type : v.tensor().dtype();
    run.step[k] = single[i] ? 0 : item_size(run.from[k]);
    run.converts[k] = run.from[k] != type;
    run.same[k] = k;
    for (int j = 1; j < k; ++j)
      if (run.converts[k] && run.p[j] == run.p[k] && run.from[j] == run.from[k]) run.same[k] = run.same[j];
    if (single[i]) repeat_number(v, type, buffers.at[i], whole ? 1 : std::min<int64_t>(n, length));
  }
  if (last) set_lies_last(out);
  if (converts) {
    parallel_shares(n, kGrain, 64, run);
    return true;
  }
  if (whole && n <= kGrain) {
    run.kernel(run.p, n);
    return true;
  }
  parallel_shares(n, kGrain, 64, [&](int64_t begin, int64_t end) {
    char* q[kMaxOperands];
    int64_t part = whole ? end - begin : length;
    for (int64_t at = begin; at < end; at += part) {
      for (int i = 0; i <= in.count; ++i) q[i] = run.p[i] + at * run.step[i];
      run.kernel(q, std::min(part, end - at));
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
//   rows:   row by row, in place. One of two operands may be a single element in each row; of more operands any may
//           (`repeats`), and that element is repeated in a buffer.
struct Tiling {
  enum { flat, turned, rows } way = flat;
  int single = -1;
  bool repeats = false;
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
    t.repeats = t.single < 0 && other && last > 0;
    for (int i = 1; i < plan.operands; ++i)
      t.repeats = t.repeats && plan.dtypes[i] == type && plan.strides[i][last] >= 0 && plan.strides[i][last] <= 1;
    if ((t.single >= 0 || t.repeats || other == 0) && plan.sizes[last] >= 32) t.way = Tiling::rows;
    for (int i = 1; t.way == Tiling::flat && i < plan.operands; ++i)
      if (turns(plan, i)) t.way = Tiling::turned;
  }
  std::fill_n(t.step, plan.dims, int64_t(1));
  if (t.way == Tiling::rows) {
    t.step[last] = std::min<int64_t>(plan.sizes[last], t.repeats ? kBlock : kGrain);
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
  bool plain[kMaxOperands];                             // lies like a buffer, in another type
  bool repeated[kMaxOperands], constant[kMaxOperands];  // one element in each row; in all of them
  int first = 0;                                        // the first dimension with more than one index in a tile
  int64_t flat[kMaxDims];                               // the strides of a buffer, from there on

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
      repeated[i] = i > 0 && t.way == Tiling::rows && t.repeats && plan.strides[i][plan.dims - 1] == 0;
      constant[i] = repeated[i] &&
                    std::all_of(plan.strides[i], plan.strides[i] + plan.dims, [](auto s) { return s == 0; });
      fixed[i] = i > 0;  // the same content in every tile
      for (int d = plan.dims - 1; d >= 0; --d) {
        if (d >= first) lies = lies && plan.strides[i][d] == flat[d];
        if (t.parts[d] > 1) fixed[i] = fixed[i] && plan.strides[i][d] == 0;
      }
      if (t.way == Tiling::turned) lies = plan.strides[i][plan.dims - 1] == 1;
      direct[i] = t.way == Tiling::rows || (lies && plan.dtypes[i] == (i ? type : result));
      fixed[i] = fixed[i] && !direct[i];
      plain[i] = lies && t.way == Tiling::flat;
    }
  }

  void run(int64_t begin, int64_t end) const {
    Buffers buffers;
    for (int i = 1; i < plan.operands; ++i)
      if (fixed[i])
        load(i, plan.data[i], tiling.step, buffers.at[i]);
      else if (constant[i])
        copy_kernels().fill(type, buffers.at[i], tiling.step[plan.dims - 1], plan.data[i]);
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
        run_rows(p, first < plan.dims - 1 ? count[first] : 1, count[plan.dims - 1], buffers);
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
  void run_rows(char** p, int64_t rows, int64_t columns, Buffers& buffers) const {
    int64_t step[kMaxOperands];  // in bytes
    for (int i = 0, d = plan.dims - 2; i < plan.operands; ++i)
      step[i] = direct[i] ? plan.strides[i][d] * item_size(plan.dtypes[i]) : tiling.step[d + 1] * item_size(type);
    char* q[kMaxOperands];
    for (int64_t r = 0; r < rows; ++r) {
      for (int i = 0; i < plan.operands; ++i) {
        q[i] = repeated[i] ? buffers.at[i] : p[i];
        if (repeated[i] && !constant[i]) copy_kernels().fill(type, q[i], columns, p[i]);
      }
      kernel(q, columns);
      for (int i = 0; i < plan.operands; ++i) p[i] += step[i];
    }
  }
  void load(int i, const char* source, const int64_t* count, char* buffer) const {
    if (plain[i]) return copy_kernels().convert(plan.dtypes[i], type, source, buffer, count[first] * flat[first]);
    copy_kernels().copy(type, buffer, flat + first, plan.dtypes[i], source, plan.strides[i] + first, count + first,
                        plan.dims - first);
  }
  void store(char* target, const int64_t* count, const char* buffer) const {
    if (plain[0]) return copy_kernels().convert(result, plan.dtypes[0], buffer, target, count[first] * flat[first]);
    copy_kernels().copy(plan.dtypes[0], target, plan.strides[0] + first, result, buffer, flat + first, count + first,
                        plan.dims - first);
  }
};

// `last`: its channels lie last, though its strides do not say so.
void add_operand(Plan& plan, const Tensor& t, bool last) {
  int i = plan.operands++, shift = plan.dims - t.dim();
  plan.data[i] = last ? as_it_lies(t) : t.data();
  plan.dtypes[i] = t.dtype();
  Dims strides = last ? last_strides(t.sizes()) : t.strides();
  for (int d = 0; d < plan.dims; ++d) plan.strides[i][d] = d < shift || t.size(d - shift) == 1 ? 0 : strides[d - shift];
}

}  // namespace

void run_pointwise(const Tensor& out, const Operands& in, DType type, DType result, const Loops& loops) {
  if (out.numel() == 0) return;
  if (run_flat(out, in, type, result, loops)) return;
  Plan plan;
  plan.dims = out.dim();
  plan.numel = out.numel();
  for (int d = 0; d < plan.dims; ++d) plan.sizes[d] = out.size(d);
  bool number[kMaxOperands];
  for (int i = 0; i < in.count; ++i) number[i] = !in.v[i]->is_tensor() || in.v[i]->tensor().numel() == 1;
  bool last = all_lie_last_or_scale(out, in.v, number, in.count);
  add_operand(plan, out, last);
  if (last) set_lies_last(out);
  char numbers[kMaxOperands][16];
  for (int i = 0; i < in.count; ++i) {
    if (in.v[i]->is_tensor()) {
      const Tensor& t = in.v[i]->tensor();
      add_operand(plan, t, last && !number[i] && lies_last(t));
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

}  // namespace weft
