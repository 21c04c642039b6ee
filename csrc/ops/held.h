// The memory of a call's tensors, held in place while a kernel runs without the interpreter's lock.
#pragma once

#include <list>
#include <vector>

#include "core/fork.h"
#include "ops/op.h"
#include "ops/order.h"

namespace weft {

constexpr int64_t kLongMatrix = 4096;  // elements, from which LAPACK runs without the lock

// While one is alive, other threads neither move nor free the elements: those who want to (Storage::resize, move_to,
// put_in_order) wait. Made and destroyed with the lock held. Elements lie as tensors say, or stay as they lie.
class Held {
 public:
  explicit Held(Call& c) {
    put_in_order(c);
    each_input(c, [&](int, TensorImpl* t) {
      if (t) hold(t->storage);
    });
    for (int i = 0; i < c.out_count; ++i)
      if (c.out[i]) hold(c.out[i]->storage);
  }

 private:
  static void put_in_order(Call& c) {
    bool any = false, whole = true;  // parts of an image that lies channels last cannot be taken as they lie
    each_input(c, [&](int, TensorImpl* t) {
      if (!t || !t->storage->last.channels) return;
      any = true;
      whole = whole && lies_last(Tensor(t));
    });
    if (!any || (whole && c.op.form.any_order && c.op.form.any_order(c))) return;
    each_input(c, [&](int, TensorImpl* t) {
      if (t && t->storage->last.channels) t->storage->put_in_order();
    });
  }
  void hold(const Ref<Storage>& storage) {
    held_.push_back(storage);
    claims_.emplace_back(storage->readers);
  }

  std::vector<Ref<Storage>> held_;
  std::list<Claim> claims_;
};

}  // namespace weft
