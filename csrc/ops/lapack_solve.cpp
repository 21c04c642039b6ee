// Cholesky factors, Gaussian elimination, and what they solve: kernels of the forms in weft/linalg/triangles.py,
// elimination.py, systems.py and symmetric.py.
#include <cmath>
#include <numeric>

#include "loops/triangular.h"
#include "ops/lapack.h"

namespace weft {
namespace {

Routine potrf{"potrf"}, potri{"potri"}, lauum{"lauum"}, getrf{"getrf"}, getri{"getri"}, getrs{"getrs"}, sytrf{"sytrf"},
    hetrf{"hetrf"}, sytrs{"sytrs"}, hetrs{"hetrs"};

constexpr int64_t kSolves = 64;  // rows from which weft's solver of triangles beats getri and potri
constexpr int64_t kPanel = 96;   // columns of an inverse that are found at once

// Raises for the first matrix whose factors no system can be solved with.
void refuse_zero(const Infos& infos, int dims, const char* op, const char* factor, const char* advice) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i])
      fail(op, ": ", dims > 2 ? "(Batch element " + std::to_string(i) + "): " : "", factor, "[", infos[i], ",",
           infos[i], "] is exactly zero, and solving with these factors would divide by zero", advice);
}

void put(const Infos& infos, const Tensor& t) { std::copy(infos.begin(), infos.end(), t.data<int32_t>()); }

// ---- Cholesky

// The factors of the matrices in t, where they lie. LAPACK's upper triangle is our lower one; that it sees transposes,
// which are the conjugates of Hermitian matrices, makes its factors the transposes of ours.
Infos factor_definite(const Tensor& t, bool upper) {
  const Matrices m(t);
  Infos infos(size_t(m.count), 0);
  if (m.empty()) return infos;
  const BoundRoutine factor = potrf.of(t.dtype());
  const int32_t n = narrow(m.rows);
  char* data = t.data();
  each_matrix(m.count, m.size(),
              [&](int64_t i) { infos[size_t(i)] = factor(upper ? 'L' : 'U', n, data + i * m.bytes(t.dtype()), n); });
  zero_beside(t, upper);
  return infos;
}

constexpr std::string_view kNotDefinite =
    "linalg.cholesky: The factorization could not be completed because the input is not positive-definite.";

const Kernel cholesky{"linalg_cholesky", [](Call& c) {
                        copy_data(c.out[0], c.tensor(0));
                        refuse_failed(factor_definite(c.out[0], c.flag(1)), c.out[0].dim(), kNotDefinite);
                      }};

// The identity in place of factors that there are not.
const Kernel cholesky_ex{"linalg_cholesky_ex", [](Call& c) {
                           const Tensor& y = c.out[0];
                           copy_data(y, c.tensor(0));
                           const Infos infos = factor_definite(y, c.flag(1));
                           if (c.flag(2)) refuse_failed(infos, y.dim(), kNotDefinite);
                           put(infos, c.out[1]);
                           const Matrices m(y);
                           for (int64_t i = 0; i < m.count; ++i) {
                             if (!infos[size_t(i)]) continue;
                             std::memset(y.data() + i * m.bytes(y.dtype()), 0, size_t(m.bytes(y.dtype())));
                             visit_numbers(y.dtype(), [&](auto one) {
                               one = 1;
                               auto* x = y.data<decltype(one)>() + i * m.size();
                               for (int64_t k = 0; k < m.rows; ++k) x[k * (m.rows + 1)] = one;
                             });
                           }
                         }};

const Kernel cholesky_solve{"_cholesky_solve", [](Call& c) {
                              const Tensor& y = c.out[0];
                              const bool upper = c.flag(2);
                              copy_data(y, c.tensor(0));
                              const Matrices m(y);
                              if (m.empty()) return;
                              const Tensor low = in_rows(expanded(c.tensor(1), y));
                              const DType type = y.dtype();
                              parallel_each(m.count, [&](int64_t i) {
                                const char* a = low.data() + i * m.rows * m.rows * item_size(type);
                                char* x = y.data() + i * m.bytes(type);
                                solve_with(type, a, upper, false, upper, m.rows, x, m.columns);
                                solve_with(type, a, upper, false, !upper, m.rows, x, m.columns);
                              });
                            }};

