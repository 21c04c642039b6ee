// Recurrent layers over a whole sequence, there and back: one op each. weft.nn.functional joins them to a layer.
#include "loops/recurrent.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "loops/gemm.h"
#include "ops/api.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

constexpr std::string_view kByTwin = "weft.nn.functional.recurrent differentiates it";

constexpr int64_t kFew = 8;  // sequences: a thread that takes some from end to end wants as many

Cell cell_of(Call& c, int at) {
  expect_range(c, at, int64_t(Cell::rnn_tanh), int64_t(Cell::lstm));
  Size kind = c.integer(at);
  return Cell(int64_t(kind));
}
int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
int64_t kept_of(Cell cell) { return cell == Cell::lstm || cell == Cell::gru ? 4 : 0; }

struct Range {
  int64_t begin, end;
  Range in(int64_t from, int64_t to) const { return {std::max(begin, from), std::min(end, to)}; }
  int64_t count() const { return std::max<int64_t>(0, end - begin); }
};

// Which rows of a sequence belong to which step. Without `sizes` there are equally many, (time, batch, …); with them
// the rows of all steps lie one below the other, (rows, …), and sequences that are shorter come later in each step.
class Steps {
 public:
  // Shapes only: rules read no elements.
  Steps(Call& c, const Dims& x, const Tensor& w, const Tensor& h, int sizes, int mode)
      : cell(cell_of(c, mode)), reverse(c.flag(mode + 1)), gates(gates_of(cell)), packed(c.has(sizes)) {
    int last = packed ? 1 : 2;
    if (x.size() != last + 1 || w.dim() != 2 || x[last] != w.size(0) || w.size(0) != gates * w.size(1))
      fail(c.name(), ": expected input (time, batch, gates * n) and weight (gates * n, n), got shapes ", x, " and ",
           w.sizes());
    if (!is_floating(w.dtype())) fail_missing(c.name(), ": not implemented for '", name_of(w.dtype()), "'");
    n = w.size(1), width = w.size(0), item = item_size(work_type(w.dtype()));
    if (h.dim() != 2 || h.size(1) != n || h.dtype() != w.dtype())
      fail(c.name(), ": expected a state of shape [batch, ", n, "] and ", name_of(w.dtype()), ", got ", h.sizes(),
           " of ", name_of(h.dtype()));
    batch = h.size(0), time = x[0];
    if (packed)
      expect_dim(c, sizes, 1, 1), expect_dtype(c, sizes, DType::Int64);
    else if (x[1] != batch)
      fail(c.name(), ": a batch of ", x[1], " has a state of ", batch, " rows");
    total = packed ? time : time * batch;
  }
  // With the rows of each step, for a kernel.
  static Steps of_run(Call& c, const Dims& x, const Tensor& w, const Tensor& h, int sizes, int mode) {
    Steps s(c, x, w, h, sizes, mode);
    if (s.packed) s.read(c, c.tensor(sizes));
    return s;
  }
  int64_t at(int64_t step) const { return reverse ? time - 1 - step : step; }  // where the step lies in memory
  int64_t begin(int64_t step) const { return packed ? begin_[size_t(at(step))] : at(step) * batch; }
  int64_t rows(int64_t step) const { return packed ? rows_[size_t(at(step))] : batch; }
  // How many of its rows go on from the step before; the others begin with the first state.
  int64_t carried(int64_t step) const { return step ? std::min(rows(step - 1), rows(step)) : 0; }
  template <class P>
  P* in(P* base, int64_t step, int64_t columns) const {
    return base + begin(step) * columns * item;
  }
  // Calls f(from, to, states) for those of some rows that go on, in a step, from `states`, and for those that begin
  // with `first`.
  template <class F>
  void each_origin(int64_t step, Range some, const char* states, const char* first, const F& f) const {
    Range on = some.in(0, carried(step)), fresh = some.in(carried(step), rows(step));
    if (on.count()) f(on.begin, on.end, in(states, step - 1, n) + on.begin * n * item);
    if (fresh.count()) f(fresh.begin, fresh.end, first + fresh.begin * n * item);
  }

  // The same with the rows shared out between the threads.
  template <class F>
  void share_out(int64_t step, Range some, const char* states, const char* first, const F& f) const {
    constexpr int64_t kUnits = 4096;  // whose exponentials are worth a thread
    each_origin(step, some, states, first, [&](int64_t from, int64_t to, const char* before) {
      parallel_shares(to - from, std::max<int64_t>(1, kUnits / n), 1,
                      [&](int64_t begin, int64_t end) { f(from + begin, from + end, before + begin * n * item); });
    });
  }

