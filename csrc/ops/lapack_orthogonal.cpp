// Reflections, singular values, least squares and eigenvalues: kernels of the forms in weft/linalg/decompose.py,
// reflections.py, functions.py and eigen.py.
#include <cmath>

#include "ops/lapack.h"

namespace weft {
namespace {

Routine geqrf{"geqrf"}, orgqr{"orgqr"}, ormqr{"ormqr"}, gesdd{"gesdd"}, syevd{"syevd"}, geev{"geev"}, trcon{"trcon"},
    trtrs{"trtrs"}, gels{"gels"}, gelsy{"gelsy"}, gelsd{"gelsd"}, gelss{"gelss"};

std::unique_ptr<char[]> zeroed(int64_t count, DType type) {
  auto memory = numbers(count, type);
  std::memset(memory.get(), 0, size_t(std::max(count, int64_t(1)) * item_size(type)));
  return memory;
}
template <class T>
T* as(const std::unique_ptr<char[]>& memory) {
  return reinterpret_cast<T*>(memory.get());
}

// ---- reflections

// The QR decomposition of LAPACK's (rows, columns) matrices in x, where they lie.
void reflect_columns(const Tensor& x, char* tau, int64_t rows, int64_t columns) {
  const int64_t k = std::min(rows, columns);
  const Matrices all(x);
  if (all.empty()) return;
  const DType type = x.dtype();
  const BoundRoutine factor = geqrf.of(type);
  const int32_t m = narrow(rows), n = narrow(columns);
  const Work work(type, [&](void* w, int32_t size) { factor(m, n, x.data(), m, tau, w, size); });
  each_matrix(all.count, all.size(), [&](int64_t i) {
    factor(m, n, x.data() + i * all.bytes(type), m, tau + i * k * item_size(type), work.data(), work.size);
  });
}

// The first columns of the product of k reflections that lie in the columns of x, where they lie.
void form_columns(const Tensor& x, const char* tau, int64_t rows, int64_t columns, int64_t k, int64_t taus) {
  const Matrices all(x);
  if (all.empty()) return;
  const DType type = x.dtype();
  const BoundRoutine form = orgqr.of(type);
  const int32_t m = narrow(rows), n = narrow(columns), count = narrow(k);
  const Work work(type, [&](void* w, int32_t size) { form(m, n, count, x.data(), m, tau, w, size); });
  each_matrix(all.count, all.size(), [&](int64_t i) {
    form(m, n, count, x.data() + i * all.bytes(type), m, tau + i * taus * item_size(type), work.data(), work.size);
  });
}

const Kernel qr{"linalg_qr", [](Call& c) {
                  const Tensor &a = c.tensor(0), &r = c.out[1];
                  const Matrices all(a);
                  const DType type = a.dtype();
                  const int64_t m = all.rows, n = all.columns, k = std::min(m, n), wide = r.size(-2),
                                item = item_size(type);
                  const bool with_q = c.text(1) != "r";
                  const Tensor x = columns_of(a);
                  const auto tau = numbers(all.count * k, type);
                  reflect_columns(x, tau.get(), m, n);
                  Tensor upper = turned(x);  // (m, n), of which the first rows are wanted
                  Dims sizes = upper.sizes();
                  sizes[upper.dim() - 2] = wide;
                  copy_data(r, view_of(upper, sizes, upper.strides(), upper->offset));
                  zero_beside(r, true);
                  if (!with_q || c.out[0].numel() == 0) return;
                  const Tensor& y = c.out[0];  // (m, wide)
                  sizes[y.dim() - 2] = wide, sizes[y.dim() - 1] = m;
                  Tensor q = x;
                  if (wide != n) {  // the columns of reflections, and more or less than these
                    q = empty(sizes, type);
                    const int64_t both = std::min(wide, n) * m * item;
                    for (int64_t i = 0; i < all.count; ++i) {
                      char* to = q.data() + i * wide * m * item;
                      if (both) std::memcpy(to, x.data() + i * n * m * item, size_t(both));
                      std::memset(to + both, 0, size_t(wide * m * item - both));
                    }
                  }
                  if (k) {
                    form_columns(q, tau.get(), m, wide, k, k);
                  } else {  // the identity
                    visit_numbers(type, [&](auto one) {
                      one = 1;
                      auto* to = q.data<decltype(one)>();
                      for (int64_t i = 0; i < all.count; ++i)
                        for (int64_t d = 0; d < m; ++d) to[i * wide * m + d * (m + 1)] = one;
                    });
                  }
                  copy_data(y, turned(q));
                }};

const Kernel factor{"_geqrf", [](Call& c) {
                      const Tensor x = columns_of(c.tensor(0));
                      reflect_columns(x, c.out[1].data(), x.size(-1), x.size(-2));
                      copy_data(c.out[0], turned(x));
                    }};

const Kernel householder_product{"_householder_product", [](Call& c) {
                                   const Tensor x = columns_of(c.tensor(0)), tau = in_rows(c.tensor(1));
                                   const int64_t k = tau.size(-1);
                                   form_columns(x, tau.data(), x.size(-1), x.size(-2), k, k);
                                   copy_data(c.out[0], turned(x));
                                 }};

const Kernel multiplied{
  "_ormqr", [](Call& c) {
    const Tensor &b = c.tensor(2), tau = in_rows(c.tensor(1)), a = columns_of(c.tensor(0)), x = columns_of(b);
    const Matrices all(b), reflections(c.tensor(0));
    const DType type = b.dtype();
    const int32_t m = narrow(all.rows), n = narrow(all.columns), k = narrow(tau.size(-1));
    if (!all.empty() && k) {
      const BoundRoutine multiply = ormqr.of(type);
      const char letter = !c.flag(3) ? 'N' : is_complex(type) ? 'C' : 'T';
      const Work work(type, [&](void* w, int32_t size) {
        multiply('L', letter, m, n, k, a.data(), m, tau.data(), x.data(), m, w, size);
      });
      each_matrix(all.count, reflections.size(), [&](int64_t i) {
        multiply('L', letter, m, n, k, a.data() + i * reflections.bytes(type), m, tau.data() + i * k * item_size(type),
                 x.data() + i * all.bytes(type), m, work.data(), work.size);
      });
    }
    copy_data(c.out[0], turned(x));
  }};

// ---- singular values

// LAPACK sees a^T, whose U, S, Vh are Vh^T, S, U^T. Without u and vh, values only.
void decompose(const Tensor& a, const Tensor& u, const Tensor& s, const Tensor& vh, bool full, const char* complaint) {
  const Matrices all(a);
  const int64_t k = std::min(all.rows, all.columns);
  const DType type = a.dtype(), real = real_of(type);
  if (!k || !all.count) {
    for (const Tensor& t : {u, vh}) {
      if (!t || !t.numel()) continue;
      std::memset(t.data(), 0, size_t(t.numel() * item_size(type)));
      visit_numbers(type, [&](auto one) {
        one = 1;
        const Matrices square(t);
        for (int64_t i = 0; i < square.count; ++i)
          for (int64_t d = 0; d < std::min(square.rows, square.columns); ++d)
            t.data<decltype(one)>()[i * square.size() + d * (square.columns + 1)] = one;
      });
    }
    return;
  }
  const Tensor x = empty(a.sizes(), type);
  copy_data(x, a);
  Infos infos(size_t(all.count), 0);
  for (int64_t i = 0; i < all.count; ++i)
    infos[size_t(i)] = !is_finite(type, x.data() + i * all.bytes(type), all.size());  // iterations may never end
  refuse_failed(infos, a.dim(), complaint);
  const int32_t m = narrow(all.rows), n = narrow(all.columns), u_columns = u ? narrow(u.size(-1)) : 1;
  const char job = !u ? 'N' : full ? 'A' : 'S';
  const int64_t big = std::max(m, n), reals = std::max(5 * k * k + 5 * k, 2 * big * k + 2 * k * k + k);
  const auto integers = numbers(8 * k, DType::Int32), more = numbers(is_complex(type) ? reals : 0, real);
  char none[16];
  const BoundRoutine routine = gesdd.of(type);
  auto call = [&](int64_t i, void* w, int32_t size) {
    char* to_u = u ? u.data() + i * m * u_columns * item_size(type) : none;
    char* to_vh = vh ? vh.data() + i * n * vh.size(-2) * item_size(type) : none;
    char *from = x.data() + i * all.bytes(type), *values = s.data() + i * k * item_size(real);
    if (is_complex(type))
      return routine(job, n, m, from, n, values, to_vh, n, to_u, u_columns, w, size, more.get(), integers.get());
    return routine(job, n, m, from, n, values, to_vh, n, to_u, u_columns, w, size, integers.get());
  };
  const Work work(type, [&](void* w, int32_t size) { call(0, w, size); });
  each_matrix(all.count, all.size(), [&](int64_t i) { infos[size_t(i)] = call(i, work.data(), work.size); });
  refuse_failed(infos, a.dim(), complaint);
}

const Kernel svd{"linalg_svd", [](Call& c) {
                   decompose(c.tensor(0), c.out[0], c.out[1], c.out[2], c.flag(1),
                             "linalg.svd: The algorithm failed to converge because the input matrix contained "
                             "non-finite values.");
                 }};

const Kernel svdvals{"_linalg_svdvals", [](Call& c) {
                       decompose(c.tensor(0), Tensor(), c.out[0], Tensor(), false,
                                 "linalg.svdvals: The algorithm failed to converge because the input matrix contained "
                                 "non-finite values.");
                     }};

// ---- eigenvalues of symmetric matrices

void eigen_symmetric(const Tensor& a, bool lower, const Tensor& values, const Tensor& vectors, const char* complaint) {
  const Matrices all(a);
  if (all.empty()) return;
  const DType type = a.dtype(), real = real_of(type);
  const Tensor x = empty(a.sizes(), type), read = vectors ? vectors : empty(a.sizes(), type);
  copy_data(x, a);
  std::memcpy(read.data(), x.data(), size_t(x.numel() * item_size(type)));
  zero_beside(read, !lower);
  Infos infos(size_t(all.count), 0);
  for (int64_t i = 0; i < all.count; ++i)
    infos[size_t(i)] = !is_finite(type, read.data() + i * all.bytes(type), all.size());
  refuse_failed(infos, a.dim(), complaint);
  const int32_t n = narrow(all.rows), reals = narrow(1 + 5 * all.rows + 2 * all.size()), whole = 3 + 5 * n;
  const auto integers = numbers(whole, DType::Int32), more = numbers(is_complex(type) ? reals : 0, real);
  const BoundRoutine routine = syevd.of(type);
  const char job = vectors ? 'V' : 'N', letter = lower ? 'U' : 'L';  // the triangle of the transpose
  auto call = [&](int64_t i, void* w, int32_t size) {
    char *from = x.data() + i * all.bytes(type), *to = values.data() + i * n * item_size(real);
    if (is_complex(type))
      return routine(job, letter, n, from, n, to, w, size, more.get(), reals, integers.get(), whole);
    return routine(job, letter, n, from, n, to, w, size, integers.get(), whole);
  };
  const Work work(type, [&](void* w, int32_t size) { call(0, w, size); });
  each_matrix(all.count, all.size(), [&](int64_t i) { infos[size_t(i)] = call(i, work.data(), work.size); });
  refuse_failed(infos, a.dim(), complaint);
  if (!vectors) return;
  copy_data(vectors, turned(x));
  conjugate(vectors);
}

#define WEFT_NOT_CONVERGED                                                                      \
  "The algorithm failed to converge because the input matrix is ill-conditioned, has too many " \
  "repeated eigenvalues, or contains values that are not finite."

bool is_lower(Call& c) { return c.text(1) == "L" || c.text(1) == "l"; }

const Kernel eigh{"linalg_eigh", [](Call& c) {
                    eigen_symmetric(c.tensor(0), is_lower(c), c.out[0], c.out[1], "linalg.eigh: " WEFT_NOT_CONVERGED);
                  }};

const Kernel eigvalsh{"_linalg_eigvalsh", [](Call& c) {
                        eigen_symmetric(c.tensor(0), is_lower(c), c.out[0], Tensor(),
                                        "linalg.eigvalsh: " WEFT_NOT_CONVERGED);
                      }};

// ---- eigenvalues of others

// Complex vectors in rows of x: of conjugates, the real and the imaginary part lie one after the other in v.
template <class R>
void join_pairs(const R* v, const R* im, std::complex<R>* x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = im[j] > 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R re = v[j * n + i], other = pair ? v[(j + 1) * n + i] : R(0);
      x[j * n + i] = {re, other};
      if (pair) x[(j + 1) * n + i] = {re, -other};
    }
    j += pair;
  }
}

