#include "ops/boundary.h"

namespace weft {
namespace {

bool has_type(const Param& p, const Value& v) {
  Tag t = v.tag();
  switch (p.type) {
    case Type::Tensor: return t == Tag::Tensor;
    case Type::Operand: return t == Tag::Tensor || v.is_number();
    case Type::Tensors:
      if (t != Tag::Tensors) return false;
      for (const Tensor& each : v.tensors())
        if (!each && !p.holes) return false;
      return true;
    case Type::Scalar: return v.is_number();
    case Type::Int: return t == Tag::Int;
    case Type::Float: return t == Tag::Float;
    case Type::Bool: return t == Tag::Bool;
    case Type::Ints:
    case Type::Varargs: return t == Tag::Ints;
    case Type::DType: return t == Tag::DType;
    case Type::Text: return t == Tag::Text;
    case Type::Object: return t == Tag::Object;
  }
  return false;
}

bool may_be_none(const Param& p) { return p.nullable || (p.has_default && p.fallback.none()); }

}  // namespace

void check_arguments(Call& c) {
  const Op& op = c.op;
  if (c.count != int(op.params.size())) fail_type(op.name, ": takes ", op.params.size(), " arguments, got ", c.count);
  for (int i = 0; i < c.count; ++i) {
    const Param& p = op.params[size_t(i)];
    const Value& v = c.arg(i);
    if (v.none() ? !may_be_none(p) : !has_type(p, v))
      fail_type(op.name, ": argument '", p.name, "' must be ", name_of(p.type), may_be_none(p) ? " or None" : "",
                ", got ", v);
  }
  if (!c.inplace) return;
  if (!op.is(kInplace) && !op.is(kInplaceOnly)) fail(op.name, ": cannot run in place");
  if (c.count == 0 || !c.arg(0).is_tensor()) fail_type(op.name, "_: the first argument must be a Tensor");
}

}  // namespace weft
