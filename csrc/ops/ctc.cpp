// CTC (Graves et al., 2006): the probability of labels, summed over all ways to align them with frames.
#include <cmath>
#include <cstring>
#include <limits>

#include "loops/losses.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef ctc_backward{"ctc_backward"}, ctc_symbols{"ctc_symbols"}, cat{"cat"}, stack{"stack"};
constexpr double kInf = std::numeric_limits<double>::infinity();

enum Reduction : int64_t { kNone, kMean, kSum };

// Arguments of these ops, from `at` on: log_probs (T, N, C), targets (N, S) or all in a row, input_lengths and
// target_lengths (N).
void check(Call& c, int at) {
  const Tensor &x = c.tensor(at), &y = c.tensor(at + 1);
  if (x.dim() != 3) fail("ctc_loss: expected log_probs of 3 dimensions, got ", x.sizes());
  if (!is_floating(x.dtype())) fail_missing("ctc_loss: not implemented for '", name_of(x.dtype()), "'");
  if (y.dim() > 2 || (y.dim() == 2 && y.size(0) != x.size(1)))
    fail("ctc_loss: expected targets of ", x.size(1), " rows, or in one, got shape ", y.sizes());
  if (!is_integral(y.dtype())) fail("ctc_loss: targets must be of integral type, got ", name_of(y.dtype()));
  for (int i = at + 2; i < at + 4; ++i) {
    const char* name = i == at + 2 ? "input_lengths" : "target_lengths";
    if (!is_integral(c.tensor(i).dtype())) fail("ctc_loss: ", name, " must be of integral type");
    if (c.tensor(i).numel() != x.size(1))
      fail("ctc_loss: ", name, " must be of size batch_size ", x.size(1), ", got ", c.tensor(i).numel());
  }
  if (c.integer(at + 4) < 0 || c.integer(at + 4) >= x.size(2)) fail("ctc_loss: blank must be in label range");
}

// The batch as the kernels read it. Lengths and labels are checked here, since these are values.
class Batch {
 public:
  Batch(Call& c, int at)
      : time(c.tensor(at).size(0)),
        count(c.tensor(at).size(1)),
        classes(c.tensor(at).size(2)),
        labels_(c.tensor(at + 1), DType::Int64),
        frames_(c.tensor(at + 2), DType::Int64),
        lengths_(c.tensor(at + 3), DType::Int64),
        blank_(c.integer(at + 4)),
        targets_(c.tensor(at + 1)) {
    Size total = 0;
    for (int64_t n = 0; n < count; ++n) {
      if (frames(n) > time)
        fail("ctc_loss: Expected input_lengths to have value at most ", time, ", but got value ", frames(n));
      if (frames(n) < 0 || length(n) < 0) fail("ctc_loss: Expected lengths to have value at least 0");
      if (targets_.dim() == 2 && length(n) > targets_.size(1))
        fail("ctc_loss: Expected tensor to have size at least ", length(n), " at dimension 1, but got size ",
             targets_.sizes(), " for targets");
      total = total + length(n);
      longest = std::max(longest, length(n));
    }
    if (targets_.dim() < 2 && total != targets_.numel())
      fail("ctc_loss: Expected tensor to have size ", total, " at dimension 0, but got size ", targets_.numel(),
           " for targets");
  }
  int64_t frames(int64_t n) const { return reinterpret_cast<const int64_t*>(frames_.data())[n]; }
  int64_t length(int64_t n) const { return reinterpret_cast<const int64_t*>(lengths_.data())[n]; }

