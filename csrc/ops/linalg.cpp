// Products of vectors, matrices and batches of them.
#include "loops/copy.h"
#include "loops/gemm.h"
#include "loops/gemm_complex.h"
#include "loops/outer.h"
#include "loops/parallel.h"
#include "ops/product.h"
#include "ops/recording.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

// ---- what the shape rules ask ----

void check_types(Call& c, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    fail(c.name(), ": expected both operands to have the same dtype, but got ", name_of(a.dtype()), " and ",
         name_of(b.dtype()));
  if (a.dtype() == DType::Bool) fail_missing(c.name(), ": not implemented for 'Bool'");
}

void check_dims(Call& c, int i, int dims) {
  if (c.tensor(i).dim() != dims)
    fail(c.name(), ": ", c.op.params[size_t(i)].name, " must be a ", dims, "-D tensor, got shape ",
         c.tensor(i).sizes());
}

[[noreturn]] void fail_inner(Call& c, const Tensor& a, const Tensor& b) {
  fail(c.name(), ": mat1 and mat2 shapes cannot be multiplied (", a.sizes(), " and ", b.sizes(), ")");
}

// ---- the derivative ----

const OpRef kProduct{"matrix_product"};

// x (…, m, k) and g (…, m, n) as two tall matrices: what a weight that all of the batch shares needs.
Tensor folded(const Tensor& t) {
  if (t.dim() == 2) return t;
  int64_t rows = 1;
  for (int i = 0; i < t.dim() - 1; ++i) rows *= t.size(i);
  return reshape(t, Dims{rows, t.size(-1)});
}

// Gradients of c = op(a) op(b), where a and b have at least two dimensions. Transposes are only flags.
void product_back(Grad& d, const Tensor& g, const Tensor& a, const Tensor& b, bool ta, bool tb) {
  if (d.needs(0)) d.give(0, ta ? kProduct(conj_of(b), g, tb, true) : kProduct(g, conj_of(b), false, !tb));
  if (!d.needs(1)) return;
  bool shared = d.shape(1).size() == 2 && g.dim() > 2 && a.dim() == g.dim() && !ta;
  Tensor x = shared ? folded(a) : a, y = shared ? folded(g) : g;
  d.give(1, tb ? kProduct(y, conj_of(x), true, ta) : kProduct(conj_of(x), y, !ta, false));
}

// A vector takes part as a matrix with one row (on the left) or one column (on the right).
void matmul_back(Grad& d) {
  Tensor a = d.needs(1) ? d.x(0) : Tensor(), b = d.needs(0) ? d.x(1) : Tensor(), g = d.g();
  int a_dim = a ? a.dim() : d.shape(0).size(), b_dim = b ? b.dim() : d.shape(1).size();
  if (a_dim >= 2 && b_dim >= 2) return product_back(d, g, a, b, false, false);
  if (b_dim == 1) g = unsqueeze(g, -1);
  if (a_dim == 1) g = unsqueeze(g, -2);
  if (d.needs(0)) {
    Tensor ga = kProduct(g, conj_of(b_dim == 1 ? unsqueeze(b, -1) : b), false, true);
    d.give(0, a_dim == 1 ? reshape(sum_to(ga, Dims{1, ga.size(-1)}), d.shape(0)) : ga);
  }
  if (d.needs(1)) {
    Tensor x = conj_of(a_dim == 1 ? unsqueeze(a, 0) : a);
    bool fold = b_dim <= 2 && g.dim() > 2;
    Tensor gb = kProduct(fold ? folded(x) : x, fold ? folded(g) : g, true, false);
    d.give(1, b_dim == 1 ? reshape(gb, d.shape(1)) : gb);
  }
}

// ---- shape rules ----

void infer_mm(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  check_dims(c, 0, 2), check_dims(c, 1, 2), check_types(c, a, b);
  if (a.size(1) != b.size(0)) fail_inner(c, a, b);
  c.give(0, meta(a.dtype(), {a.size(0), b.size(1)}));
}

// The batch of the result of any two operands with at least two dimensions.
Dims batch_of(const Tensor& a, const Tensor& b, const char* op) {
  Dims x(a.sizes().data(), a.dim() - 2), y(b.sizes().data(), b.dim() - 2);
  return x == y ? x : broadcast(x, y, op);
}

