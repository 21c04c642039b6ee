#include "loops/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

#include "loops/copy.h"
#include "loops/gemm_complex.h"
#include "loops/gemm_half.h"
#include "loops/modular.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kPlainBytes = 1920;        // of each row of a b that is read in place, at a time: ten tiles wide
constexpr int64_t kReach = 256 * 1024;       // as many pages as the TLB holds
constexpr int64_t kCloseReach = 512 * 1024;  // as many rows as the L2 cache holds whole
constexpr int64_t kCrowdedRows = 8;          // of b that fit into the L1 cache where they lie in the same sets of it
constexpr int64_t kNearBytes = 32 * 1024;    // of b: read in place, however deep, since it stays in the L1 cache
constexpr int64_t kBand = 128;               // rows of such a b that one thread reads in one go
constexpr int64_t kFarBytes = 1 << 20;       // of b: does not stay in the L2 cache
constexpr int64_t kBlockRows = 1024;         // rows of a that are packed at a time, where they must be
constexpr int64_t kNearRows = 128;           // the same where they are to stay in the L2 cache
constexpr double kThreadedWork = 1 << 20;    // multiplications below which threads cost more than they bring
constexpr int64_t kStreams = 32;             // rows that are read side by side from far away

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
int64_t round_up_div(int64_t n, int64_t parts, int64_t unit) { return round_up((n + parts - 1) / parts, unit); }

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<char, Free>;

Buffer allocate(int64_t bytes) {
  void* p = std::aligned_alloc(64, size_t(round_up(std::max<int64_t>(bytes, 64), 64)));
  if (!p) throw std::bad_alloc();
  return Buffer(static_cast<char*>(p));
}

const char* at(const void* base, DType type, int64_t offset) {
  return static_cast<const char*>(base) + offset * item_size(type);
}
char* at(void* base, DType type, int64_t offset) { return static_cast<char*>(base) + offset * item_size(type); }

double work_of(const Product& p) { return double(p.m) * double(p.n) * double(p.k); }

}  // namespace

Product part(DType type, const Product& p, int64_t i, int64_t m, int64_t j, int64_t n, int64_t q, int64_t k) {
  Product r = p;
  r.m = m, r.n = n, r.k = k;
  r.a = at(p.a, type, p.trans_a ? q * p.lda + i : i * p.lda + q);
  r.b = at(p.b, type, p.trans_b ? j * p.ldb + q : q * p.ldb + j);
  r.c = at(p.c, type, i * p.ldc + j);
  if (p.plus) r.plus = at(p.plus, type, i * p.ld_plus + j);
  if (q) r.beta = 1, r.plus = nullptr;
  if (q + k != p.k) r.bounds = {}, r.finish = {};
  return r;
}

int threads_for_product(const Product& p) { return work_of(p) < kThreadedWork ? 1 : loop_threads(); }