  // Calls f for all rows. Sequences know nothing of each other: where there are enough of them each thread takes some
  // from their first step to their last, and waits for nobody in between.
  template <class F>
  void by_sequences(const F& f) const {
    constexpr double kWork = double(int64_t(1) << 22);  // multiplications that are worth it
    int64_t threads = std::min<int64_t>(loop_threads(), batch / kFew);
    if (threads < 2 || double(total) * double(width) * double(n) < kWork) return f(Range{0, batch});
    std::vector<int64_t> ends(size_t(threads), batch);
    int64_t row = 0, done = 0;
    for (size_t i = 0; i + 1 < ends.size(); ++i) {
      while (row < batch && done * threads < total * int64_t(i + 1)) done += length(row++);
      ends[i] = row;
    }
    parallel_chunks(threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(Range{i ? ends[size_t(i) - 1] : 0, ends[size_t(i)]});
    });
  }

  Range all() const { return {0, batch}; }

  // Whether a copy of a matrix that is read at every step pays.
  bool pack() const { return batch > 1 && time > 1 && total > 2 * kFew; }

  // How threads share out the units where there are too few sequences to take some each: a thread makes all gates of
  // its units at a step, and its part of the weight stays in its cache. A gate comes out the same wherever it is made:
  // from a copy as one sum along its column, for a single sequence as an inner product of which none is cut.
  std::vector<Range> units_by_threads() const {
    constexpr int64_t kUnits = 64, kWork = 1 << 15;  // of a thread at least; multiplications that are worth it
    int64_t threads = std::min<int64_t>({loop_threads(), n / kUnits, batch * width * n / kWork});
    if (threads < 2 || batch >= 2 * kFew || !(batch == 1 || pack())) return {};
    int64_t share = ((n + threads - 1) / threads + kUnits - 1) / kUnits * kUnits;
    std::vector<Range> parts;
    for (int64_t begin = 0; begin < n; begin += share) parts.push_back({begin, std::min(n, begin + share)});
    return parts;
  }

  Cell cell;
  bool reverse;
  int64_t gates;
  bool packed;
  int64_t time, batch, n, width, item;
  int64_t total;  // rows of all steps

 private:
  int64_t length(int64_t row) const {
    return packed ? std::count_if(rows_.begin(), rows_.end(), [&](int64_t rows) { return rows > row; }) : time;
  }
  void read(Call& c, const Tensor& sizes) {
    if (sizes.numel() == 0) fail(c.name(), ": sizes are of no step");
    time = sizes.numel();
    int64_t before = batch, sum = 0;
    for (int64_t t = 0; t < time; ++t) {
      int64_t rows = sizes.data<int64_t>()[t * sizes.stride(0)];
      if (rows < 1 || rows > before || (t == 0 && rows != batch))
        fail(c.name(), ": sizes must begin with the batch of ", batch, " and not grow, got ", rows, " at step ", t);
      begin_.push_back(sum), rows_.push_back(rows);
      before = rows, sum += rows;
    }
    if (sum != total) fail(c.name(), ": sizes add up to ", sum, " rows, but the input has ", total);
  }
  std::vector<int64_t> begin_, rows_;
};

Dims result_sizes(const Steps& s, int64_t columns) {
  return s.packed ? Dims{s.total, columns} : Dims{s.time, s.batch, columns};
}

// The first cells of an lstm, which lie like the first states.
void expect_cells(Call& c, const Steps& s, int h, int i) {
  if (s.cell == Cell::lstm && !c.has(i)) refuse(c, i, "be given for an lstm");
  expect_shape(c, i, c.tensor(h).sizes());
  expect_floating(c, i);
}

// A product with the same matrix at every step.
class StepProduct {
 public:
  StepProduct(DType type, const Steps& s, bool transposed, int64_t k, int64_t n, const char* w)
      : type_(type), transposed_(transposed), k_(k), n_(n), ld_(s.n), w_(w) {
    if (s.pack()) packed_.emplace(type, transposed, k, n, w, ld_);
  }
  // c = a op(w) + plus, whose rows are ld_plus apart; none: c = a op(w).
  void operator()(int64_t rows, const char* a, char* c, int64_t ldc, const char* plus, int64_t ld_plus) const {
    Product p{false, transposed_, rows, n_, k_, a, k_, w_, ld_, c, ldc, 1, plus ? 1.0 : 0.0, plus, ld_plus};
    packed_ ? packed_->multiply(p) : gemm(type_, p);
  }

