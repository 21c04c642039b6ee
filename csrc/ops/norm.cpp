// Normalisation by rows (layer norm), by channels (batch norm) and by groups of channels (group norm), each one op with
// a fused derivative.
#include "loops/norm.h"

#include <cmath>

#include "loops/copy.h"
#include "ops/api.h"
#include "ops/order.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef rows_back{"norm_rows_backward"}, channels_back{"norm_channels_backward"},
    groups_back{"norm_groups_backward"}, mean_dim{"mean.dim"}, sum_dim{"sum.dim"}, rsqrt{"rsqrt"};

void need_floating(Call& c) {
  if (!is_floating(c.tensor(0).dtype()))
    fail_missing(c.name(), ": not implemented for '", name_of(c.tensor(0).dtype()), "'");
}

// What the derivatives begin with: grad, input.
void expect_gradient(Call& c) {
  expect_floating(c, 1);
  expect_shape(c, 0, c.tensor(1).sizes());
  expect_floating(c, 0);
}

// ---- by rows

// How many rows of `count` elements x has; weight and what else has a number for each of them are the arguments `each`.
int64_t rows_of(Call& c, const Tensor& x, int count, std::initializer_list<int> each) {
  Size n = c.integer(count);
  if (n < 0 || (n > 0 ? x.numel() % n != 0 : x.numel() != 0)) refuse(c, count, "make whole rows of ", x.sizes());
  for (int i : each) expect_numel(c, i, n), expect_floating(c, i);
  return n > 0 ? int64_t(x.numel() / n) : 0;
}

// Rows of half types are widened a few at a time, and so stay in the cache between the steps of a kernel. Calls
// f(chunk, first row, rows, wide inputs, wide result) for blocks of them; a chunk is what one thread takes.
constexpr int64_t kWideChunks = 16;
int64_t wide_rows(int64_t n) { return std::max<int64_t>(1, 4096 / n); }

template <int N, class F>
void in_wide_rows(DType type, int64_t rows, int64_t n, const LaidOut* const (&in)[N], char* out, const F& f) {
  const int64_t block = wide_rows(n), each = block * n;
  const int64_t grain = std::max({block, (rows + kWideChunks - 1) / kWideChunks, kGrain / n});
  parallel_chunks(rows, grain, [&](int64_t begin, int64_t end) {
    Scratch memory((N + 1) * each * item_size(DType::Float));
    auto* wide = memory.as<float>();
    for (int64_t r = begin; r < end; r += block) {
      leave_if_interrupted();
      const int64_t count = std::min(block, end - r), from = r * n * 2;
      for (int i = 0; i < N; ++i)
        copy_kernels().convert(type, DType::Float, in[i]->data() + from, wide + i * each, count * n);
      f(begin / grain, r, count, wide, wide + N * each);
      copy_kernels().convert(DType::Float, type, wide + N * each, out + from, count * n);
    }
  });
}

