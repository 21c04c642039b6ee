// Convolutions: one op and its two derivatives, which are each other's derivatives too. weft.nn.functional names them.
#include "ops/conv.h"

#include <optional>

#include "loops/conv_planes.h"
#include "loops/gemm.h"
#include "ops/api.h"
#include "ops/order.h"
#include "ops/prepacked.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {

Conv conv_of(Call& c, const Dims& x, const Dims& w, int at) {
  const Dims &stride = c.ints(at), &padding = c.ints(at + 1), &dilation = c.ints(at + 2);
  Conv v;
  v.dims = x.size() - 2;
  if (v.dims < 1 || v.dims > 3 || w.size() != x.size())
    fail(c.name(), ": expected an input and a kernel of 3 to 5 dimensions, got shapes ", x, " and ", w);
  const bool sides = c.op.name == "convolve_ending" && padding.size() == 2 * v.dims;
  if (stride.size() != v.dims || (padding.size() != v.dims && !sides) || dilation.size() != v.dims)
    fail(c.name(), ": stride, padding and dilation need ", v.dims, " numbers each, got ", stride, ", ", padding, ", ",
         dilation);
  v.batch = x[0], v.in = x[1], v.out = w[0], v.groups = c.integer(at + 3);
  if (v.groups <= 0) fail(c.name(), ": non-positive groups is not supported, got ", v.groups);
  if (v.out % v.groups || w[1] * v.groups != v.in)
    fail(c.name(), ": Given groups=", v.groups, ", weight of size ", w, ", expected input", x, " to have ",
         w[1] * v.groups, " channels, but got ", v.in, " channels instead");
  Size padded = Size(std::max<int64_t>(v.batch, 1)) * v.in;  // elements with their edges, which some loops lay out
  for (int i = 0; i < v.dims; ++i) {
    v.size[i] = x[i + 2], v.kernel[i] = w[i + 2];
    v.stride[i] = stride[i], v.pad[i] = padding[i], v.dilation[i] = dilation[i];
    if (v.stride[i] <= 0) fail(c.name(), ": non-positive stride is not supported, got ", stride);
    const int64_t behind = sides ? padding[v.dims + i] : padding[i];
    v.uneven = v.uneven || behind != padding[i];
    if (v.pad[i] < 0 || behind < 0) fail(c.name(), ": negative padding is not supported, got ", padding);
    if (v.dilation[i] <= 0) fail(c.name(), ": dilation should be greater than zero, got ", dilation);
    Size reach = dilation[i] * (v.kernel[i] - 1) + 1, room = Size(v.size[i]) + padding[i] + behind;
    if (reach > room || v.kernel[i] <= 0)
      fail(c.name(), ": Calculated padded input size per channel: ", room, ". Kernel size: ", reach,
           ". Kernel size can't be greater than actual input size (dimension ", i + 2, ")");
    v.result[i] = (room - reach) / stride[i] + 1;
    // A step beyond the only window, or between the taps of one, says nothing: loops need not see its size.
    v.stride[i] = std::min<int64_t>(v.stride[i], room);
    if (v.kernel[i] == 1) v.dilation[i] = 1;
    padded *= room;
  }
  constexpr int64_t kMostPadded = int64_t(1) << 48;
  if (padded > kMostPadded)
    fail(ErrorKind::Memory, c.name(), ": out of memory: an input of shape ", x, " with padding ", padding, " has ",
         padded, " elements");
  return v;
}

Dims result_sizes(const Conv& v) {
  Dims sizes{v.batch, v.out};
  for (int i = 0; i < v.dims; ++i) sizes.push(v.result[i]);
  return sizes;
}

void convolve_image(const Conv& v, const Tensor& x, const float* w, const Ending& end, float* y,
                    std::shared_ptr<PackedKernel>* packed) {
  if (planes_suit(v) && x.contiguous() && !is_last(x))
    return planes_conv_forward(v, x.data<float>(), w, end, y, packed);
  Last last(x);
  conv_forward(v, reinterpret_cast<const float*>(last.data()), w, end, y, packed);
}

