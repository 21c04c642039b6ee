// Signatures become parameters: "sum.dim(Tensor input, int[]? dim, bool keepdim=False, *, dtype? dtype=None) ->
// Tensor".
#include <cstdlib>
#include <unordered_map>

#include "core/event_log.h"
#include "ops/op.h"

namespace weft {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

Type type_named(std::string_view t, std::string_view signature) {
  static const std::unordered_map<std::string_view, Type> types = {
    {"Tensor", Type::Tensor},   {"Tensor|Scalar", Type::Operand}, {"Tensor[]", Type::Tensors}, {"Scalar", Type::Scalar},
    {"int", Type::Int},         {"float", Type::Float},           {"bool", Type::Bool},        {"int[]", Type::Ints},
    {"int...", Type::Varargs},  {"dtype", Type::DType},           {"str", Type::Text},         {"object", Type::Object},
    {"Generator", Type::Object}};
  auto it = types.find(t);
  if (it == types.end()) fail("unknown type ", t, " in ", signature);
  return it->second;
}

Value parse_default(std::string_view text, Type type) {
  if (text == "None") return Value();
  if (text == "True" || text == "False") return Value(text == "True");
  if (text[0] == '\'') return Value(std::string(text.substr(1, text.size() - 2)));
  if (text[0] == '[' || text[0] == '(') {
    Dims d;
    std::string inner(text.substr(1, text.size() - 2));
    for (char* p = inner.data(); *p;) {
      char* end;
      d.push(std::strtoll(p, &end, 10));
      for (p = end; *p == ',' || *p == ' ';) ++p;
    }
    return Value(d);
  }
  std::string s(text);
  bool real = s.find_first_of(".einf") != std::string::npos;
  if (type == Type::Ints || type == Type::Varargs) return Value(Dims{std::atoll(s.c_str())});
  return real || type == Type::Float ? Value(std::strtod(s.c_str(), nullptr)) : Value(int64_t(std::atoll(s.c_str())));
}

Param parse_param(std::string_view text, std::string_view signature) {
  size_t space = text.find(' ');
  std::string_view type = text.substr(0, space), rest = trim(text.substr(space + 1));
  Param p;
  if (type == "Tensor?[]") {
    p.holes = true;
    type = "Tensor[]";
  }
  if (type.back() == '?') {
    p.nullable = true;
    type.remove_suffix(1);
  }
  p.type = type_named(type, signature);
  size_t eq = rest.find('=');
  p.name = rest.substr(0, eq);
  if (eq != std::string_view::npos) {
    p.has_default = true;
    p.fallback = parse_default(rest.substr(eq + 1), p.type);
  }
  return p;
}

// The positions of commas outside brackets cut s into parts.
std::vector<std::string_view> split_arguments(std::string_view s) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      auto part = trim(s.substr(start, i - start));
      if (!part.empty()) parts.push_back(part);
      start = i + 1;
    } else if (s[i] == '[' || s[i] == '(') {
      ++depth;
    } else if (s[i] == ']' || s[i] == ')') {
      --depth;
    }
  }
  return parts;
}

void parse_results(Op& op, std::string_view text) {
  if (text == "Tensor[]") {
    op.returns_list = true;
    return;
  }
  if (text[0] != '(') {
    op.results = {""};
    return;
  }
  for (auto part : split_arguments(text.substr(1, text.size() - 2))) {
    size_t space = part.find(' ');
    op.results.emplace_back(space == std::string_view::npos ? "" : trim(part.substr(space + 1)));
  }
}

