// The values of a tensor in a few numbers and a histogram (weft/view/live). Nothing is changed and no op is called:
// elements are read where they lie, in whatever order, so that a program that is looked at computes the same bits.
#include "bind/summary.h"

#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "ops/api.h"

namespace weft {
namespace {

template <class T>
double number(T x) {
  return double(x);
}
double number(Half x) { return float(x); }
double number(BFloat16 x) { return float(x); }
double number(std::complex<float> x) { return std::abs(x); }
double number(std::complex<double> x) { return std::abs(x); }

// Where the element lies that a tensor says is number i of its storage.
int64_t place_of(const Storage& s, int64_t i) {
  int64_t channels = s.last.channels, pixels = s.last.pixels;
  if (channels <= 0) return i;
  int64_t image = i / (channels * pixels), channel = i / pixels % channels, pixel = i % pixels;
  return (image * pixels + pixel) * channels + channel;
}

// Calls f with `count` elements at equal distances, in the order of the program.
template <class T, class F>
void each_of(const Tensor& t, int64_t count, F& f) {
  const Storage& s = *t->storage;
  bool moved = s.last.channels > 0;
  if (moved && s.last.item != int64_t(sizeof(T))) t->storage->put_in_order(), moved = false;
  const T* data = reinterpret_cast<const T*>(s.data);
  int64_t n = t.numel();
  if (count == n && t.contiguous() && !moved) {
    for (int64_t k = 0; k < n; ++k) f(number(data[t->offset + k]));
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    int64_t i = count == n ? k : int64_t(double(k) * (double(n) / double(count)));
    if (!t.contiguous()) {
      int64_t rest = i, at = 0;
      for (int d = t.dim() - 1; d >= 0; --d) {
        at += rest % t.size(d) * t.stride(d);
        rest /= t.size(d);
      }
      i = at;
    }
    i += t->offset;
    f(number(data[moved ? place_of(s, i) : i]));
  }
}

template <class F>
void each(const Tensor& t, int64_t count, F f) {
  switch (t.dtype()) {
    case DType::Bool: return each_of<bool>(t, count, f);
    case DType::UInt8: return each_of<uint8_t>(t, count, f);
    case DType::Int8: return each_of<int8_t>(t, count, f);
    case DType::Int16: return each_of<int16_t>(t, count, f);
    case DType::Int32: return each_of<int32_t>(t, count, f);
    case DType::Int64: return each_of<int64_t>(t, count, f);
    case DType::Half: return each_of<Half>(t, count, f);
    case DType::BFloat16: return each_of<BFloat16>(t, count, f);
    case DType::Float: return each_of<float>(t, count, f);
    case DType::Double: return each_of<double>(t, count, f);
    case DType::ComplexFloat: return each_of<std::complex<float>>(t, count, f);
    case DType::ComplexDouble: return each_of<std::complex<double>>(t, count, f);
  }
}

struct Numbers {
  int64_t looked = 0, nans = 0, infinite = 0, zeros = 0;
  double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
  void take(double v) {
    ++looked;
    if (!std::isfinite(v)) {
      ++(std::isnan(v) ? nans : infinite);
      return;
    }
    zeros += v == 0;
    low = std::min(low, v), high = std::max(high, v);
    sum += v, squares += v * v;
  }
  int64_t finite() const { return looked - nans - infinite; }
};

// (looked at, not finite, zeros, smallest, largest, mean, deviation, [counts]) of at most `most` elements; None for a
// sparse tensor. Extremes, mean and counts are those of the finite elements; NaN where there are none.
nb::object summary(Tensor t, int64_t most, int bins) {
  if (t.sparse() || most < 1 || bins < 1) return nb::none();
  std::vector<double> values;
  int64_t count = std::min(t.numel(), most);
  values.reserve(size_t(count));
  Numbers n;
  each(t, count, [&](double v) { n.take(v), values.push_back(v); });
  double none = std::nan(""), mean = n.finite() ? n.sum / double(n.finite()) : none, squares = 0;
  std::vector<int64_t> counts(size_t(bins), 0);
  double scale = n.high > n.low ? double(bins) / (n.high - n.low) : 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    squares += (v - mean) * (v - mean);
    double place = std::isfinite(scale) ? (v - n.low) * scale : 0;
    ++counts[size_t(std::clamp<double>(place, 0, bins - 1))];
  }
  PyObject* list = PyList_New(bins);
  for (int i = 0; i < bins; ++i) PyList_SET_ITEM(list, i, PyLong_FromLongLong(counts[size_t(i)]));
  bool any = n.finite() > 0;
  return nb::make_tuple(n.looked, n.nans + n.infinite, n.zeros, any ? n.low : none, any ? n.high : none, mean,
                        any ? std::sqrt(squares / double(n.finite())) : none, nb::steal(list));
}

// (elements, nan, infinite, zeros, smallest, largest, sum, sum of squares) of all elements; sums and extremes are those
// of the finite ones.
nb::object statistics(Tensor t) {
  if (t.sparse()) return nb::none();
  Numbers n;
  each(t, t.numel(), [&](double v) { n.take(v); });
  return nb::make_tuple(n.looked, n.nans, n.infinite, n.zeros, n.low, n.high, n.sum, n.squares);
}

// At most `most` elements of a tensor, at equal distances, as float64.
Tensor sample(Tensor t, int64_t most) {
  int64_t count = t.sparse() ? 0 : std::min(t.numel(), std::max<int64_t>(most, 0));
  Tensor out = meta(DType::Double, Dims{count});
  give_memory(*out.get());
  double* to = out.data<double>();
  if (count) each(t, count, [&](double v) { *to++ = v; });
  return out;
}

}  // namespace

void bind_summary(nb::module_& m) {
  m.def("_summary", summary);
  m.def("_statistics", statistics);
  m.def("_sample", sample);
}

}  // namespace weft