void eigen(const Tensor& a, const Tensor& values, const Tensor& vectors) {
  const Matrices all(a);
  if (all.empty()) return;
  const DType type = a.dtype(), real = real_of(type);
  const Tensor x = columns_of(a);
  if (!is_finite(type, x.data(), x.numel())) fail("linalg.eig: input tensor should not contain infs or NaNs.");
  const int32_t n = narrow(all.rows), one = 1;
  const char job = vectors ? 'V' : 'N';
  const BoundRoutine routine = geev.of(type);
  const Tensor v = vectors ? empty(a.sizes(), type) : x;  // not written without vectors
  const auto re = numbers(n, real), im = numbers(n, real), reals = numbers(2 * n, real);
  char none[16];
  auto call = [&](int64_t i, void* w, int32_t size) {
    char *from = x.data() + i * all.bytes(type), *to = vectors ? v.data() + i * all.bytes(type) : none;
    const int32_t ld = vectors ? n : 1;
    if (is_complex(type))
      return routine('N', job, n, from, n, values.data() + i * n * item_size(type), none, one, to, ld, w, size,
                     reals.get());
    return routine('N', job, n, from, n, re.get(), im.get(), none, one, to, ld, w, size);
  };
  const Work work(type, [&](void* w, int32_t size) { call(0, w, size); });
  const Tensor wide = !vectors || is_complex(type) ? v : empty(a.sizes(), vectors.dtype());
  Infos infos(size_t(all.count), 0);
  each_matrix(all.count, all.size(), [&](int64_t i) {
    infos[size_t(i)] = call(i, work.data(), work.size);
    if (is_complex(type)) return;
    visit_numbers(real, [&](auto zero) {
      using R = decltype(zero);
      if constexpr (std::is_floating_point_v<R>) {
        auto* to = values.data<std::complex<R>>() + i * n;
        for (int32_t k = 0; k < n; ++k) to[k] = {as<R>(re)[k], as<R>(im)[k]};
        if (vectors)
          join_pairs(v.data<R>() + i * all.size(), as<R>(im), wide.data<std::complex<R>>() + i * all.size(), n);
      }
    });
  });
  refuse_failed(infos, a.dim(), "linalg.eig: " WEFT_NOT_CONVERGED);
  if (vectors) copy_data(vectors, turned(wide));
}