void infer_matmul(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  int m = a.dim(), n = b.dim();
  if (m == 2 && n == 2 && a.size(1) == b.size(0) && a.dtype() == b.dtype() && a.dtype() != DType::Bool)
    return c.give(0, meta(a.dtype(), {a.size(0), b.size(1)}));
  if (m == 0 || n == 0)
    fail("matmul: both arguments to matmul need to be at least 1D, but they are ", m, "D and ", n, "D");
  check_types(c, a, b);
  int64_t inner = n == 1 ? b.size(0) : b.size(n - 2);
  if (a.size(m - 1) != inner) fail_inner(c, a, b);
  Dims sizes;
  if (m >= 2 && n >= 2)
    sizes = batch_of(a, b, "matmul");
  else if (m > 2)
    sizes = Dims(a.sizes().data(), m - 2);
  else if (n > 2)
    sizes = Dims(b.sizes().data(), n - 2);
  if (m >= 2) sizes.push(a.size(m - 2));
  if (n >= 2) sizes.push(b.size(n - 1));
  c.give(0, meta(a.dtype(), sizes));
}

void run_matmul(Call& c) { multiply(c.tensor(0), false, c.tensor(1), false, c.out[0]); }

WEFT_OP{
  .signature = "matmul(Tensor input, Tensor other) -> Tensor",
  .doc = R"(The matrix product; vectors and batches of matrices too, with broadcasting.

>>> weft.matmul(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 1.0]))
tensor([3., 7.]))",
  .traits = kBeside,
  .infer = infer_matmul,
  .run = run_matmul,
  .keeps_when = product_keeps,
  .back = matmul_back,
  .aliases = "linalg_matmul",
};

WEFT_OP{
  .signature = "mm(Tensor input, Tensor mat2) -> Tensor",
  .doc = R"(The product of two matrices.

>>> weft.mm(weft.ones(2, 3), weft.ones(3, 2))
tensor([[3., 3.],
        [3., 3.]]))",
  .traits = kBeside,
  .infer = infer_mm,
  .run = run_matmul,
  .keeps_when = product_keeps,
  .back = matmul_back,
};

WEFT_OP{
  .signature = "matrix_product(Tensor input, Tensor other, bool trans_input, bool trans_other) -> Tensor",
  .doc = "The product of two matrices or batches of them, each transposed if asked.",
  .traits = kHidden | kBeside,
  .infer =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &b = c.tensor(1);
        if (a.dim() < 2 || b.dim() < 2) fail_inner(c, a, b);
        check_types(c, a, b);
        if (a.size(c.flag(2) ? -2 : -1) != b.size(c.flag(3) ? -1 : -2)) fail_inner(c, a, b);
        Dims sizes = batch_of(a, b, "matmul");
        sizes.push(a.size(c.flag(2) ? -1 : -2)), sizes.push(b.size(c.flag(3) ? -2 : -1));
        c.give(0, meta(a.dtype(), sizes));
      },
  .run = [](Call& c) { multiply(c.tensor(0), c.flag(2), c.tensor(1), c.flag(3), c.out[0]); },
  .keeps_when = product_keeps,
  .back =
      [](Grad& d) {
        Tensor a = d.needs(1) ? d.x(0) : Tensor(), b = d.needs(0) ? d.x(1) : Tensor();
        product_back(d, d.g(), a, b, d.arg(2).flag(), d.arg(3).flag());
      },
};

WEFT_OP{
  .signature = "bmm(Tensor input, Tensor mat2) -> Tensor",
  .doc = R"(The products of two batches of matrices of the same length.

>>> weft.bmm(weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
torch.Size([5, 2, 4]))",
  .traits = kBeside,
  .infer =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &b = c.tensor(1);
        check_dims(c, 0, 3), check_dims(c, 1, 3), check_types(c, a, b);
        if (a.size(0) != b.size(0) || a.size(2) != b.size(1))
          fail("bmm: expected batches of the same length and matching matrices, got ", a.sizes(), " and ", b.sizes());
        c.give(0, meta(a.dtype(), {a.size(0), a.size(1), b.size(2)}));
      },
  .run = run_matmul,
  .keeps_when = product_keeps,
  .back = matmul_back,
};

