#include "loops/parallel.h"
#include "loops/sort_keys.h"

namespace weft::WEFT_ISA {

void search(DType, const void*, const int64_t*, int64_t, const void*, int64_t, bool, int64_t*);
int64_t runs(DType, const void*, int64_t, int64_t*);
void bincount(DType, const void*, int64_t, int64_t, const double*, void*);
void histogram(DType, const void*, int64_t, int64_t, double, double, void*);

namespace {

constexpr int64_t kSpare = 8;    // items that may be touched past the last
constexpr int64_t kSmall = 128;  // lines up to here are sorted by counting ranks, longer ones by digits

template <class T>
inline uint64_t order_key(T x, bool descending) {
  auto key = Ordered<T>::key(x);
  return descending ? decltype(key)(~key) : key;
}

template <class T, class Item>
void write(const Line& line, const SortedLine& to, const Item* items, int64_t n, bool descending) {
  using O = Ordered<T>;
  const T* x = static_cast<const T*>(line.x);
  T* values = static_cast<T*>(to.values);
  in_pieces(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = items[i].index();
      auto key = typename O::Bits(descending ? ~items[i].key() : items[i].key());
      if (values) values[i * to.stride] = O::lost_bits(key) ? x[at * line.stride] : O::element(key);
      if (to.indices) to.indices[i * to.stride] = at;
    }
  });
}

// Writes a into b in order: every item counts those that come before it, a vector of items at a time, with nothing to
// predict. a may be read, and b written, past n up to a whole vector.
inline void rank_sort(const Packed* a, Packed* b, int64_t n) {
  constexpr int L = kLanes<uint64_t>;
  for (int64_t i = 0; i < n; i += L) {
    auto v = load<Vec<uint64_t>>(&a[i].bits);
    Vec<int64_t> rank = {};
    for (int64_t j = 0; j < n; ++j) rank -= splat(a[j].bits) < v;
    for (int64_t k = 0; k < std::min<int64_t>(L, n - i); ++k) b[rank[k]] = a[i + k];
  }
}
inline void rank_sort(const Pair* a, Pair* b, int64_t n) {
  constexpr int L = kLanes<uint64_t>;
  for (int64_t i = 0; i < n; i += L) {
    Vec<uint64_t> v = {};
    Vec<int64_t> at = {}, rank = {};
    for (int64_t k = 0; k < std::min<int64_t>(L, n - i); ++k) v[k] = a[i + k].bits, at[k] = a[i + k].at;
    for (int64_t j = 0; j < n; ++j) {
      auto w = splat(a[j].bits);
      rank -= (w < v) | ((w == v) & (splat(a[j].at) < at));
    }
    for (int64_t k = 0; k < std::min<int64_t>(L, n - i); ++k) b[rank[k]] = a[i + k];
  }
}

// Distributes by one byte of the key after the other, the lowest first. Bytes that all keys share are left out.
template <int bytes, class Item>
Item* radix_sort(Item* a, Item* b, int64_t n) {
  int64_t counts[bytes][256] = {};
  in_pieces(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t key = a[i].key();
#pragma GCC unroll 8
      for (int d = 0; d < bytes; ++d) ++counts[d][key >> (8 * d) & 255];
    }
  });
  for (int d = 0; d < bytes; ++d) {
    int64_t* count = counts[d];
    if (count[a[0].key() >> (8 * d) & 255] == n) continue;
    int64_t before = 0;
    for (int k = 0; k < 256; ++k) {
      int64_t c = count[k];
      count[k] = before;
      before += c;
    }
    in_pieces(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) b[count[a[i].key() >> (8 * d) & 255]++] = a[i];
    });
    std::swap(a, b);
  }
  return a;
}

template <class T, class Item>
Item* sort_items(const Line& line, bool descending, Item* a) {
  const T* x = static_cast<const T*>(line.x);
  in_pieces(line.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) a[i] = Item(order_key(x[i * line.stride], descending), i);
  });
  Item* b = a + line.n + kSpare;
  if (line.n > kSmall) return radix_sort<sizeof(T)>(a, b, line.n);
  rank_sort(a, b, line.n);
  return b;
}

