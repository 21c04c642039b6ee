#include "loops/conv_single.h"
#include "loops/convert.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int kVectors = 8;    // of sums that stay in registers
constexpr int64_t kRun = 256;  // products that are summed before they are added to the total: sums stay accurate

// The terms [first, end) whose numbers lie in (low, high), or some of them.
struct Within {
  int64_t first = 0, end;
  Within(int64_t low, int64_t high, int64_t count, int64_t offset, int64_t step) : end(count) {
    if (step < 0) {  // as seen from the last term
      Within turned(low, high, count, offset + (count - 1) * step, -step);
      first = count - turned.end, end = count - turned.first;
      return;
    }
    if (step == 0) {
      if (offset <= low || offset >= high) end = 0;
      return;
    }
    if (offset <= low) first = (low - offset) / step + 1;
    int64_t inside = offset < high ? (high - offset + step - 1) / step : 0;
    if (end > inside) end = inside;
    if (first > end) first = end;
  }
};

template <class T>
void slide_of(bool finite, const T* v, int64_t low, int64_t high, const T* u, int64_t u_step, int64_t count,
              int64_t offset, int64_t step, T* sums) {
  constexpr int64_t kSums = kSlideBytes / int64_t(sizeof(T));
  const Within terms(low - kSums, high, count, offset, step);
  if (!finite) {
    for (int64_t i = terms.first; i < terms.end; ++i) {
      const int64_t at = offset + i * step;
      for (int64_t j = at < low ? low - at : 0; j < kSums && at + j < high; ++j) sums[j] += u[i * u_step] * v[at + j];
    }
    return;
  }
  constexpr int64_t L = kLanes<T>, kPart = kVectors * L;
  static_assert(kSums % kPart == 0);
  for (int64_t j = 0; j < kSums; j += kPart)
    for (int64_t from = terms.first; from < terms.end; from += kRun) {
      const int64_t to = from + kRun < terms.end ? from + kRun : terms.end;
      Vec<T> sum[kVectors] = {};
      const T* at = v + j + offset + from * step;
      for (int64_t i = from; i < to; ++i, at += step) {
        Vec<T> by = splat(u[i * u_step]);
#pragma GCC unroll 8
        for (int k = 0; k < kVectors; ++k) sum[k] += by * load<Vec<T>>(at + k * L);
      }
      for (int k = 0; k < kVectors; ++k) store(sums + j + k * L, load<Vec<T>>(sums + j + k * L) + sum[k]);
    }
}

void slide(DType type, bool finite, const void* v, int64_t low, int64_t high, const void* u, int64_t u_step,
           int64_t count, int64_t offset, int64_t step, void* sums) {
  if (type == DType::Float)
    slide_of(finite, (const float*)v, low, high, (const float*)u, u_step, count, offset, step, (float*)sums);
  else
    slide_of(finite, (const double*)v, low, high, (const double*)u, u_step, count, offset, step, (double*)sums);
}

}  // namespace

extern const SlideKernels slide_kernels_table;
const SlideKernels slide_kernels_table{slide};

}  // namespace weft::WEFT_ISA
