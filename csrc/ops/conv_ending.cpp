// Convolutions with what follows them in networks, for graphs without gradients: weft/jit/passes writes these ops.
#include <optional>

#include "loops/conv_chain.h"
#include "ops/conv.h"
#include "ops/ending.h"
#include "ops/order.h"
#include "ops/prepacked.h"
#include "ops/reduced.h"

namespace weft {
namespace {

const float* floats(const char* p) { return reinterpret_cast<const float*>(p); }
float* floats(char* p) { return reinterpret_cast<float*>(p); }

void expect_real(Call& c, DType type) {
  if (type != DType::Float && type != DType::Double)
    fail_missing(c.name(), ": not implemented for '", name_of(type), "'");
}

void expect_type(Call& c, const Tensor& t, DType type) {
  if (t.dtype() != type)
    fail(c.name(), ": Input type (", name_of(type), ") and weight type (", name_of(t.dtype()), ") should be the same");
}

void expect_bias(Call& c, const Tensor& bias, DType type, int64_t channels) {
  expect_type(c, bias, type);
  if (!(bias.sizes() == Dims{channels}))
    fail(c.name(), ": expected a bias of ", channels, " numbers, got shape ", bias.sizes());
}

// What is added, as an image with its channels last, for the time of a kernel.
class Added {
 public:
  Added(Call& c, int at) {
    if (c.has(at)) last_.emplace(c.tensor(at));
  }
  const char* data() const { return last_ ? last_->data() : nullptr; }