// The inverse of a lower triangle a (n, n); `inverse` holds zeros.
void invert_lower(DType type, const Triangle& a, int64_t n, char* inverse) {
  const int64_t item = item_size(type);
  for (int64_t low = 0; low < n; low += kPanel) {  // the rows above a panel of columns are zero
    const int64_t width = std::min(kPanel, n - low), rows = n - low;
    Scratch panel(rows * width * item);
    std::memset(panel.as<char>(), 0, size_t(rows * width * item));
    visit_numbers(type, [&](auto one) {
      one = 1;
      for (int64_t k = 0; k < width; ++k) panel.as<decltype(one)>()[k * (width + 1)] = one;
    });
    Triangle part = a;
    part.data += low * (a.row + a.column) * item;
    solve_triangle(type, part, rows, panel.as<char>(), width);
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(inverse + ((low + i) * n + low) * item, panel.as<char>() + i * width * item, size_t(width * item));
  }
}

// One triangle becomes the adjoint of the other.
void mirror(DType type, char* data, int64_t n, bool from_lower) {
  visit_numbers(type, [&](auto zero) {
    using T = decltype(zero);
    T* x = reinterpret_cast<T*>(data);
    constexpr int64_t kTile = 16;
    for (int64_t high = 0; high < n; high += kTile)
      for (int64_t left = 0; left <= high; left += kTile)
        for (int64_t i = high; i < std::min(n, high + kTile); ++i)
          for (int64_t j = left; j < std::min(i, left + kTile); ++j) {
            T &low = x[i * n + j], &up = x[j * n + i], &to = from_lower ? up : low;
            const T value = from_lower ? low : up;
            if constexpr (std::is_floating_point_v<T>)
              to = value;
            else
              to = std::conj(value);
          }
  });
}

const Kernel cholesky_inverse{
  "_cholesky_inverse", [](Call& c) {
    const Tensor &y = c.out[0], &factor = c.tensor(0);
    const Matrices m(y);
    const DType type = y.dtype();
    const bool upper = c.flag(1), large = m.rows >= kSolves;
    Infos infos(size_t(m.count), 0);
    Tensor given = large ? in_rows(factor) : y;
    if (large)
      std::memset(y.data(), 0, size_t(m.count * m.bytes(type)));
    else
      copy_data(y, factor);
    if (m.empty()) return;
    visit_numbers(type, [&](auto zero) {
      const auto* x = given.data<decltype(zero)>();
      for (int64_t i = 0; i < m.count; ++i)
        for (int64_t k = 0; k < m.rows; ++k) infos[size_t(i)] |= x[i * m.size() + k * (m.rows + 1)] == zero;
    });
    refuse_failed(infos, y.dim(),
                  "cholesky_inverse: The inversion could not be completed because the input matrix is singular.");
    const BoundRoutine all = potri.of(type), square = lauum.of(type);
    const int32_t n = narrow(m.rows);
    if (large)  // L of A = L L^H lies here, or conj(L), whose inverse is conjugate, as the transpose of U
      parallel_each(m.count, [&](int64_t i) {
        const char* a = given.data() + i * m.bytes(type);
        invert_lower(type, {false, false, a, upper ? 1 : n, upper ? n : 1}, n, y.data() + i * m.bytes(type));
      });
    each_matrix(m.count, m.size(), [&](int64_t i) {
      char* x = y.data() + i * m.bytes(type);
      if (large)
        square('U', n, x, n);  // L^-H L^-1 in our lower triangle
      else
        all(upper ? 'L' : 'U', n, x, n);
      mirror(type, x, n, large || !upper);
    });
    if (large && upper) conjugate(y);
  }};

// ---- elimination

