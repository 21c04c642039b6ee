#include "loops/recurrent.h"

#include "loops/math.h"

namespace weft::WEFT_ISA {
namespace {

using math::sigmoid;
using math::tanh;

template <class T>
void lstm(const CellStep& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t n = s.n, u = s.units;
    const T* __restrict a = static_cast<const T*>(s.gates) + r * 4 * u;
    const T* __restrict before = static_cast<const T*>(s.before) + r * u;
    T* __restrict kept = static_cast<T*>(s.kept) + r * 4 * u;
    T* __restrict c = static_cast<T*>(s.c) + r * u, * __restrict h = static_cast<T*>(s.h) + r * u;
    for (int64_t j = 0; j < n; ++j) kept[j] = sigmoid(a[j]);
    for (int64_t j = u; j < u + n; ++j) kept[j] = sigmoid(a[j]);
    for (int64_t j = 2 * u; j < 2 * u + n; ++j) kept[j] = tanh(a[j]);
    for (int64_t j = 3 * u; j < 3 * u + n; ++j) kept[j] = sigmoid(a[j]);
    for (int64_t j = 0; j < n; ++j) c[j] = kept[u + j] * before[j] + kept[j] * kept[2 * u + j];
    for (int64_t j = 0; j < n; ++j) h[j] = kept[3 * u + j] * tanh(c[j]);
  }
}

template <class T>
void lstm_back(const CellBack& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T* kept = static_cast<const T*>(s.kept) + r * 4 * s.n;
    const T* __restrict before = static_cast<const T*>(s.before) + r * s.n, * __restrict c = static_cast<const T*>(s.c) + r * s.n, * __restrict dh = static_cast<const T*>(s.dh) + r * s.n;
    T* dx = static_cast<T*>(s.dx) + r * 4 * s.n;
    T* __restrict dc = static_cast<T*>(s.dc) + r * s.n;
    const int64_t n = s.n;
#pragma GCC ivdep  // the gates of a row do not overlap; their gradients may lie where they do
    for (int64_t j = 0; j < n; ++j) {
      T i = kept[j], f = kept[n + j], g = kept[2 * n + j], o = kept[3 * n + j], t = tanh(c[j]);
      T whole = dc[j] + dh[j] * o * (1 - t * t);
      dx[j] = whole * g * i * (1 - i);
      dx[n + j] = whole * before[j] * f * (1 - f);
      dx[2 * n + j] = whole * i * (1 - g * g);
      dx[3 * n + j] = dh[j] * t * o * (1 - o);
      dc[j] = whole * f;
    }
  }
}

template <class T>
void gru(const CellStep& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t n = s.n, u = s.units;
    const T* __restrict x = static_cast<const T*>(s.x) + r * 3 * u, * __restrict a = static_cast<const T*>(s.gates) + r * 3 * u, * __restrict before = static_cast<const T*>(s.before) + r * u;
    T* __restrict kept = static_cast<T*>(s.kept) + r * 4 * u, * __restrict h = static_cast<T*>(s.h) + r * u;
    for (int64_t j = 0; j < n; ++j) kept[j] = sigmoid(x[j] + a[j]);
    for (int64_t j = u; j < u + n; ++j) kept[j] = sigmoid(x[j] + a[j]);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      T fresh = tanh(x[2 * u + j] + kept[j] * a[2 * u + j]);
      kept[2 * u + j] = fresh;
      kept[3 * u + j] = a[2 * u + j];
      h[j] = fresh + kept[u + j] * (before[j] - fresh);
    }
  }
}

template <class T>
void gru_back(const CellBack& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T* __restrict kept = static_cast<const T*>(s.kept) + r * 4 * s.n, * __restrict before = static_cast<const T*>(s.before) + r * s.n, * __restrict dh = static_cast<const T*>(s.dh) + r * s.n;
    T* __restrict dx = static_cast<T*>(s.dx) + r * 3 * s.n, * __restrict da = static_cast<T*>(s.dgates) + r * 3 * s.n, * __restrict dbefore = static_cast<T*>(s.dbefore) + r * s.n;
    const int64_t n = s.n;
#pragma GCC ivdep  // the gates of a row do not overlap
    for (int64_t j = 0; j < n; ++j) {
      T reset = kept[j], update = kept[n + j], fresh = kept[2 * n + j], share = kept[3 * n + j];
      T dfresh = dh[j] * (1 - update) * (1 - fresh * fresh);
      T dreset = dfresh * share * reset * (1 - reset);
      T dupdate = dh[j] * (before[j] - fresh) * update * (1 - update);
      dx[j] = da[j] = dreset;
      dx[n + j] = da[n + j] = dupdate;
      dx[2 * n + j] = dfresh;
      da[2 * n + j] = dfresh * reset;
      dbefore[j] = dh[j] * update;
    }
  }
}

template <class T>
void rnn(const CellStep& s, bool relu) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T* __restrict a = static_cast<const T*>(s.gates) + r * s.units;
    T* __restrict h = static_cast<T*>(s.h) + r * s.units;
    const int64_t n = s.n;
    if (relu)
      for (int64_t j = 0; j < n; ++j) h[j] = a[j] <= T(0) ? T(0) : a[j];
    else
      for (int64_t j = 0; j < n; ++j) h[j] = tanh(a[j]);
  }
}
template <class T>
void rnn_back(const CellBack& s, bool relu) {
  const T* __restrict h = static_cast<const T*>(s.h), * __restrict dh = static_cast<const T*>(s.dh);
  T* __restrict dx = static_cast<T*>(s.dx);
  const int64_t n = s.rows * s.n;
  if (relu)
    for (int64_t j = 0; j < n; ++j) dx[j] = h[j] > T(0) ? dh[j] : T(0);
  else
    for (int64_t j = 0; j < n; ++j) dx[j] = dh[j] * (1 - h[j] * h[j]);
}

template <class T>
void step_of(Cell cell, const CellStep& s) {
  if (cell == Cell::lstm) return lstm<T>(s);
  if (cell == Cell::gru) return gru<T>(s);
  rnn<T>(s, cell == Cell::rnn_relu);
}
template <class T>
void back_of(Cell cell, const CellBack& s) {
  if (cell == Cell::lstm) return lstm_back<T>(s);
  if (cell == Cell::gru) return gru_back<T>(s);
  rnn_back<T>(s, cell == Cell::rnn_relu);
}

void step(DType type, Cell cell, const CellStep& s) {
  (type == DType::Float ? step_of<float> : step_of<double>)(cell, s);
}
void back(DType type, Cell cell, const CellBack& s) {
  (type == DType::Float ? back_of<float> : back_of<double>)(cell, s);
}

}  // namespace

extern const RecurrentKernels recurrent_kernels_table;
const RecurrentKernels recurrent_kernels_table{step, back};

}  // namespace weft::WEFT_ISA