WEFT_OP{
  .signature =
      "norm_rows(Tensor input, Tensor? weight, Tensor? bias, int count, float eps) -> (Tensor result, Tensor mean, "
      "Tensor rstd)",
  .doc = "Rows of the last count elements, brought to mean zero and variance one; then times weight, plus bias.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        need_floating(c);
        Dims rows{rows_of(c, c.tensor(0), 3, {1, 2})};
        DType type = work_type(c.tensor(0).dtype());
        c.give(0, meta(c.tensor(0).dtype(), c.tensor(0).sizes()));
        c.give(1, meta(type, rows));
        c.give(2, meta(type, rows));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        DType type = work_type(c.tensor(0).dtype());
        Given w(c, 1, type), b(c, 2, type);
        if (is_half(c.tensor(0).dtype())) {
          const LaidOut x(c.tensor(0), c.tensor(0).dtype());
          const Size n = c.integer(3);
          return in_wide_rows(c.tensor(0).dtype(), c.out[1].numel(), n, {&x}, c.out[0].data(),
                              [&](int64_t, int64_t first, int64_t rows, const float* x, float* y) {
                                norm_kernels().rows(type, rows, n, x, w.data(), b.data(), c.real(4), y,
                                                    c.out[1].data<float>() + first, c.out[2].data<float>() + first);
                              });
        }
        LaidOut x(c.tensor(0), type);
        Written y(c.out[0], type);
        norm_kernels().rows(type, c.out[1].numel(), c.integer(3), x.data(), w.data(), b.data(), c.real(4), y.data(),
                            c.out[1].data(), c.out[2].data());
      },
  .keeps = keep::x0 | keep::x1 | keep::y1 | keep::y2,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0), w = d.arg(1).none() ? Tensor() : d.x(1), g = d.g();
        int64_t n = d.arg(3).integer();
        if (!d.create_graph) {
          TensorList parts = rows_back.list(g, x, w ? Value(w) : Value(), d.y(1), d.y(2), n, d.needs(1), d.needs(2));
          d.give(0, parts[0]);
          if (w && d.needs(1)) d.give(1, reshape(parts[1], d.shape(1)));
          if (d.needs(2)) d.give(2, reshape(parts[2], d.shape(2)));
          return;
        }
        Dims flat{-1, n};
        Tensor rows = reshape(x, flat), grad = reshape(g, flat);
        Tensor centred = rows - mean_dim(rows, Dims{1}, true);
        Tensor rstd = rsqrt(mean_dim(centred * centred, Dims{1}, true) + d.arg(4).real());
        Tensor normal = centred * rstd, scaled = w ? grad * reshape(w, Dims{n}) : grad;
        d.give(0, reshape(rstd * (scaled - mean_dim(scaled, Dims{1}, true) -
                                  normal * mean_dim(scaled * normal, Dims{1}, true)),
                          x.sizes()));
        if (w && d.needs(1)) d.give(1, reshape(sum_dim(grad * normal, Dims{0}), d.shape(1)));
        if (d.needs(2)) d.give(2, reshape(sum_dim(grad, Dims{0}), d.shape(2)));
      },
};

// The derivative of rows of half types. Chunks have sums of their own for weight and bias, which are added in order.
void wide_rows_back(Call& c, const char* w) {
  const DType type = c.tensor(1).dtype();
  const LaidOut g(c.tensor(0), type), x(c.tensor(1), type);
  const Size n = c.integer(5), rows = c.tensor(1).numel() / n;
  float* to[2] = {c.flag(6) ? c.out[1].data<float>() : nullptr, c.flag(7) ? c.out[2].data<float>() : nullptr};
  Scratch memory(kWideChunks * 4 * n * item_size(DType::Float));
  auto* sums = memory.as<float>();  // of each chunk: weight, bias, and the same of one block
  std::fill_n(sums, kWideChunks * 4 * n, 0.0f);
  in_wide_rows(type, rows, n, {&g, &x}, c.out[0].data(),
               [&](int64_t chunk, int64_t first, int64_t count, const float* wide, float* dx) {
                 float *all = sums + chunk * 4 * n, *block = all + 2 * n;
                 const float* x = wide + wide_rows(n) * n;
                 norm_kernels().rows_back(DType::Float, count, n, wide, x, w, c.tensor(3).data<float>() + first,
                                          c.tensor(4).data<float>() + first, dx, to[0] ? block : nullptr,
                                          to[1] ? block + n : nullptr);
                 for (int64_t i = 0; i < 2 * n; ++i) all[i] += block[i];
               });
  for (int k = 0; k < 2; ++k) {
    if (!to[k]) continue;
    std::fill_n(to[k], n, 0.0f);
    for (int64_t chunk = 0; chunk < kWideChunks; ++chunk)
      for (int64_t i = 0; i < n; ++i) to[k][i] += sums[(chunk * 4 + k) * n + i];
  }
}

constexpr std::string_view kOnce = "derivatives of higher order are made of other ops: see the op it belongs to";

