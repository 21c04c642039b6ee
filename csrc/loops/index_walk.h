// The walk over an IndexPlan, for inclusion in *.isa.cpp files.
#pragma once

#include <cstring>

#include "loops/index.h"
#include "loops/parallel.h"
#include "simd/isa.h"

namespace weft::WEFT_ISA {

constexpr int kIndexDims = 64;
constexpr int64_t kBlock = 512;  // places found at a time: they stay in the first cache

struct Pair16 {
  uint64_t low, high;
};

// Calls f with a plain type of `item` bytes: where elements are only moved, their size is all that counts.
template <class F>
inline void visit_item(int64_t item, const F& f) {
  switch (item) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Pair16{});
  }
}

template <class T>
inline T load(const char* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

template <class T>
inline void store(char* p, T x) {
  std::memcpy(p, &x, sizeof x);
}

// Several tensors walked together, none of them empty: dimensions of size 1 are gone, dimensions that one stride can
// walk are joined. There is always at least one dimension, so that the last one can be called a row.
template <int Operands>
struct Walk {
  int ndim = 0, operands = 0;
  int64_t size[kIndexDims];
  int64_t stride[Operands][kIndexDims];

  void start(int count) { operands = count; }

  bool continues(const int64_t* strides, int64_t n) const {
    for (int k = 0; k < operands; ++k)
      if (stride[k][ndim - 1] != strides[k] * n) return false;
    return true;
  }

  void push(int64_t n, const int64_t* strides) {
    if (n == 1) return;
    bool joined = ndim > 0 && continues(strides, n);
    if (joined)
      size[ndim - 1] *= n;
    else
      size[ndim++] = n;
    for (int k = 0; k < operands; ++k) stride[k][ndim - 1] = strides[k];
  }

  void finish() {
    if (ndim) return;
    ndim = 1, size[0] = 1;
    for (int k = 0; k < operands; ++k) stride[k][0] = 0;
  }

  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= size[d];
    return n;
  }
  int64_t row() const { return size[ndim - 1]; }
  int64_t row_stride(int k) const { return stride[k][ndim - 1]; }

  bool contiguous(int k, int64_t item) const {
    for (int d = ndim - 1; d >= 0; item *= size[d--])
      if (stride[k][d] != item) return false;
    return true;
  }
};

// Where the rows of a walk begin, one after the other.
template <int Operands>
struct Rows {
  const Walk<Operands>& walk;
  int64_t coord[kIndexDims];
  int64_t offset[Operands];

  Rows(const Walk<Operands>& w, int64_t row) : walk(w) {
    for (int k = 0; k < w.operands; ++k) offset[k] = 0;
    for (int d = w.ndim - 2; d >= 0; --d) {
      coord[d] = row % w.size[d];
      row /= w.size[d];
      for (int k = 0; k < w.operands; ++k) offset[k] += coord[d] * w.stride[k][d];
    }
  }

  void next() {
    for (int d = walk.ndim - 2; d >= 0; --d) {
      bool carry = ++coord[d] == walk.size[d];
      int64_t steps = carry ? 1 - coord[d] : 1;
      for (int k = 0; k < walk.operands; ++k) offset[k] += steps * walk.stride[k][d];
      if (!carry) return;
      coord[d] = 0;
    }
  }
};

// An IndexPlan as a walk: operand 0 is dense, 1 the table (both in bytes), the others the indices.
struct IndexWalk : Walk<2 + kIndexDims> {
  struct Input {
    const int64_t* values;
    int64_t size, step, lowest;
    // Makes a negative value count from the end; false if it is out of range.
    bool wrap(int64_t& value) const {
      if (uint64_t(value) < uint64_t(size)) [[likely]]
        return true;
      if (value >= 0 || value < lowest) return false;
      value += size;
      return true;
    }
  };
  static constexpr int kDense = 0, kTable = 1, kFirst = 2;
  int inputs;
  int64_t item;
  Input input[kIndexDims];

  IndexWalk(const IndexPlan& plan, int64_t bytes) : inputs(plan.inputs), item(bytes) {
    start(kFirst + inputs);
    for (int t = 0; t < inputs; ++t) {
      const IndexInput& in = plan.input[t];
      input[t] = {in.values, in.size, in.step * bytes, plan.negatives ? -in.size : 0};
    }
    int64_t strides[kFirst + kIndexDims];
    for (int d = 0; d < plan.ndim; ++d) {
      strides[kDense] = plan.dense[d] * bytes, strides[kTable] = plan.table[d] * bytes;
      for (int t = 0; t < inputs; ++t) strides[kFirst + t] = plan.input[t].strides[d];
      push(plan.sizes[d], strides);
    }
    finish();
  }

  // Whether the indices stay the same along a row, so that rows move as a whole.
  bool whole_rows() const {
    for (int t = 0; t < inputs; ++t)
      if (row_stride(kFirst + t) != 0) return false;
    return true;
  }

  // Whether the indices are the same in every row, so that the places of one row serve all.
  bool same_in_all_rows() const {
    for (int t = 0; t < inputs; ++t)
      for (int d = 0; d < ndim - 1; ++d)
        if (stride[kFirst + t][d] != 0) return false;
    return true;
  }

  // Whether every element of a row has one index of its own, all in order.
  bool indexed_rows() const {
    return inputs == 1 && row() >= 32 && row_stride(kFirst) == 1 && row_stride(kDense) == item;
  }

