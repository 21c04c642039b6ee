// How transforms of a length are computed: factors and roots of unity, kept for the next of the same length.
#pragma once

#include <memory>

#include "loops/fft.h"

namespace weft {

// A long line as a matrix of n1 x n2, or as a convolution.
template <class T>
struct LongPlan {
  int64_t n = 0, n1 = 0, n2 = 0;
  const FftPlan<T>*columns = nullptr, *rows = nullptr;
  const T* lane_twiddles = nullptr;  // [n1][2][lanes]: exp(-2 pi i k1 lane / n)
  const T* twiddles = nullptr;       // [n2 / lanes][n1] pairs: exp(-2 pi i k1 block lanes / n)
  const LongPlan* inner = nullptr;   // of a length from 2 n - 1
  const T *chirp = nullptr, *spectrum = nullptr;
  const T *coarse = nullptr, *fine = nullptr;  // roots for 2 n real numbers: FftHalves
};

// In fft.cpp: the transform of a line that is a matrix; `between` has room for it.
template <class T>
void four_steps(const LongPlan<T>& p, bool forward, T scale, const T* from, T* to, T* between);

// Plans live as long as somebody uses them, and in a cache of limited size.
template <class T>
std::shared_ptr<const FftPlan<T>> plan_of(int64_t n, bool halved);
template <class T>
std::shared_ptr<const LongPlan<T>> long_plan_of(int64_t n, int lanes, bool halved);

// Whether lines of n complex numbers are transformed one by one, as matrices, instead of many at a time.
bool best_alone(int64_t n, int item, int lanes, int64_t lines, bool adjacent);

// How many blocks of lines make a job for a thread.
int64_t blocks_of_lines(int64_t rows, int64_t blocks);

}  // namespace weft
