// Writing by index: values stored at, or combined with, the places that an index tensor names.
#include "loops/convert.h"
#include "loops/index_parts.h"
#include "loops/index_walk.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kShare = 32768;  // elements that are worth another thread
constexpr int kMostScanning = 8;   // threads that each look at all places and take their own

// ---- how two values become one ----

template <Scatter op, class T>
inline T combine_numbers(T a, T b) {
  if constexpr (op == Scatter::add) {
    return modular::add(a, b);
  } else if constexpr (op == Scatter::mul) {
    return modular::mul(a, b);
  } else if constexpr (op == Scatter::amin) {
    return a <= b || a != a ? a : b;  // NaN stays, from either side
  } else {
    return a >= b || a != a ? a : b;
  }
}

template <Scatter op, class R>
inline Complex<R> combine_numbers(Complex<R> a, Complex<R> b) {
  if constexpr (op == Scatter::add)
    return {a.re + b.re, a.im + b.im};
  else
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// T is the type of the elements, V what lies in memory.
template <Scatter op, class T, class V>
inline V combine(V a, V b) {
  if constexpr (op == Scatter::set) {
    return b;
  } else if constexpr (std::is_same_v<T, bool>) {
    constexpr bool either = op == Scatter::add || op == Scatter::amax;
    return either ? (a != 0) | (b != 0) : (a != 0) & (b != 0);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(combine_numbers<op, float>(float(a), float(b)));
  } else {
    return combine_numbers<op>(a, b);
  }
}

// Sums of floats, where rows are often too short for the loop that the compiler would make.
template <class T>
inline void add_row(T* to, const T* from, int64_t n) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::W <= n; i += S::W) S::store(to + i, S::load(to + i) + S::load(from + i));
  if (i < n) S::store(to + i, S::load(to + i, n - i) + S::load(from + i, n - i), n - i);
}

template <Scatter op, class T>
inline void combine_row(char* table, int64_t ts, const char* dense, int64_t ds, int64_t n) {
  using V = typename Stored<T>::type;
  constexpr int64_t size = sizeof(V);
  if (ts == size && ds == size) {
    V* __restrict to = reinterpret_cast<V*>(table);
    const V* __restrict from = reinterpret_cast<const V*>(dense);
    if constexpr (op == Scatter::add && std::is_floating_point_v<T>)
      add_row(to, from, n);
    else
      for (int64_t i = 0; i < n; ++i) to[i] = combine<op, T>(to[i], from[i]);
  } else if (ts == size && ds == 0) {
    V* to = reinterpret_cast<V*>(table);
    V value = load<V>(dense);
    for (int64_t i = 0; i < n; ++i) to[i] = combine<op, T>(to[i], value);
  } else {
    for (int64_t i = 0; i < n; ++i)
      store(table + i * ts, combine<op, T>(load<V>(table + i * ts), load<V>(dense + i * ds)));
  }
}

// ---- the part of the places that one thread takes ----

struct Range {
  int64_t begin, size;
  bool all;
  bool has(int64_t place) const { return uint64_t(place - begin) < uint64_t(size); }
};

// Where the n rows from `at` on, row r of the walk, lie in the table and in dense. Returns false if a value is out of
// range.
bool find_rows(const IndexWalk& w, IndexRows& at, int64_t r, int64_t n, int64_t* places, int64_t* sources) {
  if (w.ndim == 2 && w.inputs == 1) {
    int64_t table = w.stride[IndexWalk::kTable][0], source = w.stride[IndexWalk::kDense][0];
    int64_t stride = w.stride[IndexWalk::kFirst][0];
    for (int64_t j = 0; j < n; ++j) sources[j] = (r + j) * source;
    return first_places(places, r * table, table, w.input[0], w.input[0].values + r * stride, stride, n);
  }
  uint64_t bad = 0;
  for (int64_t j = 0; j < n; ++j, at.next())
    places[j] = row_place(w, at, bad), sources[j] = at.offset[IndexWalk::kDense];
  return !bad;
}