namespace {

const OpRef pass_positive{"pass_positive"}, convolve{"convolve"}, convolve_input{"convolve_input"},
    convolve_weight{"convolve_weight"}, channel_sums{"channel_sums"};

DType common(Call& c, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    fail(c.name(), ": Input type (", name_of(a.dtype()), ") and weight type (", name_of(b.dtype()),
         ") should be the same");
  if (a.dtype() == DType::Bool) fail_missing(c.name(), ": not implemented for 'Bool'");
  return a.dtype();
}

const float* floats(const char* p) { return reinterpret_cast<const float*>(p); }
float* floats(char* p) { return reinterpret_cast<float*>(p); }

// Kernels lie as their shape says, images may lie channels last.
bool takes_last(Call& c, int image, int kernel) {
  return work_type(c.tensor(image).dtype()) == DType::Float && !c.tensor(kernel)->storage->last.channels;
}

// Runs f(type, a, b, y) on contiguous memory.
template <class F>
void on_contiguous(const Tensor& a, const Tensor& b, const Tensor& y, const F& f) {
  LaidOut p(a, y.dtype()), q(b, y.dtype());
  f(y.dtype(), p.data(), q.data(), y.data());
}

// The dimensions of an image with its channels last.
Dims last_order(int n) {
  Dims order{0};
  for (int i = 2; i < n; ++i) order.push(i);
  order.push(1);
  return order;
}

// Images of half types, channels last: computed in float, rounded once.
class WideImage {
 public:
  explicit WideImage(const Tensor& t) {
    if (!lies_last(t)) {
      ordered_.emplace(t, DType::Float, last_order(t.dim()));
      return;
    }
    wide_.emplace(t.numel() * item_size(DType::Float));
    convert_flat(t.dtype(), as_it_lies(t), DType::Float, wide_->as<char>(), t.numel());
  }
  const float* data() const { return ordered_ ? floats(ordered_->data()) : wide_->as<float>(); }
  static void convert_flat(DType from, const char* x, DType to, char* y, int64_t n) {
    int64_t one = 1;
    copy_kernels().copy(to, y, &one, from, x, &one, &n, 1);
  }

 private:
  std::optional<LaidOut> ordered_;
  std::optional<Scratch> wide_;
};
class RoundedImage {
 public:
  explicit RoundedImage(const Tensor& t) : t_(t), wide_(t.numel() * item_size(DType::Float)) {}
  ~RoundedImage() {
    Uninterrupted leaving;  // a destructor cannot throw
    if (can_lie_last(t_)) {
      WideImage::convert_flat(DType::Float, wide_.as<char>(), t_.dtype(), as_it_lies(t_), t_.numel());
      set_lies_last(t_);
      return;
    }
    Dims sizes, strides;
    for (int64_t d : last_order(t_.dim())) sizes.push(t_.size(int(d))), strides.push(t_.stride(int(d)));
    Dims flat = contiguous_strides(sizes);
    copy_kernels().copy(t_.dtype(), t_.data(), strides.data(), DType::Float, wide_.as<char>(), flat.data(),
                        sizes.data(), sizes.size());
  }
  float* data() const { return wide_.as<float>(); }

