#include "loops/bags.h"

#include "loops/convert.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kWork = 16384;  // elements that are worth a thread

// kVectors vectors of the sum of one bag, which stay in registers.
template <class T, int kVectors, bool kWeighted>
inline void sum_rows(const BagPlan& p, int64_t begin, int64_t end, const T* table, const T* weights, T* y) {
  constexpr int L = kLanes<T>;
  constexpr int64_t kAhead = 8;  // rows that are asked for before they are needed
  Vec<T> sum[kVectors] = {};
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < p.count)
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(table + p.indices[i + kAhead] * p.width + v * L);
    if (p.indices[i] == p.padding) continue;
    const T* row = table + p.indices[i] * p.width;
    for (int v = 0; v < kVectors; ++v) {
      Vec<T> x = load<Vec<T>>(row + v * L);
      if constexpr (kWeighted)
        sum[v] += x * weights[i];
      else
        sum[v] += x;
    }
  }
  for (int v = 0; v < kVectors; ++v) store(y + v * L, sum[v]);
}

template <class T>
void sum_of(const BagPlan& p, const T* table, const T* weights, T* y, int64_t* kept) {
  constexpr int L = kLanes<T>;
  const int64_t each = p.width * (1 + p.count / (p.bags > 0 ? p.bags : 1));
  parallel_chunks(p.bags, 1 + kWork / (each + 1), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = p.start(b), end = p.start(b + 1);
      T* to = y + b * p.width;
      int64_t c = 0;
      for (; c + 4 * L <= p.width; c += 4 * L)
        weights ? sum_rows<T, 4, true>(p, begin, end, table + c, weights, to + c)
                : sum_rows<T, 4, false>(p, begin, end, table + c, weights, to + c);
      for (; c + L <= p.width; c += L)
        weights ? sum_rows<T, 1, true>(p, begin, end, table + c, weights, to + c)
                : sum_rows<T, 1, false>(p, begin, end, table + c, weights, to + c);
      for (; c < p.width; ++c) {
        T sum = 0;
        for (int64_t i = begin; i < end; ++i)
          if (p.indices[i] != p.padding)
            sum += weights ? table[p.indices[i] * p.width + c] * weights[i] : table[p.indices[i] * p.width + c];
        to[c] = sum;
      }
      int64_t n = end - begin;
      if (p.padding >= 0)
        for (int64_t i = begin; i < end; ++i) n -= p.indices[i] == p.padding;
      kept[b] = n < 1 ? 1 : n;
      if (p.mean && n > 1)
        for (c = 0; c < p.width; ++c) to[c] /= T(n);
    }
  });
}

void sum(DType type, const BagPlan& p, const void* table, const void* weights, void* y, int64_t* kept) {
  if (type == DType::Double)
    sum_of(p, static_cast<const double*>(table), static_cast<const double*>(weights), static_cast<double*>(y), kept);
  else
    sum_of(p, static_cast<const float*>(table), static_cast<const float*>(weights), static_cast<float*>(y), kept);
}

template <class T>
[[gnu::noinline]] bool same_block(const T* a, const T* b, int64_t n) {
  int32_t differ = 0;
  for (int64_t i = 0; i < n; ++i) differ |= a[i] == b[i] ? 0 : 1;
  return !differ;
}

template <class T>
bool equal_of(const T* a, const T* b, int64_t n) {
  constexpr int64_t kBlock = 1024;
  for (int64_t i = 0; i < n; i += kBlock) {
    if (i % (1024 * kBlock) == 0) leave_if_interrupted();
    if (!same_block(a + i, b + i, n - i < kBlock ? n - i : kBlock)) return false;
  }
  return true;
}

template <class H>
bool equal_halves(const H* a, const H* b, int64_t n) {
  constexpr int64_t kBlock = 1024;
  float x[kBlock], y[kBlock];
  for (int64_t i = 0, some = 0; i < n; i += some) {
    if ((i & ((1 << 20) - 1)) == 64) leave_if_interrupted();
    some = i ? kBlock : 64;  // most that differ do so at once
    some = n - i < some ? n - i : some;
    widen(a + i, x, some), widen(b + i, y, some);
    if (!same_block(x, y, some)) return false;
  }
  return true;
}

bool equal(DType type, const void* a, const void* b, int64_t n) {
  if (type == DType::Half) return equal_halves(static_cast<const Half*>(a), static_cast<const Half*>(b), n);
  if (type == DType::BFloat16) return equal_halves(static_cast<const BFloat16*>(a), static_cast<const BFloat16*>(b), n);
  if (type == DType::Double) return equal_of(static_cast<const double*>(a), static_cast<const double*>(b), n);
  return equal_of(static_cast<const float*>(a), static_cast<const float*>(b), n);
}

}  // namespace

extern const BagKernels bag_kernels_table;
const BagKernels bag_kernels_table = {sum, equal};

}  // namespace weft::WEFT_ISA
