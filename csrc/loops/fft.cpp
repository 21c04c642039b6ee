#include "loops/fft.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "loops/fft_plan.h"
#include "loops/parallel.h"

namespace weft {
namespace {

template <class T>
const FftTable<T>& table() {
  if constexpr (sizeof(T) == 4)
    return fft_kernels().floats;
  else
    return fft_kernels().doubles;
}

// Transforms `count` lines, as many at a time as there are lanes.
template <class T>
void in_lanes(const FftPlan<T>& plan, const FftLines<T>& x, int64_t count) {
  const FftTable<T>& k = table<T>();
  int64_t blocks = (count + k.lanes - 1) / k.lanes, each = blocks_of_lines(plan.rows, blocks);
  int64_t jobs = (blocks + each - 1) / each;
  PerThread work(4 * k.lanes * plan.rows * int64_t(sizeof(T)), jobs);
  parallel_each(jobs, [&](int64_t job) {
    for (int64_t b = job * each; b < std::min(blocks, (job + 1) * each); ++b) {
      FftLines<T> some = x;
      int64_t first = b * k.lanes;
      some.from += first * x.from_lane, some.to += first * x.to_lane;
      if (x.twiddles) some.twiddles += b * 2 * x.n;
      k.lines(plan, some, int(std::min<int64_t>(k.lanes, count - first)), work.template mine<T>());
    }
  });
}

// ---- one long line

}  // namespace

// n complex numbers in order: as a matrix of n1 rows, transforms of its columns, roots of unity, and transforms of its
// rows, written as columns (Bailey's four steps).
template <class T>
void four_steps(const LongPlan<T>& p, bool forward, T scale, const T* from, T* to, T* between) {
  FftLines<T> x;
  x.forward = forward;
  x.n = p.n1, x.from = from, x.to = between;
  x.from_step = x.to_step = 2 * p.n2, x.from_lane = x.to_lane = 2;
  x.lane_twiddles = p.lane_twiddles, x.twiddles = p.twiddles;
  in_lanes(*p.columns, x, p.n2);
  x.n = p.n2, x.from = between, x.to = to;
  x.from_step = 2, x.from_lane = 2 * p.n2, x.to_step = 2 * p.n1, x.to_lane = 2;
  x.lane_twiddles = x.twiddles = nullptr, x.scale = scale;
  in_lanes(*p.rows, x, p.n1);
}

template void four_steps(const LongPlan<float>&, bool, float, const float*, float*, float*);
template void four_steps(const LongPlan<double>&, bool, double, const double*, double*, double*);

namespace {

// Bluestein, as in fft_passes.h.
template <class T>
void long_convolution(const LongPlan<T>& p, bool forward, T scale, const T* from, T* to) {
  const FftTable<T>& k = table<T>();
  int64_t n = p.n, m = p.inner->n;
  Scratch memory(6 * m * int64_t(sizeof(T)));
  T *a = memory.as<T>(), *b = a + 2 * m, *between = b + 2 * m;
  if (forward) {
    k.multiply(from, p.chirp, a, n, false);
  } else {
    for (int64_t i = 0; i < n; ++i) b[2 * i] = from[2 * i + 1], b[2 * i + 1] = from[2 * i];
    k.multiply(b, p.chirp, a, n, false);
  }
  std::memset(static_cast<void*>(a + 2 * n), 0, size_t(2 * (m - n)) * sizeof(T));
  four_steps(*p.inner, true, T(1), a, b, between);
  k.multiply(b, p.spectrum, a, m, false);
  four_steps(*p.inner, false, scale, a, b, between);
  k.multiply(b, p.chirp, to, n, !forward);
}

template <class T>
void long_complex(const LongPlan<T>& p, bool forward, T scale, const T* from, T* to) {
  if (p.inner) return long_convolution(p, forward, scale, from, to);
  Scratch between(2 * p.n * int64_t(sizeof(T)));
  four_steps(p, forward, scale, from, to, between.as<T>());
}

// Real lines of odd length, in order, as complex numbers.
template <class T>
void odd_line(const LongPlan<T>& p, const FftLines<T>& x, const T* from, T* to) {
  int64_t n = x.n, half = n / 2 + 1;
  Scratch memory(4 * n * int64_t(sizeof(T)));
  T *wide = memory.as<T>(), *y = wide + 2 * n;
  if (x.kind == Fft::real_to_complex) {
    for (int64_t i = 0; i < n; ++i) wide[2 * i] = from[i], wide[2 * i + 1] = 0;
    long_complex(p, true, x.scale, wide, y);
    y[0] *= x.edge;
    T sign = x.forward ? T(1) : T(-1);
    for (int64_t i = 0; i < half; ++i) to[2 * i] = y[2 * i], to[2 * i + 1] = y[2 * i + 1] * sign;
  } else {
    wide[0] = from[0] * x.edge, wide[1] = 0;
    for (int64_t i = 1; i < half; ++i) {
      wide[2 * i] = wide[2 * (n - i)] = from[2 * i];
      wide[2 * i + 1] = from[2 * i + 1], wide[2 * (n - i) + 1] = -from[2 * i + 1];
    }
    long_complex(p, x.forward, x.scale, wide, y);
    for (int64_t i = 0; i < n; ++i) to[i] = y[2 * i];
  }
}

template <class T>
void line_in_order(const LongPlan<T>& p, const FftLines<T>& x, const T* from, T* to) {
  if (x.kind == Fft::complex) return long_complex(p, x.forward, x.scale, from, to);
  if (x.n % 2) return odd_line(p, x, from, to);
  FftHalves<T> h{x.n / 2, p.coarse, p.fine, x.forward, x.scale, x.edge};
  if (x.kind == Fft::real_to_complex) {
    long_complex(p, true, T(1), from, to);
    table<T>().split(h, to);
  } else {
    Scratch joined(x.n * int64_t(sizeof(T)));
    table<T>().join(h, from, joined.as<T>());
    long_complex(p, false, x.scale, joined.as<T>(), to);
  }
}

template <class T>
void move_steps(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t n, int width) {
  for (int64_t i = 0; i < n; ++i, from += from_step, to += to_step)
    for (int j = 0; j < width; ++j) to[j] = from[j];
}

// A line of its own, wherever its elements lie.
template <class T>
void one_line(const LongPlan<T>& p, const FftLines<T>& x) {
  int64_t half = x.n / 2 + 1;
  int64_t in = x.kind == Fft::complex_to_real ? half : x.n, out = x.kind == Fft::real_to_complex ? half : x.n;
  int wide_in = x.kind == Fft::real_to_complex ? 1 : 2, wide_out = x.kind == Fft::complex_to_real ? 1 : 2;
  std::optional<Scratch> a, b;
  const T* from = x.from;
  T* to = x.to;
  if (x.from_step != wide_in) {
    a.emplace(in * wide_in * int64_t(sizeof(T)));
    move_steps(x.from, x.from_step, a->as<T>(), wide_in, in, wide_in);
    from = a->as<T>();
  }
  if (x.to_step != wide_out) {
    b.emplace(out * wide_out * int64_t(sizeof(T)));
    to = b->as<T>();
  }
  line_in_order(p, x, from, to);
  if (to != x.to) move_steps<T>(to, wide_out, x.to, x.to_step, out, wide_out);
}

// ---- all lines of a box

struct Axis {
  int64_t size, from, to;
};

// The dimensions other than that of the lines, joined where they lie in order on both sides.
std::vector<Axis> axes_of(const Dims& sizes, int dim, const Dims& from, int64_t wide_in, const Dims& to,
                          int64_t wide_out) {
  std::vector<Axis> axes;
  for (int i = 0; i < sizes.size(); ++i) {
    if (i == dim || sizes[i] == 1) continue;
    Axis a{sizes[i], from[i] * wide_in, to[i] * wide_out};
    if (!axes.empty() && axes.back().from == a.from * a.size && axes.back().to == a.to * a.size)
      axes.back() = {axes.back().size * a.size, a.from, a.to};
    else
      axes.push_back(a);
  }
  return axes;
}

template <class T>
void along(const FftJob& job, const Dims& sizes, int dim, const FftBox& from, const FftBox& to) {
  int wide_in = job.kind == Fft::real_to_complex ? 1 : 2, wide_out = job.kind == Fft::complex_to_real ? 1 : 2;
  FftLines<T> x;
  x.kind = job.kind, x.forward = job.forward, x.n = sizes[dim], x.scale = T(job.scale), x.edge = T(job.edge);
  x.from = reinterpret_cast<const T*>(from.data), x.to = reinterpret_cast<T*>(to.data);
  x.from_step = from.strides[dim] * wide_in, x.to_step = to.strides[dim] * wide_out;
  std::vector<Axis> axes = axes_of(sizes, dim, from.strides, wide_in, to.strides, wide_out);
  // Lanes go along the dimension whose lines are adjacent, if there are enough of them, or else the longest.
  int lanes = table<T>().lanes;
  auto worth = [&](const Axis& a) {
    bool adjacent = std::abs(a.from) <= wide_in && a.to == wide_out;
    return std::min<int64_t>(a.size, lanes) * 4 + (adjacent ? lanes * 2 : 0);
  };
  Axis lane{1, 0, 0};
  if (!axes.empty()) {
    auto best = std::max_element(axes.begin(), axes.end(), [&](auto& a, auto& b) { return worth(a) < worth(b); });
    lane = *best;
    axes.erase(best);
  }
  x.from_lane = lane.from, x.to_lane = lane.to;
  int64_t outer = 1;
  for (const Axis& a : axes) outer *= a.size;

  bool halved = job.kind != Fft::complex && x.n % 2 == 0;
  int64_t n = halved ? x.n / 2 : x.n;
  bool adjacent = lane.from == wide_in && lane.to == wide_out;
  bool alone = best_alone(n, int(sizeof(T)), lanes, lane.size, adjacent);
  auto plan = alone ? nullptr : plan_of<T>(n, halved);
  auto long_plan = alone ? long_plan_of<T>(n, lanes, halved) : nullptr;
  for (int64_t o = 0; o < outer; ++o) {
    FftLines<T> some = x;
    int64_t rest = o;
    for (size_t i = axes.size(); i-- > 0; rest /= axes[i].size)
      some.from += rest % axes[i].size * axes[i].from, some.to += rest % axes[i].size * axes[i].to;
    if (!alone) {
      in_lanes(*plan, some, lane.size);
      continue;
    }
    serial_each(lane.size, [&](int64_t i) {
      FftLines<T> line = some;
      line.from += i * lane.from, line.to += i * lane.to;
      one_line(*long_plan, line);
    });
  }
}

}  // namespace

void fft_along(const FftJob& job, const Dims& sizes, int dim, const FftBox& from, const FftBox& to) {
  if (numel_of(sizes) == 0) return;
  job.real == DType::Float ? along<float>(job, sizes, dim, from, to) : along<double>(job, sizes, dim, from, to);
}

}  // namespace weft