 private:
  DType type_;
  bool transposed_;
  int64_t k_, n_, ld_;
  const char* w_;
  std::optional<PackedMatrix> packed_;
};

WEFT_OP{
  .signature =
      "recur(Tensor input, Tensor h, Tensor? c, Tensor weight, Tensor? bias, Tensor? sizes, int cell, bool reverse) -> "
      "(Tensor output, Tensor cells, Tensor kept)",
  .doc = "The states of a recurrent layer at every step; input holds the input's share of the gates.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        Steps s(c, c.tensor(0).sizes(), c.tensor(3), c.tensor(1), 5, 6);
        DType type = c.tensor(3).dtype();
        expect_dtype(c, 0, type);
        expect_cells(c, s, 1, 2);
        expect_shape(c, 4, Dims{s.width});
        expect_floating(c, 4);
        c.give(0, meta(type, result_sizes(s, s.n)));
        c.give(1, meta(work_type(type), result_sizes(s, s.cell == Cell::lstm ? s.n : 0)));
        c.give(2, meta(work_type(type), result_sizes(s, kept_of(s.cell) * s.n)));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        Steps s = Steps::of_run(c, c.tensor(0).sizes(), c.tensor(3), c.tensor(1), 5, 6);
        DType type = work_type(c.tensor(0).dtype());
        LaidOut x(c.tensor(0), type), h0(c.tensor(1), type), w(c.tensor(3), type);
        Given c0(c, 2, type), bias(c, 4, type);
        Written out(c.out[0], type);
        bool lstm = s.cell == Cell::lstm, gru = s.cell == Cell::gru;
        char *h = static_cast<char*>(out.data()), *cells = c.out[1].data(), *kept = c.out[2].data();
        Scratch gates(s.batch * s.width * s.item);
        // The cells of some rows and some units at a step, whose gates are there.
        auto step = [&](int64_t t, int64_t from, int64_t to, const char* before, Range units) {
          int64_t own = units.begin * s.item, state = from * s.n * s.item + own, wide = from * s.width * s.item + own;
          char* cell = lstm ? s.in(cells, t, s.n) + state : nullptr;
          char* keep = kept_of(s.cell) ? s.in(kept, t, 4 * s.n) + 4 * from * s.n * s.item + own : nullptr;
          recurrent_kernels().step(type, s.cell,
                                   {to - from, units.count(), s.n, s.in(x.data(), t, s.width) + wide,
                                    gates.as<char>() + wide, before + own, s.in(h, t, s.n) + state, cell, keep});
        };
        // What the state's share of the gates is added to: of a gru, the bias, if it has one.
        auto plus = [&](int64_t t, int64_t from, int64_t column) {
          const char* row = gru ? bias.data() : s.in(x.data(), t, s.width) + from * s.width * s.item;
          return row ? row + column * s.item : nullptr;
        };
        const char *cells_before = lstm ? cells : h, *first = lstm ? c0.data() : h0.data();
        int64_t ld_plus = gru ? 0 : s.width;
        std::vector<Range> parts = s.units_by_threads();
        if (parts.size() > 1) {
          std::vector<std::unique_ptr<StepProduct>> products(parts.size() * size_t(s.gates));
          auto each_gate = [&](int64_t part, const auto& f) {
            for (int64_t gate = 0; gate < s.gates; ++gate)
              f(products[size_t(part * s.gates + gate)], gate * s.n + parts[size_t(part)].begin);
          };
          parallel_each(int64_t(parts.size()), [&](int64_t i) {
            each_gate(i, [&](auto& product, int64_t column) {
              const char* rows = w.data() + column * s.n * s.item;
              product = std::make_unique<StepProduct>(type, s, true, s.n, parts[size_t(i)].count(), rows);
            });
          });
          for (int64_t t = 0; t < s.time; ++t)
            parallel_each(int64_t(parts.size()), [&](int64_t i) {
              s.each_origin(t, s.all(), h, h0.data(), [&](int64_t from, int64_t to, const char* before) {
                each_gate(i, [&](auto& product, int64_t column) {
                  char* to_gates = gates.as<char>() + (from * s.width + column) * s.item;
                  (*product)(to - from, before, to_gates, s.width, plus(t, from, column), ld_plus);
                });
              });
              s.each_origin(t, s.all(), cells_before, first, [&](int64_t from, int64_t to, const char* before) {
                step(t, from, to, before, parts[size_t(i)]);
              });
            });
          return;
        }
        StepProduct product(type, s, true, s.n, s.width, w.data());
        s.by_sequences([&](Range some) {
          for (int64_t t = 0; t < s.time; ++t) {
            s.each_origin(t, some, h, h0.data(), [&](int64_t from, int64_t to, const char* before) {
              product(to - from, before, gates.as<char>() + from * s.width * s.item, s.width, plus(t, from, 0),
                      ld_plus);
            });
            s.share_out(t, some, cells_before, first,
                        [&](int64_t from, int64_t to, const char* before) { step(t, from, to, before, {0, s.n}); });
          }
        });
      },
  .overlay = {.input = 0, .output = 2},  // the gates of a step, where they are as many, over their shares
  .no_derivative = kByTwin,
};

