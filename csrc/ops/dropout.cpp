// Dropout in one pass: elements are drawn, scaled and written together. weft.nn.functional names it.
#include "ops/random_torch.h"
#include "ops/recording.h"
#include "ops/reduced.h"

namespace weft {
namespace {

const OpRef again{"dropout_again"};

void check(Call& c, int p) {
  if (!is_floating(c.tensor(0).dtype())) refuse_type(c.tensor(0).dtype(), c.name());
  if (!(c.real(p) >= 0 && c.real(p) <= 1)) fail(c.name(), " expects p to be in [0, 1], but got p=", c.real(p));
}

// Zero where so few are kept that the kernel, which draws 32 bits, keeps none.
double scale_of(double p) { return 1 - p >= 0x1p-32 ? 1 / (1 - p) : 0; }

// Dense, with its dimensions in the order of t's where that is dense too.
Tensor meta_like(DType type, const Tensor& t) {
  bool reordered = !t.contiguous() && is_dense(t.sizes(), t.strides());
  return reordered ? meta_strided(type, t.sizes(), t.strides()) : meta(type, t.sizes());
}
bool lie_alike(const Tensor& a, const Tensor& b) {
  return (a.contiguous() && b.contiguous()) || (a.strides() == b.strides() && is_dense(a.sizes(), a.strides()));
}

// Calls f(memory of y): its own, or a scratch of its elements in order that is stored at the end.
template <class F>
void write_in_order(const Tensor& y, const F& f) {
  if (y.contiguous()) return f(y.data());
  Scratch memory(y.numel() * item_size(y.dtype()));
  f(memory.as<char>());
  store_elements(y, memory.as<char>());
}

WEFT_OP{
  .signature = "dropout(Tensor input, float p) -> (Tensor result, Tensor kept)",
  .doc =
      "Each element zero with probability p, and else divided by 1 - p; and which those are, for the derivative: empty "
      "where there will be none.",
  .traits = kHidden | kInplace | kOverwrites,
  .infer =
      [](Call& c) {
        check(c, 1);
        const Tensor& x = c.tensor(0);
        bool recorded = t_modes.derivative || (t_modes.grad && wants_grad(*x.get()));
        bool dense = is_dense(x.sizes(), x.strides());
        c.give(0, dense ? meta_like(x.dtype(), x)
                        : meta_strided(x.dtype(), x.sizes(), strides_like(x.sizes(), x.strides())));
        c.give(1, recorded ? meta_like(DType::Bool, x) : meta(DType::Bool, Dims{0}));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0], &kept = c.out[1];
        int64_t n = x.numel();
        if (n == 0) return;
        double p = c.real(1);
        Generator& generator = default_generator();
        uint8_t* marks = kept.numel() ? kept.data<uint8_t>() : nullptr;
        auto draw = [&](const char* from, char* to) {
          if (generator.stream() == Generator::Stream::Torch) {
            Tensor drawn = marks ? kept : empty(Dims{n}, DType::Bool);
            if (torch_stream::bernoulli(generator, drawn, 1 - p))
              return random_kernels().drop_again(x.dtype(), from, drawn.data<uint8_t>(), to, n, scale_of(p));
          }
          auto [seed, counter] = generator.take(n);
          random_kernels().drop(x.dtype(), from, to, marks, n, 1 - p, scale_of(p), seed, counter);
        };
        if (lie_alike(x, y)) return draw(x.data(), y.data());
        LaidOut from(x, x.dtype());
        write_in_order(y, [&](char* to) { draw(from.data(), to); });
      },
  .keeps = keep::y1,
  .back = [](Grad& d) { d.give(0, again(d.g(), d.y(1), d.arg(1))); },
};

WEFT_OP{
  .signature = "dropout_again(Tensor input, Tensor kept, float p) -> Tensor",
  .doc = "Elements divided by 1 - p where they are kept, and zero elsewhere: the derivative of dropout, and its own.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        check(c, 2);
        const Tensor &x = c.tensor(0), &kept = c.tensor(1);
        if (kept.dtype() != DType::Bool || !(kept.sizes() == x.sizes()))
          fail(c.name(), ": expected which of ", x.sizes(), " are kept, got ", name_of(kept.dtype()), kept.sizes());
        c.give(0, meta_like(x.dtype(), kept));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &kept = c.tensor(1), &y = c.out[0];
        double scale = scale_of(c.real(2));
        if (lie_alike(x, kept) && lie_alike(x, y))
          return random_kernels().drop_again(x.dtype(), x.data(), kept.data<uint8_t>(), y.data(), x.numel(), scale);
        LaidOut from(x, x.dtype()), marks(kept, DType::Bool);
        write_in_order(y, [&](char* to) {
          random_kernels().drop_again(x.dtype(), from.data(), reinterpret_cast<const uint8_t*>(marks.data()), to,
                                      x.numel(), scale);
        });
      },
  .keeps = keep::x1,
  .back = [](Grad& d) { d.give(0, again(d.g(), d.x(1), d.arg(2))); },
};

}  // namespace
}  // namespace weft