namespace {

// ---- matrices, in panels ----

struct Plan {
  bool pack_a, pack_b;
  int64_t depth, width;
};

// What to copy into slivers first. The order of additions follows from the shape of the whole product only.
Plan plan(DType type, const Product& p) {
  const GemmBlocks& blocks = gemm_kernels().blocks;
  int64_t size = item_size(type), row = p.ldb * size;
  bool near = p.k * p.n * size <= kNearBytes, crowded = blocks.same_sets && row % blocks.same_sets == 0;
  Plan r;
  r.pack_a = p.trans_a && p.n * size > 192 && p.k > 16;  // the pieces of a column are short and far apart
  int64_t few = crowded ? kCrowdedRows : row % 64 ? blocks.few_rows / 2 : blocks.few_rows;  // crossing lines costs
  bool close = r.pack_a && row <= blocks.close_bytes;                                       // packing a costs enough
  bool shallow = p.k <= (crowded ? kCrowdedRows : blocks.plain_depth);
  r.pack_b = p.trans_b || !(near || p.m <= few || close || shallow);
  int64_t reach = std::clamp((close ? kCloseReach : kReach) / (row + 1), blocks.plain_depth, blocks.depth);
  r.depth = near ? p.k : r.pack_b ? blocks.depth : reach;
  r.width = (r.pack_b || close ? blocks.panel_bytes : std::max(kPlainBytes, kReach / 2 / p.k)) / size;
  if (!r.pack_b && p.m <= blocks.few_rows / 2 && p.k * p.n * size >= 4 * kFarBytes) r.depth = kStreams, r.width = p.n;
  return r;
}

// One thread's part. A block of a that is packed stays in the L2 cache beside the panel of b where that costs nothing:
// where b has one panel. Else each of its blocks is packed once and b more than once, or b once and a not at all.
void multiply_in_panels(DType type, const Product& p, const Plan& how) {
  const GemmKernels& kernels = gemm_kernels();
  int64_t size = item_size(type), tile = kernels.tile_bytes / size, rows = p.m;
  bool one_panel = p.n <= how.width;
  if (how.pack_a) rows = std::min(p.m, one_panel ? kNearRows : kBlockRows);
  int64_t rows_at_once = how.pack_a ? rows : kernels.blocks.rows;
  int64_t depth = std::min(how.depth, p.k) * size;
  Panel panel_a(0, how.pack_a ? round_up(rows, kernels.tile_rows) * depth : 0);
  Panel panel_b(1, how.pack_b ? round_up(std::min(how.width, p.n), tile) * depth : 0);
  char *packed_a = panel_a.data(), *packed_b = panel_b.data();
  auto panel = [&](int64_t i, int64_t j, int64_t q, bool fresh_a, bool fresh_b) {
    int64_t m = std::min(rows, p.m - i), n = std::min(how.width, p.n - j), k = std::min(how.depth, p.k - q);
    Product piece = part(type, p, i, m, j, n, q, k);
    if (packed_a && fresh_a) kernels.pack_a(type, piece, packed_a);
    if (packed_b && fresh_b) kernels.pack_b(type, piece, packed_b);
    for (int64_t r = 0; r < m; r += rows_at_once) {
      leave_if_interrupted();
      Product some = part(type, p, i + r, std::min(rows_at_once, m - r), j, n, q, k);
      kernels.multiply(type, some, packed_a, packed_b);
    }
  };
  if (packed_a && !one_panel) {
    for (int64_t i = 0; i < p.m; i += rows)
      for (int64_t q = 0; q < p.k; q += how.depth)
        for (int64_t j = 0; j < p.n; j += how.width) panel(i, j, q, j == 0, true);
  } else {
    for (int64_t j = 0; j < p.n; j += how.width)
      for (int64_t q = 0; q < p.k; q += how.depth)
        for (int64_t i = 0; i < p.m; i += rows) panel(i, j, q, true, i == 0);
  }
}

// What a thread needs for m x n of the results, about, in tiles' rows of k: its tiles, of which the last of a row is
// slower for its width, and what it copies or reads of both matrices.
double cost_of(DType type, const Plan& how, int64_t m, int64_t n) {
  constexpr double kPackedRow = 24, kReadRow = 12;  // as wide as a tile
  int64_t tile = gemm_kernels().tile_bytes / item_size(type), rest = n % tile;
  double whole = double(n / tile), last = rest == 0 ? 0 : 3 * rest <= tile ? 0.47 : 3 * rest <= 2 * tile ? 0.73 : 1;
  double of_a = double(m) / double(tile) * (how.pack_a ? kPackedRow : kReadRow);
  double of_b = double(n) / double(tile) * (how.pack_b ? kPackedRow : kReadRow);
  return double(m) * (whole + last) + of_a + of_b;
}

// Threads share out the columns or the rows, whichever is quicker: all of them pack the whole of the other matrix, if
// it is to be packed.
void multiply_matrices(DType type, const Product& p) {
  Plan how = plan(type, p);
  int threads = threads_for_product(p);
  if (threads == 1) return multiply_in_panels(type, p, how);
  int64_t columns = round_up_div(p.n, threads, 64 / item_size(type));
  int64_t rows = round_up_div(p.m, threads, gemm_kernels().tile_rows);
  bool by_columns = cost_of(type, how, p.m, std::min(columns, p.n)) < cost_of(type, how, std::min(rows, p.m), p.n);
  parallel_chunks(by_columns ? p.n : p.m, by_columns ? columns : rows, [&](int64_t begin, int64_t end) {
    Product piece = by_columns ? part(type, p, 0, p.m, begin, end - begin, 0, p.k)
                               : part(type, p, begin, end - begin, 0, p.n, 0, p.k);
    multiply_in_panels(type, piece, how);
  });
}

// ---- vectors ----

// x as a contiguous vector, copied if it is not one.
class Contiguous {
 public:
  Contiguous(DType type, const void* x, int64_t stride, int64_t n)
      : copy_(0, stride == 1 || n <= 1 ? 0 : n * item_size(type)), data_(copy_.data() ? copy_.data() : x) {
    int64_t one = 1;
    if (char* to = copy_.data()) copy_kernels().copy(type, to, &one, type, static_cast<const char*>(x), &stride, &n, 1);
  }
  const void* data() const { return data_; }