WEFT_OP{
  .signature =
      "norm_rows_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int count, bool "
      "want_weight, bool want_bias) -> (Tensor input_grad, Tensor weight_grad, Tensor bias_grad)",
  .doc = "The derivative of norm_rows.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(1);
        expect_gradient(c);
        Dims rows{rows_of(c, x, 5, {2})};
        for (int i : {3, 4}) expect_plain(c, i, work_type(x.dtype()), rows);
        c.give(0, meta(x.dtype(), x.sizes()));
        for (int i = 1; i < 3; ++i) c.give(i, meta(work_type(x.dtype()), Dims{c.flag(5 + i) ? c.integer(5) : Size(0)}));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(1).dtype());
        Size n = c.integer(5);
        if (c.out[0].numel() == 0) {
          for (int i = 1; i < 3; ++i) fill_data(c.out[i], Value(0));
          return;
        }
        Given w(c, 2, type);
        if (is_half(c.tensor(1).dtype())) return wide_rows_back(c, w.data());
        LaidOut g(c.tensor(0), type), x(c.tensor(1), type);
        Written dx(c.out[0], type), dw(c.out[1], type), db(c.out[2], type);
        norm_kernels().rows_back(type, c.tensor(1).numel() / n, n, g.data(), x.data(), w.data(), c.tensor(3).data(),
                                 c.tensor(4).data(), dx.data(), c.flag(6) ? dw.data() : nullptr,
                                 c.flag(7) ? db.data() : nullptr);
      },
  .no_derivative = kOnce,
};

// ---- by channels: (batch, channels, …)

Channels channels_of(const Tensor& x) {
  Channels c{x.size(0), x.size(1), 1};
  for (int i = 2; i < x.dim(); ++i) c.inner *= x.size(i);
  return c;
}

// x has channels, and the arguments `each` have a number for each of them.
void expect_channels(Call& c, const Tensor& x, std::initializer_list<int> each) {
  if (x.dim() < 2) fail(c.name(), ": expected at least 2 dimensions, got shape ", x.sizes());
  for (int i : each) {
    if (c.has(i) && c.tensor(i).numel() != x.size(1))
      fail(c.name(), ": ", c.op.params[size_t(i)].name, " should contain ", x.size(1), " elements not ",
           c.tensor(i).numel());
    expect_floating(c, i);
  }
}

// Whether input i is an image that lies channels last, and is taken as it lies.
bool takes_last(Call& c, int i) { return c.tensor(i).dtype() == DType::Float && lies_last(c.tensor(i)); }

// 1 / sqrt(variance + eps) of each channel, for the time of a kernel.
class InverseRoots {
 public:
  InverseRoots(DType type, const void* variance, int64_t n, double eps) : memory_(n * item_size(type)) {
    for (int64_t i = 0; i < n; ++i)
      if (type == DType::Float)
        memory_.as<float>()[i] = 1 / std::sqrt(static_cast<const float*>(variance)[i] + float(eps));
      else
        memory_.as<double>()[i] = 1 / std::sqrt(static_cast<const double*>(variance)[i] + eps);
  }
  const void* data() const { return memory_.as<char>(); }

 private:
  Scratch memory_;
};

