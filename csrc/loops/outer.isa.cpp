#include "loops/outer.h"

#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

template <class T>
void add_rows(int64_t begin, int64_t end, int64_t n, const T* from, const T* x, const T* y, T* out) {
  using V = Vec<T>;
  constexpr int64_t L = kLanes<T>;
  for (int64_t i = begin; i < end; ++i) {
    const T *a = from + i * n, by = x[i];
    T* to = out + i * n;
    const V all = splat(by);
    int64_t j = 0;
    for (; j + 2 * L <= n; j += 2 * L) {
      const V one = load<V>(a + j) + all * load<V>(y + j), other = load<V>(a + j + L) + all * load<V>(y + j + L);
      store(to + j, one), store(to + j + L, other);
    }
    for (; j + L <= n; j += L) store(to + j, load<V>(a + j) + all * load<V>(y + j));
    for (; j < n; ++j) to[j] = a[j] + by * y[j];
  }
}

void add(DType type, int64_t rows, int64_t columns, const void* from, const void* x, const void* y, void* out) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    parallel_shares(rows, 1 + kGrain / std::max<int64_t>(columns, 1), 1, [&](int64_t begin, int64_t end) {
      add_rows(begin, end, columns, static_cast<const T*>(from), static_cast<const T*>(x), static_cast<const T*>(y),
               static_cast<T*>(out));
    });
  };
  type == DType::Float ? run(float()) : run(double());
}

}  // namespace

extern const OuterKernels outer_kernels_table = {add};

}  // namespace weft::WEFT_ISA