WEFT_OP{
  .signature = "mv(Tensor input, Tensor vec) -> Tensor",
  .doc = R"(The product of a matrix and a vector.

>>> weft.mv(weft.ones(2, 3), weft.ones(3))
tensor([3., 3.]))",
  .infer =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &b = c.tensor(1);
        check_dims(c, 0, 2), check_dims(c, 1, 1), check_types(c, a, b);
        if (a.size(1) != b.size(0)) fail("mv: size mismatch, got input ", a.sizes(), " and vec ", b.sizes());
        c.give(0, meta(a.dtype(), {a.size(0)}));
      },
  .run = run_matmul,
  .keeps_when = product_keeps,
  .back = matmul_back,
};

void check_vectors(Call& c) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (a.dim() != 1 || b.dim() != 1)
    fail(c.name(), ": 1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  check_types(c, a, b);
  if (a.size(0) != b.size(0))
    fail(c.name(), ": inconsistent tensor size, expected the same number of elements, but got ", a.size(0), " and ",
         b.size(0));
}

WEFT_OP{
  .signature = "dot(Tensor input, Tensor tensor) -> Tensor",
  .doc = R"(The inner product of two vectors.

>>> weft.dot(weft.tensor([2, 3]), weft.tensor([2, 1]))
tensor(7))",
  .infer =
      [](Call& c) {
        check_vectors(c);
        c.give(0, meta(c.tensor(0).dtype(), {}));
      },
  .run =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &b = c.tensor(1);
        dot(a.dtype(), a.size(0), a.data(), a.stride(0), b.data(), b.stride(0), c.out[0].data());
      },
  .keeps_when = product_keeps,
  .back =
      [](Grad& d) {
        if (d.needs(0)) d.give(0, d.g() * conj_of(d.x(1)));
        if (d.needs(1)) d.give(1, d.g() * conj_of(d.x(0)));
      },
};

WEFT_OP{
  .signature = "row_dots(Tensor input, Tensor other) -> Tensor",
  .doc = "The inner products of the rows of two real tensors of one shape.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dtype() != DType::Float && x.dtype() != DType::Double)
          fail_missing("row_dots: not implemented for '", name_of(x.dtype()), "'");
        check_types(c, x, c.tensor(1));
        expect_dim(c, 0, 1);
        expect_shape(c, 1, x.sizes());
        c.give(0, meta(x.dtype(), Dims(x.sizes().data(), x.dim() - 1)));
      },
  .run =
      [](Call& c) {
        DType type = c.tensor(0).dtype();
        LaidOut a(c.tensor(0), type), b(c.tensor(1), type);
        int64_t rows = c.out[0].numel(), n = c.tensor(0).size(-1), item = item_size(type);
        parallel_chunks(rows, 1 + kGrain / std::max<int64_t>(n, 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            dot(type, n, a.data() + i * n * item, 1, b.data() + i * n * item, 1, c.out[0].data() + i * item);
        });
      },
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        Tensor g = unsqueeze(d.g(), int64_t(-1));
        if (d.needs(0)) d.give(0, g * d.x(1));
        if (d.needs(1)) d.give(1, g * d.x(0));
      },
};

WEFT_OP{
  .signature = "vdot(Tensor input, Tensor other) -> Tensor",
  .doc = R"(The inner product of two vectors, the first one conjugated.

>>> weft.vdot(weft.tensor([2, 3]), weft.tensor([2, 1]))
tensor(7))",
  .infer =
      [](Call& c) {
        check_vectors(c);
        c.give(0, meta(c.tensor(0).dtype(), {}));
      },
  .run =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &b = c.tensor(1);
        if (is_complex(a.dtype()))
          dot_complex(a.dtype(), a.size(0), a.data(), a.stride(0), b.data(), b.stride(0), true, c.out[0].data());
        else
          dot(a.dtype(), a.size(0), a.data(), a.stride(0), b.data(), b.stride(0), c.out[0].data());
      },
  .keeps_when = product_keeps,
  .back =
      [](Grad& d) {
        if (d.needs(0)) d.give(0, conj_of(d.g()) * d.x(1));
        if (d.needs(1)) d.give(1, d.g() * d.x(0));
      },
};