// "log_softmax" -> "LogSoftmaxBackward0"; a fused op has the name that its last part has in PyTorch
std::string node_name_of(const std::string& base) {
  static const std::unordered_map<std::string_view, const char*> others = {
    {"cross_entropy_rows", "NllLossBackward0"},
    {"nll_classes", "NllLossBackward0"},
    {"multi_margin_rows", "MultiMarginLossBackward0"},
    {"multilabel_margin_rows", "MultilabelMarginLossBackward0"},
    {"ctc_rows", "CtcLossBackward0"},
    {"squared_error", "MseLossBackward0"},
    {"smooth_l1", "SmoothL1LossBackward0"},
    {"huber", "HuberLossBackward0"},
    {"log_loss", "BinaryCrossEntropyBackward0"},
    {"logistic_loss", "BinaryCrossEntropyWithLogitsBackward0"},
    {"convolve", "ConvolutionBackward0"},
    {"convolve_relu", "ConvolutionReluBackward0"},
    {"convolve_input", "ConvolutionBackward0"},
    {"convolve_weight", "ConvolutionBackwardBackward0"},
    {"norm_channels", "NativeBatchNormBackward0"},
    {"norm_rows", "NativeLayerNormBackward0"},
    {"norm_groups", "NativeGroupNormBackward0"},
    {"pool_mean", "AvgPool2DBackward0"},
    {"pool_largest", "MaxPool2DWithIndicesBackward0"},
    {"pool_adaptive", "AdaptiveMaxPool2DBackward0"},
    {"pool_fractional", "FractionalMaxPool2DBackward0"},
    {"pool_set", "MaxUnpool2DBackward0"},
    {"attend", "ScaledDotProductAttentionBackward0"},
    {"unfold_windows", "Im2ColBackward0"},
    {"fold_windows", "Col2ImBackward0"},
    {"grid_read", "GridSampler2DBackward0"},
    {"embedding_bags", "EmbeddingBagBackward0"},
    {"matrix_product", "MmBackward0"},
    {"join", "CatBackward0"},
    {"gelu_erf", "GeluBackward0"},
    {"gelu_tanh", "GeluBackward0"},
    {"logsigmoid", "LogSigmoidBackward0"},
    {"pad_picked", "ConstantPadNdBackward0"},
    {"cast", "ToCopyBackward0"},
    {"contiguous_copy", "CloneBackward0"},
  };
  if (auto found = others.find(base); found != others.end()) return found->second;
  std::string s;
  bool upper = true;
  for (char ch : base) {
    if (ch == '_') {
      upper = true;
      continue;
    }
    s += upper ? char(std::toupper(ch)) : ch;
    upper = false;
  }
  return s + "Backward0";
}

std::unordered_map<std::string_view, Op*>& index() {
  static std::unordered_map<std::string_view, Op*> by_name;
  return by_name;
}

}  // namespace

const char* name_of(Type t) {
  static const char* names[] = {
    "Tensor", "Tensor or number",        "sequence of Tensors",        "number", "int", "float",
    "bool",   "int or sequence of ints", "ints or a sequence of ints", "dtype",  "str", "object"};
  return names[int(t)];
}

Registry& Registry::get() {
  static Registry registry;
  return registry;
}

Op& Registry::add(const Form& form) {
  auto* op = new Op;  // lives as long as the process
  op->form = form;
  std::string_view s = form.signature;
  size_t open = s.find('('), close = s.rfind(") ->");
  if (open == std::string_view::npos || close == std::string_view::npos) fail("bad signature ", s);
  op->name = s.substr(0, open);
  op->base = op->name.substr(0, op->name.find('.'));
  bool keyword_only = false;
  for (auto part : split_arguments(s.substr(open + 1, close - open - 1))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    Param p = parse_param(part, s);
    p.keyword_only = keyword_only;
    if (!p.has_default) ++op->required;
    op->params.push_back(std::move(p));
  }
  if (op->params.size() > kMaxArgs) fail("too many parameters in ", s);
  parse_results(*op, trim(s.substr(close + 4)));
  if (op->results.size() > kMaxOut) fail("too many results in ", s);
  op->node_name = node_name_of(op->base);
  op->set_cast(Cast::None);
  op->set_recorded(is_recording());
  ops_.push_back(op);
  if (!index().emplace(op->name, op).second) fail("two ops are called ", op->name);
  return *op;
}

Op* Registry::find(std::string_view name) {
  auto it = index().find(name);
  return it == index().end() ? nullptr : it->second;
}

void Call::fill_defaults() {
  if (count > int(op.params.size()))
    fail_type(op.name, " takes ", op.params.size(), " arguments but ", count, " were given");
  for (int i = count; i < int(op.params.size()); ++i) {
    const Param& p = op.params[size_t(i)];
    if (!p.has_default) fail_type(op.base, ": missing argument '", p.name, "'");
    push(p.fallback);
  }
}

}  // namespace weft
