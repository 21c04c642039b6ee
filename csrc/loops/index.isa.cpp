#include "loops/index.h"

#include "loops/index_parts.h"
#include "loops/index_walk.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kRowPart = 65536;      // bytes of a row that one task copies
constexpr int64_t kTaskBytes = 1 << 17;  // bytes that make a task of several rows
constexpr int64_t kGatherGrain = 16384;  // elements fetched one by one that make a task
constexpr int64_t kAhead = 8;            // rows between the one that is copied and the one that is called for

// ---- rows that move as a whole ----

struct Line {
  char bytes[64];
};

// Rows are short most of the time, and a call of memcpy costs as much as four lines.
inline void copy_bytes(char* __restrict dst, const char* __restrict src, int64_t n) {
  if (n < 64 || n > 1024) {
    std::memcpy(dst, src, size_t(n));
    return;
  }
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) store(dst + i, load<Line>(src + i));
  if (i < n) store(dst + n - 64, load<Line>(src + n - 64));
}

template <class T>
inline void copy_row(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  constexpr int64_t size = sizeof(T);
  if (ds == size && ss == size) {
    copy_bytes(dst, src, n * size);
  } else if (ds == size && ss == 0) {
    T value = load<T>(src);
    for (int64_t i = 0; i < n; ++i) store(dst + i * size, value);
  } else {
    for (int64_t i = 0; i < n; ++i) store(dst + i * ds, load<T>(src + i * ss));
  }
}

// index_select along the first dimension: rows of a table, contiguous, one after the other.
bool gather_plain_rows(const IndexWalk& w, char* dense, const char* table) {
  const IndexWalk::Input in = w.input[0];
  int64_t rows = w.size[0], bytes = w.row() * w.item, step = w.stride[IndexWalk::kFirst][0];
  bool failed = false;
  parallel_shares(rows, bytes < kTaskBytes ? kTaskBytes / bytes : 1, 1, [&](int64_t begin, int64_t end) {
    const int64_t* values = in.values + begin * step;
    char* out = dense + begin * w.stride[IndexWalk::kDense][0];
    for (int64_t left = end - begin; left > 0; --left, values += step, out += w.stride[IndexWalk::kDense][0]) {
      uint64_t bad = 0;
      int64_t place = place_of(in, *values, bad);
      if (bad) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      if (left > kAhead) __builtin_prefetch(table + place_of(in, values[kAhead * step], bad));
      copy_bytes(out, table + place, bytes);
    }
  });
  return !failed;
}

bool is_plain_rows(const IndexWalk& w) {
  return w.ndim == 2 && w.inputs == 1 && w.stride[IndexWalk::kTable][0] == 0 &&
         w.row_stride(IndexWalk::kDense) == w.item && w.row_stride(IndexWalk::kTable) == w.item &&
         w.row() * w.item <= kRowPart;
}

bool gather_rows(const IndexWalk& w, char* dense, const char* table) {
  if (is_plain_rows(w)) return gather_plain_rows(w, dense, table);
  int64_t part = kRowPart / w.item, parts = (w.row() + part - 1) / part;
  int64_t rows = w.count() / w.row(), bytes = (w.row() < part ? w.row() : part) * w.item;
  int64_t grain = bytes < kTaskBytes ? kTaskBytes / bytes : 1;
  int64_t ds = w.row_stride(IndexWalk::kDense), ts = w.row_stride(IndexWalk::kTable);
  bool failed = false;
  parallel_shares(rows * parts, grain, 1, [&](int64_t begin, int64_t end) {
    IndexRows at(w, begin / parts);
    int64_t p = begin % parts;
    for (int64_t i = begin; i < end; ++i) {
      uint64_t bad = 0;
      int64_t place = row_place(w, at, bad), column = p * part;
      int64_t n = w.row() - column < part ? w.row() - column : part;
      if (bad) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      char* dst = dense + at.offset[IndexWalk::kDense] + column * ds;
      const char* src = table + place + column * ts;
      visit_item(w.item, [&](auto zero) { copy_row<decltype(zero)>(dst, ds, src, ts, n); });
      if (++p == parts) p = 0, at.next();
    }
  });
  return !failed;
}

// ---- elements one by one ----

template <class T>
inline void fetch(T* __restrict out, const char* __restrict table, const int64_t* __restrict places, int64_t n) {
#pragma GCC unroll 4
  for (int64_t j = 0; j < n; ++j) out[j] = load<T>(table + places[j]);
}

template <class T>
bool gather_elements(const IndexWalk& w, char* dense, const char* table) {
  bool failed = false;
  parallel_shares(w.count(), kGatherGrain, 64, [&](int64_t begin, int64_t end) {
    for (Blocks b(w, begin, end); b.left > 0;) {
      if (!b.next()) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      if (b.dense_contiguous) {
        fetch(reinterpret_cast<T*>(dense + b.dense_begin), table, b.places, b.count);
      } else {
        T fetched[kBlock];
        fetch(fetched, table, b.places, b.count);
        for (int64_t j = 0; j < b.count; ++j) store(dense + b.dense[j], fetched[j]);
      }
    }
  });
  return !failed;
}

