// Layers with int8 weights: activations become bytes, the product is summed in int32, the result is float again.
// weft.quantization names them.
#include "loops/int8.h"
#include "loops/recurrent.h"
#include "ops/conv.h"
#include "ops/order.h"
#include "ops/prepacked.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

constexpr const char* kNoSlope = "its result changes in steps: it is for networks that have learnt";

const float* floats(const char* p) { return reinterpret_cast<const float*>(p); }

// Weights as the loops want them, and the sums of their rows.
struct ByteRows final : PackedKernel {
  Dims shape;
  int64_t groups, merged, segments;
  const Int8Way* way;
  int64_t size;  // of the weights of a group
  std::optional<Scratch> rows, sums;
};

// How (out, channels, taps…) is packed: rows are cut into segments, each of so many taps with all channels of a group.
// A group may be several merged into one.
struct Cut {
  int64_t groups = 1, merged = 1, segments = 1, taps = 1;
};

std::shared_ptr<ByteRows> packed(const Dims& shape, const Cut& cut, const Int8Way& way, const int8_t* w) {
  auto made = std::make_shared<ByteRows>();
  WithLoan none(nullptr);
  int64_t out = shape[0] / cut.groups, channels = shape[1], all = cut.segments * cut.taps, row = channels * all;
  int64_t wide = cut.merged * channels, k = cut.taps * wide;
  made->shape = shape, made->groups = cut.groups, made->merged = cut.merged, made->segments = cut.segments,
  made->way = &way;
  bool by_channel = &way == int8_kernels().by_channel, by_tiles = &way == &int8_kernels().tiles->way;
  made->size = by_channel ? int8_packed_size_by_channel(way, shape[0], all)
               : by_tiles ? int8_packed_size_by_tiles(shape[0], channels)
                          : int8_packed_size(way, out, k, cut.segments);
  made->rows.emplace(Size(made->size) * (by_channel ? 1 : cut.groups));
  made->sums.emplace(Size(shape[0]) * int64_t(sizeof(int32_t)));
  for (int64_t i = 0; i < shape[0]; ++i) {
    int32_t sum = 0;
    for (int64_t j = 0; j < row; ++j) sum += w[i * row + j];
    made->sums->as<int32_t>()[i] = sum;
  }
  if (by_channel) {
    int8_pack_by_channel(way, shape[0], all, w, made->rows->as<int16_t>());
    return made;
  }
  if (by_tiles) {
    int8_pack_by_tiles(shape[0], channels, w, made->rows->as<int16_t>());
    return made;
  }
  for (int64_t g = 0; g < cut.groups; ++g) {
    const int8_t* from = w + g * out * row;
    auto at = [&](int64_t i, int64_t s, int64_t j) {
      int64_t channel = j % wide, own = i / (out / cut.merged);  // the one of the merged groups that the row is of
      if (channel / channels != own) return int8_t(0);
      return from[i * row + channel % channels * all + s * cut.taps + j / wide];
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
    if (rows_ && rows_->shape == w.sizes() && rows_->groups == cut.groups && rows_->merged == cut.merged &&
        rows_->segments == cut.segments && rows_->way == &way)
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
// reduce_range, input_scale, input_zero_point, output_scale, output_zero_point, relu

int32_t most_of(Call& c, int at) { return c.flag(at) ? 127 : 255; }  // the last byte of an input

void check_grid(Call& c, int at, int32_t most, const char* what) {
  if (!c.has(at)) return;
  double scale = c.real(at);
  Size zero = c.integer(at + 1);
  if (!(scale > 0) || !std::isfinite(1 / float(scale)) || !std::isfinite(float(scale)))
    fail(c.name(), ": ", what, "_scale must be positive and finite, got ", scale);
  if (zero < 0 || zero > most) fail(c.name(), ": ", what, "_zero_point must be between 0 and ", most, ", got ", zero);
}

// Where a call has its input, its weight, the scale of that, its bias.
struct Places {
  int input = 0, weight = 1, scale = 2, bias = 3;
};

void check(Call& c, Places at, int64_t k) {
  const Tensor &x = c.tensor(at.input), &w = c.tensor(at.weight), &scale = c.tensor(at.scale);
  if (x.dtype() != DType::Float || w.dtype() != DType::Int8 || scale.dtype() != DType::Float)
    fail(c.name(), ": expected an input of float32, a weight of int8 and its scale of float32, got ",
         name_of(x.dtype()), ", ", name_of(w.dtype()), " and ", name_of(scale.dtype()));
  int64_t n = w.size(0);
  if (!(scale.sizes() == Dims{n}) && scale.numel() != 1)
    fail(c.name(), ": weight_scale must have one element or one for each of the ", n, " outputs, got shape ",
         scale.sizes());
  if (c.has(at.bias) && (c.tensor(at.bias).dtype() != DType::Float || !(c.tensor(at.bias).sizes() == Dims{n})))
    fail(c.name(), ": expected a bias of float32 and shape [", n, "], got ", name_of(c.tensor(at.bias).dtype()),
         " and shape ", c.tensor(at.bias).sizes());
  if (k > kInt8Deepest)
    fail_missing(c.name(), ": sums of more than ", kInt8Deepest, " products may not fit into int32, got ", k);
}

void check_grids(Call& c, int at) {
  check_grid(c, at + 1, most_of(c, at), "input");
  check_grid(c, at + 3, 255, "output");
}

ByteGrid input_grid(Call& c, int at, const float* x, int64_t n) {
  int32_t most = most_of(c, at);
  if (!c.has(at + 1)) return grid_of(x, n, most);
  return {float(c.real(at + 1)), int32_t(c.integer(at + 2)), most};
}

Int8Product product(Call& c, const Weights& weights, ByteGrid grid, const char* bias, float* y, int at) {
  Int8Product p{};
  weights.give(p);
  p.grid = grid;
  p.bias = floats(bias), p.y = y, p.relu = c.flag(at + 5);
  if (c.has(at + 3)) p.rounded = {float(c.real(at + 3)), int32_t(c.integer(at + 4))};
  return p;
}

WEFT_OP{
  .signature =
      "quantized_linear(Tensor input, Tensor weight, Tensor weight_scale, Tensor? bias=None, bool reduce_range=False, "
      "float? input_scale=None, int input_zero_point=0, float? output_scale=None, int output_zero_point=0, "
      "bool relu=False) -> Tensor",
  .doc =
      "input as bytes times the transposed int8 weight, summed in int32, plus bias. The bytes' scale is input_scale "
      "or, without, found from the input. With output_scale, the result is rounded to the numbers of that grid. With "
      "reduce_range, bytes are at most 127, which older CPUs multiply faster.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &w = c.tensor(1);
        if (x.dim() == 0 || w.dim() != 2 || x.size(-1) != w.size(1))
          fail(c.name(), ": mat1 and mat2 shapes cannot be multiplied (", x.sizes(), " and the transpose of ",
               w.sizes(), ")");
        check(c, {}, w.size(1));
        check_grids(c, 4);
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
      "int[] dilation, int groups, bool reduce_range=False, float? input_scale=None, int input_zero_point=0, float? "
      "output_scale=None, int output_zero_point=0, bool relu=False) -> Tensor",
  .doc = "The same for a convolution.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        Conv v = conv_of(c, c.tensor(0).sizes(), c.tensor(1).sizes(), 4);
        check(c, {}, v.taps() * v.in / v.groups);
        check_grids(c, 8);
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
        bool by_tiles = Int8Windows::by_tiles(v);
        const Int8Way& way = by_tiles                     ? int8_kernels().tiles->way
                             : Int8Windows::by_channel(v) ? *int8_kernels().by_channel
                                                          : int8_way(grid);
        Int8Windows windows(v, way);
        Scratch bytes(Size(windows.items()) * way.item + kInt8Slack);
        windows.quantize(way, from, grid, bytes.as<char>());
        int64_t taps = windows.joined() ? moved_to_end(v).kernel[2] : 1;
        Weights weights(c.tensor(1), c.tensor(2), {windows.groups(), windows.merged(), v.taps() / taps, taps}, way);
        Given bias(c, 3, DType::Float);
        LastWritten y(c.out[0]);
        Int8Product p = product(c, weights, grid, bias.data(), reinterpret_cast<float*>(y.data()), 8);
        by_tiles ? windows.multiply_by_tiles(p, bytes.as<char>())
                 : windows.multiply(way, p, bytes.as<char>(), weights.size());
      },
  .any_order =
      [](Call& c) {
        for (int i = 1; i < 4; ++i)
          if (c.has(i) && c.tensor(i)->storage->last.channels) return false;
        return true;
      },
  .no_derivative = kNoSlope,
};

// ---- results of other layers

// Whether all operands lie in the same order, without gaps.
bool rounds_as_it_lies(Call& c) {
  const Tensor& x = c.tensor(0);
  return is_dense(x.sizes(), x.strides()) && (!c.has(1) || c.tensor(1).strides() == x.strides());
}

bool rounds_last(Call& c) {
  const Tensor* given[2] = {&c.tensor(0), c.has(1) ? &c.tensor(1) : nullptr};
  bool single[2] = {false, false};
  return all_lie_last(c.out[0], given, single, c.has(1) ? 2 : 1);
}

WEFT_OP{
  .signature =
      "quantized_round(Tensor input, Tensor? other, float? output_scale, int output_zero_point, bool relu=False) -> "
      "Tensor",
  .doc = "input, or input + other, at the numbers of a grid; with relu, at those that are not negative.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        for (int i : {0, 1}) expect_dtype(c, i, DType::Float);
        expect_shape(c, 1, c.tensor(0).sizes());
        if (!c.has(2)) refuse(c, 2, "be given");
        check_grid(c, 2, 255, "output");
        const Tensor& x = c.tensor(0);
        c.give(0, rounds_as_it_lies(c) ? meta_strided(DType::Float, x.sizes(), x.strides())
                                       : meta(DType::Float, x.sizes()));
      },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        ByteGrid grid{float(c.real(2)), int32_t(c.integer(3))};
        auto round = [&](const float* from, const float* more, float* to) {
          parallel_shares(y.numel(), kGrain, 64, [&](int64_t begin, int64_t end) {
            int8_kernels().round(from + begin, more ? more + begin : nullptr, end - begin, grid, c.flag(4), to + begin);
          });
        };
        if (x->storage->last.channels && rounds_last(c)) {
          round(floats(as_it_lies(x)), c.has(1) ? floats(as_it_lies(c.tensor(1))) : nullptr,
                reinterpret_cast<float*>(as_it_lies(y)));
          set_lies_last(y);
          return;
        }
        if (rounds_as_it_lies(c))
          return round(x.data<float>(), c.has(1) ? c.tensor(1).data<float>() : nullptr, y.data<float>());
        LaidOut from(x, DType::Float);
        Given more(c, 1, DType::Float);
        round(floats(from.data()), floats(more.data()), y.data<float>());
      },
  .any_order = rounds_last,
  .no_derivative = kNoSlope,
};