  // Calls f(n, sample, first): `first` is where its rows of alpha begin.
  template <class F>
  void each(int64_t* symbols, const F& f) const {
    auto* labels = reinterpret_cast<const int64_t*>(labels_.data());
    int64_t first = 0, in_a_row = 0;
    for (int64_t n = 0; n < count; ++n) {
      leave_if_interrupted();
      const int64_t* own = labels + (targets_.dim() == 2 ? n * int64_t(targets_.size(1)) : in_a_row);
      in_a_row += length(n);
      CtcSample s{frames(n), 2 * length(n) + 1, classes, count * classes, symbols};
      for (int64_t i = 0; i < s.states; ++i) {
        int64_t y = i % 2 ? own[i / 2] : blank_;
        if (y < 0 || y >= classes) fail_index("ctc_loss: label ", y, " is out of bounds for ", classes, " classes");
        symbols[i] = y;
      }
      f(n, s, first);
      first += s.width() * time;
    }
  }
  int64_t time, count, classes, longest = 0;
  int64_t widest() const { return CtcSample{0, 2 * longest + 1, 0, 0, nullptr}.width(); }

 private:
  LaidOut labels_, frames_, lengths_;
  int64_t blank_;
  const Tensor& targets_;
};

// Elements that rows of alpha can have at most, all samples together.
Size alpha_size(const Tensor& x, const Tensor& targets) {
  return x.size(0) * (2 * Size(targets.numel()) + x.size(1) * (CtcSample::kLanes + CtcSample::kFront));
}

// How much the loss of a sample of that length counts.
double share(int64_t length, int64_t count, int64_t reduction) {
  return reduction == kMean ? 1.0 / (double(std::max<int64_t>(length, 1)) * double(count)) : 1.0;
}

// ---- the same made of other ops, for derivatives of higher order

Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  Tensor top = detach(maximum(maximum(a, b), c));
  top = where(top == -kInf, 0.0, top);
  Tensor total = exp(a - top) + exp(b - top) + exp(c - top), none = total == 0.0;
  return where(none, -kInf, log(where(none, 1.0, total)) + top);
}
// Columns moved to the right by k, or to the left by -k; -inf comes in.
Tensor moved(const Tensor& t, int64_t k) {
  int64_t n = t.size(1), size = std::min<int64_t>(n, std::abs(k));
  Tensor never = full(Dims{t.size(0), size}, -kInf, t.dtype());
  if (k > 0) return cat(TensorList{never, slice(t, int64_t(1), int64_t(0), n - size)}, int64_t(1));
  return cat(TensorList{slice(t, int64_t(1), size, n), never}, int64_t(1));
}

// The derivative by log_probs, from the probabilities of all states at all frames.
Tensor slopes(const Tensor& x, const Tensor& symbol, const Tensor& frames, const Tensor& lengths) {
  int64_t time = x.size(0), count = x.size(1), states = symbol.size(1);
  if (time == 0) return zeros_like(x);
  Tensor emitted = gather(x, int64_t(2), expand(symbol, Dims{time, count, states}));
  Tensor state = arange(states), code = to_dtype(symbol, DType::Double),
         never = full(Dims{count, states}, -kInf, x.dtype());
  Tensor skip = where(code != moved(code, 2), 0.0, never), skip_on = moved(skip, -2);
  Tensor last = unsqueeze(lengths, int64_t(1)) * 2.0, end = where((state == last) || (state == last - 1.0), 0.0, never);
  auto at = [](const Tensor& t, int64_t i) { return select(t, int64_t(0), i); };
  TensorList alpha, probabilities(static_cast<size_t>(time));
  for (int64_t t = 0; t < time; ++t) {
    if (t == 0) {
      alpha.push_back(where(state < 2.0, at(emitted, 0), -kInf));
      continue;
    }
    const Tensor& a = alpha.back();
    alpha.push_back(log_sum(a, moved(a, 1), moved(a, 2) + skip) + at(emitted, t));
  }
  Tensor beta = never, ends = unsqueeze(frames, int64_t(1));
  std::vector<Tensor> joint(static_cast<size_t>(time));
  for (int64_t t = time - 1; t >= 0; --t) {
    if (t + 1 < time) {
      Tensor ahead = beta + at(emitted, t + 1);
      beta = log_sum(ahead, moved(ahead, -1), moved(ahead, -2) + skip_on);
    }
    beta = where(ends == double(t + 1), end, where(ends > double(t + 1), beta, -kInf));
    joint[size_t(t)] = alpha[size_t(t)] + beta;
  }
  const Tensor& first = joint[0];  // paths begin in the first two states
  auto column = [](const Tensor& t, int64_t i) { return slice(t, int64_t(1), i, i + 1); };
  Tensor total = log_sum(column(first, 0), states > 1 ? column(first, 1) : column(never, 0), column(never, 0));
  total = where(total == -kInf, 0.0, total);  // of samples without a derivative
  Tensor empty = zeros(Dims{count, x.size(2)}, x.dtype());
  for (int64_t t = 0; t < time; ++t) {
    Tensor own = where(ends > double(t), exp(joint[size_t(t)] - total), 0.0);
    Tensor all = where(ends > double(t), exp(at(x, t)), 0.0);
    probabilities[size_t(t)] = all - scatter_add(empty, int64_t(1), symbol, own);
  }
  return stack(probabilities, int64_t(0));
}

