// Separable linear maps of the last dimensions of tensors, as tables of one axis each.
#pragma once

#include <vector>

#include "loops/resample.h"
#include "ops/op.h"

namespace weft {

// The terms of the sums along one axis.
struct Axis {
  int64_t in, out;
  bool single = true;  // each sum is one element with weight 1
  std::vector<int32_t> begin{0}, index;
  std::vector<double> weight, count;

  Axis(int64_t in, int64_t out) : in(in), out(out) {
    begin.reserve(size_t(out) + 1), index.reserve(size_t(out)), weight.reserve(size_t(out));
  }
  void term(int64_t at, double w) {
    index.push_back(int32_t(at < 0 ? 0 : at >= in ? in - 1 : at)), weight.push_back(w);
  }
  void end() {
    begin.push_back(int32_t(index.size()));
    size_t n = index.size(), o = begin.size() - 1;
    single = single && n == o && weight.back() == 1;
  }
  void same() {
    for (int64_t o = 0; o < out; ++o) term(o, 1), end();
  }
  Axis transposed() const;  // which results each element of the input goes to
  ResampleAxis view() const {
    return {in, out, begin.data(), index.data(), weight.data(), count.empty() ? nullptr : count.data()};
  }
};

// Writes the map of the last axes.size() dimensions of x to y, channels last where x lies so.
bool resamples_last(const Tensor& x, int dims);
void run_axes(const Tensor& x, const Tensor& y, std::vector<Axis> axes);

}  // namespace weft