WEFT_OP{
  .signature = "inner(Tensor input, Tensor other) -> Tensor",
  .doc = R"(Inner products along the last dimension of both; a single element scales the other operand.

>>> weft.inner(weft.tensor([1, 2, 3]), weft.tensor([0, 2, 1]))
tensor(7))",
  .compose =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &b = c.tensor(1);
        if (a.dim() == 0 || b.dim() == 0) return c.give(0, a * b);
        if (a.size(-1) != b.size(-1))
          fail("inner: the last dimension must match on both input tensors but got shapes ", a.sizes(), " and ",
               b.sizes());
        check_types(c, a, b);
        static const OpRef dot{"dot"};
        if (a.dim() == 1 && b.dim() == 1) return c.give(0, dot(a, b));
        Dims sizes(a.sizes().data(), a.dim() - 1);
        for (int i = 0; i < b.dim() - 1; ++i) sizes.push(b.size(i));
        int64_t k = a.size(-1), m = 1, n = 1;
        for (int i = 0; i < a.dim() - 1; ++i) m *= a.size(i);
        for (int i = 0; i < b.dim() - 1; ++i) n *= b.size(i);
        c.give(0, reshape(kProduct(reshape(a, Dims{m, k}), reshape(b, Dims{n, k}), false, true), sizes));
      },
};

WEFT_OP{
  .signature = "outer(Tensor input, Tensor vec2) -> Tensor",
  .doc = R"(Every element of one vector times every element of another.

>>> weft.outer(weft.tensor([1, 2]), weft.tensor([3, 4]))
tensor([[3, 4],
        [6, 8]]))",
  .traits = kCastsOut,
  .compose =
      [](Call& c) {
        check_dims(c, 0, 1), check_dims(c, 1, 1);
        c.give(0, unsqueeze(c.tensor(0), 1) * c.tensor(1));
      },
  .aliases = "ger",
};

// ---- beta * input + alpha * product ----

bool is_real(const Value& v) { return v.tag() != Tag::Complex; }

void check_factors(Call& c, DType type, int beta, int alpha) {
  for (int i : {beta, alpha})
    if (!is_complex(type) && c.arg(i).tag() == Tag::Complex)
      fail(c.name(), ": For ", name_of(type), " tensors, argument ", c.op.params[size_t(i)].name,
           " must not be a complex number.");
}

// Integers are scaled by whole numbers.
double factor(Call& c, int i) { return is_integral(c.out[0].dtype()) ? double(int64_t(c.real(i))) : c.real(i); }

// Shape rule of the family: input is expanded to the shape of the product.
void infer_added(Call& c, const Dims& sizes) {
  const Tensor &input = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2);
  check_types(c, a, b);
  if (input.dtype() != a.dtype())
    fail(c.name(), ": expected input and the product to have the same dtype, but got ", name_of(input.dtype()), " and ",
         name_of(a.dtype()));
  check_factors(c, a.dtype(), 3, 4);
  if (!(input.sizes() == sizes) && !(broadcast(input.sizes(), sizes, c.name()) == sizes))
    fail(c.name(), ": input of shape ", input.sizes(), " cannot be expanded to the product's shape ", sizes);
  c.give(0, meta(a.dtype(), sizes));
}

template <class C>
void combine(C* out, const C* input, int64_t n, std::complex<double> alpha, std::complex<double> beta) {
  for (int64_t i = 0; i < n; ++i) out[i] = C(alpha) * out[i] + (input ? C(beta) * input[i] : C(0));
}

void run_added(Call& c) {
  const Tensor &input = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2), &out = c.out[0];
  bool real = is_real(c.arg(3)) && is_real(c.arg(4));
  bool added = real ? factor(c, 3) != 0 : c.arg(3).complex() != std::complex<double>(0);
  if (real) {
    if (added) copy_data(out, input);
    return multiply(a, false, b, false, out, factor(c, 4), added ? factor(c, 3) : 0);
  }
  multiply(a, false, b, false, out);
  Scratch wide(added ? out.numel() * item_size(out.dtype()) : 0);
  if (added) {
    Dims to = contiguous_strides(out.sizes()), from(out.dim());
    int shift = out.dim() - input.dim();
    for (int i = 0; i < input.dim(); ++i) from[i + shift] = input.size(i) == 1 ? 0 : input.stride(i);
    copy_kernels().copy(out.dtype(), wide.as<char>(), to.data(), input.dtype(), input.data(), from.data(),
                        out.sizes().data(), out.dim());
  }
  auto alpha = c.arg(4).complex(), beta = c.arg(3).complex();
  if (out.dtype() == DType::ComplexFloat)
    combine(out.data<c64>(), added ? wide.as<c64>() : nullptr, out.numel(), alpha, beta);
  else
    combine(out.data<c128>(), added ? wide.as<c128>() : nullptr, out.numel(), alpha, beta);
}

