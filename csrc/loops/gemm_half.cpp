#include "loops/gemm_half.h"

#include <algorithm>

#include "core/memory.h"
#include "loops/copy.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kFewRows = 2;      // of a, with which reading b as it lies costs less than packing it
constexpr int64_t kInnerDepth = 64;  // with which the sum of a vector's lanes is worth it
constexpr int64_t kFewColumns = 8;   // of b, with which most of a tile would be empty
constexpr int64_t kRowsAtOnce = 8;   // of b that lies far away: read whole, as memory likes it

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// A matrix of floats, without gaps, from a part of a half one.
void widened(DType type, const void* x, int64_t ld, int64_t rows, int64_t cols, float* to) {
  for (int64_t i = 0; i < rows; ++i)
    copy_kernels().convert(type, DType::Float, static_cast<const char*>(x) + i * ld * 2, to + i * cols, cols);
}

// How a product is cut: a panel of b, `depth` x `width`, stays in the L2 cache while blocks of `rows` of a pass by.
struct Cut {
  int64_t depth, width, rows;
};

// One block of a times one panel of b, which is packed first where it is `fresh`, as pairs.
class InPairs {
 public:
  static constexpr Cut kCut = {1024, 288, 128};
  InPairs(const Product& p, const Cut& cut)
      : a_(0, p.trans_a ? round_up(std::min(cut.rows, p.m), half_gemm_kernels().tile_rows) * pairs(p, cut) * 4 : 0),
        b_(1, round_up(std::min(cut.width, p.n), half_gemm_kernels().tile_columns) * pairs(p, cut) * 4) {}
  void operator()(DType, const Product& piece, bool fresh) const {
    if (fresh) half_gemm_kernels().pack_b(piece, b_.data());
    if (a_.data()) half_gemm_kernels().pack_a(piece, a_.data());
    half_gemm_kernels().multiply(piece, a_.data(), b_.data());
  }

 private:
  static int64_t pairs(const Product& p, const Cut& cut) { return (std::min(cut.depth, p.k) + 1) / 2; }
  Panel a_, b_;
};

// The same in float.
class InFloats {
 public:
  static constexpr Cut kCut = {512, 288, 64};
  InFloats(const Product& p, const Cut& cut)
      : a_(0, std::min(cut.rows, p.m) * std::min(cut.depth, p.k) * 4),
        b_(1, round_up(std::min(cut.width, p.n), tile()) * std::min(cut.depth, p.k) * 4),
        turned_(2, p.trans_b ? std::min(cut.width, p.n) * std::min(cut.depth, p.k) * 4 : 0) {}
  void operator()(DType type, const Product& piece, bool fresh) const {
    auto *a = reinterpret_cast<float*>(a_.data()), *b = reinterpret_cast<float*>(b_.data());
    auto* turned = reinterpret_cast<float*>(turned_.data());
    Product p = piece;
    if (fresh) widened(type, p.b, p.ldb, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, turned ? turned : b);
    p.b = turned ? turned : b, p.ldb = p.trans_b ? p.k : p.n;
    if (fresh && turned) gemm_kernels().pack_b(DType::Float, p, b);
    widened(type, p.a, p.lda, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, a);
    p.a = a, p.lda = p.trans_a ? p.m : p.k;
    p.trans_b = false;
    gemm_kernels().multiply(DType::Float, p, nullptr, turned ? b : nullptr);
  }

 private:
  static int64_t tile() { return gemm_kernels().tile_bytes / 4; }
  Panel a_, b_, turned_;
};

// One thread's part. Where k needs several panels, a column of blocks is summed before it is rounded.
template <class Way>
void multiply_in_panels(DType type, const Product& p) {
  Cut cut = Way::kCut;
  if (p.k > cut.depth) cut.depth = round_up((p.k + (p.k - 1) / cut.depth) / ((p.k - 1) / cut.depth + 1), 16);
  const bool one = p.k <= cut.depth;
  Way way(p, cut);
  const int64_t width = std::min(cut.width, p.n);
  Scratch memory((one ? std::min(cut.rows, p.m) : p.m) * width * 4);
  auto* sums = memory.as<float>();
  for (int64_t j = 0; j < p.n; j += cut.width) {
    const int64_t n = std::min(cut.width, p.n - j);
    for (int64_t q = 0; q < p.k; q += cut.depth) {
      const int64_t k = std::min(cut.depth, p.k - q);
      for (int64_t i = 0; i < p.m; i += cut.rows) {
        leave_if_interrupted();
        const int64_t m = std::min(cut.rows, p.m - i);
        float* to = one ? sums : sums + i * width;
        Product piece = part(type, p, i, m, j, n, q, k);
        piece.c = to, piece.ldc = width, piece.alpha = 1, piece.beta = q ? 1 : 0, piece.plus = nullptr;
        piece.bounds = {};
        way(type, piece, i == 0);
        if (q + k == p.k) half_gemm_kernels().finish(type, part(type, p, i, m, j, n, 0, p.k), to, width);
      }
    }
  }
}

