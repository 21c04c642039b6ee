// Steps of optimisers over all their parameters in one call.
#include "loops/update.h"

#include <cmath>

#include "bind/python.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kChunk = 16384;

std::vector<Tensor> tensors_of(nb::list l) {
  std::vector<Tensor> out;
  out.reserve(l.size());
  for (nb::handle o : l) {
    out.push_back(to_tensor(o, "a tensor of the step"));
    if (!out.back().sparse()) out.back().data();  // in order now: the step runs without the interpreter's lock
  }
  return out;
}

// Whether every list holds a contiguous float or double tensor for each parameter, of its size and type.
bool plain(const std::vector<Tensor>& params, std::initializer_list<const std::vector<Tensor>*> others) {
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    if ((p.dtype() != DType::Float && p.dtype() != DType::Double) || !p->contiguous || !p->storage->writable ||
        p.sparse())
      return false;
    for (auto* list : others) {
      if (list->empty()) continue;
      const Tensor& t = list->at(i);
      if (t.dtype() != p.dtype() || !t->contiguous || t.sparse() || !(t.sizes() == p.sizes())) return false;
    }
  }
  return true;
}

// Calls f(which, begin, length) for pieces of all parameters, on several threads where there is enough to do.
template <class F>
void each_piece(const std::vector<Tensor>& params, const F& f) {
  std::vector<std::pair<int, int64_t>> pieces;
  int64_t total = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    total += params[i].numel();
    for (int64_t at = 0; at < params[i].numel(); at += kChunk) pieces.push_back({int(i), at});
  }
  auto run = [&](int64_t k) {
    auto [i, at] = pieces[size_t(k)];
    f(size_t(i), at, std::min(kChunk, params[size_t(i)].numel() - at));
  };
  if (total < 2 * kChunk) {
    for (size_t k = 0; k < pieces.size(); ++k) run(int64_t(k));
    return;
  }
  Unlocked free;
  Uninterrupted whole_step;
  parallel_chunks(int64_t(pieces.size()), 1 + int64_t(pieces.size()) / 64, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) run(k);
  });
}

char* at(const std::vector<Tensor>& list, size_t i, int64_t element) {
  return list.empty() ? nullptr : list[i].data() + element * item_size(list[i].dtype());
}

void touch(const std::vector<Tensor>& list) {
  for (const Tensor& t : list) t->storage->touch();
}

// Counts a step up; the number it has then.
double count(const Tensor& step) {
  step->storage->touch();
  if (step.dtype() == DType::Float) return double(*step.data<float>() += 1);
  return *step.data<double>() += 1;
}

bool sgd(nb::list params, nb::list grads, nb::list buffers, double lr, double weight_decay, double momentum,
         double dampening, bool nesterov, bool maximize, bool first) {
  auto p = tensors_of(params), g = tensors_of(grads), b = tensors_of(buffers);
  if (g.size() != p.size() || (!b.empty() && b.size() != p.size()) || !plain(p, {&g, &b})) return false;
  SgdStep s{lr, weight_decay, momentum, dampening, nesterov, maximize, first};
  each_piece(p, [&](size_t i, int64_t from, int64_t n) {
    update_kernels().sgd(p[i].dtype(), s, n, at(p, i, from), at(g, i, from), at(b, i, from));
  });
  touch(p), touch(b);
  return true;
}

bool adam(nb::list params, nb::list grads, nb::list means, nb::list squares, nb::list tops, nb::list steps, double lr,
          double beta1, double beta2, double eps, double weight_decay, bool decoupled, bool maximize) {
  auto p = tensors_of(params), g = tensors_of(grads), m = tensors_of(means), v = tensors_of(squares),
       top = tensors_of(tops), t = tensors_of(steps);
  for (auto* list : {&g, &m, &v, &t})
    if (list->size() != p.size()) return false;
  if ((!top.empty() && top.size() != p.size()) || !plain(p, {&g, &m, &v, &top})) return false;
  for (const Tensor& step : t)
    if (step.numel() != 1 || (step.dtype() != DType::Float && step.dtype() != DType::Double)) return false;
  std::vector<AdamStep> s;
  for (const Tensor& step : t) {
    double n = count(step);
    s.push_back({lr, beta1, beta2, eps, weight_decay, lr / (1 - std::pow(beta1, n)), std::sqrt(1 - std::pow(beta2, n)),
                 decoupled, maximize});
  }
  each_piece(p, [&](size_t i, int64_t from, int64_t n) {
    update_kernels().adam(p[i].dtype(), s[i], n, at(p, i, from), at(g, i, from), at(m, i, from), at(v, i, from),
                          at(top, i, from));
  });
  touch(p), touch(m), touch(v), touch(top);
  return true;
}

}  // namespace

// Each returns false, having done nothing, where its tensors are not plain: then the ops of the twin in weft/optim run.
void bind_update(nb::module_& m) {
  m.def("_sgd", sgd);
  m.def("_adam", adam);
}

}  // namespace weft