 private:
  Panel copy_;
  const void* data_;
};

// c = beta c + the sum of `count` rows of n elements, in their order.
template <class T>
void add_rows(T* c, const T* rows, int64_t count, int64_t n, T beta) {
  for (int64_t j = 0; j < n; ++j) c[j] = beta == T(0) ? rows[j] : T(beta * c[j] + rows[j]);
  for (int64_t i = 1; i < count; ++i)
    for (int64_t j = 0; j < n; ++j) c[j] = T(c[j] + rows[i * n + j]);
}

// The same for a b far from the cache: bands of rows, each read from end to end as memory likes it, a few rows at a
// time; then the bands' results are added.
void vector_far_matrix(DType type, const Product& p) {
  int64_t size = item_size(type), bands = (p.k + kBand - 1) / kBand;
  Buffer sums = allocate(bands * p.n * size);
  parallel_chunks(p.k, kBand, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; q += 8) {
      Product piece = part(type, p, 0, 1, 0, p.n, q, std::min<int64_t>(8, end - q));
      piece.c = sums.get() + begin / kBand * p.n * size;
      piece.beta = q == begin ? 0 : 1;
      gemm_kernels().row(type, piece);
    }
  });
  if (type == DType::Float)
    add_rows(static_cast<float*>(p.c), reinterpret_cast<float*>(sums.get()), bands, p.n, float(p.beta));
  else
    add_rows(static_cast<double*>(p.c), reinterpret_cast<double*>(sums.get()), bands, p.n, p.beta);
}

// c (1 x n, contiguous) = alpha x op(b) + beta c for a vector x of length k.
void vector_matrix(DType type, const Product& p) {
  const GemmKernels& kernels = gemm_kernels();
  bool far = p.k * p.n * item_size(type) >= kFarBytes && p.k > kBand;
  if (!p.trans_b && far && (type == DType::Float || type == DType::Double)) return vector_far_matrix(type, p);
  int64_t grain = threads_for_product(p) > 1 ? std::max<int64_t>(kGrain / p.k, 64) : p.n;
  // Far from the cache, b is read a few whole rows at a time, as memory likes it.
  int64_t depth = p.trans_b || p.k * p.n * item_size(type) < kFarBytes ? p.k : 8;
  parallel_shares(p.n, grain, 64, [&](int64_t begin, int64_t end) {
    for (int64_t q = 0; q < p.k; q += depth) {
      Product piece = part(type, p, 0, 1, begin, end - begin, q, std::min(depth, p.k - q));
      (p.trans_b ? kernels.inner : kernels.row)(type, piece);
    }
  });
}

void multiply_vectors(DType type, const Product& p) {
  Product r = p;
  if (p.m == 1) {
    Contiguous a(type, p.a, p.trans_a ? p.lda : 1, p.k);
    r.a = a.data(), r.trans_a = false;
    return vector_matrix(type, r);
  }
  // A column is the transposed product: c^T = op(b)^T op(a)^T.
  r.m = 1, r.n = p.m;
  Contiguous b(type, p.b, p.trans_b ? 1 : p.ldb, p.k);
  r.a = b.data(), r.trans_a = false;
  r.b = p.a, r.ldb = p.lda, r.trans_b = !p.trans_a;
  if (p.ldc == 1) return vector_matrix(type, r);
  Panel column(1, p.m * item_size(type));
  int64_t one = 1;
  r.c = column.data();
  const auto& copy = copy_kernels().copy;
  if (p.beta != 0) copy(type, column.data(), &one, type, static_cast<const char*>(p.c), &p.ldc, &p.m, 1);
  vector_matrix(type, r);
  copy(type, static_cast<char*>(p.c), &p.ldc, type, column.data(), &one, &p.m, 1);
}

// ---- float, double, int32, int64 ----