void sort(DType dtype, const Line& line, const SortedLine& to, bool descending, void* scratch) {
  visit_sortable(dtype, line.n, [&](auto zero, auto item) {
    using T = decltype(zero);
    using Item = decltype(item);
    write<T>(line, to, sort_items<T>(line, descending, static_cast<Item*>(scratch)), line.n, descending);
  });
}

// Brings the k first of n items to the front, in order if there are few.
template <class Item>
void cut_to(Item* items, int64_t k, int64_t n) {
  if (n <= kSmall) {
    Item sorted[kSmall];
    rank_sort(items, sorted, n);
    std::copy(sorted, sorted + k, items);
  } else if (k < n) {
    std::nth_element(items, items + k - 1, items + n);
  }
}

// Whether elements come before `limit`, NaN being the largest.
template <bool largest, class V>
inline auto comes_before(V x, V limit) {
  if constexpr (largest)
    return (x > limit) | (x != x);
  else
    return (x < limit) | ((limit != limit) & (x == x));
}

// Goes through the line with the k-th of the best so far as the limit; what comes before it is collected.
template <bool largest, class T, class Item>
void collect_best(const T* x, int64_t n, int64_t k, Item* items) {
  using A = std::conditional_t<is_half(dtype_of<T>), float, T>;
  constexpr int L = kLanes<A>;
  int64_t room = 2 * k + 32, held = 0, i = 0;
  auto take = [&](int64_t at) { items[held++] = Item(order_key(x[at], largest), at); };
  A limit{};
  auto cut = [&] {
    cut_to(items, k, held);
    held = k;
  };
  auto lower_limit = [&] {
    cut();
    limit = A(x[items[k - 1].index()]);
  };
  for (; i < std::min(n, room); ++i) take(i);
  if (i < n) lower_limit();
  for (; i + L <= n; i += L) {
    Vec<A> v;
    if constexpr (is_half(dtype_of<T>))
      v = load_floats(x + i);
    else
      v = load<Vec<A>>(x + i);
    if (!any_lane(comes_before<largest>(v, splat(limit)))) continue;
    for (int j = 0; j < L; ++j)
      if (comes_before<largest>(A(x[i + j]), limit)) take(i + j);
    if (held + L > room) lower_limit();
  }
  for (; i < n; ++i)
    if (comes_before<largest>(A(x[i]), limit)) take(i);
  cut();
  if (k > kSmall / 4) std::sort(items, items + k);
}

void topk(DType dtype, const Line& line, const SortedLine& to, int64_t k, bool largest, void* scratch) {
  if (k == 0) return;
  visit_sortable(dtype, line.n, [&](auto zero, auto item) {
    using T = decltype(zero);
    using Item = decltype(item);
    Item* items = static_cast<Item*>(scratch);
    if (line.n <= 64 || k > line.n / 8) {
      items = sort_items<T>(line, largest, items);
    } else {
      const T* x = static_cast<const T*>(line.x);
      if (line.stride != 1) {  // the items need less than half of the scratch
        T* copy = static_cast<T*>(static_cast<void*>(items + line.n + kSpare));
        for (int64_t i = 0; i < line.n; ++i) copy[i] = x[i * line.stride];
        x = copy;
      }
      if (largest)
        collect_best<true>(x, line.n, k, items);
      else
        collect_best<false>(x, line.n, k, items);
    }
    write<T>(line, to, items, k, largest);
  });
}

template <class T>
inline bool is_nan(T x) {
  return Ordered<T>::is_float && Ordered<T>::key(x) == Ordered<T>::nan;
}

template <class T>
int64_t count_nan(const T* x, int64_t stride, int64_t n) {
  int64_t count = 0;
  in_pieces(n, [&](int64_t begin, int64_t end) {
    if (stride == 1)
      for (int64_t i = begin; i < end; ++i) count += x[i] != x[i];
    else
      for (int64_t i = begin; i < end; ++i) count += x[i * stride] != x[i * stride];
  });
  return count;
}