WEFT_OP{
  .signature =
      "norm_channels(Tensor input, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? variance, bool own, float eps) "
      "-> (Tensor "
      "result, Tensor mean, Tensor variance)",
  .doc =
      "Channels brought to mean zero and variance one, by their own moments or by given ones; then times weight, plus "
      "bias.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        need_floating(c);
        const Tensor& x = c.tensor(0);
        expect_channels(c, x, {1, 2, 3, 4});
        for (int i : {3, 4}) expect_dim(c, i, 1, 1);
        if (!c.flag(5) && !(c.has(3) && c.has(4)))
          fail(c.name(), ": mean and variance are needed where they are not its own");
        c.give(0, meta(x.dtype(), x.sizes()));
        c.give(1, meta(work_type(x.dtype()), Dims{x.size(1)}));
        c.give(2, meta(work_type(x.dtype()), Dims{x.size(1)}));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(0).dtype());
        if (takes_last(c, 0)) {
          const Tensor& x = c.tensor(0);
          Channels shape{x.numel() / x.size(1), x.size(1), 1};
          Given w(c, 1, type), b(c, 2, type);
          if (!c.flag(5))
            copy_data(c.out[1], c.tensor(3)), copy_data(c.out[2], c.tensor(4));
          else
            norm_kernels().moments(type, shape, as_it_lies(x), c.out[1].data(), c.out[2].data());
          InverseRoots rstd(type, c.out[2].data(), shape.channels, c.real(6));
          LastWritten y(c.out[0]);
          return norm_kernels().channels(type, shape, as_it_lies(x), w.data(), b.data(), c.out[1].data(), rstd.data(),
                                         y.data());
        }
        Channels shape = channels_of(c.tensor(0));
        LaidOut x(c.tensor(0), type);
        Given w(c, 1, type), b(c, 2, type);
        if (!c.flag(5))
          copy_data(c.out[1], c.tensor(3)), copy_data(c.out[2], c.tensor(4));
        else
          norm_kernels().moments(type, shape, x.data(), c.out[1].data(), c.out[2].data());
        if (c.out[0].numel() == 0) return;
        InverseRoots rstd(type, c.out[2].data(), shape.channels, c.real(6));
        Written y(c.out[0], type);
        norm_kernels().channels(type, shape, x.data(), w.data(), b.data(), c.out[1].data(), rstd.data(), y.data());
      },
  .any_order = [](Call& c) { return takes_last(c, 0); },
  .keeps = keep::x0 | keep::x1 | keep::y1 | keep::y2,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0), w = d.arg(1).none() ? Tensor() : d.x(1), g = d.g();
        bool own = d.arg(5).flag();
        double eps = d.arg(6).real();
        if (!d.create_graph) {
          TensorList parts = channels_back.list(g, x, w ? Value(w) : Value(), d.y(1), d.y(2), own, eps, d.needs(0),
                                                d.needs(1), d.needs(2));
          if (d.needs(0)) d.give(0, parts[0]);
          if (d.needs(1)) d.give(1, reshape(parts[1], d.shape(1)));
          if (d.needs(2)) d.give(2, reshape(parts[2], d.shape(2)));
          return;
        }
        Dims others{0}, shape(x.dim());
        for (int i = 0; i < x.dim(); ++i) shape[i] = i == 1 ? x.size(1) : 1;
        for (int i = 2; i < x.dim(); ++i) others.push(i);
        Tensor mean = own ? mean_dim(x, others, true) : reshape(d.y(1), shape), centred = x - mean;
        Tensor variance = own ? mean_dim(centred * centred, others, true) : reshape(d.y(2), shape);
        Tensor rstd = rsqrt(variance + eps), normal = centred * rstd, scaled = w ? g * reshape(w, shape) : g;
        Tensor inner = own ? scaled - mean_dim(scaled, others, true) - normal * mean_dim(scaled * normal, others, true)
                           : scaled;
        d.give(0, rstd * inner);
        if (d.needs(1)) d.give(1, reshape(sum_dim(g * normal, others), d.shape(1)));
        if (d.needs(2)) d.give(2, reshape(sum_dim(g, others), d.shape(2)));
      },
};

