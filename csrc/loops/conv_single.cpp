#include "loops/conv_single.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/dims.h"
#include "core/memory.h"
#include "loops/parallel.h"

namespace weft {
namespace {

// How numbers of z, u and v meet along one dimension: z[i] gets u[k] * v[j] where
// j = z_step * i + u_step * k - shift, or, `adjoint`, where i = v_step * j + u_step * k - shift.
struct Meeting {
  int64_t z, u, v;  // sizes
  int64_t step, u_step, shift;
  bool adjoint;

  int64_t v_at(int64_t i, int64_t k) const {  // -1: none
    int64_t j = adjoint ? i + shift - u_step * k : step * i + u_step * k - shift;
    if (adjoint) {
      if (j < 0 || j % step) return -1;
      j /= step;
    }
    return j < v ? j : -1;
  }
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// Some of the numbers of u, `u_step` apart, for which v lies one behind the other as z does: number i of them meets v
// at z + offset + i * step. Where v is read by steps, each remainder is a row of its own.
struct Part {
  int64_t u, u_step, count, row, offset, step;
};
// The numbers of z with the same remainder, and what they are made of.
struct Residue {
  int64_t z, z_step, n;
  std::vector<Part> parts;
};

std::vector<Residue> residues_of(const Meeting& m) {
  std::vector<Residue> residues;
  const int64_t period = m.step / std::gcd(m.step, m.u_step);  // of u, in which the remainder comes again
  auto part = [&](int64_t k, int64_t row, int64_t offset, int64_t sign) {
    return Part{k, period, (m.u - k + period - 1) / period, row, offset, sign * m.u_step * period / m.step};
  };
  if (!m.adjoint) {
    Residue all{0, 1, m.z, {}};
    for (int64_t k = 0; k < period && k < m.u; ++k) {
      int64_t at = m.u_step * k - m.shift, offset = floor_div(at, m.step);
      all.parts.push_back(part(k, at - offset * m.step, offset, 1));
    }
    residues.push_back(std::move(all));
    return residues;
  }
  for (int64_t r = 0; r < m.step && r < m.z; ++r) {
    Residue some{r, m.step, (m.z - r + m.step - 1) / m.step, {}};
    for (int64_t k = 0; k < period && k < m.u; ++k) {
      int64_t at = r + m.shift - m.u_step * k;
      if (at % m.step == 0) some.parts.push_back(part(k, 0, at / m.step, -1));
    }
    residues.push_back(std::move(some));
  }
  return residues;
}

// Rows of v with zeros on both sides, split by the remainders of their places.
template <class T>
class PaddedRows {
 public:
  static constexpr int64_t kPad = kSlideBytes / int64_t(sizeof(T));
  PaddedRows(const T* v, int64_t rows, int64_t n, int64_t split)
      : split_(split),
        length_((n + split - 1) / split),
        step_(length_ + 2 * kPad),
        memory_(Size(rows) * split * step_ * int64_t(sizeof(T))) {
    T* to = memory_.as<T>();
    std::memset(static_cast<void*>(to), 0, size_t(rows * split * step_) * sizeof(T));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < n; ++i) to[(r * split + i % split) * step_ + kPad + i / split] = v[r * n + i];
  }
  const T* row(int64_t r, int64_t part) const { return memory_.as<T>() + (r * split_ + part) * step_ + kPad; }
  int64_t length() const { return length_; }

 private:
  int64_t split_, length_, step_;
  Scratch memory_;
};

template <class T>
struct Slide {
  DType type;
  const Meeting* m;
  int64_t batch;
  bool joins;  // z is the sum over the batch, and u has as many images as v
  const T *u, *v, *bias;
  T* z;
  bool finite = true;  // u

