// The op `fused`: its shape rule goes through the ops of the group, its loop is machine code, and its derivative is
// that of the ops one by one.
#include "ops/fused.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "core/interpreter.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/fused_box.h"
#include "ops/order.h"
#include "ops/recording.h"
#include "ops/reduced.h"

namespace weft {

namespace {

// All kernels that live, by their texts, and those that were asked for last. Never destroyed.
struct Kernels {
  std::unordered_map<std::string, FusedKernel*> living;
  std::deque<Ref<FusedKernel>> recent;  // the last one first

  Ref<FusedKernel> find(const std::string& text) {
    auto found = living.find(text);
    if (found == living.end()) return nullptr;
    Ref<FusedKernel> kernel(found->second);
    ask_for(kernel);
    return kernel;
  }
  void ask_for(const Ref<FusedKernel>& kernel) {
    auto at = std::find(recent.begin(), recent.end(), kernel);
    if (at != recent.end()) recent.erase(at);
    recent.push_front(kernel);
    if (recent.size() <= kRecentFused) return;
    Ref<FusedKernel> last = std::move(recent.back());  // it goes when all is in order here: that may run Python
    recent.pop_back();
  }
};

Kernels& kernels() {
  static auto* all = new Kernels;
  return *all;
}

// The kernel of a call. It stays with the text, for calls that run again.
const FusedKernel& kernel_of(const Value& group) {
  Text& text = group.shared_text();
  if (!text.made) {
    Ref<FusedKernel> found = kernels().find(text.value);
    if (!found) {
      interpreter::make_fused(text.value);
      found = kernels().find(text.value);
    }
    if (!found) fail("fused: there is no machine code for this group: ", text.value);
    text.made = Ref<Opaque>(found.get());
  }
  return static_cast<const FusedKernel&>(*text.made);
}
const FusedKernel& kernel_of(Call& c) { return kernel_of(c.arg(1)); }

bool is_expanded(const FusedKernel::Step& s) { return !s.op; }

const Value& argument(const FusedKernel::Argument& a, const TensorList& values, Value& space) {
  if (a.value < 0) return a.plain;
  return space = Value(values[size_t(a.value)]);
}

void push_arguments(Call& s, const FusedKernel::Step& step, const TensorList& values) {
  Value space;
  for (const auto& a : step.arguments) s.push(argument(a, values, space));
  s.fill_defaults();
}

Tensor expanded_meta(const FusedKernel::Step& s) {
  const Dims& sizes = s.arguments[1].plain.ints();
  return meta_strided(s.dtype, sizes, Dims(sizes.size()));
}

// Metas of all values, as the ops give them.
TensorList metas_of(const FusedKernel& k, const TensorList& inputs) {
  TensorList values = inputs;
  values.reserve(inputs.size() + k.steps.size());
  for (const auto& step : k.steps) {
    if (is_expanded(step)) {
      values.push_back(expanded_meta(step));
      continue;
    }
    Call s(*step.op);
    push_arguments(s, step, values);
    step.op->form.infer(s);
    if (s.out[0].dtype() != step.dtype)
      fail("fused: ", step.op->name, " gives ", name_of(s.out[0].dtype()), ", and the group was made for ",
           name_of(step.dtype));
    values.push_back(s.out[0]);
  }
  return values;
}

// The box that the loop walks: the broadcast shape of what goes in.
Dims box_of(const FusedKernel& k, const TensorList& inputs) {
  Dims sizes;
  auto join = [&](const Dims& more) {
    if (!(more == sizes)) sizes = broadcast(sizes, more, "fused");
  };
  for (const Tensor& t : inputs) join(t.sizes());
  for (const auto& s : k.steps)
    if (is_expanded(s)) join(s.arguments[1].plain.ints());
  return sizes;
}

void check_inputs(const FusedKernel& k, const TensorList& in) {
  if (in.size() != k.inputs.size()) fail("fused: the group takes ", k.inputs.size(), " tensors, got ", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const Tensor& t = in[i];
    if (t.dtype() != k.inputs[i].dtype)
      fail("fused: input ", i, " must be ", name_of(k.inputs[i].dtype), ", got ", name_of(t.dtype()));
    if (k.inputs[i].once && t.dim() && t.size(-1) > 1 && t.stride(-1) != 0)
      fail("fused: input ", i, " must have one element along its last dimension, got shape ", t.sizes());
  }
}

// ---- reductions at the end

Reduce reduction_of(const Op& op) {
  return op.base == "sum"    ? Reduce::sum
         : op.base == "mean" ? Reduce::mean
         : op.base == "amax" ? Reduce::max
                             : Reduce::min;
}
const FusedKernel::Step& reducing(const FusedKernel& k) { return k.steps.back(); }
int reduced_value(const FusedKernel& k) { return reducing(k).arguments[0].value; }

Dims dims_of(const FusedKernel& k, int dims) {
  const FusedKernel::Step& s = reducing(k);
  bool takes_dim = s.op->params.size() > 1 && s.op->params[1].name == "dim" && s.arguments.size() > 1;
  return reduced_dims(takes_dim ? s.arguments[1].plain : Value(), dims, s.op->base.c_str());
}

// Elements are reduced as they are made, over the last dimension or all, where eager would take them row by row.
bool reduces_as_made(const FusedKernel& k, const Tensor& x) {
  Dims dims = dims_of(k, x.dim());
  bool all = dims.size() == x.dim(), last = dims.size() == 1 && dims[0] == x.dim() - 1;
  return x.contiguous() && x.numel() && (all || (last && x.size(-1) >= kShortestMadeRow));
}

void infer_fused(Call& c) {
  const FusedKernel& k = kernel_of(c);
  const TensorList& in = c.tensors(0);
  check_inputs(k, in);
  TensorList values = metas_of(k, in);
  Dims box = box_of(k, in);
  size_t loops = values.size() - (k.reduces ? 1 : 0);
  for (size_t i = in.size(); i < loops; ++i)
    if (!(values[i].sizes() == box)) fail("fused: all of a group has one shape, got ", values[i].sizes(), " and ", box);
  int outs = 0;
  for (int v : k.outputs) c.give(outs++, values[size_t(v)]);
  if (k.reduces)  // what cannot be reduced as it is made is a further result
    if (const Tensor& x = values[size_t(reduced_value(k))]; !reduces_as_made(k, x))
      c.give(outs, meta_strided(x.dtype(), x.sizes(), x.strides()));
}

// ---- running

int64_t grain_of(const FusedKernel& k) { return kGrain / std::clamp<int64_t>(int64_t(k.steps.size()) / 4, 1, 8); }

// Whether the loop reads an input once: one element, perhaps expanded.
bool is_single(const FusedKernel& k, size_t i, const Tensor& t) {
  if (!k.inputs[i].once || t.numel() == 1) return k.inputs[i].once;
  for (int d = 0; d < t.dim(); ++d)
    if (t.size(d) > 1 && t.stride(d) != 0) return false;
  return true;
}

// Whether all operands but the single elements lie channels last, so that the outputs may too.
bool stays_last(Call& c, const FusedKernel& k) {
  const TensorList& in = c.tensors(0);
  bool any = false;
  for (const Tensor& t : in) any = any || t->storage->last.channels;
  if (!any || k.reduces) return false;
  const Tensor* operands[kMaxFused];
  bool single[kMaxFused];
  for (size_t i = 0; i < in.size(); ++i) operands[i] = &in[i], single[i] = is_single(k, i, in[i]);
  for (int i = 0; i < c.out_count; ++i)
    if (!all_lie_last(c.out[i], operands, single, int(in.size()))) return false;
  return true;
}

// Whether some inputs lie channels last and the loop needs them in order. Of those the ops themselves would put in
// order only what meets others, and later sums would run in another order.
bool is_mixed(Call& c, const FusedKernel& k) {
  const TensorList& in = c.tensors(0);
  auto is_last = [](const Tensor& t) { return t->storage->last.channels > 0 && lies_last(t); };
  return std::any_of(in.begin(), in.end(), is_last) && !stays_last(c, k);
}

// The ops one by one, as they would have been called.
void run_in_steps(Call& c, const FusedKernel& k) {
  TensorList values = c.tensors(0);
  for (const auto& step : k.steps) {
    if (is_expanded(step)) {
      Tensor one = meta(step.dtype, Dims{}), many = expanded_meta(step);
      give_memory(*one.get());
      fill_data(one, step.arguments[0].plain);
      many->storage = one->storage;
      values.push_back(many);
      continue;
    }
    Call s(*step.op);
    push_arguments(s, step, values);
    step.op->form.infer(s);
    auto place = std::find(k.outputs.begin(), k.outputs.end(), int(values.size()));
    if (place != k.outputs.end())
      s.out[0] = c.out[place - k.outputs.begin()];
    else
      give_memory(*s.out[0].get());
    run_kernel(s);
    values.push_back(s.out[0]);
  }
}

// All operands lie like the outputs, contiguous or channels last, or are single elements: one flat run.
bool run_flat(Call& c, const FusedKernel& k) {
  const TensorList& in = c.tensors(0);
  const Tensor& first = c.out[0];
  bool last = stays_last(c, k);
  char* p[kMaxFused];
  int64_t items[kMaxFused], steps[kMaxFused];
  int operands = 0;
  for (int i = 0; i < c.out_count; ++i, ++operands) {
    if (!c.out[i].contiguous()) return false;
    p[operands] = last ? as_it_lies(c.out[i]) : c.out[i].data();
    items[operands] = steps[operands] = item_size(c.out[i].dtype());
  }
  for (size_t i = 0; i < in.size(); ++i, ++operands) {
    bool single = is_single(k, i, in[i]);
    if (!single && !(in[i].contiguous() && in[i].sizes() == first.sizes())) return false;
    p[operands] = last && !single ? as_it_lies(in[i]) : in[i].data();
    items[operands] = item_size(in[i].dtype());
    steps[operands] = single ? 0 : items[operands];
  }
  if (last)
    for (int i = 0; i < c.out_count; ++i) set_lies_last(c.out[i]);
  if (first.numel() <= grain_of(k)) {
    call_fused(k, p, operands, c.out_count, items, first.numel());
    return true;
  }
  parallel_shares(first.numel(), grain_of(k), 64, [&](int64_t begin, int64_t end) {
    char* q[kMaxFused];
    for (int i = 0; i < operands; ++i) q[i] = p[i] + begin * steps[i];
    call_fused(k, q, operands, c.out_count, items, end - begin);
  });
  return true;
}

void run_reducing(Call& c, const FusedKernel& k, const Dims& sizes) {
  const Tensor& y = c.out[int(k.outputs.size()) - 1];
  int plain = int(k.outputs.size()) - 1;
  bool apart = c.out_count > int(k.outputs.size());  // the elements are a result of their own
  DType type = apart ? c.out[plain + 1].dtype() : y.dtype();
  FusedBox box(k, sizes);
  for (int i = 0; i < plain; ++i) box.add(c.out[i], false);
  apart ? box.add(c.out[plain + 1], false) : box.add_made(type);
  for (size_t i = 0; i < k.inputs.size(); ++i) box.add(c.tensors(0)[i], k.inputs[i].once);
  box.settle(apart);
  Dims dims = dims_of(k, sizes.size());
  int64_t n = numel_of(sizes);
  Reduce op = reduction_of(*reducing(k).op);
  if (apart) {
    parallel_shares(n, grain_of(k), 64, [&](int64_t begin, int64_t end) { box.run(begin, end); });
    return run_reduce(op, c.out[plain + 1], type, dims, y.data());
  }
  int64_t length = dims.size() == sizes.size() ? n : sizes.back();
  Made made{[](const void* b, char* to, int64_t at, int64_t count) {
              static_cast<const FusedBox*>(b)->run(at, at + count, to);
            },
            &box};
  reduce_made(op, type, n / length, length, made, y.data());
}

void run_fused(Call& c) {
  const FusedKernel& k = kernel_of(c);
  const TensorList& in = c.tensors(0);
  if (is_mixed(c, k)) return run_in_steps(c, k);
  if (k.reduces) return run_reducing(c, k, box_of(k, in));
  if (c.out[0].numel() == 0 || run_flat(c, k)) return;
  FusedBox box(k, c.out[0].sizes());
  for (int i = 0; i < c.out_count; ++i) box.add(c.out[i], false);
  for (size_t i = 0; i < in.size(); ++i) box.add(in[i], k.inputs[i].once);
  box.settle(true);
  parallel_shares(c.out[0].numel(), grain_of(k), 64, [&](int64_t begin, int64_t end) { box.run(begin, end); });
}

// ---- the way back: the ops one by one, recorded, and theirs

void fused_back(Grad& d) {
  const FusedKernel& k = kernel_of(d.arg(1));
  TensorList values, wanted, outputs, grads;
  std::vector<int> which;
  const TensorList& inputs = d.arg(0).tensors();
  for (int i = 0; i < int(inputs.size()); ++i) {
    Tensor x = inputs[size_t(i)];
    if (!d.create_graph) {
      x = alias(x);
      x->requires_grad = d.needs(i);
    }
    values.push_back(x);
    if (d.needs(i)) wanted.push_back(x), which.push_back(i);
  }
  {
    GradMode on(true);
    for (const auto& step : k.steps) {
      if (is_expanded(step)) {
        values.push_back(expand(full(Dims{}, step.arguments[0].plain, step.dtype), step.arguments[1].plain.ints()));
        continue;
      }
      Call s(*step.op);
      push_arguments(s, step, values);
      run_call(s);
      values.push_back(s.out[0]);
    }
  }
  for (size_t i = 0; i < k.outputs.size(); ++i) {
    const Tensor& y = values[size_t(k.outputs[i])];
    if (!d.has_g(int(i)) || !y.wants_grad()) continue;
    outputs.push_back(y);
    grads.push_back(d.g(int(i)));
  }
  if (outputs.empty()) return;
  std::vector<Tensor> found = gradients_of(outputs, grads, wanted, d.create_graph);
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i]) d.give(which[i], found[i]);
}

