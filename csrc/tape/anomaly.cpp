// detect_anomaly and debug.nan_origin: where NaN came from, and with which values.
#include "tape/anomaly.h"

#include <algorithm>
#include <cmath>

#include "ops/api.h"
#include "tape/nodes.h"

namespace weft {

constinit thread_local bool t_keeps_inputs = false, t_checks_leaves = false, t_found_infinite = false;

namespace {

// Whether the elements fill one stretch of memory, in whatever order.
bool fills_its_span(const Tensor& t) {
  int64_t last = 0;
  for (int i = 0; i < t.sizes().size(); ++i) {
    if (t.strides()[i] < 0) return false;
    last += int64_t(t.sizes()[i] - 1) * int64_t(t.strides()[i]);
  }
  return last + 1 == t.numel();
}

// An exponent of ones is that of NaN and infinity: plus one, it carries into the sign. Blocks of a constant size become
// vector instructions.
template <class Bits>
bool has_exponent(const void* data, int64_t n, Bits exponent) {
  const Bits* v = static_cast<const Bits*>(data);
  constexpr int64_t kBlock = 1024;
  const Bits one = Bits(exponent & ~(exponent << 1)), sign = Bits(exponent + one);
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    Bits found = 0;
    for (int64_t k = 0; k < kBlock; ++k) found |= Bits((v[i + k] & exponent) + one);
    if (found & sign) return true;
  }
  for (; i < n; ++i)
    if ((v[i] & exponent) == exponent) return true;
  return false;
}

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

bool all_finite(const Tensor& given) {
  if (!given || !is_inexact(given.dtype()) || given.numel() == 0) return true;
  GradMode off(false);
  Recorder* tracing = std::exchange(t_recorder, nullptr);
  Tensor t = alias(given.sparse() ? entries_of(given).values : given);
  if (!fills_its_span(t)) t = contiguous_of(t);
  t_recorder = tracing;
  switch (t.dtype()) {
    case DType::Half: return !has_exponent<uint16_t>(t.data<Half>(), t.numel(), 0x7c00);
    case DType::BFloat16: return !has_exponent<uint16_t>(t.data<BFloat16>(), t.numel(), 0x7f80);
    case DType::Float: return !has_exponent<uint32_t>(t.data<float>(), t.numel(), 0x7f800000u);
    case DType::Double: return !has_exponent<uint64_t>(t.data<double>(), t.numel(), 0x7ff0000000000000u);
    default: break;
  }
  Tensor parts = contiguous_of(t);
  if (parts.dtype() != DType::ComplexDouble) parts = to_dtype(parts, DType::ComplexDouble);
  return !has_exponent<uint64_t>(parts.data<double>(), 2 * parts.numel(), 0x7ff0000000000000u);
}

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
