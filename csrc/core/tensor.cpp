#include "core/tensor.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/interpreter.h"

namespace weft {

namespace {
int64_t g_tensors = 0, g_nodes = 0;
uint64_t g_sequence = 0;
}  // namespace

int64_t live_tensors() { return g_tensors; }
int64_t live_nodes() { return g_nodes; }

// ---- storage

Ref<Storage> Storage::make(int64_t bytes) {
  auto* s = new (pool_allocate(sizeof(Storage))) Storage;
  Ref<Storage> owned(s);
  int64_t block = bytes;
  s->data = static_cast<char*>(allocate_block(&block));
  s->bytes = bytes;
  s->block = block;
  return owned;
}

Ref<Storage> Storage::foreign(void* data, int64_t bytes, void* owner, void (*let_go)(void*), bool writable) {
  auto* s = new (pool_allocate(sizeof(Storage))) Storage;
  s->data = static_cast<char*>(data);
  s->bytes = bytes;
  s->owner = owner;
  s->let_go = let_go;
  s->writable = writable;
  return Ref<Storage>(s);
}

void Storage::resize(int64_t wanted) {
  if (wanted <= bytes) return;
  wait_for_readers();
  if (last.channels) put_in_order();
  if (shown)
    fail("resize: the storage is not resizable: ", shown,
         " NumPy array, memoryview or DLPack capsule looks at its memory");
  if (!block && data)
    fail("resize: this tensor's memory belongs to someone else and cannot grow to ", wanted, " bytes");
  if (wanted > block) {
    int64_t new_block = wanted;
    char* p = static_cast<char*>(allocate_block(&new_block));
    if (bytes) std::memcpy(p, data, size_t(bytes));
    if (block) free_block(data, block);
    data = p;
    block = new_block;
  }
  bytes = std::max(bytes, wanted);  // another thread may have been here meanwhile
}

void Storage::move_to(void* memory, int64_t size, void* new_owner, void (*new_let_go)(void*)) {
  wait_for_readers();
  if (last.channels) put_in_order();
  if (size < bytes) fail("_move_memory: a buffer of ", size, " bytes is too small for ", bytes);
  if (planned) fail("this memory is part of a compiled program and cannot move");
  if (shown) fail("this memory cannot move: ", shown, " NumPy array, memoryview or DLPack capsule looks at it");
  if (bytes) std::memmove(memory, data, size_t(bytes));
  char* before = std::exchange(data, static_cast<char*>(memory));
  if (block) free_block(before, std::exchange(block, 0));
  new_owner = std::exchange(owner, new_owner);
  new_let_go = std::exchange(let_go, new_let_go);
  writable = true;
  attached.reset();
  if (new_let_go) new_let_go(new_owner);  // the one before; it may run Python code, which sees the new memory
}

void Storage::wait_for_readers() {
  while (readers) interpreter::let_others_run();
}

void Storage::forget() {
  if (block) free_block(data, block);
  data = nullptr;
  block = bytes = 0;
  last = {};
  attached.reset();
}

void Storage::put_in_order() {
  if (last.channels < 0)
    fail_missing(
        "this needs elements in memory, which a tensor of a sparse layout does not have: use to_dense() first");
  wait_for_readers();
  if (!last.channels) return;
  if (planned) {
    Scratch copy(bytes);
    std::memcpy(copy.as<char>(), data, size_t(bytes));
    copy_channels_first(data, copy.as<char>(), bytes, last);
    last = {};
    return;
  }
  int64_t new_block = bytes;
  auto* ordered = static_cast<char*>(allocate_block(&new_block));
  copy_channels_first(ordered, data, bytes, last);
  free_block(std::exchange(data, ordered), std::exchange(block, new_block));
  last = {};
}

void Storage::destroy() {
  if (block) free_block(data, block);
  if (let_go) let_go(owner);
  this->~Storage();
  pool_free(this, sizeof(Storage));
}

// ---- tensors

namespace {
// The gradient of a tensor may have a gradient, and so on: they queue up instead of nesting. (The other things that a
// tensor owns end the chain: a base has no base, and nodes queue up by themselves.)
void let_go(Ref<TensorImpl> grad) {
  static std::vector<Ref<TensorImpl>> waiting;
  static bool draining = false;
  waiting.push_back(std::move(grad));
  if (draining) return;
  draining = true;
  while (!waiting.empty()) {
    Ref<TensorImpl> next = std::move(waiting.back());
    waiting.pop_back();
  }
  draining = false;
}
}  // namespace

TensorImpl* TensorImpl::make() {
  ++g_tensors;
  return new (pool_allocate(sizeof(TensorImpl))) TensorImpl;
}

void TensorImpl::destroy() {
  if (pinned_pyobj) {  // letting go of the object ends in letting go of us
    pinned_pyobj = false;
    refs = 1;
    interpreter::release(pyobj);
    return;
  }
  --g_tensors;
  if (extra) {
    retain_grad(false);
    delete extra;
  }
  if (grad) [[unlikely]]
    let_go(std::move(grad));
  this->~TensorImpl();
  pool_free(this, sizeof(TensorImpl));
}

void TensorImpl::visit_owned(OwnedVisitor& v) {
  v.node(grad_fn.get());
  v.tensor(grad.get());
  v.tensor(base.get());
  if (pinned_pyobj) v.object(pyobj);
  if (!extra) return;
  for (auto& h : extra->hooks) v.hook(h.get());
  for (auto& h : extra->after_accumulate) v.hook(h.get());
}

void TensorImpl::retain_grad(bool on) {
  if (on == (extra && extra->retain_grad) || !grad_fn) return;
  more().retain_grad = on;
  auto& list = grad_fn->more_hooks().retaining;
  if (on)
    list.push_back(this);
  else
    std::erase(list, this);
}

void TensorImpl::set_geometry(const Dims& new_sizes, const Dims& new_strides, int64_t new_offset) {
  // One pass for what extent_of, check_steps and is_contiguous look at: every view comes here.
  int n = new_sizes.size();
  if (n > kMaxRank) [[unlikely]]
    refuse_rank(n);
  const int64_t *size = new_sizes.data(), *stride = new_strides.data();
  int64_t extent = 1;
  uint64_t steps = uint64_t(new_offset);  // has a high bit where one of them has
  bool fits = true, zero = false, in_order = true;
  for (int i = n - 1; i >= 0; --i) {
    steps |= uint64_t(stride[i]);
    if (size[i] == 1) continue;
    in_order &= stride[i] == extent;
    zero |= size[i] == 0;
    if (size[i] != 0) fits &= size[i] > 0 && !__builtin_mul_overflow(extent, size[i], &extent) && extent <= kMaxExtent;
  }
  if (!fits) [[unlikely]]
    refuse_sizes(new_sizes);
  if (steps >= uint64_t(kMaxExtent)) [[unlikely]]
    check_steps(new_strides, new_offset);
  sizes = new_sizes;
  strides = new_strides;
  offset = new_offset;
  numel = zero ? 0 : extent;
  contiguous = in_order || zero;
}

Tensor meta(DType dtype, const Dims& sizes) {
  int n = sizes.size();
  if (n > kMaxRank) [[unlikely]]
    refuse_rank(n);
  Tensor t(TensorImpl::make());
  t->dtype = dtype;
  t->sizes = sizes;
  t->strides.resize(n);
  int64_t step = 1;
  bool zero = false, fits = true;
  for (int i = n - 1; i >= 0; --i) {
    t->strides[i] = step;
    int64_t s = sizes[i];
    if (s > 1)
      fits &= !__builtin_mul_overflow(step, s, &step) && step <= kMaxExtent;
    else if (s <= 0)
      zero = true, fits &= s == 0;
  }
  if (!fits) [[unlikely]]
    refuse_sizes(sizes);
  t->numel = zero ? 0 : step;
  return t;
}

Tensor meta_strided(DType dtype, const Dims& sizes, const Dims& strides) {
  if (strides.size() != sizes.size())
    fail("a tensor has one stride for each size, got strides ", strides, " for sizes ", sizes);
  Tensor t(TensorImpl::make());
  t->dtype = dtype;
  t->set_geometry(sizes, strides, 0);
  return t;
}

int64_t bytes_of(const TensorImpl& t) {
  return Size(t.contiguous ? t.numel : span_of(t.sizes, t.strides)) * item_size(t.dtype);
}

void give_memory(TensorImpl& t) { t.storage = Storage::make(bytes_of(t)); }

Tensor empty(const Dims& sizes, DType dtype) {
  Tensor t = meta(dtype, sizes);
  give_memory(*t.get());
  return t;
}

Tensor empty_strided(const Dims& sizes, const Dims& strides, DType dtype) {
  Tensor t = meta_strided(dtype, sizes, strides);
  give_memory(*t.get());
  return t;
}

Tensor alias(const Tensor& t) {
  Tensor out(TensorImpl::make());
  out->dtype = t->dtype;
  out->contiguous = t->contiguous;
  out->layout = t->layout;
  out->untracked = t->untracked;
  out->numel = t->numel;
  out->offset = t->offset;
  out->storage = t->storage;
  out->sizes = t->sizes;
  out->strides = t->strides;
  return out;
}

const char* name_of(Layout layout) {
  static const char* const names[] = {"torch.strided", "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc"};
  return names[int(layout)];
}

Tensor sparse_of(const Dims& sizes, const Tensor& indices, const Tensor& values, bool coalesced) {
  // Its sizes stand for no memory: only their product has to fit.
  if (sizes.size() > kMaxRank) refuse_rank(sizes.size());
  for (int64_t s : sizes)
    if (s < 0) refuse_sizes(sizes);
  Tensor t(TensorImpl::make());
  t->dtype = values.dtype();
  t->numel = numel_of(sizes);
  t->sizes = sizes;
  t->strides.resize(sizes.size());
  auto entries = std::make_unique<Entries>();
  entries->indices = alias(indices);
  entries->values = alias(values);
  entries->coalesced = coalesced;
  t->layout = Layout::SparseCoo;
  t->contiguous = false;
  t->storage = Storage::make(0);
  t->storage->last.channels = -1;  // who asks for the data is refused: see put_in_order()
  t->storage->attached = std::move(entries);
  return t;
}

Entries& entries_of(const Tensor& t) {
  if (!t.sparse()) fail("expected a tensor of a sparse layout, got torch.strided of shape ", t.sizes());
  return static_cast<Entries&>(*t->storage->attached);
}

Tensor view_of(const Tensor& t, const Dims& sizes, const Dims& strides, int64_t offset) {
  Tensor out(TensorImpl::make());
  out->dtype = t->dtype;
  out->untracked = t->untracked;
  out->storage = t->storage;
  out->set_geometry(sizes, strides, offset);
  return out;
}

void check_bounds(const Storage& s, DType dtype, const Dims& sizes, const Dims& strides, int64_t offset,
                  const char* op) {
  if (offset < 0) fail(op, ": the storage offset must not be negative, got ", offset);
  if (numel_of(sizes) == 0) return;
  __int128 last = offset;
  for (int i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 0) fail(op, ": negative strides are not supported, got strides ", strides);
    last += __int128(strides[i]) * (sizes[i] - 1);
  }
  if (last >= s.bytes / item_size(dtype)) {
    double needed = double(last + 1) * double(item_size(dtype));
    fail(op, ": size ", sizes, ", strides ", strides, " and offset ", offset, " need ", needed,
         " bytes, out of bounds for storage of size ", s.bytes);
  }
}

// ---- nodes

Node::Node() : sequence(++g_sequence) { ++g_nodes; }
void Node::renumber() { sequence = ++g_sequence; }
uint64_t Node::reserve(uint64_t count) { return std::exchange(g_sequence, g_sequence + count); }
Node::~Node() {
  --g_nodes;
  delete hooks;
}

void Node::visit_owned(OwnedVisitor& v) {
  for (uint32_t i = 0; i < edge_count; ++i) v.node(edges[i].node.get());
  if (!hooks) return;
  for (auto& h : hooks->before) v.hook(h.get());
  for (auto& h : hooks->after) v.hook(h.get());
}

// Freeing a node frees its edges and saved tensors, which may free further nodes: they queue up instead of nesting.
void Node::destroy() {
  static std::vector<Node*> waiting;
  static bool draining = false;
  waiting.push_back(this);
  if (draining) return;
  draining = true;
  while (!waiting.empty()) {
    Node* n = waiting.back();
    waiting.pop_back();
    for (uint32_t i = 0; i < n->edge_count; ++i) n->edges[i].~Edge();
    size_t bytes = n->bytes();
    n->~Node();
    pool_free(n, bytes);
  }
  draining = false;
}

}  // namespace weft