// ---- recurrent layers

struct Int8Steps {
  explicit Int8Steps(Call& c) {
    expect_range(c, 7, int64_t(Cell::rnn_tanh), int64_t(Cell::lstm));
    Size kind = c.integer(7);
    cell = Cell(int64_t(kind)), reverse = c.flag(8);
    gates = cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1;
    const Dims &x = c.tensor(0).sizes(), &w = c.tensor(3).sizes();
    if (x.size() != 3 || w.size() != 2 || x[2] != w[0] || w[0] != gates * w[1])
      fail(c.name(), ": expected input (time, batch, gates * n) and weight (gates * n, n), got shapes ", x, " and ", w);
    time = x[0], batch = x[1], n = w[1], width = w[0];
    if (cell == Cell::lstm && !c.has(2)) refuse(c, 2, "be given for an lstm");
    for (int i : {1, 2}) expect_shape(c, i, Dims{batch, n}), expect_dtype(c, i, DType::Float);
  }
  int64_t at(int64_t step) const { return reverse ? time - 1 - step : step; }
  Cell cell;
  bool reverse;
  int64_t gates, time, batch, n, width;
};

WEFT_OP{
  .signature =
      "quantized_recur(Tensor input, Tensor h, Tensor? c, Tensor weight, Tensor weight_scale, Tensor? bias, bool "
      "reduce_range, int cell, bool reverse) -> (Tensor output, Tensor cells)",
  .doc =
      "The states of a recurrent layer at every step, and the cells of an lstm. input holds the input's share of the "
      "gates; the state's is quantized_linear(state, weight, weight_scale, bias, reduce_range).",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        Int8Steps s(c);
        check(c, {0, 3, 4, 5}, s.n);
        c.give(0, meta(DType::Float, {s.time, s.batch, s.n}));
        c.give(1, meta(DType::Float, {s.time, s.batch, s.cell == Cell::lstm ? s.n : 0}));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        constexpr int64_t kUnits = 4096;  // whose exponentials are worth a thread
        Int8Steps s(c);
        bool lstm = s.cell == Cell::lstm, gru = s.cell == Cell::gru;
        LaidOut x(c.tensor(0), DType::Float), h0(c.tensor(1), DType::Float);
        Given c0(c, 2, DType::Float), bias(c, 5, DType::Float);
        int64_t states = s.batch * s.n, row = int8_row(s.n), none = 0, most = c.flag(6) ? 127 : 255;
        const Int8Way& way = int8_kernels().way(most == 127);
        Weights weights(c.tensor(3), c.tensor(4), {}, way);
        Scratch bytes(Size(s.batch) * row * way.item + kInt8Slack), gates(Size(s.batch) * s.width * 4);
        Scratch kept(Size(states) * 4 * 4);
        Int8Product p{};
        weights.give(p);
        p.last = s.batch, p.n = s.width, p.k = s.n, p.segments = 1, p.offsets = &none, p.ldy = s.width;
        p.rows = {bytes.as<char>(), {s.batch, 1, 1}, {row, 0, 0, 0}};
        p.bias = floats(bias.data()), p.y = gates.as<float>();
        const float *h = floats(h0.data()), *cells = floats(c0.data());
        for (int64_t t = 0; t < s.time; ++t) {
          leave_if_interrupted();
          const float* share = floats(x.data()) + s.at(t) * s.batch * s.width;
          float* next = c.out[0].data<float>() + s.at(t) * states;
          float* next_cells = lstm ? c.out[1].data<float>() + s.at(t) * states : nullptr;
          p.grid = grid_of(h, states, int32_t(most)), p.added = gru ? nullptr : share;
          int8_quantize(way, h, s.batch, s.n, p.grid, bytes.as<char>());
          int8_multiply(way, p);
          const float* before = lstm ? cells : h;
          parallel_shares(s.batch, std::max<int64_t>(1, kUnits / s.n), 1, [&](int64_t begin, int64_t end) {
            int64_t one = begin * s.n, wide = begin * s.width;
            recurrent_kernels().step(DType::Float, s.cell,
                                     {end - begin, s.n, s.n, share + wide, gates.as<float>() + wide, before + one,
                                      next + one, lstm ? next_cells + one : nullptr, kept.as<float>() + 4 * one});
          });
          h = next, cells = next_cells;
        }
      },
  .no_derivative = kNoSlope,
};

}  // namespace
}  // namespace weft