  // Short contiguous rows that are only moved are elements of another size.
  void rows_to_elements() {
    int64_t bytes = item * row();
    bool fits = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
    if (!fits || ndim < 2 || !whole_rows() || row_stride(kDense) != item || row_stride(kTable) != item) return;
    item = bytes;
    --ndim;
  }
};

inline bool is_empty(int ndim, const int64_t* sizes) {
  for (int d = 0; d < ndim; ++d)
    if (sizes[d] == 0) return true;
  return false;
}

using IndexRows = Rows<2 + kIndexDims>;

// The place in bytes that a value stands for; out of range, `bad` is no longer 0. Computed without a sign, where
// overflow is defined: a value can be anything. If sizes and steps fit in 32 bits, so do the factors, and such a
// product is much cheaper.
template <bool Narrow = false>
inline int64_t place_of(const IndexWalk::Input& in, int64_t value, uint64_t& bad) {
  uint64_t v = uint64_t(value), low = uint64_t(in.lowest), size = uint64_t(in.size);
  bad |= uint64_t(v - low >= size - low);
  v += value < 0 ? size : 0;
  return Narrow ? int64_t(uint64_t(uint32_t(v)) * uint32_t(in.step)) : int64_t(v * uint64_t(in.step));
}

// The place in the table of the row that `at` stands on.
inline int64_t row_place(const IndexWalk& w, const IndexRows& at, uint64_t& bad) {
  int64_t place = at.offset[IndexWalk::kTable];
  for (int t = 0; t < w.inputs; ++t) {
    const IndexWalk::Input& in = w.input[t];
    place += place_of(in, in.values[at.offset[IndexWalk::kFirst + t]], bad);
  }
  return place;
}

struct One {
  operator int64_t() const { return 1; }
};

// places[j] = base + j * step and what one input contributes; returns false if a value is out of range.
template <bool Narrow, class Stride>
inline bool first_places(int64_t* __restrict places, int64_t base, int64_t step, IndexWalk::Input in,
                         const int64_t* __restrict values, Stride stride, int64_t n) {
  uint64_t bad = 0;
  for (int64_t j = 0; j < n; ++j, base += step) places[j] = base + place_of<Narrow>(in, values[j * stride], bad);
  return !bad;
}

inline bool first_places(int64_t* places, int64_t base, int64_t step, const IndexWalk::Input& in, const int64_t* values,
                         int64_t stride, int64_t n) {
  bool narrow = in.size <= UINT32_MAX && in.step <= UINT32_MAX && in.step >= 0;
  if (stride != 1) return first_places<false>(places, base, step, in, values, stride, n);
  if (!narrow) return first_places<false>(places, base, step, in, values, One{}, n);
  return first_places<true>(places, base, step, in, values, One{}, n);
}

// Adds what another input contributes.
inline bool more_places(int64_t* __restrict places, IndexWalk::Input in, const int64_t* __restrict values,
                        int64_t stride, int64_t n) {
  uint64_t bad = 0;
  for (int64_t j = 0; j < n; ++j) places[j] += place_of(in, values[j * stride], bad);
  return !bad;
}

// Walks the elements [begin, end) of a walk with indices in blocks: finds the places of each in the table, and where
// they lie in dense.
struct Blocks {
  const IndexWalk& w;
  IndexRows at;
  int64_t column, left;
  bool dense_contiguous;
  int64_t count = 0;        // elements of this block
  int64_t kept = 0;         // and those that its reader has not crossed out
  int64_t dense_begin = 0;  // where its first element lies in dense, if that is contiguous
  int64_t places[kBlock], dense[kBlock];

  Blocks(const IndexWalk& walk, int64_t begin, int64_t end)
      : w(walk),
        at(walk, begin / walk.row()),
        column(begin % walk.row()),
        left(end - begin),
        dense_contiguous(walk.contiguous(IndexWalk::kDense, walk.item)),
        dense_begin(begin * walk.item) {}

  // Returns false if a value is out of range.
  bool next() {
    dense_begin += count * w.item;
    count = kept = left < kBlock ? left : kBlock;
    bool good = true;
    for (int64_t done = 0; done < count;) {
      int64_t n = w.row() - column < count - done ? w.row() - column : count - done;
      good &= find(done, n);
      done += n, column += n;
      if (column == w.row()) column = 0, at.next();
    }
    left -= count;
    return good;
  }

 private:
  bool find(int64_t done, int64_t n) {
    int64_t* p = places + done;
    int64_t table = w.row_stride(IndexWalk::kTable), first = at.offset[IndexWalk::kTable] + column * table;
    bool good = true;
    for (int t = 0; t < w.inputs; ++t) {
      int64_t stride = w.row_stride(IndexWalk::kFirst + t);
      const IndexWalk::Input& in = w.input[t];
      const int64_t* values = in.values + at.offset[IndexWalk::kFirst + t] + column * stride;
      good &= t == 0 ? first_places(p, first, table, in, values, stride, n) : more_places(p, in, values, stride, n);
    }
    if (!dense_contiguous) {
      int64_t step = w.row_stride(IndexWalk::kDense), start = at.offset[IndexWalk::kDense] + column * step;
      for (int64_t j = 0; j < n; ++j) dense[done + j] = start + j * step;
    }
    return good;
  }
};

}  // namespace weft::WEFT_ISA
