// Layers with int8 weights: activations become bytes, the product is summed in int32, the result is float again.
// weft.quantization names them.
#include "loops/int8.h"
#include "ops/conv.h"
#include "ops/order.h"
#include "ops/prepacked.h"
#include "ops/reduced.h"

namespace weft {
namespace {

constexpr const char* kNoSlope = "its result changes in steps: it is for networks that have learnt";

const float* floats(const char* p) { return reinterpret_cast<const float*>(p); }

// Weights as the loops want them: rows filled up, and the sum of each.
struct ByteRows final : PackedKernel {
  Dims shape;
  std::optional<Scratch> rows;  // none where they lie so already
  std::optional<Scratch> sums;
};

// From (out, channels, taps…) to rows of (taps, channels); a linear layer has one tap.
std::shared_ptr<ByteRows> packed(const Dims& shape, const int8_t* w) {
  auto made = std::make_shared<ByteRows>();
  WithLoan none(nullptr);
  int64_t out = shape[0], channels = shape[1], taps = 1;
  for (int i = 2; i < shape.size(); ++i) taps = taps * shape[i];
  int64_t k = channels * taps, row = int8_row(k);
  made->shape = shape;
  made->sums.emplace(out * int64_t(sizeof(int32_t)));
  bool as_it_is = row == k && (taps == 1 || channels == 1);
  if (!as_it_is) made->rows.emplace(Size(out) * row);
  for (int64_t i = 0; i < out; ++i) {
    const int8_t* from = w + i * k;
    int32_t sum = 0;
    for (int64_t j = 0; j < k; ++j) sum += from[j];
    made->sums->as<int32_t>()[i] = sum;
    if (as_it_is) continue;
    int8_t* to = made->rows->as<int8_t>() + i * row;
    std::fill(to + k, to + row, int8_t(0));
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) to[t * channels + c] = from[c * taps + t];
  }
  return made;
}

// The weights of a call, with what its other arguments make of them.
class Weights {
 public:
  Weights(const Tensor& w, const Tensor& scale, ByteGrid input)
      : laid_out_(w, DType::Int8), kept_(w, true), scale_(scale, DType::Float), n_(w.size(0)), factors_(n_ * 8) {
    auto* slot = kept_.get();
    if (slot) rows_ = std::static_pointer_cast<ByteRows>(*slot);
    const int8_t* given = reinterpret_cast<const int8_t*>(laid_out_.data());
    if (!rows_ || !(rows_->shape == w.sizes())) {
      rows_ = packed(w.sizes(), given);
      if (slot) *slot = rows_;
    }
    w_ = rows_->rows ? rows_->rows->as<int8_t>() : given;
    const float* scales = floats(scale_.data());
    float* factor = factors_.as<float>();
    auto* shift = reinterpret_cast<int32_t*>(factor + n_);
    bool each = scale.numel() != 1;
    for (int64_t i = 0; i < n_; ++i) factor[i] = input.scale * scales[each ? i : 0];
    for (int64_t i = 0; i < n_; ++i) shift[i] = input.zero * rows_->sums->as<int32_t>()[i];
  }
  void give(Int8Product& p) const {
    p.w = w_, p.scale = factors_.as<float>(), p.shift = reinterpret_cast<const int32_t*>(p.scale + n_);
  }

 private:
  LaidOut laid_out_;
  Prepacked kept_;
  LaidOut scale_;
  int64_t n_;
  Scratch factors_;
  std::shared_ptr<ByteRows> rows_;
  const int8_t* w_;
};

// ---- the arguments that both ops share: input, weight, weight_scale, bias; and at the end, from number `at` on:
// input_scale, input_zero_point, output_scale, output_zero_point, relu

void check_grid(Call& c, int at, const char* what) {
  if (!c.has(at)) return;
  double scale = c.real(at);
  Size zero = c.integer(at + 1);
  if (!(scale > 0) || !std::isfinite(1 / float(scale)) || !std::isfinite(float(scale)))
    fail(c.name(), ": ", what, "_scale must be positive and finite, got ", scale);
  if (zero < 0 || zero > 255) fail(c.name(), ": ", what, "_zero_point must be between 0 and 255, got ", zero);
}

void check(Call& c, int64_t k, int at) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1), &scale = c.tensor(2);
  if (x.dtype() != DType::Float || w.dtype() != DType::Int8 || scale.dtype() != DType::Float)
    fail(c.name(), ": expected an input of float32, a weight of int8 and its scale of float32, got ",
         name_of(x.dtype()), ", ", name_of(w.dtype()), " and ", name_of(scale.dtype()));
  int64_t n = w.size(0);
  if (!(scale.sizes() == Dims{n}) && scale.numel() != 1)
    fail(c.name(), ": weight_scale must have one element or one for each of the ", n, " outputs, got shape ",
         scale.sizes());
  if (c.has(3) && (c.tensor(3).dtype() != DType::Float || !(c.tensor(3).sizes() == Dims{n})))
    fail(c.name(), ": expected a bias of float32 and shape [", n, "], got ", name_of(c.tensor(3).dtype()),
         " and shape ", c.tensor(3).sizes());
  if (k > kInt8Deepest)
    fail_missing(c.name(), ": sums of more than ", kInt8Deepest, " products may not fit into int32, got ", k);
  check_grid(c, at, "input");
  check_grid(c, at + 2, "output");
}

