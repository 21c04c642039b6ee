#include "loops/fold.h"

#include <cstring>

#include "loops/convert.h"
#include "loops/modular.h"
#include "loops/parallel.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr double kWork = 32768;  // elements that are worth a thread

// Calls f(row of columns, row of the plane or -1, first window inside, end of those, pixel of the first) for all rows
// of the columns of one plane.
template <class F>
inline void each_row(const FoldPlan& p, const F& f) {
  int64_t row = 0;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      const int64_t shift = j * p.dilation[1] - p.pad[1], s = p.stride[1], room = p.size[1] - 1 - shift;
      int64_t first = shift < 0 ? (-shift + s - 1) / s : 0, end = room < 0 ? 0 : room / s + 1;
      if (end > p.windows[1]) end = p.windows[1];
      if (first > end) first = end;
      for (int64_t w = 0; w < p.windows[0]; ++w, ++row) {
        int64_t y = w * p.stride[0] + i * p.dilation[0] - p.pad[0];
        f(row, y < 0 || y >= p.size[0] ? -1 : y * p.size[1], first, end, first * s + shift);
      }
    }
}

template <class F>
inline void each_plane(const FoldPlan& p, const F& f) {
  parallel_chunks(p.planes, 1 + int64_t(kWork / double(p.columns() + p.pixels())), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

template <class T, int kStep>
inline void copy_row(const T* __restrict x, int64_t step, int64_t n, T* __restrict y) {
  const int64_t s = kStep ? kStep : step;
  for (int64_t i = 0; i < n; ++i) y[i] = x[i * s];
}
template <class T, int kStep>
inline void add_row(const T* __restrict y, int64_t step, int64_t n, T* __restrict x) {
  const int64_t s = kStep ? kStep : step;
  for (int64_t i = 0; i < n; ++i) x[i * s] = modular::add(x[i * s], y[i]);
}

struct Wide {  // an element of 16 bytes
  uint64_t low, high;
};

template <class T>
void unfold_of(const FoldPlan& p, const T* x, T* y) {
  const int64_t n = p.windows[1], s = p.stride[1];
  each_plane(p, [&](int64_t plane) {
    const T* in = x + plane * p.pixels();
    T* out = y + plane * p.columns();
    each_row(p, [&](int64_t row, int64_t line, int64_t first, int64_t end, int64_t pixel) {
      T* to = out + row * n;
      if (line < 0) first = end = n;
      std::memset(to, 0, size_t(first) * sizeof(T));
      std::memset(to + end, 0, size_t(n - end) * sizeof(T));
      const T* from = in + line + pixel;
      if (s == 1)
        copy_row<T, 1>(from, s, end - first, to + first);
      else if (s == 2)
        copy_row<T, 2>(from, s, end - first, to + first);
      else
        copy_row<T, 0>(from, s, end - first, to + first);
    });
  });
}

template <class T>
void fold_of(const FoldPlan& p, const T* y, T* x) {
  const int64_t n = p.windows[1], s = p.stride[1];
  each_plane(p, [&](int64_t plane) {
    const T* in = y + plane * p.columns();
    T* out = x + plane * p.pixels();
    std::memset(static_cast<void*>(out), 0, size_t(p.pixels()) * sizeof(T));
    each_row(p, [&](int64_t row, int64_t line, int64_t first, int64_t end, int64_t pixel) {
      if (line < 0) return;
      const T* from = in + row * n + first;
      T* to = out + line + pixel;
      if (s == 1)
        add_row<T, 1>(from, s, end - first, to);
      else if (s == 2)
        add_row<T, 2>(from, s, end - first, to);
      else
        add_row<T, 0>(from, s, end - first, to);
    });
  });
}

void unfold(int64_t item, const FoldPlan& p, const void* x, void* y) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    unfold_of(p, static_cast<const T*>(x), static_cast<T*>(y));
  };
  item == 1   ? run(uint8_t())
  : item == 2 ? run(uint16_t())
  : item == 4 ? run(uint32_t())
  : item == 8 ? run(uint64_t())
              : run(Wide());
}
void fold(DType type, const FoldPlan& p, const void* y, void* x) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    fold_of(p, static_cast<const T*>(y), static_cast<T*>(x));
  };
  switch (type) {
    case DType::Float: return run(float());
    case DType::Double: return run(double());
    case DType::ComplexFloat: return run(Complex<float>());
    case DType::ComplexDouble: return run(Complex<double>());
    case DType::UInt8: return run(uint8_t());
    case DType::Int8: return run(int8_t());
    case DType::Int16: return run(int16_t());
    case DType::Int32: return run(int32_t());
    case DType::Int64: return run(int64_t());
    default: return;
  }
}

}  // namespace

extern const FoldKernels fold_kernels_table;
const FoldKernels fold_kernels_table = {unfold, fold};

}  // namespace weft::WEFT_ISA