 private:
  std::optional<Last> last_;
};

void infer_ending(Call& c) {
  Conv v = conv_of(c, c.tensor(0).sizes(), c.tensor(1).sizes(), 3);
  DType type = c.tensor(0).dtype();
  expect_real(c, type);
  expect_type(c, c.tensor(1), type);
  if (c.has(2)) expect_bias(c, c.tensor(2), type, v.out);
  check_added(c, described(c.name(), c.text(7)), 8, type, result_sizes(v));
  c.give(0, meta(type, result_sizes(v)));
}

void run_ending(Call& c) {
  Conv v = conv_of(c, c.tensor(0).sizes(), c.tensor(1).sizes(), 3);
  const Tensor& out = c.out[0];
  Described d = described(c.name(), c.text(7));
  if (out.numel() == 0) return;
  if (out.dtype() == DType::Double) {
    LaidOut x(c.tensor(0), out.dtype()), w(c.tensor(1), out.dtype());
    Given bias(c, 2, out.dtype()), plus(c, 8, out.dtype());
    plain_conv_forward(out.dtype(), v, x.data(), w.data(), bias.data(), out.data());
    return end_plainly(d, out.dtype(), plus.data(), out.data(), out.numel());
  }
  LaidOut w(c.tensor(1), DType::Float);
  Given bias(c, 2, DType::Float);
  Added plus(c, 8);
  Prepacked packed(c.tensor(1), !t_modes.grad && !t_modes.learning);
  LastWritten y(out);
  Ending end{floats(bias.data()), d.bounds, finish_of(d, plus.data(), y.data())};
  convolve_image(v, c.tensor(0), floats(w.data()), end, floats(y.data()), packed.get());
}

// Kernels lie as their shape says, images may lie channels last.
bool plain(const Tensor& t) { return !t->storage->last.channels; }

WEFT_OP{
  .signature =
      "convolve_ending(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int "
      "groups, str ending, Tensor? plus=None) -> Tensor",
  .doc =
      "convolve, then what ending says (csrc/ops/ending.h). padding has a number for each dimension, or first those "
      "before the image and then those behind it. Without gradients.",
  .traits = kHidden,
  .infer = infer_ending,
  .run = run_ending,
  .any_order =
      [](Call& c) {
        return c.out[0].dtype() == DType::Float && plain(c.tensor(1)) && (!c.has(2) || plain(c.tensor(2)));
      },
};

// ---- several of them in a row

struct Linked {
  Conv middle;
  const Tensor *before = nullptr, *kernel = nullptr, *behind = nullptr;
  Dims sizes;  // of the result
};

Linked linked(Call& c) {
  const Tensor& x = c.tensor(0);
  const TensorList& weights = c.tensors(1);
  const Size given = c.integer(7);
  const int64_t count = int64_t(weights.size()), middle = given < 0 || given >= count ? -1 : int64_t(given);
  if (x.dtype() != DType::Float) fail_missing(c.name(), ": not implemented for '", name_of(x.dtype()), "'");
  if (x.dim() != 4 || middle < 0 || middle > 1 || count - middle > 2)
    fail_value(c.name(),
               ": expected an image of 4 dimensions, a kernel for each channel and at most one before and one ",
               "behind it, got shape ", x.sizes(), ", ", count, " weights and the middle at ", given);
  if (c.tensors(2).size() != weights.size())
    fail_value(c.name(), ": expected ", count, " biases, got ", c.tensors(2).size());
  int64_t channels = x.size(1);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& w = weights[size_t(i)];
    expect_type(c, w, DType::Float);
    bool point = w.dim() == 4 && w.size(1) == channels && w.size(2) == 1 && w.size(3) == 1;
    bool deep = w.dim() == 4 && w.size(1) == 1 && w.size(0) == channels;
    if (i == middle ? !deep : !point)
      fail(c.name(), ": weight ", i, " of shape ", w.sizes(), " does not suit ", channels, " channels");
    channels = w.size(0);
    if (const Tensor& bias = c.tensors(2)[size_t(i)]) expect_bias(c, bias, DType::Float, channels);
  }
  Linked l;
  l.kernel = &weights[size_t(middle)];
  if (middle) l.before = &weights[0];
  if (middle + 1 < count) l.behind = &weights[size_t(middle) + 1];
  Dims between = x.sizes();
  between[1] = l.kernel->size(0);
  l.middle = conv_of(c, between, l.kernel->sizes(), 3);
  l.sizes = result_sizes(l.middle);
  l.sizes[1] = channels;
  return l;
}

// The endings of all of them; only the last may add.
std::vector<Described> endings_of(Call& c) {
  std::vector<Described> all;
  std::string_view text = c.text(8);
  for (size_t i = 0, count = c.tensors(1).size(); i < count; ++i) {
    size_t end = text.find(';');
    if ((end == text.npos) != (i + 1 == count))
      fail_value(c.name(), ": expected ", count, " endings, got '", text, "'");
    all.push_back(described(c.name(), text.substr(0, end)));
    if (all.back().adds && i + 1 < count) fail_value(c.name(), ": only the last ending may add");
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return all;
}

WEFT_OP{
  .signature =
      "convolve_chain(Tensor input, Tensor[] weights, Tensor?[] biases, int[] stride, int[] padding, int[] dilation, "
      "int groups, int middle, str endings, Tensor? plus=None) -> Tensor",
  .doc =
      "convolve_ending several times, a few lines at a time: with a kernel for each channel, which the other arguments "
      "describe, and one of 1x1 before it, behind it, or both. Endings lie between semicolons. Without gradients.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        Linked l = linked(c);
        check_added(c, endings_of(c).back(), 9, DType::Float, l.sizes);
        c.give(0, meta(DType::Float, l.sizes));
      },
  .run =
      [](Call& c) {
        Linked l = linked(c);
        std::vector<Described> endings = endings_of(c);
        if (c.out[0].numel() == 0) return;
        const int64_t middle = l.before ? 1 : 0;
        const bool keeps = !t_modes.grad && !t_modes.learning;
        Last x(c.tensor(0));
        Added plus(c, 9);
        std::optional<LaidOut> weights[3], biases[3];
        std::optional<Prepacked> packed[3];
        for (size_t i = 0; i < endings.size(); ++i) {
          weights[i].emplace(c.tensors(1)[i], DType::Float), packed[i].emplace(c.tensors(1)[i], keeps);
          if (c.tensors(2)[i]) biases[i].emplace(c.tensors(2)[i], DType::Float);
        }
        LastWritten y(c.out[0]);
        auto ending = [&](size_t i) {
          return Ending{biases[i] ? floats(biases[i]->data()) : nullptr, endings[i].bounds,
                        finish_of(endings[i], plus.data(), y.data())};
        };
        auto product = [&](const Tensor& w, size_t i) {
          return ChainProduct{w.size(1), w.size(0), floats(weights[i]->data()), ending(i), packed[i]->get()};
        };
        Chain chain{{}, l.middle, floats(weights[middle]->data()), ending(size_t(middle)), packed[middle]->get(), {}};
        if (l.before) chain.before = product(*l.before, 0);
        if (l.behind) chain.behind = product(*l.behind, size_t(middle) + 1);
        chain_conv_forward(chain, floats(x.data()), floats(y.data()));
      },
  .any_order =
      [](Call& c) {
        for (int list : {1, 2})
          for (const Tensor& t : c.tensors(list))
            if (t && !plain(t)) return false;
        return true;
      },
};

}  // namespace
}  // namespace weft