// A few rows times the rows of b.
void multiply_inner(DType type, const Product& p) {
  int64_t grain = threads_for_product(p) > 1 ? std::max<int64_t>(kGrain / p.k, 64) : p.n;
  parallel_shares(p.n, grain, 64, [&](int64_t begin, int64_t end) {
    gemm_kernels().inner(type, part(type, p, 0, p.m, begin, end - begin, 0, p.k));
  });
}

void multiply(DType type, const Product& p);

constexpr int64_t kTinyBytes = 8192;  // of b
constexpr int64_t kInnerRows = 2;     // of a, with which packing such a b costs more than it brings
constexpr int64_t kInnerDepth = 16;   // with which the sum of a vector's lanes is worth it
constexpr int64_t kTurnedColumns = 576;

// c^T = op(b)^T op(a)^T, where that reads a along its rows, or packs less of it; c is turned back in the end.
void multiply_turned(DType type, const Product& p) {
  int64_t size = item_size(type);
  Scratch space(p.m * p.n * size);
  char *turned = space.as<char>(), *c = static_cast<char*>(p.c);
  auto each_rows = [&](const auto& f) {
    parallel_shares(p.m, std::max<int64_t>(1, kGrain / p.n), 16, [&](int64_t begin, int64_t end) {
      int64_t down[2] = {1, p.m}, across[2] = {p.ldc, 1}, sizes[2] = {end - begin, p.n};
      f(turned + begin * size, down, c + begin * p.ldc * size, across, sizes);
    });
  };
  const auto& copy = copy_kernels().copy;
  if (p.beta != 0)
    each_rows([&](char* t, int64_t* down, char* from, int64_t* across, int64_t* sizes) {
      copy(type, t, down, type, from, across, sizes, 2);
    });
  multiply(type, Product{!p.trans_b, !p.trans_a, p.n, p.m, p.k, p.b, p.ldb, p.a, p.lda, turned, p.m, p.alpha, p.beta});
  each_rows([&](char* t, int64_t* down, char* to, int64_t* across, int64_t* sizes) {
    copy(type, to, across, type, t, down, sizes, 2);
  });
}

// For loops that cannot finish: f gets the product without that, then all of c is finished.
template <class F>
void then_finish(const Product& p, const F& f) {
  Product plain = p;
  plain.finish = {};
  f(plain);
  if (!p.finish) return;
  parallel_shares(p.m, std::max<int64_t>(1, kGrain / p.n), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) gemm_kernels().finish(p.finish, static_cast<float*>(p.c) + i * p.ldc, p.n);
  });
}

// For loops that know no plus and no bounds either: c takes plus in before them, bounds come after them.
template <class F>
void in_steps(DType type, const Product& p, const F& f) {
  then_finish(p, [&](Product plain) {
    plain.plus = nullptr, plain.bounds = {};
    if (p.plus && p.beta != 0) {
      int64_t to[2] = {p.ldc, 1}, from[2] = {p.ld_plus, 1}, sizes[2] = {p.m, p.n};
      copy_kernels().copy(type, static_cast<char*>(p.c), to, type, static_cast<const char*>(p.plus), from, sizes, 2);
    }
    f(plain);
    if (p.bounds) apply_bounds(type, p.bounds, p.m, p.n, p.c, p.ldc);
  });
}

void multiply(DType type, const Product& p) {
  const GemmKernels& kernels = gemm_kernels();
  int64_t size = item_size(type);
  bool inner = p.trans_b && !p.trans_a;
  if (p.k * p.n * size <= kTinyBytes && p.m <= 64) {
    bool column = p.n == 1 && p.ldc == 1 && (p.trans_b || p.ldb == 1) && !p.trans_a && !p.plus && !p.finish;
    if (column && p.k >= kInnerDepth)  // of rows of a: a tile would use one lane
      return kernels.inner(type, Product{false, true, 1, p.m, p.k, p.b, p.k, p.a, p.lda, p.c, p.m, p.alpha, p.beta,
                                         nullptr, 0, p.bounds});
    if (inner && p.m <= kInnerRows) return then_finish(p, [&](const Product& r) { kernels.inner(type, r); });
    if (!p.trans_b) return kernels.multiply(type, p, nullptr, nullptr);
    int64_t tile = kernels.tile_bytes / size;
    if (p.k * round_up(p.n, tile) * size <= kTinyBytes) {
      alignas(64) char packed[kTinyBytes];
      kernels.pack_b(type, p, packed);
      return kernels.multiply(type, p, nullptr, packed);
    }
  }
  auto by = [&](auto loop) { in_steps(type, p, [&](const Product& plain) { loop(type, plain); }); };
  auto by_rows = [&] { then_finish(p, [&](const Product& r) { multiply_inner(type, r); }); };
  if (inner && p.m == 1) return by_rows();
  if (p.m == 1 || p.n == 1) return by(multiply_vectors);
  if (inner && p.m <= 8 && p.k >= 64) return by_rows();
  const GemmBlocks& blocks = kernels.blocks;
  if (p.trans_a && p.n <= blocks.few_rows && p.m > 4 * p.n) return by(multiply_turned);
  if (p.trans_a && !p.trans_b && p.m > p.n && p.n <= kTurnedColumns && p.k >= 2 * blocks.depth)
    return by(multiply_turned);
  multiply_matrices(type, p);
}