  void run() {
    for (int64_t i = 0; i < (joins ? batch : 1) * m[0].u * m[1].u * m[2].u; ++i) finite = finite && std::isfinite(u[i]);
    const std::vector<Residue> residues = residues_of(m[2]);
    const PaddedRows<T> rows(v, batch * m[0].v * m[1].v, m[2].v, m[2].adjoint ? 1 : m[2].step);
    const int64_t lines = (joins ? 1 : batch) * m[0].z * m[1].z;
    for (const Residue& s : residues) {
      const int64_t blocks = (s.n + kBlock - 1) / kBlock;
      parallel_each(lines * blocks, [&](int64_t task) { run_block(s, rows, task / blocks, task % blocks * kBlock); });
    }
  }

 private:
  static constexpr int64_t kBlock = PaddedRows<T>::kPad;

  void run_block(const Residue& s, const PaddedRows<T>& rows, int64_t line, int64_t from) const {
    alignas(64) T sums[kBlock] = {};
    const int64_t z1 = line % m[1].z, z0 = line / m[1].z % m[0].z, image = line / m[1].z / m[0].z;
    for (int64_t i = joins ? 0 : image; i < (joins ? batch : image + 1); ++i)
      for (int64_t u0 = 0; u0 < m[0].u; ++u0) {
        const int64_t v0 = m[0].v_at(z0, u0);
        for (int64_t u1 = 0; v0 >= 0 && u1 < m[1].u; ++u1) {
          const int64_t v1 = m[1].v_at(z1, u1);
          if (v1 < 0) continue;
          leave_if_interrupted();
          const T* taps = u + ((joins ? i * m[0].u + u0 : u0) * m[1].u + u1) * m[2].u;
          for (const Part& p : s.parts)
            slide_kernels().slide(type, finite, rows.row((i * m[0].v + v0) * m[1].v + v1, p.row) + from, -from,
                                  rows.length() - from, taps + p.u, p.u_step, p.count, p.offset, p.step, sums);
        }
      }
    T* to = z + line * m[2].z + s.z;
    for (int64_t i = 0; i < kBlock && from + i < s.n; ++i) to[(from + i) * s.z_step] = sums[i] + (bias ? *bias : T(0));
  }
};

void run_slide(DType type, const Meeting* m, int64_t batch, bool joins, const void* u, const void* v, const void* bias,
               void* z) {
  if (type == DType::Float)
    Slide<float>{type, m, batch, joins, (const float*)u, (const float*)v, (const float*)bias, (float*)z}.run();
  else
    Slide<double>{type, m, batch, joins, (const double*)u, (const double*)v, (const double*)bias, (double*)z}.run();
}

}  // namespace

bool single_suits(DType type, const Conv& c) {
  constexpr int64_t kMost = 4 << 20;  // numbers in windows that may be laid out instead
  return (type == DType::Float || type == DType::Double) && c.in == 1 && c.out == 1 && c.places() * c.taps() > kMost;
}

void single_conv_forward(DType type, const Conv& given, const void* x, const void* w, const void* bias, void* y) {
  const Conv c = moved_to_end(given);
  Meeting m[3];
  for (int d = 0; d < 3; ++d) m[d] = {c.result[d], c.kernel[d], c.size[d], c.stride[d], c.dilation[d], c.pad[d], false};
  run_slide(type, m, c.batch, false, w, x, bias, y);
}
void single_conv_input(DType type, const Conv& given, const void* g, const void* w, void* dx) {
  const Conv c = moved_to_end(given);
  Meeting m[3];
  for (int d = 0; d < 3; ++d) m[d] = {c.size[d], c.kernel[d], c.result[d], c.stride[d], c.dilation[d], c.pad[d], true};
  run_slide(type, m, c.batch, false, w, g, nullptr, dx);
}
void single_conv_weight(DType type, const Conv& given, const void* x, const void* g, void* dw) {
  const Conv c = moved_to_end(given);
  Meeting m[3];
  for (int d = 0; d < 3; ++d) m[d] = {c.kernel[d], c.result[d], c.size[d], c.dilation[d], c.stride[d], c.pad[d], false};
  run_slide(type, m, c.batch, true, g, x, nullptr, dw);
}

}  // namespace weft