uint32_t added_keeps(const Op&, uint32_t wanting) {
  return (wanting & 2 ? uint32_t(keep::x2) : 0) | (wanting & 4 ? uint32_t(keep::x1) : 0);
}

Tensor scaled(const Tensor& t, const Value& factor) {
  std::complex<double> f = factor.complex();
  if (f == std::complex<double>(1)) return t;
  return is_real(factor) ? mul(t, factor) : mul(t, Value(std::conj(f)));
}

void added_back(Grad& d) {
  Tensor g = d.g();
  if (d.needs(0)) d.give(0, scaled(g, d.arg(3)));
  if (!d.needs(1) && !d.needs(2)) return;
  g = scaled(g, d.arg(4));
  if (d.needs(1)) {
    Tensor b = conj_of(d.x(2));
    d.give(1, b.dim() == 1 ? unsqueeze(g, 1) * b : kProduct(g, b, false, true));
  }
  if (d.needs(2)) {
    Tensor a = conj_of(d.x(1));
    bool vector = g.dim() == 1;
    Tensor gb = kProduct(a, vector ? unsqueeze(g, 1) : g, true, false);
    d.give(2, vector ? reshape(gb, d.shape(2)) : gb);
  }
}

WEFT_OP{
  .signature = "addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
  .doc = R"(beta * input + alpha * (mat1 @ mat2).

>>> weft.addmm(weft.ones(2), weft.ones(2, 3), weft.ones(3, 2))
tensor([[4., 4.],
        [4., 4.]]))",
  .traits = kInplace,
  .infer =
      [](Call& c) {
        check_dims(c, 1, 2), check_dims(c, 2, 2);
        if (c.tensor(1).size(1) != c.tensor(2).size(0)) fail_inner(c, c.tensor(1), c.tensor(2));
        infer_added(c, {c.tensor(1).size(0), c.tensor(2).size(1)});
      },
  .run = run_added,
  .keeps_when = added_keeps,
  .back = added_back,
};

WEFT_OP{
  .signature = "addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
  .doc = R"(beta * input + alpha * (mat @ vec).

>>> weft.addmv(weft.ones(2), weft.ones(2, 3), weft.ones(3))
tensor([4., 4.]))",
  .traits = kInplace,
  .infer =
      [](Call& c) {
        check_dims(c, 1, 2), check_dims(c, 2, 1);
        if (c.tensor(1).size(1) != c.tensor(2).size(0)) fail_inner(c, c.tensor(1), c.tensor(2));
        infer_added(c, {c.tensor(1).size(0)});
      },
  .run = run_added,
  .keeps_when = added_keeps,
  .back = added_back,
};

void check_batches(Call& c) {
  check_dims(c, 1, 3), check_dims(c, 2, 3);
  const Tensor &a = c.tensor(1), &b = c.tensor(2);
  if (a.size(0) != b.size(0) || a.size(2) != b.size(1))
    fail(c.name(), ": expected batches of the same length and matching matrices, got ", a.sizes(), " and ", b.sizes());
}

WEFT_OP{
  .signature = "baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
  .doc = R"(beta * input + alpha * (batch1 @ batch2), for batches of matrices.

>>> weft.baddbmm(weft.ones(1), weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
torch.Size([5, 2, 4]))",
  .traits = kInplace,
  .infer =
      [](Call& c) {
        check_batches(c);
        infer_added(c, {c.tensor(1).size(0), c.tensor(1).size(1), c.tensor(2).size(2)});
      },
  .run = run_added,
  .keeps_when = added_keeps,
  .back = added_back,
};

