#include "loops/gemm_complex.h"

#include <algorithm>

#include "core/memory.h"
#include "loops/copy.h"
#include "loops/gemm.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kDotChunk = 8192;

// A matrix of real numbers in memory of its own.
struct Matrix {
  DType type;
  int64_t rows, cols;
  Scratch memory;
  Matrix(DType type, int64_t rows, int64_t cols)
      : type(type), rows(rows), cols(cols), memory(rows * cols * item_size(type)) {}
  char* row(int64_t i) const { return memory.as<char>() + i * cols * item_size(type); }
};

const char* row_of(DType real, const void* x, int64_t ld, int64_t i) {
  return static_cast<const char*>(x) + 2 * i * ld * item_size(real);
}

template <class F>
void each_row(int64_t rows, int64_t cols, const F& f) {
  parallel_chunks(rows, std::max<int64_t>(1, kGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// The rows of x, `rows` of `cols` complex numbers, in twice as many of real ones: in `first` + i and `second` + i times
// `step`.
struct Rows {
  int64_t first, second, step;
};
void widen(const Matrix& to, Rows at, const void* x, int64_t ld, int64_t rows, int64_t cols, Turn first, Turn second) {
  each_row(rows, 2 * cols, [&](int64_t i) {
    const char* from = row_of(to.type, x, ld, i);
    gemm_kernels().turn(to.type, from, cols, first, to.row(at.first + i * at.step));
    gemm_kernels().turn(to.type, from, cols, second, to.row(at.second + i * at.step));
  });
}

// As real matrices, a is m x 2k and c is m x 2n: they stay where they are.
void by_wide_b(DType real, const Product& p) {
  Product r = p;
  int64_t rows = p.trans_b ? p.n : p.k, cols = p.trans_b ? p.k : p.n;
  Matrix b(real, 2 * rows, 2 * cols);
  Turn first = p.trans_b ? Turn::conj : Turn::none, second = p.trans_b ? Turn::conj_left : Turn::left;
  widen(b, {0, 1, 2}, p.b, p.ldb, rows, cols, first, second);
  r.n = 2 * p.n, r.k = 2 * p.k;
  r.lda = 2 * p.lda, r.b = b.row(0), r.ldb = b.cols, r.ldc = 2 * p.ldc;
  gemm(real, r);
}

// Few rows of a are cheaper to widen than b. The parts of the result come out in rows of their own.
void by_wide_a(DType real, const Product& p) {
  Product r = p;
  Matrix a(real, 2 * p.m, p.trans_b ? 2 * p.k : p.k), c(real, 2 * p.m, p.trans_b ? p.n : 2 * p.n);
  if (p.trans_b)
    widen(a, {0, p.m, 1}, p.a, p.lda, p.m, p.k, Turn::conj, Turn::conj_left);
  else
    each_row(p.m, 2 * p.k, [&](int64_t i) {
      gemm_kernels().split(real, row_of(real, p.a, p.lda, i), p.k, a.row(i), a.row(p.m + i));
    });
  r.m = 2 * p.m, r.n = c.cols, r.k = a.cols;
  r.a = a.row(0), r.lda = a.cols, r.ldb = 2 * p.ldb, r.c = c.row(0), r.ldc = c.cols, r.beta = 0;
  gemm(real, r);
  auto put = p.trans_b ? gemm_kernels().put_joined : gemm_kernels().put_turned;
  each_row(p.m, 4 * p.n, [&](int64_t i) {
    put(real, c.row(i), c.row(p.m + i), p.n, p.beta, const_cast<char*>(row_of(real, p.c, p.ldc, i)));
  });
}

// As real matrices, a is k x 2m and b is k x 2n. Parts of a come out in rows of their own.
void by_parts_of_a(DType real, const Product& p) {
  Product r = p;
  Matrix c(real, 2 * p.m, 2 * p.n);
  r.m = 2 * p.m, r.n = 2 * p.n;
  r.lda = 2 * p.lda, r.ldb = 2 * p.ldb, r.c = c.row(0), r.ldc = c.cols, r.beta = 0;
  gemm(real, r);
  each_row(p.m, 4 * p.n, [&](int64_t i) {
    gemm_kernels().put_turned(real, c.row(2 * i), c.row(2 * i + 1), p.n, p.beta,
                              const_cast<char*>(row_of(real, p.c, p.ldc, i)));
  });
}

}  // namespace

void gemm_complex(DType type, const Product& p) {
  DType real = real_of(type);
  if (p.trans_a && p.trans_b) {  // a is turned first
    Scratch a(p.m * p.k * item_size(type));
    int64_t to[2] = {p.k, 1}, from[2] = {1, p.lda}, sizes[2] = {p.m, p.k};
    copy_kernels().copy(type, a.as<char>(), to, type, static_cast<const char*>(p.a), from, sizes, 2);
    Product r = p;
    r.trans_a = false, r.a = a.as<char>(), r.lda = p.k;
    return gemm_complex(type, r);
  }
  if (p.trans_a) return by_parts_of_a(real, p);
  bool few = 2 * p.m * p.k + 6 * p.m * p.n < 4 * p.k * p.n;  // numbers that are copied
  few ? by_wide_a(real, p) : by_wide_b(real, p);
}

void dot_complex(DType type, int64_t n, const void* a, int64_t a_stride, const void* b, int64_t b_stride, bool conj,
                 void* result) {
  DType real = real_of(type);
  int64_t size = item_size(type), one = 1;
  const char* x[2] = {static_cast<const char*>(a), static_cast<const char*>(b)};
  int64_t strides[2] = {n > 1 ? a_stride : 1, n > 1 ? b_stride : 1};
  Scratch copies(((strides[0] != 1) + (strides[1] != 1)) * n * size);
  char* to = copies.as<char>();
  for (int i = 0; i < 2; ++i) {
    if (strides[i] == 1) continue;
    copy_kernels().copy(type, to, &one, type, x[i], &strides[i], &n, 1);
    x[i] = to;
    to += n * size;
  }
  int64_t chunks = std::max<int64_t>(1, (n + kDotChunk - 1) / kDotChunk);
  Scratch partial(chunks * size);
  gemm_kernels().dot_pairs(real, x[0], x[1], 0, conj, partial.as<char>());
  parallel_chunks(n, kDotChunk, [&](int64_t begin, int64_t end) {
    gemm_kernels().dot_pairs(real, x[0] + begin * size, x[1] + begin * size, end - begin, conj,
                             partial.as<char>() + begin / kDotChunk * size);
  });
  auto add = [&](auto zero) {
    using C = decltype(zero);
    for (int64_t c = 0; c < chunks; ++c) zero += partial.as<C>()[c];
    *static_cast<C*>(result) = zero;
  };
  if (type == DType::ComplexFloat)
    add(c64());
  else
    add(c128());
}

}  // namespace weft