// The state before each row of a packed sequence.
void gather_before(const Steps& s, const char* h, const char* h0, char* to) {
  for (int64_t t = 0; t < s.time; ++t)
    s.each_origin(t, s.all(), h, h0, [&](int64_t from, int64_t end, const char* before) {
      std::memcpy(s.in(to, t, s.n) + from * s.n * s.item, before, size_t((end - from) * s.n * s.item));
    });
}

// The gradient of the weight: that of the state's share of the gates, turned, times the states before.
void weight_gradient(DType type, const Steps& s, const char* dgates, const char* h, const char* h0, char* dw) {
  auto add = [&](int64_t rows, const char* later, const char* earlier, double beta) {
    gemm(type, true, false, s.width, s.n, rows, later, s.width, earlier, s.n, dw, s.n, 1, beta);
  };
  if (s.packed) {
    Scratch before(s.total * s.n * s.item);
    gather_before(s, h, h0, before.as<char>());
    return add(s.total, dgates, before.as<char>(), 0);
  }
  // Every step but the first lies beside the state before it.
  int64_t rest = (s.time - 1) * s.batch, wide = s.batch * s.width * s.item, narrow = s.batch * s.n * s.item;
  add(s.batch, s.in(dgates, 0, s.width), h0, 0);
  if (rest) add(rest, s.reverse ? dgates : dgates + wide, s.reverse ? h + narrow : h, 1);
}

template <class T>
void add_to(char* to, const char* more, int64_t n) {
  for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] += reinterpret_cast<const T*>(more)[i];
}

