// Recurrent layers over a whole sequence, there and back: one op each. weft.nn.functional joins them to a layer.
#include "loops/recurrent.h"

#include <cstring>

#include "loops/gemm.h"
#include "ops/api.h"
#include "ops/reduced.h"

namespace weft {
namespace {

constexpr std::string_view kByTwin = "weft.nn.functional.recurrent differentiates it";

int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
int64_t kept_of(Cell cell) { return cell == Cell::lstm || cell == Cell::gru ? 4 : 0; }

// The sizes of a sequence (time, batch, gates * n), and where its steps lie.
struct Sequence {
  Cell cell;
  bool reverse;
  int64_t time, rows, n, gates, item;
  Sequence(Call& c, const Tensor& x, const Tensor& w, int mode)
      : cell(Cell(c.integer(mode))), reverse(c.flag(mode + 1)), gates(gates_of(cell)) {
    if (x.dim() != 3 || w.dim() != 2 || x.size(2) != w.size(0) || w.size(0) != gates * w.size(1))
      fail(c.name(), ": expected input (time, batch, gates * n) and weight (gates * n, n), got shapes ", x.sizes(),
           " and ", w.sizes());
    if (!is_floating(x.dtype())) fail_missing(c.name(), ": not implemented for '", name_of(x.dtype()), "'");
    time = x.size(0), rows = x.size(1), n = w.size(1), item = item_size(work_type(x.dtype()));
  }
  int64_t at(int64_t step) const { return reverse ? time - 1 - step : step; }  // where the step lies in memory
  template <class P>
  P* in(P* base, int64_t step, int64_t width) const {
    return base + at(step) * rows * width * item;
  }
};

void check_state(Call& c, int i, const Sequence& s) {
  if (c.has(i) && !(c.tensor(i).sizes() == Dims{s.rows, s.n}))
    fail(c.name(), ": expected a state of shape ", Dims{s.rows, s.n}, ", got ", c.tensor(i).sizes());
}

// Fills `rows` rows with the bias, or with zeros.
void fill_rows(char* to, const char* bias, int64_t rows, int64_t bytes) {
  for (int64_t r = 0; r < rows; ++r)
    if (bias)
      std::memcpy(to + r * bytes, bias, size_t(bytes));
    else
      std::memset(to + r * bytes, 0, size_t(bytes));
}

WEFT_OP{
  .signature =
      "recur(Tensor input, Tensor h, Tensor? c, Tensor weight, Tensor? bias, int cell, bool reverse) -> (Tensor "
      "output, "
      "Tensor cells, Tensor kept)",
  .doc = "The states of a recurrent layer at every step; input holds the input's share of the gates.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        Sequence s(c, c.tensor(0), c.tensor(3), 5);
        check_state(c, 1, s), check_state(c, 2, s);
        DType type = c.tensor(0).dtype();
        c.give(0, meta(type, {s.time, s.rows, s.n}));
        c.give(1, meta(work_type(type), {s.cell == Cell::lstm ? s.time : 0, s.rows, s.n}));
        c.give(2, meta(work_type(type), {s.time, s.rows, kept_of(s.cell) * s.n}));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) return;
        Sequence s(c, c.tensor(0), c.tensor(3), 5);
        DType type = work_type(c.tensor(0).dtype());
        LaidOut x(c.tensor(0), type), h0(c.tensor(1), type), w(c.tensor(3), type);
        Given c0(c, 2, type), bias(c, 4, type);
        Written out(c.out[0], type);
        char *h = static_cast<char*>(out.data()), *cells = c.out[1].data(), *kept = c.out[2].data();
        int64_t width = s.gates * s.n;
        Scratch gates(s.rows * width * s.item);
        for (int64_t t = 0; t < s.time; ++t) {
          const char* before = t ? s.in(h, t - 1, s.n) : h0.data();
          if (s.cell == Cell::gru)
            fill_rows(gates.as<char>(), bias.data(), s.rows, width * s.item);
          else
            std::memcpy(gates.as<char>(), s.in(x.data(), t, width), size_t(s.rows * width * s.item));
          gemm(type, false, true, s.rows, width, s.n, before, s.n, w.data(), s.n, gates.as<char>(), width, 1, 1);
          CellStep step{s.rows,
                        s.n,
                        s.in(x.data(), t, width),
                        gates.as<char>(),
                        before,
                        s.in(h, t, s.n),
                        nullptr,
                        kept ? s.in(kept, t, 4 * s.n) : nullptr};
          if (s.cell == Cell::lstm) {
            step.before = t ? s.in(cells, t - 1, s.n) : c0.data();
            step.c = s.in(cells, t, s.n);
          }
          recurrent_kernels().step(type, s.cell, step);
        }
      },
  .no_derivative = kByTwin,
};

