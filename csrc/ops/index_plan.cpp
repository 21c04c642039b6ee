#include "ops/index_plan.h"

#include "loops/copy.h"
#include "ops/api.h"

namespace weft {
namespace {

// The memory of t in another type, with the same strides.
std::unique_ptr<Scratch> converted(const Tensor& t, DType type) {
  int64_t span = span_of(t.sizes(), t.strides());
  auto copy = std::make_unique<Scratch>(span * item_size(type));
  copy_kernels().convert(t.dtype(), type, t.data(), copy->as<char>(), span);
  return copy;
}

// A 0-d tensor is walked as one of a single element.
struct Geometry {
  Dims sizes, strides;
  explicit Geometry(const Tensor& t) : sizes(t.sizes()), strides(t.strides()) {
    if (sizes.empty()) sizes.push(1), strides.push(1);
  }
};

Planner elements(const Dims& dense, const Tensor& table, int dim, const Tensor& index) {
  Geometry t(table), i(index);
  Planner p;
  for (int d = 0; d < i.sizes.size(); ++d) p.dimension(i.sizes[d], dense[d], d == dim ? 0 : t.strides[d]);
  p.input(index, i.strides, table, dim);
  return p;
}

Planner slices(const Dims& dense, const Tensor& table, int dim, const Tensor& index, bool negatives) {
  Geometry t(table), i(index);
  Planner p(negatives);
  Dims strides(t.sizes.size());
  strides[dim] = i.strides[0];
  for (int d = 0; d < t.sizes.size(); ++d)
    p.dimension(d == dim ? index.numel() : t.sizes[d], dense[d], d == dim ? 0 : t.strides[d]);
  p.input(index, strides, table, dim);
  return p;
}

}  // namespace

void Planner::input(const Tensor& index, const Dims& strides, const Tensor& table, int dim) {
  int64_t size = table.dim() ? table.size(dim) : 1, step = table.dim() ? table.stride(dim) : 1;
  for (int64_t stride : strides) strides_.push(stride);
  dims_.push(dim);
  const int64_t* values = nullptr;
  if (index.dtype() == DType::Int64 && !shares_memory(index, table)) {
    values = index.data<int64_t>();
  } else {
    converted_.push_back(converted(index, DType::Int64));
    values = converted_.back()->as<int64_t>();
  }
  inputs_.push_back({values, nullptr, size, step});
}

IndexPlan Planner::plan() {
  for (size_t k = 0; k < inputs_.size(); ++k) inputs_[k].strides = strides_.data() + int(k) * sizes_.size();
  return {sizes_.size(), sizes_.data(), dense_.data(), table_.data(), int(inputs_.size()), inputs_.data(), negatives_};
}

void Planner::fail_range(ErrorKind kind, const char* op) {
  IndexFault fault{0, 0};
  index_kernels().check(plan(), &fault);
  fail(kind, op, ": index ", fault.value, " is out of bounds for dimension ", dims_[fault.input], " with size ",
       inputs_[size_t(fault.input)].size);
}

Planner plan_elements(const Tensor& dense, const Tensor& table, int dim, const Tensor& index) {
  return elements(Geometry(dense).strides, table, dim, index);
}

Planner plan_slices(const Tensor& dense, const Tensor& table, int dim, const Tensor& index, bool negatives) {
  return slices(Geometry(dense).strides, table, dim, index, negatives);
}

Planner plan_elements_of_one(const Tensor& table, int dim, const Tensor& index) {
  return elements(Dims(Geometry(index).sizes.size()), table, dim, index);
}

Planner plan_slices_of_one(const Tensor& table, int dim, const Tensor& index, bool negatives) {
  return slices(Dims(Geometry(table).sizes.size()), table, dim, index, negatives);
}

void check_index_dtype(const Tensor& index, const char* op) {
  if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
    fail(op, ": Expected dtype int32 or int64 for index, got ", name_of(index.dtype()));
}

bool shares_memory(const Tensor& a, const Tensor& b) { return a->storage.get() == b->storage.get(); }

void check_out_apart(Call& c) {
  if (!c.given_out) return;
  const Tensor& out = c.given_out[0];
  check_apart(out, c.name());
  auto refuse = [&](const Tensor& t) {
    if (t && t.numel() && out.numel() && shares_memory(t, out))
      fail(c.name(),
           ": unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
           "memory location. Please clone() the tensor before performing the operation.");
  };
  for (int i = 0; i < c.count; ++i) {
    if (c.arg(i).tag() == Tag::Tensor) refuse(c.tensor(i));
    if (c.arg(i).tag() == Tag::Tensors)
      for (const Tensor& t : c.tensors(i)) refuse(t);
  }
}

InOrder::InOrder(const Tensor& t, const Dims& sizes) : data_(t.data()) {
  if (t.contiguous() && t.sizes() == sizes) return;
  Dims flat = contiguous_strides(sizes), strides(sizes.size());
  int shift = sizes.size() - t.dim();
  for (int d = 0; d < t.dim(); ++d) strides[d + shift] = t.size(d) == 1 ? 0 : t.stride(d);
  copy_ = std::make_unique<Scratch>(numel_of(sizes) * item_size(t.dtype()));
  copy_kernels().copy(t.dtype(), copy_->as<char>(), flat.data(), t.dtype(), t.data(), strides.data(), sizes.data(),
                      sizes.size());
  data_ = copy_->as<char>();
}

void scatter_planned(Scatter op, const Tensor& table, const Tensor& dense, Planner& planner, ErrorKind kind,
                     const char* name) {
  bool good;
  if (op != Scatter::set && is_half(table.dtype())) {  // rounded once, at the end
    auto wide = converted(table, DType::Float), from = converted(dense, DType::Float);
    good = index_kernels().scatter(op, DType::Float, wide->as<char>(), from->as<char>(), planner.plan());
    if (good)
      copy_kernels().convert(DType::Float, table.dtype(), wide->as<char>(), table.data(),
                             span_of(table.sizes(), table.strides()));
  } else {
    auto aside = shares_memory(table, dense) ? converted(dense, dense.dtype()) : nullptr;
    good = index_kernels().scatter(op, table.dtype(), table.data(), aside ? aside->as<char>() : dense.data(),
                                   planner.plan());
  }
  if (!good) planner.fail_range(kind, name);
}

}  // namespace weft