// keys[i] = key of x[i]; gives the smallest and the largest.
template <class T, class Bits>
std::pair<Bits, Bits> write_keys(const T* x, int64_t stride, int64_t n, Bits* __restrict keys) {
  Bits low = Bits(~Bits(0)), high = 0;
  auto take = [&](int64_t i, T v) {
    Bits key = Ordered<T>::key(v);
    keys[i] = key;
    low = key < low ? key : low;
    high = key > high ? key : high;
  };
  in_pieces(n, [&](int64_t begin, int64_t end) {
    if (stride == 1)
      for (int64_t i = begin; i < end; ++i) take(i, x[i]);
    else
      for (int64_t i = begin; i < end; ++i) take(i, x[i * stride]);
  });
  return {low, high};
}

// The place of the element of rank k: keys are counted by their upper bits, then only those that share the bits of
// rank k are looked at.
template <int upper_bits, class T, class Item>
int64_t place_of_rank(const T* x, int64_t stride, int64_t n, int64_t k, Item* items) {
  using Bits = typename Ordered<T>::Bits;
  Bits* keys = static_cast<Bits*>(static_cast<void*>(items + n + kSpare));
  auto [low, high] = write_keys(x, stride, n, keys);
  int width = std::bit_width(Bits(high - low)), shift = std::max(0, width - upper_bits);
  uint32_t counts[2][1 << upper_bits] = {};
  in_pieces(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++counts[i & 1][Bits(keys[i] - low) >> shift];
  });
  int64_t part = 0, held = 0;
  for (;; ++part) {
    int64_t here = int64_t(counts[0][part]) + counts[1][part];
    if (k < here) break;
    k -= here;
  }
  in_pieces(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      items[held] = Item(keys[i], i);
      held += uint64_t(Bits(keys[i] - low)) >> shift == uint64_t(part);
    }
  });
  if (shift > 0) std::nth_element(items, items + k, items + held);
  return items[k].index();
}

void pick(DType dtype, const Line& line, const SortedLine& to, Pick what, int64_t k, void* scratch) {
  visit_sortable(dtype, line.n, [&](auto zero, auto item) {
    using T = decltype(zero);
    using Item = decltype(item);
    const T* x = static_cast<const T*>(line.x);
    int64_t at = -1, n = line.n;
    if (what != Pick::kth) {
      n -= count_nan(x, line.stride, line.n);
      if (n < line.n && (what == Pick::median || n == 0))
        for (at = 0; !is_nan(x[at * line.stride]);) ++at;
      k = (n - 1) / 2;
    }
    Item* items = static_cast<Item*>(scratch);
    if (at < 0 && line.n <= 32) {
      at = sort_items<T>(line, false, items)[k].index();
    } else if (at < 0) {
      auto place = n < 512      ? place_of_rank<7, T, Item>
                   : n < kGrain ? place_of_rank<10, T, Item>
                                : place_of_rank<12, T, Item>;
      at = place(x, line.stride, line.n, k, items);
    }
    *static_cast<T*>(to.values) = x[at * line.stride];
    *to.indices = at;
  });
}

void mode(DType dtype, const Line& line, const SortedLine& to, void* scratch) {
  visit_sortable(dtype, line.n, [&](auto zero, auto item) {
    using T = decltype(zero);
    using Item = decltype(item);
    const Item* items = sort_items<T>(line, false, static_cast<Item*>(scratch));
    int64_t best = 0, length = 0, start = 0;
    for (int64_t i = 0; i < line.n; ++i) {
      if (items[i].key() != items[start].key()) start = i;
      if (i - start + 1 > length) length = i - start + 1, best = i;
    }
    int64_t at = items[best].index();
    *static_cast<T*>(to.values) = static_cast<const T*>(line.x)[at * line.stride];
    *to.indices = at;
  });
}

}  // namespace

extern const SortKernels sort_kernels_table;
const SortKernels sort_kernels_table{sort, topk, pick, mode, search, runs, bincount, histogram};

}  // namespace weft::WEFT_ISA