const Kernel eig{"linalg_eig", [](Call& c) { eigen(c.tensor(0), c.out[0], c.out[1]); }};
const Kernel eigvals{"_linalg_eigvals", [](Call& c) { eigen(c.tensor(0), c.out[0], Tensor()); }};

// ---- least squares

// One system: LAPACK's a (m, n) and b (tall, k), both changed; b begins with the solution.
struct LeastSquares {
  int32_t m, n, k, tall;
  DType type;
  double limit;  // of singular values, relative to the largest
  std::string_view driver;
  Routine& named = driver == "gels" ? gels : driver == "gelsy" ? gelsy : driver == "gelsd" ? gelsd : gelss;
  BoundRoutine general = named.of(type);
  BoundRoutine factor = geqrf.of(type), condition = trcon.of(type), multiply = ormqr.of(type), solve = trtrs.of(type);

  // Where the columns of a are far from dependent: that spares the exchanges of columns by which gelsy finds the rank.
  // False, with both as they were, where they are not.
  bool by_qr(const char* a, char* b) const {
    const DType real = real_of(type);
    const size_t bytes = size_t(int64_t(m) * n * item_size(type));
    const auto x = numbers(int64_t(m) * n, type), tau = numbers(n, type), more = numbers(2 * n, real),
               three = numbers(3 * n, type);
    std::memcpy(x.get(), a, bytes);
    const char letter = is_complex(type) ? 'C' : 'T';
    const Work work(type, [&](void* w, int32_t size) { factor(m, n, x.get(), m, tau.get(), w, size); });
    factor(m, n, x.get(), m, tau.get(), work.data(), work.size);
    double product = 1;  // a bound for the square of what `limit` is for
    for (char norm : {'1', 'I'}) {
      alignas(16) char found[16];
      condition(norm, 'U', 'N', n, x.get(), m, found, three.get(), more.get());
      product *= real == DType::Float ? double(*reinterpret_cast<float*>(found)) : *reinterpret_cast<double*>(found);
    }
    if (!(product > (10 * limit) * (10 * limit))) return false;
    const Work other(
        type, [&](void* w, int32_t size) { multiply('L', letter, m, k, n, x.get(), m, tau.get(), b, tall, w, size); });
    multiply('L', letter, m, k, n, x.get(), m, tau.get(), b, tall, other.data(), other.size);
    solve('U', 'N', 'N', n, k, x.get(), m, b, tall);
    return true;
  }

