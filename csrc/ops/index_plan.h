// From tensors to the plans of the index kernels.
#pragma once

#include <memory>
#include <vector>

#include "core/memory.h"
#include "loops/index.h"
#include "ops/api.h"

namespace weft {

// Builds an IndexPlan and owns what it points at.
class Planner {
 public:
  explicit Planner(bool negatives = false) : negatives_(negatives) {}
  // A dimension to walk, with the strides of both tensors.
  void dimension(int64_t size, int64_t dense, int64_t table) {
    sizes_.push(size), dense_.push(dense), table_.push(table);
  }
  // An index that chooses along dimension `dim` of the table; strides: one for every dimension walked.
  void input(const Tensor& index, const Dims& strides, const Tensor& table, int dim);
  IndexPlan plan();
  // Throws for the first value that is out of range.
  [[noreturn]] void fail_range(ErrorKind kind, const char* op);

 private:
  bool negatives_;
  Dims sizes_, dense_, table_, dims_;
  Dims strides_;  // of all inputs, one after the other
  std::vector<IndexInput> inputs_;
  std::vector<std::unique_ptr<Scratch>> converted_;
};

// The plan of gather and scatter: every element of index, whose sizes are walked, chooses along dim of table.
Planner plan_elements(const Tensor& dense, const Tensor& table, int dim, const Tensor& index);
// The plan of index_select and index_add: every element of the vector index chooses a slice along dim.
Planner plan_slices(const Tensor& dense, const Tensor& table, int dim, const Tensor& index, bool negatives);
// The same two with one element for all of dense.
Planner plan_elements_of_one(const Tensor& table, int dim, const Tensor& index);
Planner plan_slices_of_one(const Tensor& table, int dim, const Tensor& index, bool negatives);

// What x[i, :, j] reads or writes: the indices broadcast to one block, which stands where the first of them does, or in
// front if something lies between them; around it the dimensions that are not indexed.
struct IndexedShape {
  IndexedShape(const Tensor& x, const TensorList& indices);
  Dims sizes, block;
  Dims kept;      // the dimensions of x that are not indexed
  int first = 0;  // where the block begins
  // The plan of a walk over sizes, with these strides of the dense tensor.
  Planner plan(const Tensor& table, const TensorList& indices, const Dims& dense) const;

 private:
  Dims broadcast_indices(const TensorList& indices, int d) const;
};
// The indices as int64, masks replaced by the coordinates of what they keep.
TensorList index_tensors(const Tensor& x, const TensorList& indices);

void check_index_dtype(const Tensor& index, const char* op);
bool shares_memory(const Tensor& a, const Tensor& b);
void check_out_apart(Call& c);  // out= of these ops must have memory of its own

// A tensor's elements, broadcast to `sizes`, in order: its own memory where they lie so, else a copy for the time
// being.
class InOrder {
 public:
  InOrder(const Tensor& t, const Dims& sizes);
  const char* data() const { return data_; }

 private:
  std::unique_ptr<Scratch> copy_;
  const char* data_;
};

// table[places] (op)= dense, also where dense looks into table; throws where an index is out of range.
void scatter_planned(Scatter op, const Tensor& table, const Tensor& dense, Planner& planner, ErrorKind kind,
                     const char* name);

}  // namespace weft