// ---- the other types, through those ----

// A contiguous copy of a rows x cols matrix in another type.
Buffer converted(DType from, DType to, const void* x, int64_t ld, int64_t rows, int64_t cols) {
  Buffer out = allocate(rows * cols * item_size(to));
  int64_t to_strides[2] = {cols, 1}, from_strides[2] = {ld, 1}, sizes[2] = {rows, cols};
  copy_kernels().copy(to, out.get(), to_strides, from, static_cast<const char*>(x), from_strides, sizes, 2);
  return out;
}

void multiply_through(DType type, DType wide, const Product& p) {
  Product r = p;
  r.lda = p.trans_a ? p.m : p.k, r.ldb = p.trans_b ? p.k : p.n, r.ldc = p.n;
  Buffer a = converted(type, wide, p.a, p.lda, p.trans_a ? p.k : p.m, r.lda);
  Buffer b = converted(type, wide, p.b, p.ldb, p.trans_b ? p.n : p.k, r.ldb);
  Buffer c = p.beta == 0 ? allocate(p.m * p.n * item_size(wide)) : converted(type, wide, p.c, p.ldc, p.m, p.n);
  r.a = a.get(), r.b = b.get(), r.c = c.get();
  multiply(wide, r);
  int64_t to_strides[2] = {p.ldc, 1}, from_strides[2] = {p.n, 1}, sizes[2] = {p.m, p.n};
  copy_kernels().copy(type, static_cast<char*>(p.c), to_strides, wide, c.get(), from_strides, sizes, 2);
}

template <class T>
T scaled(T x, double beta) {
  if constexpr (is_complex(dtype_of<T>))
    return x * typename T::value_type(beta);
  else if constexpr (is_half(dtype_of<T>))
    return T(float(x) * float(beta));
  else
    return T(x * T(beta));
}

// c = beta c, for products without an inner dimension.
void scale(DType type, const Product& p) {
  visit(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < p.m; ++i) {
      T* c = static_cast<T*>(p.c) + i * p.ldc;
      for (int64_t j = 0; j < p.n; ++j) c[j] = p.beta == 0 ? T(0) : scaled(c[j], p.beta);
    }
  });
}

}  // namespace

void apply_bounds(DType type, const Bounds& bounds, int64_t rows, int64_t n, void* c, int64_t ldc) {
  visit(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex(dtype_of<T>)) {
      T low, high;
      if constexpr (std::is_integral_v<T>) {
        low = std::isinf(bounds.low) ? std::numeric_limits<T>::lowest() : T(bounds.low);
        high = std::isinf(bounds.high) ? std::numeric_limits<T>::max() : T(bounds.high);
      } else {
        low = T(bounds.low), high = T(bounds.high);
      }
      for (int64_t i = 0; i < rows; ++i) {
        T* row = static_cast<T*>(c) + i * ldc;
        for (int64_t j = 0; j < n; ++j) row[j] = row[j] <= low ? low : row[j] > high ? high : row[j];
      }
    }
  });
}

void gemm(DType type, const Product& p) {
  if (p.m == 0 || p.n == 0) return;
  auto by = [&](auto loop) { in_steps(type, p, loop); };
  if (p.k == 0 || p.alpha == 0) return by([&](const Product& plain) { scale(type, plain); });
  switch (type) {
    case DType::Float:
    case DType::Double: return multiply(type, p);
    case DType::Int32:
    case DType::Int64: return by([&](const Product& plain) { multiply(type, plain); });
    case DType::Half:
    case DType::BFloat16: return gemm_half(type, p);
    case DType::ComplexFloat:
    case DType::ComplexDouble: return by([&](const Product& plain) { gemm_complex(type, plain); });
    default: return by([&](const Product& plain) { multiply_through(type, DType::Int32, plain); });
  }
}

