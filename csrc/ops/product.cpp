// From tensors of any ranks and strides to the matrix products of loops/gemm.
#include "ops/product.h"

#include <optional>

#include "loops/copy.h"
#include "loops/gemm.h"

namespace weft {
namespace {

// A batch of matrices as the loops read them: one stride is 1, or the matrix was copied.
struct Operand {
  const char* data;
  int64_t rows, cols, row_stride, col_stride;
  Dims batch, batch_strides;

  Operand(const Tensor& t, bool column, bool transposed) : data(t.data()) {
    int n = t.dim();
    if (n == 1) {
      rows = column ? t.size(0) : 1, cols = column ? 1 : t.size(0);
      row_stride = column ? t.stride(0) : 1, col_stride = column ? 1 : t.stride(0);
    } else {
      rows = t.size(n - 2), cols = t.size(n - 1), row_stride = t.stride(n - 2), col_stride = t.stride(n - 1);
      for (int i = 0; i < n - 2; ++i) batch.push(t.size(i)), batch_strides.push(t.stride(i));
    }
    if (transposed) std::swap(rows, cols), std::swap(row_stride, col_stride);
    if (cols == 1)
      col_stride = 1;
    else if (rows == 1)
      row_stride = 1;
  }
  bool readable() const { return row_stride == 1 || col_stride == 1; }
  bool transposed() const { return col_stride != 1; }
  int64_t stride() const { return col_stride != 1 ? col_stride : row_stride; }
  bool one_batch() const { return batch.size() <= 1; }

  // Replaces the matrices by a contiguous copy.
  void copy_into(char* at, DType type) {
    Dims sizes = batch, from = batch_strides;
    sizes.push(rows), sizes.push(cols), from.push(row_stride), from.push(col_stride);
    Dims to = contiguous_strides(sizes);
    copy_kernels().copy(type, at, to.data(), type, data, from.data(), sizes.data(), sizes.size());
    data = at;
    row_stride = cols, col_stride = 1;
    batch_strides = Dims(to.data(), batch.size());
  }
  // Batch strides against the batch of the result: 0 where this operand is repeated.
  void align(const Dims& whole) {
    Dims strides(whole.size());
    int shift = whole.size() - batch.size();
    for (int i = 0; i < batch.size(); ++i) strides[i + shift] = batch[i] == 1 ? 0 : batch_strides[i];
    batch_strides = strides;
  }
  int64_t bytes(DType type) const { return numel_of(batch) * rows * cols * item_size(type); }
};

Product product_of(const Operand& a, const Operand& b, void* out, double alpha, double beta) {
  int64_t lda = a.stride(), ldb = b.stride();
  return Product{a.transposed(), b.transposed(), a.rows, b.cols, a.cols, a.data, lda, b.data, ldb, out,
                 b.cols,         alpha,          beta};
}

// The last batch dimension that both operands walk with one stride takes in those before it where it can.
void join_batch(Dims& batch, Operand& a, Operand& b) {
  for (int i = batch.size() - 1; i > 0; --i) {
    bool joins = batch[i] == 1 || batch[i - 1] == 1 ||
                 (a.batch_strides[i - 1] == a.batch_strides[i] * batch[i] &&
                  b.batch_strides[i - 1] == b.batch_strides[i] * batch[i]);
    if (!joins) continue;
    int gone = batch[i] == 1 ? i : i - 1;
    batch[gone == i ? i - 1 : i] = batch[i] * batch[i - 1];
    batch.erase(gone), a.batch_strides.erase(gone), b.batch_strides.erase(gone);
  }
}

// A matrix as the loops read it: whether its columns are the contiguous direction, and how far apart they are.
struct MatrixLayout {
  bool transposed;
  int64_t stride;
};

// The layout of a matrix of which one direction is contiguous; false for others.
inline bool layout_of(const Tensor& t, bool transposed, MatrixLayout* found) {
  int64_t rows = t.size(0), cols = t.size(1), down = t.stride(0), across = t.stride(1);
  if (across == 1 || cols == 1)
    *found = {transposed, down};
  else if (down == 1 || rows == 1)
    *found = {!transposed, across};
  else
    return false;
  return true;
}

}  // namespace

// out = alpha op(x) op(y) + beta out. out is contiguous, its batch is the broadcast of theirs.
void multiply(const Tensor& x, bool trans_x, const Tensor& y, bool trans_y, const Tensor& out, double alpha,
              double beta) {
  if (out.numel() == 0) return;
  DType type = x.dtype();
  MatrixLayout left, right;
  if (x.dim() == 2 && y.dim() == 2 && layout_of(x, trans_x, &left) && layout_of(y, trans_y, &right)) {
    int64_t m = out.size(0), n = out.size(1), k = x.size(trans_x ? 0 : 1);
    return gemm(type, Product{left.transposed, right.transposed, m, n, k, x.data(), left.stride, y.data(), right.stride,
                              out.data(), n, alpha, beta});
  }
  Operand a(x, false, trans_x), b(y, y.dim() == 1, trans_y);
  std::optional<Scratch> copy_a, copy_b;
  if (!a.readable()) a.copy_into(copy_a.emplace(a.bytes(type)).as<char>(), type);
  if (!b.readable()) b.copy_into(copy_b.emplace(b.bytes(type)).as<char>(), type);
  if (a.batch.empty() && b.batch.empty()) return gemm(type, product_of(a, b, out.data(), alpha, beta));
  Dims batch = a.batch == b.batch ? a.batch : broadcast(a.batch, b.batch, "matmul");
  a.align(batch), b.align(batch);
  join_batch(batch, a, b);
  int last = batch.size() - 1;
  int64_t size = item_size(type), step = a.rows * b.cols, outer = 1;
  for (int i = 0; i < last; ++i) outer *= batch[i];
  for (int64_t o = 0; o < outer; ++o) {
    int64_t rest = o, at_a = 0, at_b = 0;
    for (int i = last - 1; i >= 0; --i) {
      at_a += rest % batch[i] * a.batch_strides[i], at_b += rest % batch[i] * b.batch_strides[i];
      rest /= batch[i];
    }
    Product p = product_of(a, b, out.data() + o * batch[last] * step * size, alpha, beta);
    p.a = a.data + at_a * size, p.b = b.data + at_b * size;
    gemm_batched(type, p, batch[last], a.batch_strides[last], b.batch_strides[last], step);
  }
}

}  // namespace weft
