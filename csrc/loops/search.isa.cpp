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

// Halves the part that is left without branching. Comparisons with NaN fail, so NaN comes last.
template <bool right, class T, class At>
int64_t place_of(T value, int64_t n, const At& at) {
  int64_t from = 0;
  while (n > 0) {
    int64_t half = n / 2;
    auto x = at(from + half);
    bool later = right ? !(x > value) : !(x >= value);
    from = later ? from + half + 1 : from;
    n = later ? n - half - 1 : half;
  }
  return from;
}

}  // namespace

void search(DType dtype, const void* sorted, const int64_t* sorter, int64_t n, const void* values, int64_t m, bool right,
            int64_t* at) {
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = Compared<T>;
    const T *x = static_cast<const T*>(sorted), *v = static_cast<const T*>(values);
    auto direct = [&](int64_t i) { return A(x[i]); };
    auto indirect = [&](int64_t i) { return A(x[sorter[i]]); };
    auto run = [&](auto&& get, auto side) {
      parallel_chunks(m, 2048, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) at[i] = place_of<decltype(side)::value>(A(v[i]), n, get);
      });
    };
    auto with_side = [&](auto&& get) {
      if (right) run(get, std::true_type{});
      else run(get, std::false_type{});
    };
    if (sorter) with_side(indirect);
    else with_side(direct);
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

void bincount(DType dtype, const void* data, int64_t n, const double* weights, void* counts) {
  visit_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* x = static_cast<const T*>(data);
    if (weights)
      for (int64_t i = 0; i < n; ++i) static_cast<double*>(counts)[int64_t(x[i])] += weights[i];
    else
      for (int64_t i = 0; i < n; ++i) ++static_cast<int64_t*>(counts)[int64_t(x[i])];
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
      for (int64_t i = 0; i < n; ++i) {
        A v = A(x[i]);
        if (!(v >= first && v <= last)) continue;
        int64_t part = std::min(int64_t((v - first) * A(bins) / (last - first)), bins - 1);
        counts[part] = T(A(counts[part]) + 1);
      }
    }
  });
}

}  // namespace weft::WEFT_ISA
