// Steps of optimisers over all their parameters: one op each, so that a captured training step holds them too.
#include <cmath>

#include "loops/parallel.h"
#include "loops/update.h"
#include "ops/record.h"

namespace weft {
namespace {

constexpr int64_t kChunk = 16384;

// The interpreter's lock, given away for a while.
class Unlocked {
 public:
  Unlocked() : state_(g_interpreter.release_lock ? g_interpreter.release_lock() : nullptr) {}
  ~Unlocked() {
    if (state_) g_interpreter.take_lock(state_);
  }
  Unlocked(const Unlocked&) = delete;

 private:
  void* state_;
};

// Calls f(which, begin, length) for pieces of all parameters, on several threads where there is enough to do.
template <class F>
void each_piece(const TensorList& params, const F& f) {
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

// Each list has a tensor of its own size for each parameter, or none at all.
void check_sizes(Call& c, std::initializer_list<int> lists) {
  const TensorList& params = c.tensors(0);
  for (int i : lists) {
    const TensorList& list = c.tensors(i);
    if (list.empty()) continue;
    if (list.size() != params.size())
      fail(c.name(), ": ", params.size(), " parameters, but ", list.size(), " ", c.op.params[size_t(i)].name);
    for (size_t k = 0; k < list.size(); ++k)
      if (!(list[k].sizes() == params[k].sizes()) || list[k].dtype() != params[k].dtype())
        fail(c.name(), ": a parameter is ", name_of(params[k].dtype()), params[k].sizes(), ", but its place in ",
             c.op.params[size_t(i)].name, " is ", name_of(list[k].dtype()), list[k].sizes());
  }
}

WEFT_OP{
  .signature =
      "sgd_step_(Tensor[] params, Tensor[] grads, Tensor[] buffers, float lr, float weight_decay, float momentum, "
      "float "
      "dampening, bool nesterov, bool maximize, bool first) -> ()",
  .doc = "One step of stochastic gradient descent for all parameters; first: their momentum begins with the gradient.",
  .traits = kHidden | kNoOut | kKeepsLock,
  .infer = [](Call& c) { check_sizes(c, {1, 2}); },
  .run =
      [](Call& c) {
        const TensorList &p = c.tensors(0), &g = c.tensors(1), &b = c.tensors(2);
        for (auto* list : {&p, &g, &b}) settle(*list);
        SgdStep s{c.real(3), c.real(4), c.real(5), c.real(6), c.flag(7), c.flag(8), c.flag(9)};
        each_piece(p, [&](size_t i, int64_t from, int64_t n) {
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
  .infer = [](Call& c) { check_sizes(c, {1, 2, 3, 4}); },
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
        each_piece(p, [&](size_t i, int64_t from, int64_t n) {
          update_kernels().adam(p[i].dtype(), steps[i], n, at(p, i, from), at(g, i, from), at(m, i, from),
                                at(v, i, from), at(top, i, from));
        });
        touch(p), touch(m), touch(v), touch(top);
      },
  .no_derivative = "it changes parameters",
};

}  // namespace
}  // namespace weft