// ---- ops

WEFT_OP{
  .signature =
      "ctc_rows(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank, int "
      "reduction, bool zero_infinity) -> (Tensor loss, Tensor each, Tensor alpha)",
  .doc = "Minus the log probability of labels; reduction 0: all, 1: mean over labels and samples, 2: sum.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        check(c, 0);
        expect_range(c, 5, kNone, kSum);
        const Tensor& x = c.tensor(0);
        DType type = work_type(x.dtype());
        c.give(0, meta(x.dtype(), c.integer(5) == kNone ? Dims{x.size(1)} : Dims{}));
        c.give(1, meta(DType::Double, Dims{x.size(1)}));
        c.give(2, meta(type, Dims{alpha_size(x, c.tensor(1))}));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(0).dtype());
        Batch batch(c, 0);
        LaidOut x(c.tensor(0), type);
        Written loss(c.out[0], type);
        int64_t item = item_size(type), reduction = c.integer(5);
        Scratch symbols(8 * (2 * batch.longest + 1)), room(CtcSample::kRoom * batch.widest() * item);
        auto* each = c.out[1].data<double>();
        double sum = 0;
        int64_t end = 0;
        batch.each(symbols.as<int64_t>(), [&](int64_t n, const CtcSample& s, int64_t first) {
          char* alpha = static_cast<char*>(c.out[2].data()) + first * item;
          each[n] = loss_kernels().ctc(type, s, x.data() + n * batch.classes * item, room.as<char>(), alpha);
          int64_t used = s.frames * s.width() * item, all = batch.time * s.width() * item;
          std::memset(alpha + used, 0, size_t(all - used));  // a result has no bytes that nobody wrote
          end = first * item + all;
          double one = c.flag(6) && each[n] == kInf ? 0 : each[n];
          sum += one * share(batch.length(n), batch.count, reduction);
          if (reduction != kNone) return;
          if (type == DType::Float)
            static_cast<float*>(loss.data())[n] = float(one);
          else
            static_cast<double*>(loss.data())[n] = one;
        });
        std::memset(static_cast<char*>(c.out[2].data()) + end, 0, size_t(c.out[2].numel() * item - end));
        if (reduction == kMean && batch.count == 0) sum = std::nan("");
        if (reduction == kNone) return;
        if (type == DType::Float)
          *static_cast<float*>(loss.data()) = float(sum);
        else
          *static_cast<double*>(loss.data()) = sum;
      },
  .keeps = keep::x0 | keep::x1 | keep::x2 | keep::x3 | keep::y1 | keep::y2,
  .back =
      [](Grad& d) {
        Tensor x = d.x(0), y = d.x(1), frames = d.x(2), lengths = d.x(3), g = d.g();
        if (!d.create_graph)
          return d.give(0, ctc_backward(g, x, y, frames, lengths, d.arg(4), d.arg(5), d.arg(6), d.y(1), d.y(2)));
        frames = reshape(frames, Dims{x.size(1)});
        lengths = reshape(lengths, Dims{x.size(1)});
        if (d.arg(5).integer() == kMean)
          g = g / (to_dtype(maximum(lengths, ones_like(lengths)), x.dtype()) * double(x.size(1)));
        Tensor slope = slopes(x, ctc_symbols(x, y, frames, lengths, d.arg(4)), frames, lengths);
        Tensor each = g.dim() ? unsqueeze(g, int64_t(1)) : g;
        slope = slope * each;
        slope = where(unsqueeze(d.y(1) == kInf, int64_t(1)), d.arg(6).flag() ? 0.0 : std::nan(""), slope);
        d.give(0, slope);
      },
};