// One row with one index: cheaper than finding the places first. Returns false if a value is out of range.
template <class T>
inline bool fetch_indexed(T* __restrict out, const char* __restrict table, int64_t ts, IndexWalk::Input in,
                          const int64_t* __restrict values, int64_t n) {
  for (int64_t j = 0; j < n; ++j, table += ts) {
    int64_t value = values[j];
    if (!in.wrap(value)) return false;
    out[j] = load<T>(table + value * in.step);
  }
  return true;
}

template <class T>
bool gather_indexed_rows(const IndexWalk& w, char* dense, const char* table) {
  int64_t part = kGatherGrain, parts = (w.row() + part - 1) / part, ts = w.row_stride(IndexWalk::kTable);
  bool failed = false;
  parallel_shares(w.count() / w.row() * parts, w.row() < part ? part / w.row() : 1, 1, [&](int64_t begin, int64_t end) {
    IndexRows at(w, begin / parts);
    int64_t p = begin % parts;
    for (int64_t i = begin; i < end; ++i) {
      int64_t column = p * part, n = w.row() - column < part ? w.row() - column : part;
      bool good = fetch_indexed(reinterpret_cast<T*>(dense + at.offset[IndexWalk::kDense]) + column,
                                table + at.offset[IndexWalk::kTable] + column * ts, ts, w.input[0],
                                w.input[0].values + at.offset[IndexWalk::kFirst] + column, n);
      if (!good) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      if (++p == parts) p = 0, at.next();
    }
  });
  return !failed;
}

// The same columns of every row: their places are found once, for as many columns as the first cache holds.
template <class T>
bool gather_columns(const IndexWalk& w, char* dense, const char* table) {
  constexpr int64_t most = 8 * kBlock;
  int64_t places[most], rows = w.count() / w.row();
  Blocks b(w, 0, w.row());
  for (int64_t column = 0, n = 0; column < w.row(); column += n) {
    for (n = 0; n < most && b.left > 0; n += b.count) {
      if (!b.next()) return false;
      std::memcpy(places + n, b.places, size_t(b.count) * sizeof(int64_t));
    }
    parallel_shares(rows, kGatherGrain / n + 1, 1, [&](int64_t begin, int64_t end) {
      IndexRows at(w, begin);
      for (int64_t r = begin; r < end; ++r, at.next())
        fetch(reinterpret_cast<T*>(dense + at.offset[IndexWalk::kDense]) + column, table + at.offset[IndexWalk::kTable],
              places, n);
    });
  }
  return true;
}

// The values of one input, each looked at once: the dimensions in which it is broadcast don't count.
struct Values : Walk<1> {
  Values(const IndexPlan& plan, const IndexInput& in) {
    start(1);
    for (int d = 0; d < plan.ndim; ++d)
      if (in.strides[d] != 0) push(plan.sizes[d], &in.strides[d]);
    finish();
  }
};

}  // namespace

bool check_indices(const IndexPlan& plan, IndexFault* fault) {
  if (is_empty(plan.ndim, plan.sizes)) return true;
  for (int t = 0; t < plan.inputs; ++t) {
    const IndexInput& in = plan.input[t];
    Values w(plan, in);
    int64_t low = plan.negatives ? -in.size : 0, range = in.size - low, stride = w.row_stride(0);
    int64_t rows = w.count() / w.row();
    Rows<1> at(w, 0);
    for (int64_t r = 0; r < rows; ++r, at.next()) {
      const int64_t* value = in.values + at.offset[0];
      for (int64_t j = 0; j < w.row(); ++j, value += stride) {
        if (uint64_t(*value) - uint64_t(low) < uint64_t(range)) continue;
        *fault = {t, *value};
        return false;
      }
    }
  }
  return true;
}

bool gather(int64_t item, char* dense, const char* table, const IndexPlan& plan) {
  if (is_empty(plan.ndim, plan.sizes)) return true;
  IndexWalk w(plan, item);
  w.rows_to_elements();
  if (w.whole_rows()) return gather_rows(w, dense, table);
  bool good = true;
  bool columns = w.ndim > 1 && w.row() > 8 && w.row_stride(IndexWalk::kDense) == w.item && w.same_in_all_rows();
  visit_item(w.item, [&](auto zero) {
    using T = decltype(zero);
    if (columns)
      good = gather_columns<T>(w, dense, table);
    else if (w.indexed_rows())
      good = gather_indexed_rows<T>(w, dense, table);
    else
      good = gather_elements<T>(w, dense, table);
  });
  return good;
}

extern const IndexKernels index_kernels_table;
const IndexKernels index_kernels_table = {check_indices, gather,        scatter,        scatter_windows, blend,
                                          count_true,    masked_select, masked_scatter, nonzero,         triangle,
                                          join,          flip,          repeat_index};

}  // namespace weft::WEFT_ISA