  int32_t by_driver(char* a, char* b, char* values, int32_t* rank) const {
    const DType real = real_of(type);
    const int64_t least = std::min(m, n), levels = std::max(0, int(std::log2(std::max(1.0, double(least) / 26))) + 1);
    int64_t leaves = 3 * n + 2 * n * 25 + 8 * n * levels + 3 * 25 * k;
    leaves = 10 * n + leaves + std::max<int64_t>(26 * 26, int64_t(n) * (1 + k) + 2 * k) + 10 * int64_t(m);
    const auto order = zeroed(n, DType::Int32), reals = numbers(std::max<int64_t>(leaves, 2 * n), real),
               whole = numbers(3 * least * levels + 11 * least, DType::Int32);
    alignas(16) char bound[16];
    real == DType::Float ? void(*reinterpret_cast<float*>(bound) = float(limit))
                         : void(*reinterpret_cast<double*>(bound) = limit);
    const bool wide = is_complex(type);
    const BoundRoutine& f = general;
    auto call = [&](void* w, int32_t size) -> int32_t {
      if (driver == "gels") return f('N', m, n, k, a, m, b, tall, w, size);
      if (driver == "gelsy")
        return wide ? f(m, n, k, a, m, b, tall, order.get(), bound, rank, w, size, reals.get())
                    : f(m, n, k, a, m, b, tall, order.get(), bound, rank, w, size);
      if (driver == "gelss")
        return wide ? f(m, n, k, a, m, b, tall, values, bound, rank, w, size, reals.get())
                    : f(m, n, k, a, m, b, tall, values, bound, rank, w, size);
      return wide ? f(m, n, k, a, m, b, tall, values, bound, rank, w, size, reals.get(), whole.get())
                  : f(m, n, k, a, m, b, tall, values, bound, rank, w, size, whole.get());
    };
    const Work work(type, call);
    return call(work.data(), work.size);
  }
};