// The factors of what LAPACK sees in t, where they lie, and exchanged rows, counted from 1.
Infos eliminate(const Tensor& t, const Tensor& pivots, int64_t rows, int64_t columns) {
  const Matrices m(t);
  Infos infos(size_t(m.count), 0);
  if (m.empty()) return infos;
  const BoundRoutine factor = getrf.of(t.dtype());
  const int32_t height = narrow(rows), width = narrow(columns);
  char* data = t.data();
  int32_t* p = pivots.data<int32_t>();
  each_matrix(m.count, m.size(), [&](int64_t i) {
    infos[size_t(i)] = factor(height, width, data + i * m.bytes(t.dtype()), height, p + i * std::min(rows, columns));
  });
  return infos;
}

const Kernel lu_factor_ex{"linalg_lu_factor_ex", [](Call& c) {
                            const Matrices m(c.out[0]);
                            Tensor x = columns_of(c.tensor(0));
                            const Infos infos = eliminate(x, c.out[1], m.rows, m.columns);
                            if (c.flag(2))
                              refuse_zero(infos, x.dim(), "linalg.lu_factor_ex", "U",
                                          ". If you still want the factors, call linalg.lu or linalg.lu_factor_ex");
                            put(infos, c.out[2]);
                            copy_data(c.out[0], turned(x));
                          }};

// The rows in the order in which exchanges leave them.
void put_order(const int32_t* pivots, int64_t exchanges, int64_t* order, int64_t rows) {
  std::iota(order, order + rows, int64_t(0));
  for (int64_t k = 0; k < exchanges; ++k) std::swap(order[k], order[pivots[k] - 1]);
}

const Kernel lu_order{"_lu_order", [](Call& c) {
                        const Tensor pivots = as_int32(c.tensor(0));
                        const Size rows = c.integer(1), exchanges = pivots.size(-1);
                        check_pivots(pivots, rows);
                        const int64_t count = rows ? int64_t(c.out[0].numel() / rows) : 0;
                        for (int64_t i = 0; i < count; ++i)
                          put_order(pivots.data<int32_t>() + i * exchanges, exchanges,
                                    c.out[0].data<int64_t>() + i * rows, rows);
                      }};

// The matrix that has rows in that order.
const Kernel lu_permutation{"_lu_permutation", [](Call& c) {
                              const Tensor& y = c.out[0];
                              const Tensor pivots = as_int32(c.tensor(1));
                              const Matrices m(y);
                              const int64_t exchanges = pivots.size(-1);
                              check_pivots(pivots, m.rows);
                              std::memset(y.data(), 0, size_t(m.count * m.bytes(y.dtype())));
                              std::vector<int64_t> order(size_t(m.rows), 0);
                              visit_numbers(y.dtype(), [&](auto one) {
                                one = 1;
                                for (int64_t i = 0; i < m.count; ++i) {
                                  put_order(pivots.data<int32_t>() + i * exchanges, exchanges, order.data(), m.rows);
                                  auto* to = y.data<decltype(one)>() + i * m.size();
                                  for (int64_t k = 0; k < m.rows; ++k) to[order[size_t(k)] * m.rows + k] = one;
                                }
                              });
                            }};

