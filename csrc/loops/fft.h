// Discrete Fourier transforms: plans, and kernels that transform as many lines at a time as a vector has lanes.
// docs/notes/fft.md explains the methods. float and double.
#pragma once

#include <cstdint>
#include <memory>

#include "core/dims.h"
#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

enum class Fft : uint8_t { complex, real_to_complex, complex_to_real };

// One pass of Stockham's algorithm: `groups` x `together` transforms of `radix` elements.
template <class T>
struct FftPass {
  int64_t radix, groups, together;
  const T* twiddles;  // [groups][radix - 1] pairs
  const T* matrix;    // of an odd radix r: the cosines, then the sines of 2 pi j k / r, [j][k], 1 <= j, k <= r / 2
};

// How lines of n complex numbers are transformed: by passes, or as a convolution (Bluestein).
template <class T>
struct FftPlan {
  static constexpr int kMostPasses = 40;
  int64_t n = 0;
  int64_t rows = 0;  // complex numbers that a work buffer holds
  int passes = 0;
  FftPass<T> pass[kMostPasses];
  const FftPlan* inner = nullptr;  // Bluestein: transforms of inner->n >= 2 n - 1
  const T* chirp = nullptr;        // [n] pairs, exp(-pi i j^2 / n)
  const T* spectrum = nullptr;     // [inner->n] pairs, that of the chirp's conjugate, over inner->n
  const T* halves = nullptr;       // [n / 2 + 1] pairs, exp(-pi i k / n): for 2 n real numbers
};

// Lines to transform. Steps are counted in T: between the elements of a line, and from a line to the next.
template <class T>
struct FftLines {
  Fft kind = Fft::complex;
  bool forward = true;
  int64_t n = 0;  // elements of a line on the longer side
  const T* from = nullptr;
  int64_t from_step = 0, from_lane = 0;
  T* to = nullptr;
  int64_t to_step = 0, to_lane = 0;
  T scale = 1, edge = 1;  // all results; of half a spectrum, the parts that stand for one of the whole
  // Results are multiplied by lane_twiddles[k][lane] * twiddles[k], unless these are null.
  const T *lane_twiddles = nullptr, *twiddles = nullptr;
};

// Half a spectrum of 2 m real numbers beside the transform of them as m complex numbers, a line in order. Roots are
// exp(-pi i k / m) = coarse[k / kFine] * fine[k % kFine].
template <class T>
struct FftHalves {
  static constexpr int64_t kFine = 64;
  int64_t m;
  const T *coarse, *fine;
  bool forward;
  T scale, edge;
};

template <class T>
struct FftTable {
  int lanes;
  // The first `count` <= lanes lines; work holds 4 * lanes * plan.rows.
  void (*lines)(const FftPlan<T>& plan, const FftLines<T>& x, int count, T* work);
  void (*split)(const FftHalves<T>& h, T* x);              // in place: m numbers become m + 1
  void (*join)(const FftHalves<T>& h, const T* x, T* to);  // m + 1 numbers become m
  void (*multiply)(const T* x, const T* by, T* to, int64_t n,
                   bool swap);  // complex; swap: real and imaginary parts of to
};

struct FftKernels {
  FftTable<float> floats;
  FftTable<double> doubles;
};

WEFT_DECLARE_KERNELS(FftKernels, fft_kernels)

// A box in memory; strides in elements of its own type.
struct FftBox {
  char* data;
  Dims strides;
};

struct FftJob {
  DType real;  // Float or Double
  Fft kind;
  bool forward;
  double scale, edge;
};

// Transforms along dimension `dim` of a box of `sizes`, which are those of the longer side. `to` may be `from`
// where both have the same strides.
void fft_along(const FftJob& job, const Dims& sizes, int dim, const FftBox& from, const FftBox& to);

}  // namespace weft
