// The values of a tensor in a few numbers and a histogram (weft/view/live). Nothing is changed and no op is called:
// elements are read as they lie in memory, where their order does not matter.
#include "bind/summary.h"

#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace weft {
namespace {

double number_at(const char* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::Bool: return reinterpret_cast<const bool*>(data)[i] ? 1 : 0;
    case DType::UInt8: return reinterpret_cast<const uint8_t*>(data)[i];
    case DType::Int8: return reinterpret_cast<const int8_t*>(data)[i];
    case DType::Int16: return reinterpret_cast<const int16_t*>(data)[i];
    case DType::Int32: return reinterpret_cast<const int32_t*>(data)[i];
    case DType::Int64: return double(reinterpret_cast<const int64_t*>(data)[i]);
    case DType::Half: return float(reinterpret_cast<const Half*>(data)[i]);
    case DType::BFloat16: return float(reinterpret_cast<const BFloat16*>(data)[i]);
    case DType::Float: return reinterpret_cast<const float*>(data)[i];
    case DType::Double: return reinterpret_cast<const double*>(data)[i];
    case DType::ComplexFloat: return std::abs(reinterpret_cast<const std::complex<float>*>(data)[i]);
    case DType::ComplexDouble: return std::abs(reinterpret_cast<const std::complex<double>*>(data)[i]);
  }
  return 0;
}

// `count` elements at equal distances in the order of the program, or of memory where all of it belongs to the tensor.
std::vector<double> sample(const Tensor& t, int64_t count) {
  int64_t n = t.numel();
  std::vector<double> values;
  values.reserve(size_t(count));
  bool whole = t.contiguous() && t->offset == 0 && n * item_size(t.dtype()) == t->storage->bytes;
  const char* data = whole ? t->storage->data : t.data();
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
    values.push_back(number_at(data, t.dtype(), i));
  }
  return values;
}

// (looked at, not finite, zeros, smallest, largest, mean, deviation, [counts]) of at most `most` elements; None for a
// sparse tensor. Extremes, mean and counts are those of the finite elements; NaN where there are none.
nb::object summary(Tensor t, int64_t most, int bins) {
  if (t.sparse() || most < 1 || bins < 1) return nb::none();
  std::vector<double> values = sample(t, std::min(t.numel(), most));
  int64_t finite = 0, zeros = 0;
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    ++finite;
    zeros += v == 0;
    low = std::min(low, v), high = std::max(high, v);
    sum += v;
  }
  double none = std::nan(""), mean = finite ? sum / double(finite) : none, squares = 0;
  std::vector<int64_t> counts(size_t(bins), 0);
  double scale = high > low ? double(bins) / (high - low) : 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    squares += (v - mean) * (v - mean);
    double place = std::isfinite(scale) ? (v - low) * scale : 0;
    ++counts[size_t(std::clamp<double>(place, 0, bins - 1))];
  }
  PyObject* list = PyList_New(bins);
  for (int i = 0; i < bins; ++i) PyList_SET_ITEM(list, i, PyLong_FromLongLong(counts[size_t(i)]));
  return nb::make_tuple(int64_t(values.size()), int64_t(values.size()) - finite, zeros, finite ? low : none,
                        finite ? high : none, mean, finite ? std::sqrt(squares / double(finite)) : none,
                        nb::steal(list));
}

}  // namespace

void bind_summary(nb::module_& m) { m.def("_summary", summary); }

}  // namespace weft
