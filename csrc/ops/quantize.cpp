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

// Weights as the loops want them, and the sums of their rows.
struct ByteRows final : PackedKernel {
  Dims shape;
  int64_t groups, segments;
  const Int8Way* way;
  int64_t size;  // of the weights of a group
  std::optional<Scratch> rows, sums;
};

// How (out, channels, taps…) is packed: rows are cut into segments, each of so many taps with all channels of a group.
struct Cut {
  int64_t groups = 1, segments = 1, taps = 1;
};

std::shared_ptr<ByteRows> packed(const Dims& shape, const Cut& cut, const Int8Way& way, const int8_t* w) {
  auto made = std::make_shared<ByteRows>();
  WithLoan none(nullptr);
  int64_t out = shape[0] / cut.groups, channels = shape[1], all = cut.segments * cut.taps, row = channels * all;
  int64_t k = cut.taps * channels;
  made->shape = shape, made->groups = cut.groups, made->segments = cut.segments, made->way = &way;
  made->size = int8_packed_size(way, out, k, cut.segments);
  made->rows.emplace(Size(made->size) * cut.groups);
  made->sums.emplace(Size(shape[0]) * int64_t(sizeof(int32_t)));
  for (int64_t i = 0; i < shape[0]; ++i) {
    int32_t sum = 0;
    for (int64_t j = 0; j < row; ++j) sum += w[i * row + j];
    made->sums->as<int32_t>()[i] = sum;
  }
  for (int64_t g = 0; g < cut.groups; ++g) {
    const int8_t* from = w + g * out * row;
    auto at = [&](int64_t i, int64_t s, int64_t j) {
      return from[i * row + j % channels * all + s * cut.taps + j / channels];
    };
    int8_pack(way, out, k, cut.segments, at, made->rows->as<int8_t>() + g * made->size);
  }
  return made;
}

// The weights of a call, packed: in an earlier one with the same, or now.
class Weights {
 public:
  Weights(const Tensor& w, const Tensor& scale, const Cut& cut, const Int8Way& way)
      : kept_(w, true), scale_(scale, DType::Float), each_(scale.numel() != 1) {
    auto* slot = kept_.get();
    if (slot) rows_ = std::static_pointer_cast<ByteRows>(*slot);
    if (rows_ && rows_->shape == w.sizes() && rows_->groups == cut.groups && rows_->segments == cut.segments &&
        rows_->way == &way)
      return;
    LaidOut laid_out(w, DType::Int8);
    rows_ = packed(w.sizes(), cut, way, reinterpret_cast<const int8_t*>(laid_out.data()));
    if (slot) *slot = rows_;
  }
  void give(Int8Product& p) const {
    p.w = rows_->rows->as<int8_t>(), p.sums = rows_->sums->as<int32_t>();
    p.scale = floats(scale_.data()), p.each = each_;
  }
  int64_t size() const { return rows_->size; }

 private:
  Prepacked kept_;
  LaidOut scale_;
  bool each_;
  std::shared_ptr<ByteRows> rows_;
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
  return c.has(at) ? ByteGrid{float(c.real(at)), int32_t(c.integer(at + 1))} : grid_of(x, n, 255);
}

Int8Product product(Call& c, const Weights& weights, ByteGrid grid, const char* bias, float* y, int at) {
  Int8Product p{};
  weights.give(p);
  p.grid = grid;
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
        int64_t n = w.size(0), k = w.size(1), m = y.numel() / n, row = int8_row(k), none = 0;
        LaidOut laid_out(x, DType::Float);
        const float* from = floats(laid_out.data());
        ByteGrid grid = input_grid(c, 4, from, m * k);
        const Int8Way& way = int8_way(grid);
        Weights weights(w, c.tensor(2), {}, way);
        Scratch bytes(Size(m) * row * way.item + kInt8Slack);
        int8_quantize(way, from, m, k, grid, bytes.as<char>());
        Given bias(c, 3, DType::Float);
        Int8Product p = product(c, weights, grid, bias.data(), y.data<float>(), 4);
        p.last = m, p.n = n, p.k = k, p.segments = 1, p.offsets = &none, p.ldy = n;
        p.rows = {bytes.as<char>(), {m, 1, 1}, {row, 0, 0, 0}};
        int8_multiply(way, p);
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
        ByteGrid grid = input_grid(c, 8, from, x.numel());
        const Int8Way& way = int8_way(grid);
        Int8Windows windows(v);
        Scratch bytes(Size(windows.items()) * way.item + kInt8Slack);
        windows.quantize(way, from, grid, bytes.as<char>());
        int64_t taps = windows.joined() ? moved_to_end(v).kernel[2] : 1;
        Weights weights(c.tensor(1), c.tensor(2), {v.groups, v.taps() / taps, taps}, way);
        Given bias(c, 3, DType::Float);
        LastWritten y(c.out[0]);
        Int8Product p = product(c, weights, grid, bias.data(), reinterpret_cast<float*>(y.data()), 8);
        windows.multiply(way, p, bytes.as<char>(), weights.size());
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