const Kernel lu_solve{"_linalg_lu_solve", [](Call& c) {
                        const Tensor &y = c.out[0], &lu = c.tensor(0);
                        const Matrices m(y);
                        const DType type = y.dtype();
                        const bool adjoint = c.flag(3);
                        const Tensor exchanges = as_int32(c.tensor(1));
                        check_pivots(exchanges, m.rows);
                        if (m.empty()) return;
                        const Tensor factors = in_rows(expanded(lu, y)), b = in_rows(expanded(c.tensor(2), y));
                        // a column, so that it can be expanded like a matrix
                        Dims column = exchanges.sizes();
                        column.push(1);
                        Tensor steps = view_of(exchanges, column, contiguous_strides(column), exchanges->offset);
                        steps = in_rows(expanded(steps, y));
                        parallel_each(m.count, [&](int64_t i) {
                          const int64_t n = m.rows, row = m.columns * item_size(type);
                          const char* a = factors.data() + i * n * n * item_size(type);
                          const char* from = b.data() + i * m.bytes(type);
                          char* to = y.data() + i * m.bytes(type);
                          std::vector<int64_t> order(size_t(n), 0);
                          put_order(steps.data<int32_t>() + i * n, n, order.data(), n);
                          if (!adjoint) {
                            for (int64_t k = 0; k < n; ++k)
                              std::memcpy(to + k * row, from + order[size_t(k)] * row, size_t(row));
                            solve_with(type, a, false, true, false, n, to, m.columns);
                            return solve_with(type, a, true, false, false, n, to, m.columns);
                          }
                          Scratch x(m.bytes(type));
                          std::memcpy(x.as<char>(), from, size_t(m.bytes(type)));
                          solve_with(type, a, true, false, true, n, x.as<char>(), m.columns);
                          solve_with(type, a, false, true, true, n, x.as<char>(), m.columns);
                          for (int64_t k = 0; k < n; ++k)
                            std::memcpy(to + order[size_t(k)] * row, x.as<char>() + k * row, size_t(row));
                        });
                      }};

// The inverse of a, where the factors of its transpose lie: a^-1 is P L^-T U^-T, as LAPACK sees P L U.
void invert_factored(const Tensor& y, const Tensor& factors, const int32_t* pivots) {
  const Matrices m(y);
  const DType type = y.dtype();
  if (m.empty()) return;
  const int32_t n = narrow(m.rows);
  if (type == DType::ComplexDouble || n < kSolves) {
    if (!factors.is(y)) copy_data(y, factors);
    const BoundRoutine invert = getri.of(type);
    const Work work(type, [&](void* w, int32_t size) { invert(n, y.data(), n, pivots, w, size); });
    each_matrix(m.count, m.size(),
                [&](int64_t i) { invert(n, y.data() + i * m.bytes(type), n, pivots + i * n, work.data(), work.size); });
    return;
  }
  const Tensor source = in_rows(factors), inverse = empty(y.sizes(), type);
  std::memset(inverse.data(), 0, size_t(m.count * m.bytes(type)));
  const char* from = source.data();
  parallel_each(m.count, [&](int64_t i) {
    const char* a = from + i * m.bytes(type);
    char* x = inverse.data() + i * m.bytes(type);
    invert_lower(type, {false, false, a, n, 1}, n, x);
    solve_triangle(type, {true, true, a, n, 1}, n, x, n);
  });
  std::vector<int64_t> order(size_t(n), 0);
  for (int64_t i = 0; i < m.count; ++i) {
    const int64_t row = n * item_size(type);
    put_order(pivots + i * n, n, order.data(), n);
    for (int64_t k = 0; k < n; ++k)
      std::memcpy(y.data() + i * m.bytes(type) + order[size_t(k)] * row, inverse.data() + i * m.bytes(type) + k * row,
                  size_t(row));
  }
}

Infos invert(const Tensor& y, const Tensor& a) {
  Dims vectors(a.sizes().data(), a.dim() - 1);
  const Tensor pivots = empty(vectors, DType::Int32);
  copy_data(y, a);
  Infos infos = eliminate(y, pivots, y.size(-1), y.size(-1));
  if (!failed(infos)) invert_factored(y, y, pivots.data<int32_t>());
  return infos;
}

constexpr std::string_view
    kNoInverse = "linalg.inv: The inversion could not be completed because the input matrix is singular.";

const Kernel inv{"linalg_inv",
                 [](Call& c) { refuse_failed(invert(c.out[0], c.tensor(0)), c.out[0].dim(), kNoInverse); }};

const Kernel inv_factored{"_linalg_inv_factored", [](Call& c) {
                            const Tensor pivots = as_int32(c.tensor(1));
                            check_pivots(pivots, c.out[0].size(-1));
                            invert_factored(c.out[0], c.tensor(0), pivots.data<int32_t>());
                          }};

