// Steps of optimisers over all their parameters: one op each, so that a captured training step holds them too.
#include <cmath>

#include "core/interpreter.h"
#include "loops/parallel.h"
#include "loops/update.h"
#include "ops/api.h"
#include "ops/held.h"
#include "ops/rules.h"

namespace weft {
namespace {

constexpr int64_t kChunk = 16384;

// The interpreter's lock, given away for a while.
class Unlocked {
 public:
  Unlocked() : state_(interpreter::release_lock()) {}
  ~Unlocked() { interpreter::take_lock(state_); }
  Unlocked(const Unlocked&) = delete;

 private:
  void* state_;
};

// Calls f(which, begin, length) for pieces of all parameters, the first argument, on several threads where there is
// enough to do.
template <class F>
void each_piece(Call& c, const F& f) {
  const TensorList& params = c.tensors(0);
  int64_t total = 0;
  for (const Tensor& p : params) total += p.numel();
  if (total < 2 * kChunk) {
    for (size_t i = 0; i < params.size(); ++i)
      for (int64_t at = 0; at < params[i].numel(); at += kChunk) f(i, at, std::min(kChunk, params[i].numel() - at));
    return;
  }
  std::vector<std::pair<int, int64_t>> pieces;
  for (size_t i = 0; i < params.size(); ++i)
    for (int64_t at = 0; at < params[i].numel(); at += kChunk) pieces.push_back({int(i), at});
  WithExec own(fixed_exec());
  Uninterrupted whole_step;
  Held held(c);
  Unlocked others_may_run;
  parallel_chunks(int64_t(pieces.size()), 1 + int64_t(pieces.size()) / 64, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      auto [i, at] = pieces[size_t(k)];
      f(size_t(i), at, std::min(kChunk, params[size_t(i)].numel() - at));
    }
  });
}

char* at(const TensorList& list, size_t i, int64_t element) {
  return list.empty() ? nullptr : list[i].data() + element * item_size(list[i].dtype());
}

// Puts elements in order while the lock is held: the step runs without it.
void settle(const TensorList& list) {
  for (const Tensor& t : list) t.data();
}
void touch(const TensorList& list) {
  for (const Tensor& t : list) t->storage->touch();
}

// Counts a step up; the number it has then.
double count(const Tensor& step) {
  step->storage->touch();
  if (step.dtype() == DType::Float) return double(*step.data<float>() += 1);
  return *step.data<double>() += 1;
}

// Argument i has a tensor for each parameter; `optional`: or none at all.
bool expect_each(Call& c, int i, bool optional) {
  const TensorList &params = c.tensors(0), &list = c.tensors(i);
  if (optional && list.empty()) return false;
  if (list.size() != params.size())
    fail(c.name(), ": ", params.size(), " parameters, but ", list.size(), " ", c.op.params[size_t(i)].name);
  return true;
}

// Argument i has, for each parameter, a tensor that lies like it. What is written may not be read-only.
void expect_alike(Call& c, int i, bool optional, bool written) {
  if (!expect_each(c, i, optional)) return;
  const TensorList &params = c.tensors(0), &list = c.tensors(i);
  for (size_t k = 0; k < list.size(); ++k) {
    const Tensor &p = params[k], &t = list[k];
    bool real = t.dtype() == DType::Float || t.dtype() == DType::Double;
    if (!real || t.sparse() || !t.contiguous() || !(t.sizes() == p.sizes()) || t.dtype() != p.dtype())
      fail(c.name(), ": a parameter is ", name_of(p.dtype()), p.sizes(), ", but its place in ",
           c.op.params[size_t(i)].name, " is ", name_of(t.dtype()), t.sizes(),
           t.contiguous() ? "" : ", not contiguous");
    if (written && !t->storage->writable) fail(c.name(), ": ", c.op.params[size_t(i)].name, " are read-only");
  }
}

void expect_counters(Call& c, int i) {
  expect_each(c, i, false);
  for (const Tensor& t : c.tensors(i))
    if (t.numel() != 1 || t.sparse() || (t.dtype() != DType::Float && t.dtype() != DType::Double) ||
        !t->storage->writable)
      fail(c.name(), ": a counter must be one number of float32 or float64, got ", name_of(t.dtype()), t.sizes());
}

WEFT_OP{
  .signature =
      "sgd_step_(Tensor[] params, Tensor[] grads, Tensor[] buffers, float lr, float weight_decay, float momentum, "
      "float "
      "dampening, bool nesterov, bool maximize, bool first) -> ()",
  .doc = "One step of stochastic gradient descent for all parameters; first: their momentum begins with the gradient.",
  .traits = kHidden | kNoOut | kKeepsLock,
  .infer =
      [](Call& c) {
        expect_alike(c, 0, false, true);
        expect_alike(c, 1, false, false);
        expect_alike(c, 2, c.real(5) == 0, true);
      },
  .run =
      [](Call& c) {
        const TensorList &p = c.tensors(0), &g = c.tensors(1), &b = c.tensors(2);
        for (auto* list : {&p, &g, &b}) settle(*list);
        SgdStep s{c.real(3), c.real(4), c.real(5), c.real(6), c.flag(7), c.flag(8), c.flag(9)};
        each_piece(c, [&](size_t i, int64_t from, int64_t n) {
          update_kernels().sgd(p[i].dtype(), s, n, at(p, i, from), at(g, i, from), at(b, i, from));
        });
        touch(p), touch(b);
      },
  .no_derivative = "it changes parameters",
};

WEFT_OP{
  .signature =
      "adam_step_(Tensor[] params, Tensor[] grads, Tensor[] means, Tensor[] squares, Tensor[] tops, Tensor[] steps, "
      "float lr, float beta1, float beta2, float eps, float weight_decay, bool decoupled, bool maximize) -> ()",
  .doc = "One step of Adam for all parameters, counted in steps; tops: the largest squares so far, or none.",
  .traits = kHidden | kNoOut | kKeepsLock,
  .infer =
      [](Call& c) {
        expect_alike(c, 0, false, true);
        expect_alike(c, 1, false, false);
        for (int i : {2, 3, 4}) expect_alike(c, i, i == 4, true);
        expect_counters(c, 5);
      },
  .run =
      [](Call& c) {
        const TensorList &p = c.tensors(0), &g = c.tensors(1), &m = c.tensors(2), &v = c.tensors(3),
                         &top = c.tensors(4);
        for (auto* list : {&p, &g, &m, &v, &top}) settle(*list);
        double lr = c.real(6), beta1 = c.real(7), beta2 = c.real(8), last = -1;
        AdamStep step{lr, beta1, beta2, c.real(9), c.real(10), 0, 0, c.flag(11), c.flag(12)};
        std::vector<AdamStep> steps;
        for (const Tensor& counter : c.tensors(5)) {
          double n = count(counter);
          if (n != last) {
            step.size = lr / (1 - std::pow(beta1, n));
            step.root = std::sqrt(1 - std::pow(beta2, n));
            last = n;
          }
          steps.push_back(step);
        }
        each_piece(c, [&](size_t i, int64_t from, int64_t n) {
          update_kernels().adam(p[i].dtype(), steps[i], n, at(p, i, from), at(g, i, from), at(m, i, from),
                                at(v, i, from), at(top, i, from));
        });
        touch(p), touch(m), touch(v), touch(top);
      },
  .no_derivative = "it changes parameters",
};

}  // namespace
}  // namespace weft
