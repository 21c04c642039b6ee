// Inner products of vectors of any element type.
#include <algorithm>
#include <optional>

#include "loops/copy.h"
#include "loops/gemm.h"
#include "loops/gemm_complex.h"
#include "loops/gemm_half.h"
#include "loops/modular.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kDotChunk = 16384;

// Partial sums over fixed chunks, added in order.
template <class T>
T dot_in_chunks(DType type, int64_t n, const void* a, const void* b) {
  const GemmKernels& kernels = gemm_kernels();
  int64_t chunks = std::max<int64_t>(1, (n + kDotChunk - 1) / kDotChunk);
  if (chunks == 1) {
    T result;
    kernels.dot(type, a, b, n, &result);
    return result;
  }
  Scratch memory(chunks * item_size(type));
  T* partial = memory.as<T>();
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  parallel_chunks(n, kDotChunk, [&](int64_t begin, int64_t end) {
    kernels.dot(type, x + begin, y + begin, end - begin, partial + begin / kDotChunk);
  });
  T sum = 0;
  for (int64_t c = 0; c < chunks; ++c) sum = modular::add(sum, partial[c]);
  return sum;
}

// The same of half types, in float.
float dot_in_chunks(DType type, int64_t n, const char* a, const char* b) {
  int64_t chunks = std::max<int64_t>(1, (n + kDotChunk - 1) / kDotChunk);
  Panel memory(1, chunks * 4);
  auto* partial = reinterpret_cast<float*>(memory.data());
  partial[0] = 0;
  parallel_chunks(n, kDotChunk, [&](int64_t begin, int64_t end) {
    partial[begin / kDotChunk] = half_gemm_kernels().dot(type, a + 2 * begin, b + 2 * begin, end - begin);
  });
  float sum = 0;
  for (int64_t c = 0; c < chunks; ++c) sum += partial[c];
  return sum;
}

template <class T>
T dot_strided(DType type, int64_t n, const void* a, int64_t a_stride, const void* b, int64_t b_stride) {
  if (is_half(type) && ((a_stride == 1 && b_stride == 1) || n <= 1))
    return T(dot_in_chunks(type, n, static_cast<const char*>(a), static_cast<const char*>(b)));
  std::optional<Scratch> copies[2];
  const void* x[2] = {a, b};
  int64_t strides[2] = {a_stride, b_stride}, one = 1;
  for (int i = 0; i < 2; ++i) {
    if ((strides[i] == 1 || n <= 1) && dtype_of<T> == type) continue;
    copies[i].emplace(n * int64_t(sizeof(T)));
    char* to = copies[i]->as<char>();
    copy_kernels().copy(dtype_of<T>, to, &one, type, static_cast<const char*>(x[i]), &strides[i], &n, 1);
    x[i] = to;
  }
  return dot_in_chunks<T>(dtype_of<T>, n, x[0], x[1]);
}

}  // namespace

void dot(DType type, int64_t n, const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* result) {
  auto through = [&](auto wide) {
    using T = decltype(wide);
    T sum = dot_strided<T>(type, n, a, a_stride, b, b_stride);
    copy_kernels().convert(dtype_of<T>, type, &sum, result, 1);
  };
  switch (type) {
    case DType::Float:
    case DType::Half:
    case DType::BFloat16: return through(float{});
    case DType::Double: return through(double{});
    case DType::Int64: return through(int64_t{});
    case DType::ComplexFloat:
    case DType::ComplexDouble: return dot_complex(type, n, a, a_stride, b, b_stride, false, result);
    default: return through(int32_t{});
  }
}

}  // namespace weft
