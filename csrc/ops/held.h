// The memory of a call's tensors, held in place while a kernel runs without the interpreter's lock.
#pragma once

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
  explicit Held(Call& c) : held_(storages_of(c)), claim_(readers_of(held_)) {}

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
  static std::vector<Ref<Storage>> storages_of(Call& c) {
    put_in_order(c);
    std::vector<Ref<Storage>> all;
    auto add = [&](int, TensorImpl* t) {
      if (t) all.push_back(t->storage);
    };
    all.reserve(size_t(each_input(c, [](int, TensorImpl*) {}) + c.out_count));
    each_input(c, add);
    for (int i = 0; i < c.out_count; ++i) add(i, c.out[i].get());
    return all;
  }
  static std::vector<int32_t*> readers_of(const std::vector<Ref<Storage>>& storages) {
    std::vector<int32_t*> all(storages.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = &storages[i]->readers;
    return all;
  }

  std::vector<Ref<Storage>> held_;
  Claim claim_;
};

}  // namespace weft