WEFT_OP{
  .signature =
      "recur_backward(Tensor grad, Tensor? grad_cells, Tensor h, Tensor? c, Tensor weight, Tensor output, Tensor "
      "cells, Tensor kept, Tensor? sizes, int cell, bool reverse, bool first) -> (Tensor input_grad, Tensor "
      "state_grad, "
      "Tensor weight_grad, Tensor bias_grad)",
  .doc =
      "The derivative of recur; state_grad holds that of h, then of c, and nothing unless `first` asks for it. Only a "
      "gru has a bias_grad.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const Tensor& w = c.tensor(4);
        DType type = w.dtype();
        expect_dim(c, 0, 1), expect_dim(c, 4, 2, 2);
        Dims sizes = c.tensor(0).sizes();
        sizes[sizes.size() - 1] = w.size(0);
        Steps s(c, sizes, w, c.tensor(2), 8, 9);
        bool lstm = s.cell == Cell::lstm;
        expect_cells(c, s, 2, 3);
        for (int i : {0, 1, 5}) expect_shape(c, i, result_sizes(s, s.n));
        expect_shape(c, 6, result_sizes(s, lstm ? s.n : 0));
        expect_shape(c, 7, result_sizes(s, kept_of(s.cell) * s.n));
        for (int i : {0, 1, 5, 6, 7}) expect_floating(c, i);
        c.give(0, meta(type, sizes));
        c.give(1, meta(type, {!c.flag(11) ? 0 : lstm ? 2 : 1, s.batch, s.n}));
        c.give(2, meta(type, w.sizes()));
        c.give(3, meta(type, {s.cell == Cell::gru ? s.width : 0}));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) {
          for (int i = 1; i < 4; ++i) fill_data(c.out[i], Value(0));
          return;
        }
        Steps s = Steps::of_run(c, c.out[0].sizes(), c.tensor(4), c.tensor(2), 8, 9);
        DType type = work_type(c.tensor(4).dtype());
        LaidOut g(c.tensor(0), type), h0(c.tensor(2), type), w(c.tensor(4), type), h(c.tensor(5), type),
            cells(c.tensor(6), type), kept(c.tensor(7), type);
        Given gc(c, 1, type), c0(c, 3, type);
        Written dx_out(c.out[0], type), state_out(c.out[1], type), dw_out(c.out[2], type), db_out(c.out[3], type);
        char *dx = static_cast<char*>(dx_out.data()), *states = static_cast<char*>(state_out.data());
        int64_t row = s.n * s.item, block = s.batch * row;
        bool lstm = s.cell == Cell::lstm, gru = s.cell == Cell::gru, first = c.flag(11);
        Scratch own(gru ? s.total * s.width * s.item : 0);  // gru: the gradient of the state's share
        char* dgates = gru ? own.as<char>() : dx;
        Scratch dstate(block), dcell(lstm ? block : 0), dbefore(gru ? block : 0);
        char *dh = dstate.as<char>(), *dc = dcell.as<char>(), *own_way = dbefore.as<char>();
        if (lstm) std::memset(dc, 0, size_t(block));
        auto add = [&](char* to, const char* more, int64_t rows) {
          (type == DType::Float ? add_to<float> : add_to<double>)(to, more, rows * s.n);
        };
        StepProduct product(type, s, false, s.width, s.n, w.data());
        // Gradients of some sequences, from their last step to their first.
        auto walk = [&](Range some) {
          Range ending = some.in(0, s.rows(s.time - 1));
          std::memcpy(dh + some.begin * row, s.in(g.data(), s.time - 1, s.n) + some.begin * row,
                      size_t(ending.count() * row));
          for (int64_t t = s.time - 1; t >= 0; --t) {
            Range now = some.in(0, s.rows(t));
            if (lstm && gc.data()) add(dc + now.begin * row, s.in(gc.data(), t, s.n) + now.begin * row, now.count());
            s.share_out(t, some, lstm ? cells.data() : h.data(), lstm ? c0.data() : h0.data(),
                        [&](int64_t from, int64_t to, const char* earlier) {
                          int64_t state = from * row, wide = from * s.width * s.item;
                          recurrent_kernels().back(
                              type, s.cell,
                              {to - from, s.n, dh + state, s.in(kept.data(), t, 4 * s.n) + 4 * state, earlier,
                               s.in(h.data(), t, s.n) + state, lstm ? s.in(cells.data(), t, s.n) + state : nullptr,
                               lstm ? dc + state : nullptr, s.in(dx, t, s.width) + wide,
                               s.in(dgates, t, s.width) + wide, gru ? own_way + state : nullptr});
                        });
            // Rows that began at this step end in the first state. The others go on to the step before, where those
            // that ended there join them.
            const char* shares = s.in(dgates, t, s.width);
            Range begun = some.in(s.carried(t), s.rows(t));
            if (first && begun.count()) {
              int64_t at = begun.begin * row;
              product(begun.count(), shares + begun.begin * s.width * s.item, states + at, s.n,
                      gru ? own_way + at : nullptr, s.n);
              if (lstm) std::memcpy(states + block + at, dc + at, size_t(begun.count() * row));
            }
            if (t == 0) continue;
            Range on = some.in(0, s.carried(t)), joining = some.in(s.carried(t), s.rows(t - 1));
            const char* given = s.in(g.data(), t - 1, s.n);
            if (on.count()) {
              int64_t at = on.begin * row;
              if (gru) add(own_way + at, given + at, on.count());
              product(on.count(), shares + on.begin * s.width * s.item, dh + at, s.n, (gru ? own_way : given) + at,
                      s.n);
            }
            if (joining.count() == 0) continue;
            int64_t at = joining.begin * row, bytes = joining.count() * row;
            std::memcpy(dh + at, given + at, size_t(bytes));
            if (lstm) std::memset(dc + at, 0, size_t(bytes));
          }
        };
        s.by_sequences(walk);
        weight_gradient(type, s, dgates, h.data(), h0.data(), static_cast<char*>(dw_out.data()));
        if (!gru) return;
        Dims sizes{s.total, s.width}, strides{s.width, 1};
        reduce_box(Reduce::sum, type, dgates, sizes, strides, Dims{0}, db_out.data(), nullptr, 0);
      },
  .overlay = {.input = 7, .output = 0},  // the gradients of an lstm's gates over the gates
  .no_derivative = kByTwin,
};

}  // namespace
}  // namespace weft
