// Separable linear maps of the last dimensions of tensors, as tables of one axis each.
#pragma once

#include <vector>

#include "loops/resample.h"
#include "ops/op.h"

namespace weft {

// The terms of the sums along one axis, or windows: sums of neighbours.
struct Axis {
  int64_t in, out;
  bool single = true;  // each sum is one element with weight 1
  std::vector<int32_t> begin, end, index;
  std::vector<double> weight, count;
  int64_t terms = 0;

  // With room for so many terms of each sum; there may be more.
  Axis(int64_t in, int64_t out, int64_t each) : in(in), out(out), begin(size_t(out) + 1), index(size_t(out * each)) {
    weight.resize(index.size());
  }
  // Windows [first, last) and what their sums are divided by: f(o, first, last, count) sets these.
  template <class F>
  static Axis windows(int64_t in, int64_t out, const F& f) {
    Axis a(in, out, 0);
    a.single = false;
    a.end.resize(size_t(out)), a.count.resize(size_t(out));
    int32_t *begin = a.begin.data(), *end = a.end.data();
    double* count = a.count.data();
    for (int64_t o = 0; o < out; ++o) f(o, begin[o], end[o], count[o]);
    for (int64_t o = 0; o < out; ++o) a.terms += end[o] - begin[o];
    return a;
  }
  void term(int64_t at, double w) {
    if (size_t(terms) == index.size()) [[unlikely]]
      index.resize(2 * index.size() + 16), weight.resize(index.size());
    index[size_t(terms)] = int32_t(at < 0 ? 0 : at >= in ? in - 1 : at), weight[size_t(terms++)] = w;
  }
  // Ends the sum of element o.
  void close(int64_t o) {
    begin[size_t(o) + 1] = int32_t(terms);
    single = single && terms == o + 1 && weight[size_t(o)] == 1;
  }
  void same() {
    for (int64_t o = 0; o < out; ++o) term(o, 1), close(o);
  }
  Axis transposed() const;  // which results each element of the input goes to
  ResampleAxis view() const {
    bool all = end.empty();
    return {in,
            out,
            begin.data(),
            all ? begin.data() + 1 : end.data(),
            all ? index.data() : nullptr,
            weight.data(),
            count.empty() ? nullptr : count.data(),
            terms};
  }
  ResampleAxis adjoint_view() const {
    ResampleAxis a = view();
    a.in = out, a.out = in, a.scatters = true;
    return a;
  }
};

// Writes the map of the last axes.size() dimensions of x to y, or its adjoint; channels last where x lies so.
bool resamples_last(const Tensor& x, int dims);
void run_axes(const Tensor& x, const Tensor& y, std::vector<Axis> axes, bool adjoint = false);

}  // namespace weft
