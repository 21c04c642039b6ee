// Triangular systems of equations.
#include "loops/triangular.h"

#include <optional>

#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef solve{"triangle_solve"};

Tensor turned(const Tensor& t) { return transpose(t, int64_t(-2), int64_t(-1)); }
Dims batch_of(const Tensor& t) { return Dims(t.sizes().data(), t.dim() - 2); }
Dims with_batch(const Dims& batch, const Tensor& t) {
  Dims sizes = batch;
  sizes.push(t.size(-2)), sizes.push(t.size(-1));
  return sizes;
}

// Matrices that are read where they lie, if their rows or columns have no gaps.
class Matrices {
 public:
  explicit Matrices(const Tensor& a) : a_(a), strides_(a.strides()) {
    const int d = a.dim();
    const bool direct = strides_[d - 1] == 1 || strides_[d - 2] == 1;
    if (direct) {
      data_ = a.data();
    } else {
      copy_.emplace(a, a.dtype());
      data_ = copy_->data();
      strides_ = contiguous_strides(a.sizes());
    }
    if (a.size(-1) == 1) strides_[d - 1] = strides_[d - 2] = 1;
  }
  Triangle at(int64_t i, bool upper, bool unit) const {
    int64_t offset = 0;
    for (int d = a_.dim() - 3; d >= 0; --d) {
      const int64_t size = a_.size(d);
      offset += i % size * int64_t(strides_[d]);
      i /= size;
    }
    return {upper, unit, data_ + offset * item_size(a_.dtype()), strides_[a_.dim() - 2], strides_[a_.dim() - 1]};
  }

 private:
  const Tensor& a_;
  Dims strides_;
  std::optional<LaidOut> copy_;
  const char* data_;
};

WEFT_OP{
  .signature = "triangle_solve(Tensor A, Tensor B, bool upper, bool unit) -> Tensor",
  .doc = "The X of A X = B for triangular matrices A and as many matrices B.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &b = c.tensor(1);
        if (a.dim() < 2 || a.size(-1) != a.size(-2)) refuse(c, 0, "be square matrices");
        if ((!is_floating(a.dtype()) && !is_complex(a.dtype())) || is_half(a.dtype()))
          refuse(c, 0, "be of a floating or complex dtype, and not a half");
        expect_dtype(c, 1, a.dtype());
        if (b.dim() != a.dim() || b.size(-2) != a.size(-1) || !(batch_of(b) == batch_of(a)))
          refuse(c, 1, "be as many matrices of as many rows as 'A'");
        c.give(0, meta(b.dtype(), b.sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor &a = c.tensor(0), &y = c.out[0];
        if (y.numel() == 0) return;
        copy_data(y, c.tensor(1));
        const Matrices all(a);
        const int64_t n = y.size(-2), width = y.size(-1), size = n * width * item_size(y.dtype());
        auto one = [&](int64_t i) {
          solve_triangle(y.dtype(), all.at(i, c.flag(2), c.flag(3)), n, y.data() + i * size, width);
        };
        const int64_t count = y.numel() / (n * width);
        count == 1 ? one(0) : parallel_each(count, one);
      },
  .keeps = keep::x0 | keep::y0,
  .back =
      [](Grad& d) {
        const bool upper = d.arg(2).flag(), unit = d.arg(3).flag();
        Tensor gb = solve(turned(conj_of(d.x(0))), d.g(), !upper, unit);
        if (d.needs(1)) d.give(1, gb);
        if (!d.needs(0)) return;
        Tensor ga = neg(matmul(gb, turned(conj_of(d.y()))));
        d.give(0, upper ? triu(ga, int64_t(unit)) : tril(ga, -int64_t(unit)));
      },
};

void check_matrices(const Tensor& t, const char* name) {
  if (t.dim() < 2) fail("linalg.solve_triangular: The input tensor ", name, " must have at least 2 dimensions.");
  if (!is_floating(t.dtype()) && !is_complex(t.dtype()))
    fail("linalg.solve_triangular: Expected a floating point or complex tensor as input. Got ", name_of(t.dtype()));
  if (is_half(t.dtype())) fail("linalg.solve_triangular: Low precision dtypes not supported. Got ", name_of(t.dtype()));
}

WEFT_OP{
  .signature =
      "linalg_solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
  .doc = R"(The X of A X = B (X A = B with left=False) for a triangular A, whose other half is not read.

>>> A = weft.tensor([[2.0, 0.0], [1.0, 1.0]])
>>> weft.linalg.solve_triangular(A, weft.tensor([[2.0], [3.0]]), upper=False)
tensor([[1.],
        [2.]]))",
  .traits = kNoMethod,
  .compose =
      [](Call& c) {
        Tensor a = c.tensor(0), b = c.tensor(1);
        const bool left = c.flag(3);
        check_matrices(a, "A"), check_matrices(b, "B");
        if (a.size(-1) != a.size(-2))
          fail("linalg.solve_triangular: A must be batches of square matrices, but they are ", a.size(-2), " by ",
               a.size(-1), " matrices");
        if (a.dtype() != b.dtype())
          fail("linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type ",
               name_of(a.dtype()), " and B of type ", name_of(b.dtype()), " instead");
        if (b.size(left ? -2 : -1) != a.size(-1))
          fail("linalg.solve_triangular: Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B",
               " (", a.size(-2), "x", a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
        if (!(batch_of(a) == batch_of(b))) {
          Dims batch = broadcast(batch_of(a), batch_of(b), "linalg.solve_triangular");
          a = expand(a, with_batch(batch, a)), b = expand(b, with_batch(batch, b));
        }
        if (left) return c.give(0, solve(a, b, c.flag(2), c.flag(4)));
        c.give(0, contiguous(turned(solve(turned(a), turned(b), !c.flag(2), c.flag(4)))));
      },
};

}  // namespace
}  // namespace weft
