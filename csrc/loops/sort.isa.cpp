#include "loops/sort_keys.h"

namespace weft::WEFT_ISA {

void search(DType, const void*, const int64_t*, int64_t, const void*, int64_t, bool, int64_t*);
int64_t runs(DType, const void*, int64_t, int64_t*);
void bincount(DType, const void*, int64_t, const double*, void*);
void histogram(DType, const void*, int64_t, int64_t, double, double, void*);

namespace {

constexpr int64_t kSmall = 256;  // lines up to here are merged, longer ones distributed by digits

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
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = items[i].index();
    auto key = typename O::Bits(descending ? ~items[i].key() : items[i].key());
    if (values) values[i * to.stride] = O::lost_bits(key) ? x[at * line.stride] : O::element(key);
    if (to.indices) to.indices[i * to.stride] = at;
  }
}

template <class Item>
void insertion_sort(Item* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    Item v = a[i];
    int64_t j = i;
    for (; j > 0 && v < a[j - 1]; --j) a[j] = a[j - 1];
    a[j] = v;
  }
}

// Short sorted runs, merged pairwise without branches; a and b change roles. Gives the one that holds the result.
template <class Item>
Item* merge_sort(Item* a, Item* b, int64_t n) {
  constexpr int64_t run = 8;
  for (int64_t i = 0; i < n; i += run) insertion_sort(a + i, std::min(run, n - i));
  for (int64_t width = run; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      int64_t left = i, middle = std::min(i + width, n), right = middle, end = std::min(i + 2 * width, n), out = i;
      while (left < middle && right < end) {
        bool second = a[right] < a[left];
        b[out++] = second ? a[right] : a[left];
        right += second;
        left += !second;
      }
      while (left < middle) b[out++] = a[left++];
      while (right < end) b[out++] = a[right++];
    }
    std::swap(a, b);
  }
  return a;
}

