// Steps of optimisers as weft/optim calls them: straight to the ops of csrc/ops/update.cpp.
#include "bind/observer.h"
#include "ops/events.h"

namespace weft {
namespace {

const OpRef sgd_step{"sgd_step_"}, adam_step{"adam_step_"};

TensorList tensors_of(nb::list l) {
  TensorList out;
  out.reserve(l.size());
  for (nb::handle o : l) out.push_back(to_tensor(o, "a tensor of the step"));
  return out;
}

// Whether every list holds a contiguous float or double tensor for each parameter, of its size and type, and none is
// read-only.
bool plain(const TensorList& params, std::initializer_list<const TensorList*> others) {
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    if ((p.dtype() != DType::Float && p.dtype() != DType::Double) || !p->contiguous || !p->storage->writable ||
        p.sparse())
      return false;
    for (auto* list : others) {
      if (list->empty()) continue;
      const Tensor& t = list->at(i);
      if (t.dtype() != p.dtype() || !t->contiguous || t.sparse() || !t->storage->writable || !(t.sizes() == p.sizes()))
        return false;
    }
  }
  return true;
}

template <class... A>
bool run(const OpRef& op, A&&... args) {
  Call c(op.op());
  (c.push(Value(std::forward<A>(args))), ...);
  if (is_recording())
    record_call(c, [&] { c.op.form.run(c); });
  else
    c.op.form.run(c);
  if (t_recorder) t_recorder->record(c);
  return true;
}

bool sgd(nb::list params, nb::list grads, nb::list buffers, double lr, double weight_decay, double momentum,
         double dampening, bool nesterov, bool maximize, bool first) {
  auto p = tensors_of(params), g = tensors_of(grads), b = tensors_of(buffers);
  if (g.size() != p.size() || (!b.empty() && b.size() != p.size()) || !plain(p, {&g, &b})) return false;
  return run(sgd_step, std::move(p), std::move(g), std::move(b), lr, weight_decay, momentum, dampening, nesterov,
             maximize, first);
}

bool adam(nb::list params, nb::list grads, nb::list means, nb::list squares, nb::list tops, nb::list steps, double lr,
          double beta1, double beta2, double eps, double weight_decay, bool decoupled, bool maximize) {
  auto p = tensors_of(params), g = tensors_of(grads), m = tensors_of(means), v = tensors_of(squares),
       top = tensors_of(tops), t = tensors_of(steps);
  for (auto* list : {&g, &m, &v, &t})
    if (list->size() != p.size()) return false;
  if ((!top.empty() && top.size() != p.size()) || !plain(p, {&g, &m, &v, &top})) return false;
  for (const Tensor& step : t)
    if (step.numel() != 1 || step.sparse() || !step->storage->writable ||
        (step.dtype() != DType::Float && step.dtype() != DType::Double))
      return false;
  return run(adam_step, std::move(p), std::move(g), std::move(m), std::move(v), std::move(top), std::move(t), lr, beta1,
             beta2, eps, weight_decay, decoupled, maximize);
}

}  // namespace

// Each returns false, having done nothing, where its tensors are not plain: then the ops of the twin in weft/optim run.
void bind_update(nb::module_& m) {
  define_observed(m, "_sgd", sgd);
  define_observed(m, "_adam", adam);
}

}  // namespace weft