WEFT_OP{
  .signature = "addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
  .doc = R"(beta * input + alpha times the sum of the products of two batches of matrices.

>>> weft.addbmm(weft.zeros(1), weft.ones(5, 2, 3), weft.ones(5, 3, 2))
tensor([[15., 15.],
        [15., 15.]]))",
  .traits = kInplace,
  .compose =
      [](Call& c) {
        static const OpRef addmm{"addmm"};
        check_batches(c);
        const Tensor &a = c.tensor(1), &b = c.tensor(2);
        int64_t batch = a.size(0), k = a.size(2);
        Tensor wide = reshape(permute(a, Dims{1, 0, 2}), Dims{a.size(1), batch * k});
        c.give(0, addmm(c.tensor(0), wide, reshape(b, Dims{batch * k, b.size(2)}), c.arg(3), c.arg(4)));
      },
};

const OpRef rank_one{"rank_one"};

WEFT_OP{
  .signature = "rank_one(Tensor input, Tensor vec1, Tensor vec2) -> Tensor",
  .doc = "A matrix plus the outer product of two vectors; all of float, or all of double.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dtype() != DType::Float && x.dtype() != DType::Double)
          fail_missing("rank_one: not implemented for '", name_of(x.dtype()), "'");
        for (int i : {1, 2}) expect_dtype(c, i, x.dtype()), expect_dim(c, i, 1, 1);
        expect_shape(c, 0, Dims{c.tensor(1).size(0), c.tensor(2).size(0)});
        c.give(0, meta(x.dtype(), x.sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor& y = c.out[0];
        const DType type = y.dtype();
        const LaidOut all(c.tensor(0), type), column(c.tensor(1), type), row(c.tensor(2), type);
        outer_kernels().add(type, y.size(0), y.size(1), all.data(), column.data(), row.data(), y.data());
      },
  .keeps = keep::x1 | keep::x2,
  .back =
      [](Grad& d) {
        d.give(0, d.g());
        if (d.needs(1)) d.give(1, matmul(d.g(), d.x(2)));
        if (d.needs(2)) d.give(2, matmul(transpose(d.g(), int64_t(0), int64_t(1)), d.x(1)));
      },
};

WEFT_OP{
  .signature = "addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
  .doc = R"(beta * input + alpha times the outer product of two vectors.

>>> weft.addr(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]))
tensor([[3., 4.],
        [6., 8.]]))",
  .traits = kInplace | kCastsOut,
  .compose =
      [](Call& c) {
        static const OpRef outer{"outer"};
        check_dims(c, 1, 1), check_dims(c, 2, 1);
        Tensor input = c.tensor(0), x = c.tensor(1), y = c.tensor(2);
        DType type = promote(input.dtype(), promote(x.dtype(), y.dtype()));
        bool half = is_half(type);  // rounded once, at the end
        if (half) input = to_dtype(input, DType::Float), x = to_dtype(x, DType::Float), y = to_dtype(y, DType::Float);
        const Dims result{x.size(0), y.size(0)};
        if (!(broadcast(input.sizes(), result, "addr") == result))
          fail("addr: input of shape ", input.sizes(), " cannot be expanded to shape ", result);
        check_factors(c, type, 3, 4);
        const bool same = input.dtype() == x.dtype() && x.dtype() == y.dtype();
        if (same && is_floating(type) && c.arg(3).complex() == 1.0 && c.arg(4).complex() == 1.0) {
          Tensor sum = rank_one(input.sizes() == result ? input : expand(input, result), x, y);  // in one pass
          return c.give(0, half ? to_dtype(sum, type) : sum);
        }
        Tensor scaled = outer(x, y);
        if (type == DType::Bool) {
          if (!c.flag(4)) scaled = zeros_like(scaled);
          return c.give(0, c.flag(3) ? logical_or(scaled, input) : scaled);
        }
        if (is_integral(type) && (c.arg(3).tag() == Tag::Float || c.arg(4).tag() == Tag::Float))
          fail("addr: For integral input tensors, arguments beta and alpha must not be floating point numbers.");
        if (c.arg(4).complex() != 1.0) scaled = mul(scaled, c.arg(4));
        if (c.arg(3).complex() != 0.0) scaled = add(c.arg(3).complex() == 1.0 ? input : mul(input, c.arg(3)), scaled);
        c.give(0, half ? to_dtype(scaled, type) : scaled);
      },
};

}  // namespace
}  // namespace weft
