// Fused groups (csrc/ops/fused.h) as weft/jit/codegen makes them.
#include "ops/fused.h"
#include <nanobind/stl/vector.h>

#include "bind/args.h"

namespace weft {
namespace {

DType dtype_from(nb::handle o) {
  DType t;
  if (!read_dtype(o.ptr(), &t)) fail_type("fused: expected a dtype");
  return t;
}

// (op, arguments, values, dtype): an argument is plain data where its value is None. Without an op: (number, sizes).
FusedKernel::Step step_from(nb::handle row) {
  FusedKernel::Step step{nullptr, {}, dtype_from(nb::object(row[3]))};
  nb::object name = row[0], plain = row[1], values = row[2];
  if (name.is_none()) {
    Param number, sizes;
    number.type = Type::Scalar;
    sizes.type = Type::Ints;
    step.arguments.push_back({-1, value_from(number, nb::object(plain[0]).ptr())});
    step.arguments.push_back({-1, value_from(sizes, nb::object(plain[1]).ptr())});
    return step;
  }
  step.op = Registry::get().find(nb::cast<std::string>(name));
  if (!step.op || !step.op->form.infer || nb::len(plain) > step.op->params.size())
    fail("fused: no op of a group: ", nb::cast<std::string>(name));
  for (size_t i = 0; i < nb::len(plain); ++i) {
    const Param& param = step.op->params[i];
    nb::object value = values[i];
    if (value.is_none())
      step.arguments.push_back({-1, value_from(param, nb::object(plain[i]).ptr())});
    else if (param.type == Type::Tensor || param.type == Type::Operand)
      step.arguments.push_back({std::max(0, nb::cast<int>(value)), Value()});
    else
      fail_type("fused: argument '", param.name, "' of ", step.op->name, " must be ", name_of(param.type));
  }
  for (size_t i = nb::len(plain); i < step.op->params.size(); ++i)
    if (!step.op->params[i].has_default)
      fail_type("fused: argument '", step.op->params[i].name, "' of ", step.op->name, " is missing");
  return step;
}

// `code` keeps the machine code for as long as it lives; it has its address.
void add(const std::string& text, nb::object code, int lanes, nb::list inputs, nb::list steps, std::vector<int> outputs,
         bool reduces) {
  Ref<FusedKernel> made(new FusedKernel);
  FusedKernel& k = *made;
  k.text = text;
  k.function = reinterpret_cast<FusedKernel::Function>(nb::cast<uintptr_t>(code.attr("address")));
  k.code = code.release().ptr();
  k.lanes = lanes;
  for (nb::handle i : inputs) k.inputs.push_back({dtype_from(nb::object(i[0])), nb::cast<bool>(nb::object(i[1]))});
  for (nb::handle s : steps) k.steps.push_back(step_from(s));
  k.outputs = std::move(outputs);
  k.reduces = reduces;
  add_fused(std::move(made));
}

}  // namespace

void interpreter::make_fused(const std::string& group) {
  nb::object made = nb::module_::import_("weft.jit.codegen").attr("make")(group);
}

void bind_fused(nb::module_& m) {
  m.def("_add_fused", add);
  m.def("_forget_recent_fused", forget_recent_fused);
  m.def("_has_fused", has_fused);
  m.def("_fused_count", fused_count);
  m.attr("_MAX_FUSED") = kMaxFused;
  m.attr("_MAX_FUSED_KERNELS") = kMaxFusedKernels;
  m.attr("_MAX_OUTPUTS") = kMaxOut;
}

}  // namespace weft
