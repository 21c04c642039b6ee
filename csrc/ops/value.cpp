#include "ops/value.h"

#include <cmath>
#include <utility>

namespace weft {
namespace {
DType g_default = DType::Float;
}

DType default_dtype() { return g_default; }
void set_default_dtype(DType t) { g_default = t; }

Value::Value(const Value& o) : tag_(o.tag_), extra(o.extra), as_(o.as_) {
  switch (tag_) {
    case Tag::Tensor: ++as_.tensor->refs; break;
    case Tag::Ints: as_.ints = new Dims(*o.as_.ints); break;
    case Tag::Tensors: as_.tensors = new TensorList(*o.as_.tensors); break;
    case Tag::Text: ++as_.text->refs; break;
    case Tag::Object: ++as_.object->refs; break;
    default: break;
  }
}

void Value::drop() {
  switch (tag_) {
    case Tag::Tensor:
      if (--as_.tensor->refs == 0) as_.tensor->destroy();
      break;
    case Tag::Ints: delete as_.ints; break;
    case Tag::Tensors: delete as_.tensors; break;
    case Tag::Text:
      if (--as_.text->refs == 0) as_.text->destroy();
      break;
    case Tag::Object:
      if (--as_.object->refs == 0) as_.object->destroy();
      break;
    default: break;
  }
}

DType Value::number_dtype() const {
  if (tag_ == Tag::Bool) return DType::Bool;
  if (tag_ == Tag::Int) return DType::Int64;
  return tag_ == Tag::Complex ? complex_of(g_default) : g_default;
}

void Value::store(DType t, void* at) const {
  visit(t, [&](auto zero) {
    using T = decltype(zero);
    T& out = *static_cast<T*>(at);
    if constexpr (std::is_same_v<T, c64>)
      out = c64(complex());
    else if constexpr (std::is_same_v<T, c128>)
      out = complex();
    else if constexpr (std::is_same_v<T, bool>)
      out = tag_ == Tag::Float ? as_.real != 0 : flag();
    else if constexpr (std::is_integral_v<T>)
      out = tag_ == Tag::Float || tag_ == Tag::Complex ? T(modular::truncate<int64_t>(as_.real)) : T(as_.integer);
    else if constexpr (std::is_same_v<T, double>)
      out = real();
    else
      out = T(float(real()));
  });
}

std::ostream& operator<<(std::ostream& s, const Value& v) {
  switch (v.tag()) {
    case Tag::None: return s << "None";
    case Tag::Tensor: return s << "Tensor" << v.tensor().sizes();
    case Tag::Int: return s << v.integer();
    case Tag::Float: return s << v.real();
    case Tag::Bool: return s << (v.flag() ? "True" : "False");
    case Tag::Complex: return s << v.complex();
    case Tag::DType: return s << name_of(v.dtype());
    case Tag::Ints: return s << v.ints();
    case Tag::Tensors: {
      s << '[';
      const char* between = "";
      for (const Tensor& t : v.tensors()) {
        s << std::exchange(between, ", ");
        t ? s << "Tensor" << t.sizes() : s << "None";
      }
      return s << ']';
    }
    case Tag::Text: return s << '\'' << v.text() << '\'';
    case Tag::Object: return s << "<object>";
  }
  return s;
}

void check_fits(const Value& v, DType type, const char* op) {
  if (!v.is_number() || v.tag() == Tag::Complex || type == DType::Bool) return;
  double least = 0, most = 0;
  switch (type) {
    case DType::UInt8: least = -255, most = 255; break;
    case DType::Int8: least = -128, most = 127; break;
    case DType::Int16: least = -32768, most = 32767; break;
    case DType::Int32: least = -2147483648.0, most = 2147483647.0; break;
    case DType::Int64: least = -9223372036854775808.0, most = 9223372036854774784.0; break;
    case DType::Float: least = -3.4028234663852886e38, most = 3.4028234663852886e38; break;
    default: return;
  }
  double x = v.real();
  bool whole = v.tag() != Tag::Float;
  if ((whole && type == DType::Int64) || (is_floating(type) && !(std::isfinite(x)))) return;
  if (!(x >= least && (whole ? x <= most : x < most + 1)))
    fail(op, ": value ", x, " cannot be converted to type ", name_of(type), " without overflow");
}

}  // namespace weft