// Distributes by one byte of the key after the other, the lowest first. Bytes that all keys share are left out.
template <int bytes, class Item>
Item* radix_sort(Item* a, Item* b, int64_t n) {
  int64_t counts[bytes][256] = {};
  for (int64_t i = 0; i < n; ++i) {
    uint64_t key = a[i].key();
#pragma GCC unroll 8
    for (int d = 0; d < bytes; ++d) ++counts[d][key >> (8 * d) & 255];
  }
  for (int d = 0; d < bytes; ++d) {
    int64_t* count = counts[d];
    if (count[a[0].key() >> (8 * d) & 255] == n) continue;
    int64_t before = 0;
    for (int k = 0; k < 256; ++k) {
      int64_t c = count[k];
      count[k] = before;
      before += c;
    }
    for (int64_t i = 0; i < n; ++i) b[count[a[i].key() >> (8 * d) & 255]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

template <class T, class Item>
Item* sort_items(const Line& line, bool descending, Item* a) {
  const T* x = static_cast<const T*>(line.x);
  for (int64_t i = 0; i < line.n; ++i) a[i] = Item(order_key(x[i * line.stride], descending), i);
  Item* b = a + line.n;
  return line.n <= kSmall ? merge_sort(a, b, line.n) : radix_sort<sizeof(T)>(a, b, line.n);
}

void sort(DType dtype, const Line& line, const SortedLine& to, bool descending, void* scratch) {
  visit_sortable(dtype, line.n, [&](auto zero, auto item) {
    using T = decltype(zero);
    using Item = decltype(item);
    write<T>(line, to, sort_items<T>(line, descending, static_cast<Item*>(scratch)), line.n, descending);
  });
}

// Keeps the k first of `held` items in front.
template <class Item>
void cut_to(Item* items, int64_t k, int64_t held) {
  if (k < held) std::nth_element(items, items + k - 1, items + held);
}

// Whether elements come before `limit`, NaN being the largest.
template <bool largest, class V>
inline auto comes_before(V x, V limit) {
  if constexpr (largest) return (x > limit) | (x != x);
  else return (x < limit) | ((limit != limit) & (x == x));
}

// Goes through the line with the k-th of the best so far as the limit; what comes before it is collected.
template <bool largest, class T, class Item>
void collect_best(const T* x, int64_t n, int64_t k, Item* items) {
  using A = std::conditional_t<is_half(dtype_of<T>), float, T>;
  constexpr int L = kLanes<A>;
  int64_t room = std::max<int64_t>(4 * k, 256), held = 0, i = 0;
  auto take = [&](int64_t at) { items[held++] = Item(order_key(x[at], largest), at); };
  A limit{};
  auto lower_limit = [&] {
    cut_to(items, k, held);
    held = k;
    limit = A(x[items[k - 1].index()]);
  };
  for (; i < std::min(n, room); ++i) take(i);
  if (i < n) lower_limit();
  for (; i + L <= n; i += L) {
    Vec<A> v;
    if constexpr (is_half(dtype_of<T>)) v = load_floats(x + i);
    else v = load<Vec<A>>(x + i);
    if (!any_lane(comes_before<largest>(v, splat(limit)))) continue;
    for (int j = 0; j < L; ++j)
      if (comes_before<largest>(A(x[i + j]), limit)) take(i + j);
    if (held + L > room) lower_limit();
  }
  for (; i < n; ++i)
    if (comes_before<largest>(A(x[i]), limit)) take(i);
  cut_to(items, k, held);
  std::sort(items, items + k);
}

void topk(DType dtype, const Line& line, const SortedLine& to, int64_t k, bool largest, void* scratch) {
  if (k == 0) return;
  visit_sortable(dtype, line.n, [&](auto zero, auto item) {
    using T = decltype(zero);
    using Item = decltype(item);
    Item* items = static_cast<Item*>(scratch);
    if (line.n < 64 || k > line.n / 16) {
      items = sort_items<T>(line, largest, items);
    } else {
      const T* x = static_cast<const T*>(line.x);
      if (line.stride != 1) {  // the items need less than half of the scratch
        T* copy = static_cast<T*>(static_cast<void*>(items + line.n));
        for (int64_t i = 0; i < line.n; ++i) copy[i] = x[i * line.stride];
        x = copy;
      }
      if (largest) collect_best<true>(x, line.n, k, items);
      else collect_best<false>(x, line.n, k, items);
    }
    write<T>(line, to, items, k, largest);
  });
}

template <class T>
inline bool is_nan(T x) { return Ordered<T>::is_float && Ordered<T>::key(x) == Ordered<T>::nan; }

// The item of rank k: counts keys by their upper bits, then looks only at those that share the bits of rank k.
template <class T, class Item>
Item item_of_rank(const T* x, int64_t stride, int64_t n, int64_t k, Item* items) {
  constexpr int bits = 8 * sizeof(T) < 12 ? 8 * sizeof(T) : 12, shift = 8 * sizeof(T) - bits;
  int64_t held = 0;
  if (n <= 1024) {
    for (int64_t i = 0; i < n; ++i) items[held++] = Item(Ordered<T>::key(x[i * stride]), i);
  } else {
    uint32_t counts[2][1 << bits] = {};
    for (int64_t i = 0; i < n; ++i) ++counts[i & 1][Ordered<T>::key(x[i * stride]) >> shift];
    uint64_t part = 0;
    for (;; ++part) {
      int64_t here = int64_t(counts[0][part]) + counts[1][part];
      if (k < here) break;
      k -= here;
    }
    for (int64_t i = 0; i < n; ++i) {
      auto key = Ordered<T>::key(x[i * stride]);
      items[held] = Item(key, i);
      held += key >> shift == part;
    }
  }
  std::nth_element(items, items + k, items + held);
  return items[k];
}

void pick(DType dtype, const Line& line, const SortedLine& to, Pick what, int64_t k, void* scratch) {
  visit_sortable(dtype, line.n, [&](auto zero, auto item) {
    using T = decltype(zero);
    using Item = decltype(item);
    const T* x = static_cast<const T*>(line.x);
    int64_t at = -1, n = line.n;
    if (what != Pick::kth) {
      for (int64_t i = line.n - 1; Ordered<T>::is_float && i >= 0; --i)
        if (is_nan(x[i * line.stride])) at = i, --n;
      k = what == Pick::median ? (line.n - 1) / 2 : std::max<int64_t>(0, (n - 1) / 2);
    }
    if (at < 0 || (what == Pick::nanmedian && n > 0))
      at = item_of_rank<T>(x, line.stride, line.n, k, static_cast<Item*>(scratch)).index();
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