WEFT_OP{
  .signature =
      "ctc_backward(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
      "target_lengths, int blank, int reduction, bool zero_infinity, Tensor each, Tensor alpha) -> Tensor",
  .doc = "The derivative of ctc_rows by log_probs, as behind a log_softmax.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        check(c, 1);
        expect_range(c, 6, kNone, kSum);
        const Tensor& x = c.tensor(1);
        expect_shape(c, 0, c.integer(6) == kNone ? Dims{x.size(1)} : Dims{});
        expect_floating(c, 0);
        expect_plain(c, 8, DType::Double, Dims{x.size(1)});
        expect_plain(c, 9, work_type(x.dtype()), Dims{alpha_size(x, c.tensor(2))});
        c.give(0, meta(x.dtype(), x.sizes()));
      },
  .run =
      [](Call& c) {
        DType type = work_type(c.tensor(1).dtype());
        Batch batch(c, 1);
        LaidOut x(c.tensor(1), type), grad(c.tensor(0), DType::Double);
        Written dx(c.out[0], type);
        int64_t item = item_size(type), reduction = c.integer(6);
        Scratch symbols(8 * (2 * batch.longest + 1)), room(CtcSample::kRoom * batch.widest() * item);
        auto* each = c.tensor(8).data<double>();
        auto* g = reinterpret_cast<const double*>(grad.data());
        auto* alpha = static_cast<const char*>(c.tensor(9).data());
        int64_t row = batch.classes * item;
        batch.each(symbols.as<int64_t>(), [&](int64_t n, const CtcSample& s, int64_t first) {
          char* out = static_cast<char*>(dx.data()) + n * row;
          bool zero = c.flag(7) && each[n] == kInf;
          int64_t from = zero ? 0 : s.frames;
          for (int64_t t = from; t < batch.time; ++t) std::memset(out + t * batch.count * row, 0, size_t(row));
          if (zero || s.frames == 0) return;
          double scale = (reduction == kNone ? g[n] : *g) * share(batch.length(n), batch.count, reduction);
          // An impossible sample has no derivative: NaN, as infinity less itself.
          loss_kernels().ctc_slope(type, s, x.data() + n * row, alpha + first * item, each[n],
                                   each[n] == kInf ? std::nan("") : scale, room.as<char>(), out);
        });
      },
  .no_derivative = "derivatives of higher order are made of other ops: see ctc_rows",
};

WEFT_OP{
  .signature =
      "ctc_symbols(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) "
      "-> Tensor",
  .doc = "The labels of each sample with blanks between them, and behind them.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        check(c, 0);
        const Tensor& y = c.tensor(1);
        Size longest = y.dim() == 2 ? Size(y.size(1)) : Size(y.numel());
        c.give(0, meta(DType::Int64, Dims{c.tensor(0).size(1), 2 * longest + 1}));
      },
  .run =
      [](Call& c) {
        Batch batch(c, 0);
        int64_t states = c.out[0].size(1), *out = c.out[0].data<int64_t>();
        Scratch symbols(8 * (2 * batch.longest + 1));
        batch.each(symbols.as<int64_t>(), [&](int64_t n, const CtcSample& s, int64_t) {
          for (int64_t i = 0; i < states; ++i) out[n * states + i] = i < s.states ? s.symbol[i] : int64_t{c.integer(4)};
        });
      },
  .no_derivative = "whole numbers",
};

}  // namespace
}  // namespace weft