// Whether exchanges change the sign of a determinant.
bool turns_sign(const int32_t* pivots, int64_t n) {
  bool odd = false;
  for (int64_t k = 0; k < n; ++k) odd ^= pivots[k] != k + 1;
  return odd;
}

const Kernel det{"_linalg_det", [](Call& c) {
                   const Tensor &factors = c.out[1], &pivots = c.out[2];
                   copy_data(factors, c.tensor(0));
                   const Matrices m(factors);
                   eliminate(factors, pivots, m.rows, m.rows);
                   visit_numbers(factors.dtype(), [&](auto one) {
                     using T = decltype(one);
                     for (int64_t i = 0; i < m.count; ++i) {
                       T product = turns_sign(pivots.data<int32_t>() + i * m.rows, m.rows) ? T(-1) : T(1);
                       for (int64_t k = 0; k < m.rows; ++k)
                         product *= factors.data<T>()[i * m.size() + k * (m.rows + 1)];
                       c.out[0].data<T>()[i] = product;
                     }
                   });
                 }};

const Kernel slogdet{"linalg_slogdet", [](Call& c) {
                       const Tensor& a = c.tensor(0);
                       const Tensor factors = empty(a.sizes(), a.dtype());
                       const Tensor pivots = empty(Dims(a.sizes().data(), a.dim() - 1), DType::Int32);
                       copy_data(factors, a);
                       const Matrices m(factors);
                       eliminate(factors, pivots, m.rows, m.rows);
                       visit_numbers(a.dtype(), [&](auto one) {
                         using T = decltype(one);
                         using R = decltype(std::abs(one));
                         for (int64_t i = 0; i < m.count; ++i) {
                           T sign = turns_sign(pivots.data<int32_t>() + i * m.rows, m.rows) ? T(-1) : T(1);
                           double logs = 0;
                           for (int64_t k = 0; k < m.rows; ++k) {
                             const T x = factors.data<T>()[i * m.size() + k * (m.rows + 1)];
                             const R size = std::abs(x);
                             sign *= size == 0 ? T(0) : x / size;
                             logs += double(std::log(size));
                           }
                           c.out[0].data<T>()[i] = sign;
                           c.out[1].data<R>()[i] = R(logs);
                         }
                       });
                     }};

// ---- systems of equations

// x (n, width), columns without gaps, becomes the solution, given factors of the transpose.
void solve_columns(char letter, const Tensor& factors, const int32_t* pivots, const Tensor& x, int64_t width) {
  const Matrices m(factors);
  if (x.numel() == 0) return;
  const DType type = x.dtype();
  const BoundRoutine solve = getrs.of(type);
  const int32_t n = narrow(m.rows), columns = narrow(width);
  each_matrix(m.count, m.size(), [&](int64_t i) {
    solve(letter, n, columns, factors.data() + i * m.bytes(type), n, pivots + i * n,
          x.data() + i * n * width * item_size(type), n);
  });
}

// y becomes the solution for the right-hand sides b, whose batch is broadcast: columns of matrices, their rows with
// left=False, or vectors.
void solve_into(const Tensor& y, const Tensor& b, char letter, const Tensor& factors, const int32_t* pivots,
                bool vector, bool left, bool conjugated) {
  const bool direct = vector || !left || y.size(-1) == 1;  // columns are what lies there
  const Tensor x = direct ? y : empty(turned(y).sizes(), y.dtype());
  copy_data(x, direct ? b : turned(b));
  if (conjugated) conjugate(x);
  solve_columns(letter, factors, pivots, x, vector ? 1 : y.size(left ? -1 : -2));
  if (conjugated) conjugate(x);
  if (!direct) copy_data(y, turned(x));
}