void multiply_matrices(DType type, const Product& p) {
  auto* by = type == DType::BFloat16 && half_gemm_kernels().has_pairs() ? multiply_in_panels<InPairs>
                                                                        : multiply_in_panels<InFloats>;
  int threads = threads_for_product(p);
  if (threads == 1) return by(type, p);
  const bool columns = p.n >= p.m;
  const int64_t length = columns ? p.n : p.m;
  parallel_chunks(length, round_up((length + threads - 1) / threads, 48), [&](int64_t begin, int64_t end) {
    by(type,
       columns ? part(type, p, 0, p.m, begin, end - begin, 0, p.k) : part(type, p, begin, end - begin, 0, p.n, 0, p.k));
  });
}

// c^T = op(b)^T op(a)^T, for few columns; c is turned back in the end.
void multiply_turned(DType type, const Product& p) {
  Scratch turned(p.m * p.n * 2);
  Product r = p;
  r.m = p.n, r.n = p.m, r.c = turned.as<char>(), r.ldc = p.m;
  r.a = p.b, r.lda = p.ldb, r.trans_a = !p.trans_b;
  r.b = p.a, r.ldb = p.lda, r.trans_b = false;
  multiply_matrices(type, r);
  const int64_t to[2] = {p.ldc, 1}, from[2] = {1, p.m}, sizes[2] = {p.m, p.n};
  copy_kernels().copy(type, static_cast<char*>(p.c), to, type, turned.as<char>(), from, sizes, 2);
}

int64_t grain_of(const Product& p) { return threads_for_product(p) > 1 ? std::max<int64_t>(kGrain / p.k, 64) : p.n; }

void multiply_inner(DType type, const Product& p) {
  parallel_shares(p.n, grain_of(p), 64, [&](int64_t begin, int64_t end) {
    half_gemm_kernels().inner(type, part(type, p, 0, p.m, begin, end - begin, 0, p.k));
  });
}

// m = 1, with a contiguous and b as it lies.
void multiply_row(DType type, const Product& p) {
  parallel_shares(p.n, grain_of(p), 64, [&](int64_t begin, int64_t end) {
    Panel memory(1, (end - begin) * 4);
    auto* sums = reinterpret_cast<float*>(memory.data());
    std::fill_n(sums, end - begin, 0.0f);
    for (int64_t q = 0; q < p.k; q += kRowsAtOnce)
      half_gemm_kernels().row(type, part(type, p, 0, 1, begin, end - begin, q, std::min(kRowsAtOnce, p.k - q)), sums);
    half_gemm_kernels().finish(type, part(type, p, 0, 1, begin, end - begin, 0, p.k), sums, 0);
  });
}

// One row, with a contiguous.
void multiply_vector(DType type, const Product& p) { p.trans_b ? multiply_inner(type, p) : multiply_row(type, p); }

}  // namespace

void gemm_half(DType type, const Product& p) {
  Product r = p;
  if (p.m == 1 && (!p.trans_a || p.lda == 1)) {
    r.trans_a = false;
    return multiply_vector(type, r);
  }
  if (p.n == 1 && p.ldc == 1 && (p.trans_b || p.ldb == 1) && (!p.plus || p.ld_plus == 1)) {
    // A column is the transposed product: c^T = op(b)^T op(a)^T.
    r.m = 1, r.n = p.m, r.ldc = p.m;
    r.a = p.b, r.lda = p.k, r.trans_a = false;
    r.b = p.a, r.ldb = p.lda, r.trans_b = !p.trans_a;
    return multiply_vector(type, r);
  }
  if (p.trans_b && !p.trans_a && p.m <= kFewRows && p.k >= kInnerDepth) return multiply_inner(type, p);
  if (p.trans_a && p.n <= kFewColumns && p.m > 4 * p.n && p.beta == 0) return multiply_turned(type, p);
  multiply_matrices(type, p);
}

}  // namespace weft