WEFT_OP{
  .signature =
      "recur_backward(Tensor grad, Tensor? grad_cells, Tensor h, Tensor? c, Tensor weight, Tensor output, Tensor "
      "cells, "
      "Tensor kept, int cell, bool reverse) -> (Tensor input_grad, Tensor state_grad, Tensor weight_grad, Tensor "
      "bias_grad)",
  .doc = "The derivative of recur; state_grad holds that of h, then of c.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        DType type = c.tensor(0).dtype();
        const Tensor& w = c.tensor(4);
        int64_t time = c.tensor(0).size(0), rows = c.tensor(0).size(1), n = w.size(1);
        bool lstm = Cell(c.integer(8)) == Cell::lstm;
        c.give(0, meta(type, {time, rows, w.size(0)}));
        c.give(1, meta(type, {lstm ? 2 : 1, rows, n}));
        c.give(2, meta(type, w.sizes()));
        c.give(3, meta(type, {w.size(0)}));
      },
  .run =
      [](Call& c) {
        if (c.out[0].numel() == 0) {
          for (int i = 1; i < 4; ++i) fill_data(c.out[i], Value(0));
          return;
        }
        Sequence s(c, c.out[0], c.tensor(4), 8);
        DType type = work_type(c.tensor(0).dtype());
        LaidOut g(c.tensor(0), type), h0(c.tensor(2), type), w(c.tensor(4), type), h(c.tensor(5), type),
            cells(c.tensor(6), type), kept(c.tensor(7), type);
        Given gc(c, 1, type), c0(c, 3, type);
        Written dx_out(c.out[0], type), state_out(c.out[1], type), dw_out(c.out[2], type), db_out(c.out[3], type);
        char *dx = static_cast<char*>(dx_out.data()), *dw = static_cast<char*>(dw_out.data());
        int64_t width = s.gates * s.n, block = s.rows * s.n * s.item;
        bool lstm = s.cell == Cell::lstm, gru = s.cell == Cell::gru;
        Scratch own(gru ? s.time * s.rows * width * s.item : 0);  // gru: the gradient of the state's share
        char* dgates = gru ? own.as<char>() : dx;
        Scratch dh(block), dnext(block), dc(lstm ? block : 0);
        std::memset(dnext.as<char>(), 0, size_t(block));
        if (lstm) std::memset(dc.as<char>(), 0, size_t(block));
        auto add = [&](char* to, const char* a, const char* b) {  // to = a + b
          int64_t n = s.rows * s.n;
          if (type == DType::Float)
            for (int64_t i = 0; i < n; ++i) ((float*)to)[i] = ((const float*)a)[i] + ((const float*)b)[i];
          else
            for (int64_t i = 0; i < n; ++i) ((double*)to)[i] = ((const double*)a)[i] + ((const double*)b)[i];
        };
        for (int64_t t = s.time - 1; t >= 0; --t) {
          add(dh.as<char>(), s.in(g.data(), t, s.n), dnext.as<char>());
          if (lstm && gc.data()) add(dc.as<char>(), dc.as<char>(), s.in(gc.data(), t, s.n));
          CellBack back{s.rows,
                        s.n,
                        dh.as<char>(),
                        s.in(kept.data(), t, 4 * s.n),
                        nullptr,
                        s.in(h.data(), t, s.n),
                        nullptr,
                        dc.as<char>(),
                        s.in(dx, t, width),
                        s.in(dgates, t, width),
                        dnext.as<char>()};
          if (lstm) {
            back.before = t ? s.in(cells.data(), t - 1, s.n) : c0.data();
            back.c = s.in(cells.data(), t, s.n);
          } else {
            back.before = t ? s.in(h.data(), t - 1, s.n) : h0.data();
          }
          recurrent_kernels().back(type, s.cell, back);
          gemm(type, false, false, s.rows, s.n, width, s.in(dgates, t, width), width, w.data(), s.n, dnext.as<char>(),
               s.n, 1, gru ? 1 : 0);
        }
        char* states = static_cast<char*>(state_out.data());
        std::memcpy(states, dnext.as<char>(), size_t(block));
        if (lstm) std::memcpy(states + block, dc.as<char>(), size_t(block));
        // The weight's gradient: every step but the first with the state before it, which lie side by side; then the
        // first.
        int64_t rest = (s.time - 1) * s.rows;
        const char* later = s.reverse ? dgates : dgates + s.rows * width * s.item;
        const char* earlier = s.reverse ? h.data() + block : h.data();
        gemm(type, true, false, width, s.n, s.rows, s.in(dgates, 0, width), width, h0.data(), s.n, dw, s.n, 1, 0);
        if (rest) gemm(type, true, false, width, s.n, rest, later, width, earlier, s.n, dw, s.n, 1, 1);
        Dims sizes{s.time * s.rows, width}, strides{width, 1};
        reduce_box(Reduce::sum, type, dgates, sizes, strides, Dims{0}, db_out.data(), nullptr, 0);
      },
  .no_derivative = kByTwin,
};

}  // namespace
}  // namespace weft