const Kernel solve{"_linalg_solve", [](Call& c) {
                     const Tensor &a = c.tensor(0), &b = c.tensor(1), &y = c.out[0], &factors = c.out[1];
                     const bool vector = y.dim() < factors.dim(), left = c.flag(2);
                     const Tensor source = expanded(a, factors);
                     copy_data(factors, left ? source : turned(source));
                     const int64_t n = factors.size(-1);
                     refuse_failed(eliminate(factors, c.out[2], n, n), factors.dim(),
                                   "linalg.solve: The solver failed because the input matrix is singular.");
                     solve_into(y, b, 'T', factors, c.out[2].data<int32_t>(), vector, left, false);
                   }};

const Kernel solve_adjoint{"_linalg_solve_adjoint", [](Call& c) {
                             const Tensor &b = c.tensor(2), &y = c.out[0];
                             const Tensor factors = in_rows(c.tensor(0)), pivots = as_int32(c.tensor(1));
                             check_pivots(pivots, pivots.size(-1));
                             solve_into(y, b, 'N', factors, pivots.data<int32_t>(), y.dim() < factors.dim(), c.flag(3),
                                        is_complex(y.dtype()));
                           }};

// ---- symmetric matrices

const Kernel ldl_factor_ex{
  "linalg_ldl_factor_ex", [](Call& c) {
    const Tensor &y = c.out[0], &pivots = c.out[1];
    const Matrices m(y);
    const DType type = y.dtype();
    const Tensor x = columns_of(c.tensor(0));
    Infos infos(size_t(m.count), 0);
    if (!m.empty()) {
      const BoundRoutine factor = (c.flag(1) && is_complex(type) ? hetrf : sytrf).of(type);
      const int32_t n = narrow(m.rows);
      const Work work(type, [&](void* w, int32_t size) { factor('L', n, x.data(), n, pivots.data(), w, size); });
      each_matrix(m.count, m.size(), [&](int64_t i) {
        infos[size_t(i)] = factor('L', n, x.data() + i * m.bytes(type), n, pivots.data<int32_t>() + i * n, work.data(),
                                  work.size);
      });
    }
    if (c.flag(2)) refuse_zero(infos, y.dim(), "linalg.ldl_factor_ex", "D", "");
    copy_data(y, turned(x));
    zero_beside(y, false);
    put(infos, c.out[2]);
  }};

// Whether factors may have such pivots; LAPACK would leave the matrix with others.
bool fit_blocks(const int32_t* pivots, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    if (pivots[k] == 0 || pivots[k] > n || pivots[k] < -n) return false;
    if (pivots[k] > 0) continue;  // else blocks of two rows, which have two entries
    if (++k == n || pivots[k] >= 0 || pivots[k] < -n) return false;
  }
  return true;
}

const Kernel ldl_solve{
  "linalg_ldl_solve", [](Call& c) {
    const Tensor &y = c.out[0], pivots = as_int32(c.tensor(1));
    const Matrices m(y);
    const DType type = y.dtype();
    const int64_t given = m.rows ? pivots.numel() / m.rows : 0;
    for (int64_t i = 0; i < given; ++i)
      if (!fit_blocks(pivots.data<int32_t>() + i * m.rows, m.rows))
        fail("linalg.ldl_solve: expected pivots from 1 to ", m.rows, ", or two from -", m.rows, " to -1 in a row");
    if (m.empty()) return;
    const Tensor factors = columns_of(expanded(c.tensor(0), y)), x = columns_of(expanded(c.tensor(2), y));
    Dims column = pivots.sizes();
    column.push(1);
    const Tensor steps = in_rows(expanded(view_of(pivots, column, contiguous_strides(column), pivots->offset), y));
    const BoundRoutine solve = (c.flag(3) && is_complex(type) ? hetrs : sytrs).of(type);
    const int32_t n = narrow(m.rows), width = narrow(m.columns);
    each_matrix(m.count, int64_t(n) * n, [&](int64_t i) {
      solve('L', n, width, factors.data() + i * n * n * item_size(type), n, steps.data<int32_t>() + i * n,
            x.data() + i * m.bytes(type), n);
    });
    copy_data(y, turned(x));
  }};

}  // namespace
}  // namespace weft
