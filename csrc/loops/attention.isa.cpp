#include "loops/attention.h"

#include <algorithm>
#include <cstring>

#include "core/memory.h"
#include "loops/convert.h"
#include "loops/gemm.h"
#include "loops/math.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kQueries = 64, kKeys = 512;  // of a block

// One block: queries [row, row + rows) against keys [column, column + columns) of a head.
struct Block {
  int64_t row, rows, column, columns;
};

// What each thread needs, taken before the threads start.
template <class T>
class Spaces {
 public:
  struct Space {
    T *scores, *other, *top, *sum, *shift;
  };
  Spaces(const Attention& a, int64_t work)
      : block_(kQueries * std::min(kKeys, a.keys)), memory_((2 * block_ + 3 * kQueries) * int64_t(sizeof(T)), work) {}
  Space mine() const {
    T* at = memory_.template mine<T>();
    T* rows = at + 2 * block_;
    return {at, at + block_, rows, rows + kQueries, rows + 2 * kQueries};
  }

 private:
  int64_t block_;
  PerThread memory_;
};
template <class T>
using Space = typename Spaces<T>::Space;

// Joins f(0), f(1) … of vectors or, at the end, single elements, as f is given a way to load them.
template <class T, class Term, class Join>
inline T fold(int64_t n, T start, const Term& term, const Join& join) {
  constexpr int L = kLanes<T>;
  Vec<T> parts[2] = {splat(start), splat(start)};
  int64_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L)
    for (int k = 0; k < 2; ++k)
      parts[k] = join(parts[k], term([&](const T* p) { return load<Vec<T>>(p + i + k * L); }));
  T all = join_lanes<T>(join(parts[0], parts[1]), join);
  for (; i < n; ++i) all = join(all, term([&](const T* p) { return p[i]; }));
  return all;
}
constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto larger = [](auto a, auto b) { return b > a ? b : a; };

template <class T>
T* matrix(const Heads& h, int64_t head, int64_t row) {
  return reinterpret_cast<T*>(h.at[head]) + row * h.step;
}

struct Rows {
  int64_t begin, end;
};
template <class T>
void clear(const Heads& h, int64_t head, Rows rows, int64_t size) {
  for (int64_t i = rows.begin; i < rows.end; ++i) std::memset(matrix<T>(h, head, i), 0, size_t(size) * sizeof(T));
}

template <class T>
void multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
              int64_t ldb, T* c, int64_t ldc, double alpha, double beta) {
  gemm(dtype_of<T>, trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, alpha, beta);
}

// scores (rows x columns, contiguous) = q k^T scale + mask; minus infinity where a key is not seen.
template <class T>
void score(const Attention& a, int64_t head, const Block& b, T* scores) {
  multiply<T>(false, true, b.rows, b.columns, a.size, matrix<T>(a.query, head, b.row), a.query.step,
              matrix<T>(a.key, head, b.column), a.key.step, scores, b.columns, a.scale, 0);
  for (int64_t i = 0; i < b.rows; ++i) {
    T* row = scores + i * b.columns;
    if (a.mask.at) {
      const T* mask = matrix<T>(a.mask, head, b.row + i) + b.column * a.mask_column;
      if (a.mask_column == 1)
        for (int64_t j = 0; j < b.columns; ++j) row[j] += mask[j];
      else
        for (int64_t j = 0; j < b.columns; ++j) row[j] += mask[j * a.mask_column];
    }
    if (a.causal)
      for (int64_t j = std::max<int64_t>(0, b.row + i + 1 - b.column); j < b.columns; ++j) row[j] = -math::inf<T>;
  }
}

// How many keys a block of queries sees.
int64_t seen_by(const Attention& a, int64_t row, int64_t rows) {
  return a.causal ? std::min(a.keys, row + rows) : a.keys;
}

// Calls f(block) for the keys that a block of queries sees.
template <class F>
void each_keys(const Attention& a, int64_t row, int64_t rows, const F& f) {
  int64_t seen = seen_by(a, row, rows);
  for (int64_t column = 0; column < seen; column += kKeys) f(Block{row, rows, column, std::min(kKeys, seen - column)});
}

template <class T>
void forward_block(const Attention& a, const Heads& result, T* log_sums, int64_t head, int64_t row, int64_t rows,
                   Space<T> s) {
  T* out = matrix<T>(result, head, row);
  for (int64_t i = 0; i < rows; ++i) s.top[i] = -math::inf<T>, s.sum[i] = 0;
  if (a.keys == 0) clear<T>(result, head, {row, row + rows}, a.value_size);
  each_keys(a, row, rows, [&](const Block& b) {
    score(a, head, b, s.scores);
    for (int64_t i = 0; i < rows; ++i) {
      T* x = s.scores + i * b.columns;
      T top = fold(b.columns, s.top[i], [&](auto load) { return load(x); }, larger);
      T from = top > -math::inf<T> ? top : T(0);  // where nothing is seen, all weights are zero
      for (int64_t j = 0; j < b.columns; ++j) x[j] = math::exp(x[j] - from);
      T sum = fold(b.columns, T(0), [&](auto load) { return load(x); }, plus);
      T less = math::exp(s.top[i] - from);
      s.sum[i] = s.sum[i] * less + sum;
      s.top[i] = top;
      if (b.column && less != T(1))
        for (int64_t j = 0; j < a.value_size; ++j) out[i * result.step + j] *= less;
    }
    multiply<T>(false, false, rows, a.value_size, b.columns, s.scores, b.columns, matrix<T>(a.value, head, b.column),
                a.value.step, out, result.step, 1, b.column ? 1 : 0);
  });
  for (int64_t i = 0; i < rows; ++i) {
    bool seen = s.sum[i] != T(0);
    T share = seen ? T(1) / s.sum[i] : T(0);
    for (int64_t j = 0; j < a.value_size; ++j) out[i * result.step + j] *= share;
    log_sums[head * a.queries + row + i] = seen ? s.top[i] + math::log(s.sum[i]) : T(0);
  }
}