PackedMatrix::PackedMatrix(DType type, int64_t count, int64_t k, int64_t n)
    : type_(type), k_(k), n_(n), rounded_(round_up(n, tile())), packed_(count * k * rounded_ * item_size(type)) {}

PackedMatrix::PackedMatrix(DType type, bool trans_b, int64_t k, int64_t n, const void* b, int64_t ldb)
    : PackedMatrix(type, 1, k, n) {
  pack(0, trans_b, {0, n}, b, ldb);
}

int64_t PackedMatrix::tile() const { return gemm_kernels().tile_bytes / item_size(type_); }
int64_t PackedMatrix::cuttable() const { return std::max<int64_t>(1, n_ / tile() * tile()); }
int64_t PackedMatrix::strips() const { return (cuttable() + 2 * tile() - 1) / (2 * tile()); }
PackedMatrix::Columns PackedMatrix::strip(int64_t i) const {
  return {i * 2 * tile(), i + 1 == strips() ? n_ : (i + 1) * 2 * tile()};
}

char* PackedMatrix::at_column(int64_t matrix, int64_t q, int64_t depth, int64_t column) const {
  return at(packed_.as<char>(), type_, (matrix * k_ + q) * rounded_ + column * depth);
}

void PackedMatrix::pack(int64_t matrix, bool trans_b, Columns columns, const void* b, int64_t ldb) {
  Product piece{false, trans_b, 0, columns.end - columns.begin, 0, nullptr, 0, b, ldb, nullptr, 0, 1, 0};
  const int64_t depth = gemm_kernels().blocks.depth;
  for (int64_t q = 0; q < k_; q += depth) {
    piece.k = std::min(depth, k_ - q);
    piece.b = at(b, type_, trans_b ? q : q * ldb);
    gemm_kernels().pack_b(type_, piece, at_column(matrix, q, piece.k, columns.begin));
  }
}

void PackedMatrix::multiply(Product p, int64_t matrix) const {
  const GemmKernels& kernels = gemm_kernels();
  p.b = packed_.as<char>(), p.ldb = 0, p.trans_b = false;
  const GemmBlocks& blocks = kernels.blocks;
  int64_t panel = blocks.panel_bytes / item_size(type_), cut = cuttable();
  parallel_chunks(cut, round_up_div(cut, threads_for_product(p), tile()), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j += panel) {
      int64_t next = std::min(j + panel, end), columns = (next >= cut ? n_ : next) - j;
      for (int64_t q = 0; q < k_; q += blocks.depth) {
        int64_t depth = std::min(blocks.depth, k_ - q);
        const char* packed = at_column(matrix, q, depth, j);
        for (int64_t i = 0; i < p.m; i += blocks.rows) {
          leave_if_interrupted();
          Product piece = part(type_, p, i, std::min(blocks.rows, p.m - i), j, columns, q, depth);
          kernels.multiply(type_, piece, nullptr, packed);
        }
      }
    }
  });
}

void gemm_batched(DType type, const Product& first, int64_t batch, int64_t stride_a, int64_t stride_b,
                  int64_t stride_c) {
  const Product& p = first;
  if (stride_b == 0 && !p.trans_a && stride_a == p.m * p.lda && stride_c == p.m * p.ldc) {
    Product tall = p;  // one b for all: the batch is only more rows
    tall.m = p.m * batch;
    return gemm(type, tall);
  }
  auto one = [&](int64_t i) {
    Product r = p;
    r.a = at(p.a, type, i * stride_a), r.b = at(p.b, type, i * stride_b), r.c = at(p.c, type, i * stride_c);
    gemm(type, r);
  };
  double work = std::max(1.0, work_of(p));
  if (batch < call_threads() || work * double(batch) < kThreadedWork) {
    for (int64_t i = 0; i < batch; ++i) one(i);
    return;
  }
  int64_t grain = std::max<int64_t>(1, std::min<int64_t>(int64_t(kThreadedWork / 2 / work), batch / call_threads()));
  parallel_chunks(batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) one(i);
  });
}

}  // namespace weft
