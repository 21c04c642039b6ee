// What a tensor is: a view into a storage, and its place in the graph.
#pragma once

#include <memory>
#include <vector>

#include "core/dims.h"
#include "core/dtype.h"
#include "core/node.h"
#include "core/storage.h"

namespace weft {

class Tensor;

// Sparse tensors of all layouts hold the same entries; those of a compressed one are in order, each there once.
enum class Layout : uint8_t { Strided, SparseCoo, SparseCsr, SparseCsc };
const char* name_of(Layout layout);  // "torch.sparse_coo"

// Why a tensor has no history although one of its ancestors had: for the error of backward().
struct Cut : Counted {
  std::string what;  // "detach()", "no_grad", "argmax has no derivative"
  Origin origin;
  void destroy() { delete this; }
};

// What only some tensors have.
struct TensorExtra {
  bool view_fixed = false;  // what a custom Function returned: only its own backward knows how it depends on the base
  bool retain_grad = false;
  bool is_parameter = false;
  Node* accumulate = nullptr;  // the node that adds to grad, while one lives (it owns us)
  Hooks hooks;                 // on the gradient of this tensor
  Hooks after_accumulate;      // on leaves, after grad was added to
  std::string name;
};

struct TensorImpl : Counted {
  DType dtype = DType::Float;
  bool requires_grad = false;   // a leaf that wants a gradient (with grad_fn: always wanted)
  bool wrapped_number = false;  // made from a Python number: weak in type promotion
  bool contiguous = true;
  bool untracked = false;     // `.data`: changes through it are not counted
  bool inference = false;     // made in inference mode: no graph may ever use it
  bool pinned_pyobj = false;  // we own pyobj: it has Python state that must outlive its last Python owner
  Layout layout = Layout::Strided;
  uint32_t slot = 0;  // which output of grad_fn
  int64_t numel = 1;
  int64_t offset = 0;  // in elements
  Ref<Storage> storage;
  Ref<Node> grad_fn;
  Ref<TensorImpl> grad;
  Ref<TensorImpl> base;          // the tensor that this one is a differentiable view of
  uint32_t view_version = 0;     // of the storage, when grad_fn of this view was made
  bool unrecorded_view = false;  // made under no_grad of a base with a gradient: a constant
  Ref<Cut> cut;
  TensorExtra* extra = nullptr;
  void* pyobj = nullptr;  // the Python object of this tensor (borrowed unless pinned)
  Dims sizes, strides;

  static TensorImpl* make();  // from the pool, no counts yet
  void destroy();
  bool wants_grad() const { return requires_grad || grad_fn; }
  TensorExtra& more() {
    if (!extra) extra = new TensorExtra;
    return *extra;
  }
  char* data() const {
    if (storage->last.channels) [[unlikely]]
      storage->put_in_order();
    return storage->data + offset * item_size(dtype);
  }
  void visit_owned(OwnedVisitor& v);
  // Which output of which node it is; a gradient that is retained is from now on that of the new value.
  void set_history(Ref<Node> node, uint32_t output) {
    bool retained = extra && extra->retain_grad;
    if (retained) retain_grad(false);
    grad_fn = std::move(node);
    slot = output;
    if (retained) retain_grad(true);
  }
  void retain_grad(bool on);  // keep the gradient of a tensor that is no leaf
  void set_geometry(const Dims& sizes, const Dims& strides, int64_t offset);
};

int64_t live_tensors();

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* p) : p_(p) {}
  explicit Tensor(Ref<TensorImpl> p) : p_(std::move(p)) {}
  static Tensor adopt(TensorImpl* p) { return Tensor(Ref<TensorImpl>::adopt(p)); }

  TensorImpl* get() const { return p_.get(); }
  TensorImpl* operator->() const { return p_.get(); }
  const Ref<TensorImpl>& ref() const { return p_; }
  TensorImpl* release() { return p_.release(); }
  explicit operator bool() const { return bool(p_); }
  bool is(const Tensor& o) const { return p_ == o.p_; }

  DType dtype() const { return p_->dtype; }
  bool sparse() const { return p_->layout != Layout::Strided; }
  const Dims& sizes() const { return p_->sizes; }
  const Dims& strides() const { return p_->strides; }
  int64_t size(int i) const { return p_->sizes[i < 0 ? i + dim() : i]; }
  int64_t stride(int i) const { return p_->strides[i < 0 ? i + dim() : i]; }
  int dim() const { return p_->sizes.size(); }
  int64_t numel() const { return p_->numel; }
  bool contiguous() const { return p_->contiguous; }
  bool wants_grad() const { return p_->wants_grad(); }
  bool is_leaf() const { return !p_->grad_fn; }
  template <class T = char>
  T* data() const {
    return reinterpret_cast<T*>(p_->data());
  }

 private:
  Ref<TensorImpl> p_;
};

// What a sparse tensor has in the place of memory: entries, zeros elsewhere. They are attached to its storage, which is
// empty and counts the changes of all tensors that share it.
struct Entries final : Attached {
  Tensor indices;          // int64, [sparse dimensions, entries], contiguous
  Tensor values;           // [entries, dense dimensions…]
  bool coalesced = false;  // the indices are in order, each there once
};
Tensor sparse_of(const Dims& sizes, const Tensor& indices, const Tensor& values, bool coalesced);  // no history
Entries& entries_of(const Tensor& t);

// Makers. `meta` has no memory yet: a shape rule makes it, the dispatcher gives it memory.
Tensor meta(DType dtype, const Dims& sizes);
Tensor meta_strided(DType dtype, const Dims& sizes, const Dims& strides);
int64_t bytes_of(const TensorImpl& t);  // from its first element to its last
void give_memory(TensorImpl& t);        // allocates the storage of a meta tensor
Tensor empty(const Dims& sizes, DType dtype);
Tensor empty_strided(const Dims& sizes, const Dims& strides, DType dtype);
Tensor alias(const Tensor& t);  // same storage and geometry, no history
Tensor view_of(const Tensor& t, const Dims& sizes, const Dims& strides, int64_t offset);  // checked bounds
void check_bounds(const Storage& s, DType dtype, const Dims& sizes, const Dims& strides, int64_t offset,
                  const char* op);

}  // namespace weft
