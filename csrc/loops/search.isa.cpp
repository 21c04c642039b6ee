// Searching sorted values, and counting: searchsorted, unique_consecutive, bincount, histc.
#include "loops/parallel.h"
#include "loops/sort_keys.h"

namespace weft::WEFT_ISA {
namespace {

template <class F>
void visit_real(DType dtype, const F& f) {
  visit_sortable(dtype, 0, [&](auto zero, auto) { f(zero); });
}

template <class T>
constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Compared = std::conditional_t<is_half_type<T>, float, T>;

// Looks for several values at once, so that they wait for memory together. The part that is left has the same length
// for all. Comparisons with NaN fail, so NaN comes last.
template <bool right, int together, class T, class At>
void places_of(const T* values, int64_t n, const At& at, int64_t* places) {
  auto later = [&](int64_t i, auto value) { return right ? !(at(i) > value) : !(at(i) >= value); };
  int64_t from[together] = {};
  for (int64_t left = n; left > 1;) {
    int64_t half = left / 2;
#pragma GCC unroll 8
    for (int k = 0; k < together; ++k)
      from[k] = later(from[k] + half - 1, Compared<T>(values[k])) ? from[k] + half : from[k];
    left -= half;
  }
  for (int k = 0; k < together; ++k) places[k] = n == 0 ? 0 : from[k] + later(from[k], Compared<T>(values[k]));
}

}  // namespace

void search(DType dtype, const void* sorted, const int64_t* sorter, int64_t n, const void* values, int64_t m,
            bool right, int64_t* at) {
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = Compared<T>;
    const T *x = static_cast<const T*>(sorted), *v = static_cast<const T*>(values);
    auto direct = [&](int64_t i) { return A(x[i]); };
    auto indirect = [&](int64_t i) { return A(x[sorter[i]]); };
    auto run = [&](auto&& get, auto side) {
      parallel_chunks(m, 2048, [&](int64_t begin, int64_t end) {
        constexpr bool side_right = decltype(side)::value;
        int64_t i = begin;
        for (; i + 8 <= end; i += 8) places_of<side_right, 8>(v + i, n, get, at + i);
        for (; i < end; ++i) places_of<side_right, 1>(v + i, n, get, at + i);
      });
    };
    auto with_side = [&](auto&& get) {
      if (right)
        run(get, std::true_type{});
      else
        run(get, std::false_type{});
    };
    if (sorter)
      with_side(indirect);
    else
      with_side(direct);
  });
}

int64_t runs(DType dtype, const void* data, int64_t n, int64_t* starts) {
  int64_t count = 0;
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = Compared<T>;
    const T* x = static_cast<const T*>(data);
    for (int64_t i = 0; i < n; ++i) {
      starts[count] = i;  // written again by the next element unless a run starts here
      count += i == 0 || A(x[i]) != A(x[i - 1]);
    }
  });
  return count;
}

namespace {

// Several tables, so that equal neighbours need not wait for each other.
template <class T>
void count(const T* x, int64_t n, int64_t bins, int64_t* counts) {
  constexpr int64_t tables = 4, few = 1024;
  int64_t i = 0;
  if (bins <= few && n >= 8 * few) {
    int64_t partial[tables][few] = {};
    for (; i + tables <= n; i += tables)
      for (int64_t t = 0; t < tables; ++t) ++partial[t][int64_t(x[i + t])];
    for (int64_t k = 0; k < bins; ++k)
      for (int64_t t = 0; t < tables; ++t) counts[k] += partial[t][k];
  }
  for (; i < n; ++i) ++counts[int64_t(x[i])];
}

}  // namespace

void bincount(DType dtype, const void* data, int64_t n, int64_t bins, const double* weights, void* counts) {
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const T* x = static_cast<const T*>(data);
      if (!weights) return count(x, n, bins, static_cast<int64_t*>(counts));
      for (int64_t i = 0; i < n; ++i) static_cast<double*>(counts)[int64_t(x[i])] += weights[i];
    }
  });
}

void histogram(DType dtype, const void* data, int64_t n, int64_t bins, double low, double high, void* to) {
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = Compared<T>;
    if constexpr (std::is_floating_point_v<A>) {
      const T* x = static_cast<const T*>(data);
      T* counts = static_cast<T*>(to);
      A first = A(low), last = A(high);
      in_pieces(n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          A v = A(x[i]);
          if (!(v >= first && v <= last)) continue;
          int64_t part = std::min(int64_t((v - first) * A(bins) / (last - first)), bins - 1);
          counts[part] = T(A(counts[part]) + 1);
        }
      });
    }
  });
}

}  // namespace weft::WEFT_ISA