const Kernel lstsq{
  "_linalg_lstsq", [](Call& c) {
    const Tensor &y = c.out[0], &rank = c.out[1], &values = c.out[2];
    const std::string& driver = c.text(3);
    const Matrices all(c.tensor(0)), found(y);  // the batch of A is a part of that of the solutions
    const DType type = y.dtype(), real = real_of(type);
    const int64_t m = all.rows, n = all.columns, k = y.size(-1), least = std::min(m, n), tall = std::max(m, n);
    std::memset(rank.data(), 0, size_t(rank.numel() * item_size(DType::Int64)));
    if (values.numel()) std::memset(values.data(), 0, size_t(values.numel() * item_size(real)));
    const bool wanted = least && k;
    Dims batch(y.sizes().data(), y.dim() - 2), shape = batch;
    shape.push(k), shape.push(tall);
    const Tensor b = empty(shape, type), a = columns_of(expanded(c.tensor(0), y));
    std::memset(b.data(), 0, size_t(b.numel() * item_size(type)));
    Dims part = shape;
    part[y.dim() - 1] = m;
    copy_data(view_of(b, part, b.strides(), b->offset), turned(expanded(c.tensor(1), y)));
    Infos infos(size_t(found.count), 0);
    for (int64_t i = 0; i < found.count; ++i)
      infos[size_t(i)] = !is_finite(type, a.data() + i * m * n * item_size(type), m * n) ||
                         !is_finite(type, b.data() + i * k * tall * item_size(type), k * tall);
    constexpr std::string_view
        complaint = "linalg.lstsq: The algorithm failed to converge because an input contained non-finite values.";
    refuse_failed(infos, y.dim(), complaint);
    // Ranks and values of each A once: where several solutions belong to one, the last one's are those of all.
    Tensor ranks = empty(batch, DType::Int32), sizes;
    Dims vectors = batch;
    vectors.push(least);
    sizes = empty(vectors, real);
    std::memset(ranks.data(), 0, size_t(found.count * 4));
    if (sizes.numel()) std::memset(sizes.data(), 0, size_t(sizes.numel() * item_size(real)));
    if (wanted) {
      const LeastSquares system{narrow(m), narrow(n), narrow(k), narrow(tall), type, c.real(2), driver};
      each_matrix(found.count, m * n, [&](int64_t i) {
        char *one = a.data() + i * m * n * item_size(type), *to = b.data() + i * k * tall * item_size(type);
        int32_t& r = ranks.data<int32_t>()[i];
        if (driver == "gelsy" && m >= n && system.by_qr(one, to))
          r = int32_t(n);
        else
          infos[size_t(i)] = system.by_driver(one, to, sizes.data() + i * least * item_size(real), &r);
      });
    }
    refuse_failed(infos, y.dim(), complaint);
    Dims solution = shape;
    solution[y.dim() - 1] = n;
    copy_data(y, turned(view_of(b, solution, b.strides(), b->offset)));
    if (!found.count) return;  // ranks and values of no solutions are zeros
    // of a batch that was broadcast, the first of each
    auto first = [&](const Tensor& all_of, const Tensor& target) {
      Dims strides = all_of.strides(), lengths = target.sizes(), steps;
      const int lead = all_of.dim() - target.dim();
      for (int d = 0; d < target.dim(); ++d) steps.push(strides[d + lead]);
      copy_data(target, view_of(all_of, lengths, steps, all_of->offset));
    };
    first(ranks, rank);
    first(sizes, values);
  }};

}  // namespace
}  // namespace weft