WEFT_OP{
  .signature =
      "norm_channels_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor variance, bool own, float "
      "eps, bool want_input, bool want_weight, bool want_bias) -> (Tensor input_grad, Tensor weight_grad, Tensor "
      "bias_grad)",
  .doc = "The derivative of norm_channels.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(1);
        expect_gradient(c);
        expect_channels(c, x, {2});
        for (int i : {3, 4}) expect_plain(c, i, work_type(x.dtype()), Dims{x.size(1)});
        c.give(0, meta(x.dtype(), c.flag(7) ? x.sizes() : Dims{0}));
        for (int i = 1; i < 3; ++i) c.give(i, meta(work_type(x.dtype()), Dims{c.flag(7 + i) ? x.size(1) : 0}));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(1).dtype());
        if (takes_last(c, 1) && c.flag(7)) {
          Channels shape{c.tensor(1).numel() / c.tensor(1).size(1), c.tensor(1).size(1), 1};
          Last g(c.tensor(0)), x(c.tensor(1));
          Given w(c, 2, type);
          InverseRoots rstd(type, c.tensor(4).data(), shape.channels, c.real(6));
          LastWritten dx(c.out[0]);
          return norm_kernels().channels_back(type, shape, c.flag(5), g.data(), x.data(), w.data(), c.tensor(3).data(),
                                              rstd.data(), dx.data(), c.flag(8) ? c.out[1].data() : nullptr,
                                              c.flag(9) ? c.out[2].data() : nullptr);
        }
        Channels shape = channels_of(c.tensor(1));
        LaidOut g(c.tensor(0), type), x(c.tensor(1), type);
        Given w(c, 2, type);
        InverseRoots rstd(type, c.tensor(4).data(), shape.channels, c.real(6));
        Written dx(c.out[0], type), dw(c.out[1], type), db(c.out[2], type);
        norm_kernels().channels_back(type, shape, c.flag(5), g.data(), x.data(), w.data(), c.tensor(3).data(),
                                     rstd.data(), c.flag(7) ? dx.data() : nullptr, c.flag(8) ? dw.data() : nullptr,
                                     c.flag(9) ? db.data() : nullptr);
      },
  .any_order = [](Call& c) { return takes_last(c, 1) && c.flag(7) && c.tensor(0).dtype() == DType::Float; },
  .no_derivative = kOnce,
};

// ---- by groups of channels

Groups groups_of(const Tensor& x, int64_t groups, bool last = false) {
  Channels c = channels_of(x);
  return {c.outer, groups, c.channels / groups, c.inner, last};
}

// One number for each group of each example.
Dims group_rows(Call& c, const Tensor& x, int at, std::initializer_list<int> each) {
  expect_channels(c, x, each);
  Size groups = c.integer(at);
  if (groups < 1 || x.size(1) % groups)
    fail(c.name(), ": expected channels that make ", groups, " groups, got shape ", x.sizes());
  return {x.numel() ? int64_t(Size(x.size(0)) * groups) : 0};
}

// The same of the derivative.
// By strides only where that is faster than a copy in order: a vector of channels or more.
bool group_takes_last(Call& c, int i) {
  const Tensor& x = c.tensor(i);
  return x.dtype() == DType::Float && (lies_last(x) || (x.dim() > 2 && x.size(1) >= 16 && strides_last(x)));
}
bool back_takes_last(Call& c) { return group_takes_last(c, 1) && c.flag(6) && c.tensor(0).dtype() == DType::Float; }

// The derivative made of other ops, for derivatives of higher order.
void groups_back_by_parts(Grad& d) {
  DType type = work_type(d.x(0).dtype());
  Tensor x = to_dtype(d.x(0), type), g = to_dtype(d.g(), type), scaled = g;
  Groups c = groups_of(x, d.arg(3).integer());
  Dims flat{c.outer * c.groups, c.channels * c.inner}, others{0}, shape(x.dim());
  for (int i = 0; i < x.dim(); ++i) shape[i] = i == 1 ? x.size(1) : 1;
  for (int i = 2; i < x.dim(); ++i) others.push(i);
  if (!d.arg(1).none()) scaled = g * reshape(to_dtype(d.x(1), type), shape);
  Tensor rows = reshape(x, flat), centred = rows - mean_dim(rows, Dims{1}, true);
  Tensor rstd = rsqrt(mean_dim(centred * centred, Dims{1}, true) + d.arg(4).real()), normal = centred * rstd;
  scaled = reshape(scaled, flat);
  Tensor inner = scaled - mean_dim(scaled, Dims{1}, true) - normal * mean_dim(scaled * normal, Dims{1}, true);
  d.give(0, reshape(rstd * inner, x.sizes()));
  if (d.needs(1)) d.give(1, reshape(sum_dim(g * reshape(normal, x.sizes()), others), d.shape(1)));
  if (d.needs(2)) d.give(2, reshape(sum_dim(g, others), d.shape(2)));
}