template <Scatter op, class T>
bool scatter_rows(const IndexWalk& w, char* table, const char* dense, Range range) {
  int64_t rows = w.count() / w.row(), places[kBlock], sources[kBlock];
  int64_t ts = w.row_stride(IndexWalk::kTable), ds = w.row_stride(IndexWalk::kDense);
  IndexRows at(w, 0);
  for (int64_t r = 0; r < rows; r += kBlock) {
    int64_t n = rows - r < kBlock ? rows - r : kBlock, kept = 0;
    if (!find_rows(w, at, r, n, places, sources)) return false;
    for (int64_t j = 0; j < n && !range.all; ++j) {  // without a branch that nobody could predict
      int64_t place = places[j];
      places[kept] = place, sources[kept] = sources[j];
      kept += range.has(place);
    }
    if (range.all) kept = n;
    for (int64_t j = 0; j < kept; ++j) combine_row<op, T>(table + places[j], ts, dense + sources[j], ds, w.row());
  }
  return true;
}

// Keeps of a block what lies in the range.
void keep(Blocks& b, int64_t item, Range range) {
  int64_t kept = 0, j = 0;
#if WEFT_SIMD_PACKS
  constexpr int W = kLanes<int64_t>;
  const Vec<uint64_t> begin = splat(uint64_t(range.begin)), size = splat(uint64_t(range.size));
  Vec<int64_t> from;
  for (int k = 0; k < W; ++k) from[k] = b.dense_begin + k * item;
  for (; j + W <= b.count; j += W, from += W * item) {
    auto place = load<Vec<int64_t>>(b.places + j), source = b.dense_contiguous ? from : load<Vec<int64_t>>(b.dense + j);
    uint32_t mine = lanes_below((Vec<uint64_t>)place - begin, size);
    store_packed(b.places + kept, place, mine);
    kept += store_packed(b.dense + kept, source, mine);
  }
#endif
  for (; j < b.count; ++j) {
    int64_t place = b.places[j], source = b.dense_contiguous ? b.dense_begin + j * item : b.dense[j];
    b.places[kept] = place, b.dense[kept] = source;
    kept += range.has(place);
  }
  b.kept = kept;
}

template <Scatter op, class T, class V>
inline void combine_at(char* table, const int64_t* __restrict places, const V* __restrict values, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    V* to = reinterpret_cast<V*>(table + places[j]);
    *to = combine<op, T>(*to, values[j]);
  }
}

// One row with one index: cheaper than finding the places first. Returns false if a value is out of range.
template <Scatter op, class T, class V>
inline bool combine_indexed(char* table, int64_t ts, IndexWalk::Input in, const int64_t* __restrict values,
                            const V* __restrict from, int64_t n) {
  for (int64_t j = 0; j < n; ++j, table += ts) {
    int64_t value = values[j];
    if (!in.wrap(value)) return false;
    V* to = reinterpret_cast<V*>(table + value * in.step);
    *to = combine<op, T>(*to, from[j]);
  }
  return true;
}

template <Scatter op, class T>
bool scatter_indexed_rows(const IndexWalk& w, char* table, const char* dense) {
  using V = typename Stored<T>::type;
  int64_t rows = w.count() / w.row();
  IndexRows at(w, 0);
  for (int64_t r = 0; r < rows; ++r, at.next()) {
    const int64_t* values = w.input[0].values + at.offset[IndexWalk::kFirst];
    const V* from = reinterpret_cast<const V*>(dense + at.offset[IndexWalk::kDense]);
    char* to = table + at.offset[IndexWalk::kTable];
    if (!combine_indexed<op, T>(to, w.row_stride(IndexWalk::kTable), w.input[0], values, from, w.row())) return false;
  }
  return true;
}

template <Scatter op, class T>
bool scatter_elements(const IndexWalk& w, char* table, const char* dense, Range range) {
  using V = typename Stored<T>::type;
  for (Blocks b(w, 0, w.count()); b.left > 0;) {
    if (!b.next()) return false;
    if (!range.all) keep(b, w.item, range);
    if (range.all && b.dense_contiguous) {
      combine_at<op, T>(table, b.places, reinterpret_cast<const V*>(dense + b.dense_begin), b.count);
    } else {
      V values[kBlock];
      for (int64_t j = 0; j < b.kept; ++j) values[j] = load<V>(dense + b.dense[j]);
      combine_at<op, T>(table, b.places, values, b.kept);
    }
  }
  return true;
}

template <Scatter op, class T>
bool scatter_part(const IndexWalk& w, char* table, const char* dense, Range range) {
  if (w.whole_rows()) return scatter_rows<op, T>(w, table, dense, range);
  if (w.indexed_rows() && range.all) return scatter_indexed_rows<op, T>(w, table, dense);
  return scatter_elements<op, T>(w, table, dense, range);
}