template <class T>
void forward_of(const Attention& a, const Heads& result, T* log_sums) {
  int64_t blocks = (a.queries + kQueries - 1) / kQueries;
  Spaces<T> spaces(a, a.heads * blocks);
  parallel_each(a.heads * blocks, [&](int64_t i) {
    int64_t row = i % blocks * kQueries;
    forward_block<T>(a, result, log_sums, i / blocks, row, std::min(kQueries, a.queries - row), spaces.mine());
  });
}

// `fresh` says that nothing stands in the gradients of keys and values yet.
template <class T>
void backward_block(const Attention& a, const Heads& result, const T* log_sums, const Heads& grad, const Heads& dq,
                    const Heads& dk, const Heads& dv, int64_t head, int64_t row, int64_t rows, bool fresh, Space<T> s) {
  const T *out = matrix<T>(result, head, row), *g = matrix<T>(grad, head, row);
  for (int64_t i = 0; i < rows; ++i) {
    s.shift[i] = fold(
        a.value_size, T(0), [&](auto load) { return load(out + i * result.step) * load(g + i * grad.step); }, plus);
  }
  each_keys(a, row, rows, [&](const Block& b) {
    score(a, head, b, s.scores);
    for (int64_t i = 0; i < rows; ++i) {
      T* x = s.scores + i * b.columns;
      T from = log_sums[head * a.queries + row + i];
      for (int64_t j = 0; j < b.columns; ++j) x[j] = math::exp(x[j] - from);
    }
    multiply<T>(true, false, b.columns, a.value_size, rows, s.scores, b.columns, g, grad.step,
                matrix<T>(dv, head, b.column), dv.step, 1, fresh ? 0 : 1);
    multiply<T>(false, true, rows, b.columns, a.value_size, g, grad.step, matrix<T>(a.value, head, b.column),
                a.value.step, s.other, b.columns, 1, 0);
    for (int64_t i = 0; i < rows; ++i) {
      const T* weights = s.scores + i * b.columns;
      T* x = s.other + i * b.columns;
      T shift = s.shift[i];
      for (int64_t j = 0; j < b.columns; ++j) x[j] = weights[j] * (x[j] - shift);
    }
    multiply<T>(false, false, rows, a.size, b.columns, s.other, b.columns, matrix<T>(a.key, head, b.column), a.key.step,
                matrix<T>(dq, head, row), dq.step, a.scale, b.column ? 1 : 0);
    multiply<T>(true, false, b.columns, a.size, rows, s.other, b.columns, matrix<T>(a.query, head, row), a.query.step,
                matrix<T>(dk, head, b.column), dk.step, a.scale, fresh ? 0 : 1);
  });
}

template <class T>
void backward_of(const Attention& a, const Heads& result, const T* log_sums, const Heads& grad, const Heads& dq,
                 const Heads& dk, const Heads& dv) {
  Spaces<T> spaces(a, a.heads);
  parallel_each(a.heads, [&](int64_t head) {
    if (a.keys == 0) clear<T>(dq, head, {0, a.queries}, a.size);
    // The first block of queries may write gradients of keys, and the others add to them, if it sees all keys; or if no
    // other block comes, which could see keys that it does not.
    int64_t seen = seen_by(a, 0, std::min(kQueries, a.queries));
    bool first_writes = seen == a.keys || a.queries <= kQueries;
    Rows rest{first_writes && a.queries > 0 ? seen : 0, a.keys};
    clear<T>(dk, head, rest, a.size), clear<T>(dv, head, rest, a.value_size);
    for (int64_t row = 0; row < a.queries; row += kQueries)
      backward_block<T>(a, result, log_sums, grad, dq, dk, dv, head, row, std::min(kQueries, a.queries - row),
                        row == 0 && first_writes, spaces.mine());
  });
}

void forward(DType type, const Attention& a, const Heads& result, void* log_sums) {
  if (type == DType::Float)
    forward_of(a, result, static_cast<float*>(log_sums));
  else
    forward_of(a, result, static_cast<double*>(log_sums));
}
void backward(DType type, const Attention& a, const Heads& result, const void* log_sums, const Heads& grad,
              const Heads& dq, const Heads& dk, const Heads& dv) {
  if (type == DType::Float)
    backward_of(a, result, static_cast<const float*>(log_sums), grad, dq, dk, dv);
  else
    backward_of(a, result, static_cast<const double*>(log_sums), grad, dq, dk, dv);
}

}  // namespace

extern const AttentionKernels attention_kernels_table;
const AttentionKernels attention_kernels_table{forward, backward};

}  // namespace weft::WEFT_ISA