WEFT_OP{
  .signature =
      "norm_groups(Tensor input, Tensor? weight, Tensor? bias, int groups, float eps) -> (Tensor result, Tensor mean, "
      "Tensor rstd)",
  .doc =
      "Groups of channels of each example, brought to mean zero and variance one; then times weight, plus bias, by "
      "channel.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        need_floating(c);
        const Tensor& x = c.tensor(0);
        Dims rows = group_rows(c, x, 3, {1, 2});
        c.give(0, group_takes_last(c, 0) ? meta_last_as(x, x.dtype(), x.sizes()) : meta(x.dtype(), x.sizes()));
        c.give(1, meta(work_type(x.dtype()), rows));
        c.give(2, meta(work_type(x.dtype()), rows));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        DType type = work_type(c.tensor(0).dtype());
        Given w(c, 1, type), b(c, 2, type);
        if (group_takes_last(c, 0)) {
          Last x(c.tensor(0));
          LastWritten y(c.out[0]);
          return norm_kernels().groups(type, groups_of(c.tensor(0), c.integer(3), true), x.data(), w.data(), b.data(),
                                       c.real(4), y.data(), c.out[1].data(), c.out[2].data());
        }
        LaidOut x(c.tensor(0), type);
        Written y(c.out[0], type);
        norm_kernels().groups(type, groups_of(c.tensor(0), c.integer(3)), x.data(), w.data(), b.data(), c.real(4),
                              y.data(), c.out[1].data(), c.out[2].data());
      },
  .any_order = [](Call& c) { return group_takes_last(c, 0); },
  .keeps = keep::x0 | keep::x1 | keep::y1 | keep::y2,
  .back =
      [](Grad& d) {
        if (d.create_graph) return groups_back_by_parts(d);
        TensorList parts = groups_back.list(d.g(), d.x(0), d.arg(1).none() ? Value() : Value(d.x(1)), d.y(1), d.y(2),
                                            d.arg(3), d.needs(0), d.needs(1), d.needs(2));
        if (d.needs(0)) d.give(0, parts[0]);
        if (d.needs(1)) d.give(1, reshape(parts[1], d.shape(1)));
        if (d.needs(2)) d.give(2, reshape(parts[2], d.shape(2)));
      },
};

WEFT_OP{
  .signature =
      "norm_groups_backward(Tensor grad, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int groups, bool "
      "want_input, bool want_weight, bool want_bias) -> (Tensor input_grad, Tensor weight_grad, Tensor bias_grad)",
  .doc = "The derivative of norm_groups.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& x = c.tensor(1);
        expect_gradient(c);
        Dims rows = group_rows(c, x, 5, {2});
        for (int i : {3, 4}) expect_plain(c, i, work_type(x.dtype()), rows);
        c.give(0, back_takes_last(c) ? meta_last_as(x, x.dtype(), x.sizes())
                                     : meta(x.dtype(), c.flag(6) ? x.sizes() : Dims{0}));
        for (int i = 1; i < 3; ++i) c.give(i, meta(work_type(x.dtype()), Dims{c.flag(6 + i) ? x.size(1) : 0}));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(1).dtype());
        if (c.tensor(1).numel() == 0) {
          for (int i = 1; i < 3; ++i) fill_data(c.out[i], Value(0));
          return;
        }
        Given w(c, 2, type);
        void *dw = c.flag(7) ? c.out[1].data() : nullptr, *db = c.flag(8) ? c.out[2].data() : nullptr;
        if (back_takes_last(c)) {
          Last g(c.tensor(0)), x(c.tensor(1));
          LastWritten dx(c.out[0]);
          return norm_kernels().groups_back(type, groups_of(c.tensor(1), c.integer(5), true), g.data(), x.data(),
                                            w.data(), c.tensor(3).data(), c.tensor(4).data(), dx.data(), dw, db);
        }
        LaidOut g(c.tensor(0), type), x(c.tensor(1), type);
        Written dx(c.out[0], type);
        norm_kernels().groups_back(type, groups_of(c.tensor(1), c.integer(5)), g.data(), x.data(), w.data(),
                                   c.tensor(3).data(), c.tensor(4).data(), c.flag(6) ? dx.data() : nullptr, dw, db);
      },
  .any_order = back_takes_last,
  .no_derivative = kOnce,
};

}  // namespace
}  // namespace weft