WEFT_OP{
  .signature = "fused(Tensor[] inputs, str group) -> Tensor",
  .doc =
      "A group of pointwise ops, and perhaps a reduction of what they give, in one loop: machine code that "
      "weft.jit.codegen "
      "makes from the text of the group. It gives all results that the group returns.",
  .traits = kHidden | kNoOut | kBeside,
  .infer = infer_fused,
  .run = run_fused,
  .any_order = [](Call& c) { return stays_last(c, kernel_of(c)); },
  .in_steps = [](Call& c) { return is_mixed(c, kernel_of(c)); },
  .keeps = keep::inputs,
  .back = fused_back,
};

}  // namespace

static bool is_reduction(const FusedKernel::Step& s) {
  const std::string_view op = s.op ? std::string_view(s.op->base) : "";
  return op == "sum" || op == "mean" || op == "amax" || op == "amin";
}

// Ops of a group read values that are there, and give one tensor. The loop makes an element of each but of a reduction,
// which comes last and is the last that is given.
static void check_values(const FusedKernel& k) {
  int there = int(k.inputs.size());
  for (const auto& step : k.steps) {
    if (step.op && (step.op->results.size() != 1 || step.op->is(kView)))
      fail("fused: no op of a group: ", step.op->name);
    for (const auto& a : step.arguments)
      if (a.value >= there) fail("fused: a group reads value ", a.value, " before it is there");
    ++there;
  }
  for (int v : k.outputs)
    if (v < int(k.inputs.size()) || v >= there) fail("fused: a group has no value ", v, " to give");
  for (size_t i = 0; i < k.steps.size(); ++i)
    if (is_reduction(k.steps[i]) != (k.reduces && i + 1 == k.steps.size()))
      fail("fused: only the last step of a group may reduce, got ", k.text);
  if (!k.reduces) return;
  auto made = [&](int value) { return value >= int(k.inputs.size()) && value < there - 1; };
  if (k.steps.empty() || k.steps.back().arguments.empty() || !made(reduced_value(k)))
    fail("fused: a group ends in no reduction of what it makes");
  if (k.outputs.back() != there - 1 || !std::all_of(k.outputs.begin(), k.outputs.end() - 1, made))
    fail("fused: a group gives its reduction last, and once, got ", k.text);
}

FusedKernel::~FusedKernel() {
  auto found = kernels().living.find(text);
  if (found != kernels().living.end() && found->second == this) kernels().living.erase(found);
  if (code) interpreter::release(code);
}

void add_fused(Ref<FusedKernel> kernel) {
  const FusedKernel& k = *kernel;
  if (k.inputs.size() + k.outputs.size() > kMaxFused || k.outputs.empty() ||
      int(k.outputs.size()) + k.reduces > kMaxOut)
    fail("fused: a group has too many inputs or outputs: ", k.inputs.size(), " and ", k.outputs.size());
  check_values(k);
  if (has_fused(k.text)) return;
  if (fused_count() >= kMaxFusedKernels) forget_recent_fused();
  if (fused_count() >= kMaxFusedKernels) fail("fused: there are ", kMaxFusedKernels, " groups in this process already");
  kernels().living[k.text] = kernel.get();
  kernels().ask_for(kernel);
}

bool has_fused(const std::string& text) { return kernels().living.count(text); }
int fused_count() { return int(kernels().living.size()); }
void forget_recent_fused() { std::exchange(kernels().recent, {}); }

}  // namespace weft