ByteGrid input_grid(Call& c, int at, const float* x, int64_t n) {
  return c.has(at) ? ByteGrid{float(c.real(at)), int32_t(c.integer(at + 1))} : grid_of(x, n);
}

Int8Product product(Call& c, const Weights& weights, const char* bias, float* y, int at) {
  Int8Product p{};
  weights.give(p);
  p.bias = floats(bias), p.y = y, p.relu = c.flag(at + 4);
  if (c.has(at + 2)) p.rounded = {float(c.real(at + 2)), int32_t(c.integer(at + 3))};
  return p;
}

WEFT_OP{
  .signature =
      "quantized_linear(Tensor input, Tensor weight, Tensor weight_scale, Tensor? bias=None, float? input_scale=None, "
      "int input_zero_point=0, float? output_scale=None, int output_zero_point=0, bool relu=False) -> Tensor",
  .doc =
      "input as bytes times the transposed int8 weight, summed in int32, plus bias. The bytes' scale is input_scale "
      "or, "
      "without, found from the input. With output_scale, the result is rounded to the numbers of that grid.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &w = c.tensor(1);
        if (x.dim() == 0 || w.dim() != 2 || x.size(-1) != w.size(1))
          fail(c.name(), ": mat1 and mat2 shapes cannot be multiplied (", x.sizes(), " and the transpose of ",
               w.sizes(), ")");
        check(c, w.size(1), 4);
        Dims sizes = x.sizes();
        sizes[sizes.size() - 1] = w.size(0);
        c.give(0, meta(DType::Float, sizes));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &w = c.tensor(1), &y = c.out[0];
        if (y.numel() == 0) return;
        int64_t n = w.size(0), k = w.size(1), m = y.numel() / n, row = int8_row(k);
        LaidOut laid_out(x, DType::Float);
        const float* from = floats(laid_out.data());
        ByteGrid grid = input_grid(c, 4, from, m * k);
        Scratch bytes(Size(m) * row);
        int8_quantize(from, m, k, grid, bytes.as<uint8_t>(), row);
        Weights weights(w, c.tensor(2), grid);
        Given bias(c, 3, DType::Float);
        Int8Product p = product(c, weights, bias.data(), y.data<float>(), 4);
        p.m = m, p.n = n, p.k = row, p.a = bytes.as<uint8_t>(), p.ldy = n;
        int8_multiply(p);
      },
  .no_derivative = kNoSlope,
};

WEFT_OP{
  .signature =
      "quantized_convolve(Tensor input, Tensor weight, Tensor weight_scale, Tensor? bias, int[] stride, int[] padding, "
      "int[] dilation, int groups, float? input_scale=None, int input_zero_point=0, float? output_scale=None, int "
      "output_zero_point=0, bool relu=False) -> Tensor",
  .doc = "The same for a convolution.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        Conv v = conv_of(c, c.tensor(0).sizes(), c.tensor(1).sizes(), 4);
        check(c, v.taps() * v.in / v.groups, 8);
        c.give(0, meta(DType::Float, result_sizes(v)));
      },
  .run =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (c.out[0].numel() == 0) return;
        Conv v = conv_of(c, x.sizes(), c.tensor(1).sizes(), 4);
        Last image(x);
        const float* from = floats(image.data());
        int64_t count = x.numel();
        ByteGrid grid = input_grid(c, 8, from, count);
        Scratch bytes(count);
        int8_quantize(from, 1, count, grid, bytes.as<uint8_t>(), count);
        Weights weights(c.tensor(1), c.tensor(2), grid);
        Given bias(c, 3, DType::Float);
        LastWritten y(c.out[0]);
        Int8Product p = product(c, weights, bias.data(), reinterpret_cast<float*>(y.data()), 8);
        int8_convolve(v, bytes.as<uint8_t>(), grid.zero, p);
      },
  .any_order =
      [](Call& c) {
        for (int i = 1; i < 4; ++i)
          if (c.has(i) && c.tensor(i)->storage->last.channels) return false;
        return true;
      },
  .no_derivative = kNoSlope,
};

}  // namespace
}  // namespace weft