 private:
  const Tensor& t_;
  Scratch wide_;
};

void infer_forward(Call& c) {
  Conv v = conv_of(c, c.tensor(0).sizes(), c.tensor(1).sizes(), 3);
  DType type = common(c, c.tensor(0), c.tensor(1));
  if (c.has(2)) {
    common(c, c.tensor(0), c.tensor(2));
    if (!(c.tensor(2).sizes() == Dims{v.out}))
      fail(c.name(), ": Given weight of size ", c.tensor(1).sizes(), ", expected bias to be 1-dimensional with ", v.out,
           " elements, but got bias of size ", c.tensor(2).sizes(), " instead");
  }
  c.give(0, meta(type, result_sizes(v)));
}

// The gradient of an input or a kernel of the sizes of argument 2.
void infer_gradient(Call& c, const Conv& v) {
  DType type = common(c, c.tensor(0), c.tensor(1));
  if (!(c.tensor(0).sizes() == result_sizes(v)))
    fail(c.name(), ": expected a gradient of shape ", result_sizes(v), ", got ", c.tensor(0).sizes());
  c.give(0, meta(type, c.ints(2)));
}

void run_forward(Call& c, const Bounds& bounds) {
  Conv v = conv_of(c, c.tensor(0).sizes(), c.tensor(1).sizes(), 3);
  if (c.out[0].numel() == 0) return;
  if (c.out[0].dtype() == DType::Float) {
    LaidOut w(c.tensor(1), DType::Float);
    Given bias(c, 2, DType::Float);
    bool learns = t_modes.grad || t_modes.learning;  // then kernels change with every step
    Prepacked packed(c.tensor(1), !learns);
    LastWritten y(c.out[0]);
    Ending end{floats(bias.data()), bounds};
    return convolve_image(v, c.tensor(0), floats(w.data()), end, floats(y.data()), packed.get());
  }
  if (is_half(c.out[0].dtype())) {
    WideImage x(c.tensor(0));
    LaidOut w(c.tensor(1), DType::Float);
    Given bias(c, 2, DType::Float);
    RoundedImage y(c.out[0]);
    return conv_forward(v, x.data(), floats(w.data()), {floats(bias.data()), bounds}, y.data(), nullptr);
  }
  on_contiguous(c.tensor(0), c.tensor(1), c.out[0], [&](DType type, auto* x, auto* w, auto* y) {
    Given bias(c, 2, type);
    plain_conv_forward(type, v, x, w, bias.data(), y);
    if (bounds) apply_bounds(type, bounds, 1, c.out[0].numel(), y, c.out[0].numel());
  });
}

bool any_order_forward(Call& c) { return takes_last(c, 0, 1) && !(c.has(2) && c.tensor(2)->storage->last.channels); }

void back_forward(Grad& d, const Tensor& g) {
  const Value &stride = d.arg(3), &padding = d.arg(4), &dilation = d.arg(5), &groups = d.arg(6);
  if (d.needs(0)) d.give(0, convolve_input(g, conj_of(d.x(1)), d.shape(0), stride, padding, dilation, groups));
  if (d.needs(1)) d.give(1, convolve_weight(g, conj_of(d.x(0)), d.shape(1), stride, padding, dilation, groups));
  if (d.needs(2)) d.give(2, channel_sums(g));
}

WEFT_OP{
  .signature =
      "convolve(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> "
      "Tensor",
  .doc = "Each place of the result: the sum of a window of input, weighted.",
  .traits = kHidden,
  .infer = infer_forward,
  .run = [](Call& c) { run_forward(c, {}); },
  .any_order = any_order_forward,
  .keeps = keep::x0 | keep::x1,
  .back = [](Grad& d) { back_forward(d, d.g()); },
};

WEFT_OP{
  .signature =
      "convolve_relu(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int "
      "groups) -> Tensor",
  .doc = "Each place of the result: the sum of a window of input, weighted, where that is positive, else zero.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        infer_forward(c);
        if (is_complex(c.tensor(0).dtype())) fail_missing("relu: not implemented for complex numbers");
      },
  .run = [](Call& c) { run_forward(c, kRelu); },
  .any_order = any_order_forward,
  .keeps = keep::x0 | keep::x1 | keep::y0,
  .back = [](Grad& d) { back_forward(d, pass_positive(d.g(), d.y(0))); },
};

