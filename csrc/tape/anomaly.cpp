// detect_anomaly: where NaN came from, and with which values.
#include "tape/anomaly.h"

#include <algorithm>
#include <cmath>

#include "ops/api.h"
#include "tape/nodes.h"

namespace weft {
namespace {

std::string describe_range(const Tensor& t) {
  if (t.sparse()) return "sparse tensor with values, a " + describe_range(entries_of(t).values);
  std::ostringstream s;
  s << name_of(t.dtype()) << " tensor of shape " << t.sizes();
  if (!is_floating(t.dtype()) || t.numel() == 0) return s.str();
  GradMode off(false);
  Recorder* tracing = std::exchange(t_recorder, nullptr);
  Tensor values = contiguous_of(to_dtype(alias(t), DType::Double));
  t_recorder = tracing;
  double lo = INFINITY, hi = -INFINITY;
  int64_t nans = 0;
  for (int64_t i = 0; i < values.numel(); ++i) {
    double v = values.data<double>()[i];
    if (std::isnan(v))
      ++nans;
    else
      lo = std::min(lo, v), hi = std::max(hi, v);
  }
  if (nans < values.numel()) s << " in [" << lo << ", " << hi << "]";
  if (nans) s << " with " << nans << " NaN";
  return s.str();
}

bool has_nan(const Tensor& t) {
  if (!t || !is_inexact(t.dtype()) || t.numel() == 0) return false;
  GradMode off(false);
  Tensor values = contiguous_of(alias(t.sparse() ? entries_of(t).values : t));
  bool complex = is_complex(t.dtype());
  if (complex ? t.dtype() != DType::ComplexDouble : t.dtype() != DType::Double)
    values = to_dtype(values, complex ? DType::ComplexDouble : DType::Double);
  const double* v = values.data<double>();
  return std::any_of(v, v + values.numel() * (complex ? 2 : 1), [](double x) { return std::isnan(x); });
}

}  // namespace

void note_ranges(OpNode& n, Call& c) {
  n.ranges = std::make_unique<std::string>();
  for (int i = 0; i < c.count; ++i)
    if (Value& v = c.arg(i); v.is_tensor())
      *n.ranges += "\n  " + c.op.params[size_t(i)].name + ": " + describe_range(v.tensor());
}

void check_nan(Node& n, const Grads& results, const Grads& given) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!has_nan(results[i])) continue;
    auto* op = dynamic_cast<OpNode*>(&n);
    std::string ranges;
    if (op && op->ranges)
      ranges = *op->ranges;
    else
      for (auto& [name, t] : n.saved()) ranges += "\n  " + name + ": " + describe_range(t);
    for (auto& g : given)
      if (g) ranges += "\n  gradient: " + describe_range(g);
    fail("Function '", n.name(), "' returned nan values in its ", i, "th output. The forward call was made",
         n.origin.at(), ", with", ranges);
  }
}

}  // namespace weft