// ---- who does what ----
// Every place is visited by one thread, in the order of the walk: the result is that of one thread.

// The outermost dimension whose coordinates lead to different places and can be cut in `threads` parts, or -1.
int free_dimension(const IndexWalk& w, int64_t threads) {
  for (int d = 0; d < w.ndim; ++d) {
    int64_t least = d == w.ndim - 1 ? threads * 64 / w.item : threads;  // a cache line belongs to one thread
    if (w.stride[IndexWalk::kTable][d] != 0 && w.size[d] >= least) return d;
  }
  return -1;
}

int64_t places_end(const IndexWalk& w) {
  int64_t end = 1;
  for (int d = 0; d < w.ndim; ++d) end += (w.size[d] - 1) * w.stride[IndexWalk::kTable][d];
  for (int t = 0; t < w.inputs; ++t) end += (w.input[t].size - 1) * w.input[t].step;
  return end;
}

constexpr Range kAll = {0, 0, true};

template <Scatter op, class T>
bool scatter_threaded(const IndexWalk& w, char* table, const char* dense) {
  int64_t threads = loop_threads(), useful = w.count() / kShare;
  if (threads > useful) threads = useful;
  if (threads <= 1) return scatter_part<op, T>(w, table, dense, kAll);
  bool failed = false;
  auto run = [&](const IndexWalk& part, char* to, const char* from, Range range) {
    if (!scatter_part<op, T>(part, to, from, range)) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
  };
  if (int d = free_dimension(w, threads); d >= 0) {
    int64_t share = (w.size[d] + threads - 1) / threads;
    if (d == w.ndim - 1) share += -share & (64 / w.item - 1);
    parallel_chunks(w.size[d], share, [&](int64_t begin, int64_t end) {
      IndexWalk part = w;
      part.size[d] = end - begin;
      for (int t = 0; t < w.inputs; ++t) part.input[t].values += begin * w.stride[IndexWalk::kFirst + t][d];
      run(part, table + begin * w.stride[IndexWalk::kTable][d], dense + begin * w.stride[IndexWalk::kDense][d], kAll);
    });
  } else {
    if (threads > kMostScanning) threads = kMostScanning;
    int64_t end = places_end(w), share = (end + threads - 1) / threads;
    share += -share & 63;
    parallel_chunks(end, share,
                    [&](int64_t begin, int64_t stop) { run(w, table, dense, {begin, stop - begin, false}); });
  }
  return !failed;
}

// Calls f with op and the type of the elements, both known to the compiler.
template <class F>
void visit_scatter(Scatter op, DType type, int64_t item, const F& f) {
  auto with = [&](auto zero) {
    using T = decltype(zero);
    using std::integral_constant;
    switch (op) {
      case Scatter::set: return;
      case Scatter::add: return f(integral_constant<Scatter, Scatter::add>{}, zero);
      case Scatter::mul: return f(integral_constant<Scatter, Scatter::mul>{}, zero);
      default:
        if constexpr (is_complex(dtype_of<T>))
          return;
        else if (op == Scatter::amin)
          return f(integral_constant<Scatter, Scatter::amin>{}, zero);
        else
          return f(integral_constant<Scatter, Scatter::amax>{}, zero);
    }
  };
  if (op == Scatter::set)
    visit_item(item, [&](auto zero) { f(std::integral_constant<Scatter, Scatter::set>{}, zero); });
  else
    visit(type, with);
}

}  // namespace

bool scatter(Scatter op, DType type, char* table, const char* dense, const IndexPlan& plan) {
  if (is_empty(plan.ndim, plan.sizes)) return true;
  IndexWalk w(plan, item_size(type));
  if (op == Scatter::set) w.rows_to_elements();
  bool good = true;
  visit_scatter(op, type, w.item, [&](auto o, auto zero) {
    good = scatter_threaded<decltype(o)::value, decltype(zero)>(w, table, dense);
  });
  return good;
}

void scatter_windows(Scatter op, DType type, char* table, const char* dense, const IndexPlan& plan) {
  if (is_empty(plan.ndim, plan.sizes)) return;
  IndexWalk w(plan, item_size(type));
  visit_scatter(op, type, w.item,
                [&](auto o, auto zero) { scatter_part<decltype(o)::value, decltype(zero)>(w, table, dense, kAll); });
}

}  // namespace weft::WEFT_ISA