WEFT_OP{
  .signature =
      "convolve_input(Tensor grad, Tensor weight, int[] sizes, int[] stride, int[] padding, int[] dilation, int "
      "groups) "
      "-> Tensor",
  .doc = "The gradient of convolve for an input of the given sizes: a transposed convolution.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_not_negative(c, 2);
        infer_gradient(c, conv_of(c, c.ints(2), c.tensor(1).sizes(), 3));
      },
  .run =
      [](Call& c) {
        Conv v = conv_of(c, c.ints(2), c.tensor(1).sizes(), 3);
        if (c.out[0].numel() == 0) return;
        if (c.out[0].dtype() == DType::Float) {
          Last g(c.tensor(0));
          LaidOut w(c.tensor(1), DType::Float);
          LastWritten dx(c.out[0]);
          return conv_input(v, floats(g.data()), floats(w.data()), floats(dx.data()));
        }
        if (is_half(c.out[0].dtype())) {
          WideImage g(c.tensor(0));
          LaidOut w(c.tensor(1), DType::Float);
          RoundedImage dx(c.out[0]);
          return conv_input(v, g.data(), floats(w.data()), dx.data());
        }
        on_contiguous(c.tensor(0), c.tensor(1), c.out[0],
                      [&](DType type, auto* g, auto* w, auto* dx) { plain_conv_input(type, v, g, w, dx); });
      },
  .any_order = [](Call& c) { return takes_last(c, 0, 1); },
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        const Value &stride = d.arg(3), &padding = d.arg(4), &dilation = d.arg(5), &groups = d.arg(6);
        if (d.needs(0)) d.give(0, convolve(d.g(), conj_of(d.x(1)), Value(), stride, padding, dilation, groups));
        if (d.needs(1))
          d.give(1, convolve_weight(conj_of(d.x(0)), d.g(), d.shape(1), stride, padding, dilation, groups));
      },
};

WEFT_OP{
  .signature =
      "convolve_weight(Tensor grad, Tensor input, int[] sizes, int[] stride, int[] padding, int[] dilation, int "
      "groups) "
      "-> Tensor",
  .doc = "The gradient of convolve for a kernel of the given sizes.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        expect_not_negative(c, 2);
        infer_gradient(c, conv_of(c, c.tensor(1).sizes(), c.ints(2), 3));
      },
  .run =
      [](Call& c) {
        Conv v = conv_of(c, c.tensor(1).sizes(), c.ints(2), 3);
        const Tensor& y = c.out[0];
        if (c.tensor(0).numel() == 0 || c.tensor(1).numel() == 0) return fill_data(y, Value(0));
        if (y.dtype() == DType::Float) {
          Last g(c.tensor(0)), x(c.tensor(1));
          return conv_weight(v, floats(x.data()), floats(g.data()), y.data<float>());
        }
        if (is_half(y.dtype())) {
          WideImage g(c.tensor(0)), x(c.tensor(1));
          Written dw(y, DType::Float);
          return conv_weight(v, x.data(), g.data(), static_cast<float*>(dw.data()));
        }
        on_contiguous(c.tensor(1), c.tensor(0), y,
                      [&](DType type, auto* x, auto* g, auto* dw) { plain_conv_weight(type, v, x, g, dw); });
      },
  .any_order = [](Call& c) { return work_type(c.out[0].dtype()) == DType::Float; },
  .keeps = keep::x0 | keep::x1,
  .back =
      [](Grad& d) {
        const Value &stride = d.arg(3), &padding = d.arg(4), &dilation = d.arg(5), &groups = d.arg(6);
        if (d.needs(0)) d.give(0, convolve(conj_of(d.x(1)), d.g(), Value(), stride, padding, dilation, groups));
        if (d.needs(1))
          d.give(1, convolve_input(conj_of(d.x(0)), d.g(), d.shape(1), stride, padding, dilation, groups));
      },
};

WEFT_OP{
  .signature = "channel_sums(Tensor input) -> Tensor",
  .doc = "The sum of each channel of (batch, channels, …).",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dim() < 2) fail(c.name(), ": expected at least 2 dimensions, got shape ", x.sizes());
        c.give(0, meta(x.dtype(), Dims{x.size(1)}));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (lies_last(x) && x.dtype() == DType::Float) {
          reduce_box(Reduce::sum, x.dtype(), as_it_lies(x), Dims{x.numel() / x.size(1), x.size(1)}, Dims{x.size(1), 1},
                     Dims{0}, c.out[0].data(), nullptr, 0);
          return;
        }
        Dims others{0};
        for (int i = 2; i < x.dim(); ++i) others.push(i);
        run_reduce(Reduce::sum, x, x.dtype(), others, c.out[0].data());
      },
  .any_order = [](Call& c) { return c.tensor(0).dtype() == DType::Float && lies_last(c.tensor(0)); },
  .back =
      [](Grad& d) {
        Dims shape(d.shape(0).size(), 1);
        shape[1] = d.shape(0)[1];
        d.give(0, expand(reshape(d.g(), shape), d.shape(0)));
      },
};

}  // namespace
}  // namespace weft
