#include "loops/conv_indirect.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "core/memory.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kDepth = 1024;  // numbers of each column that are multiplied in one go: a sliver of them stays near
constexpr int64_t kPointers = 4096, kMostPlaces = 256;  // of a block
constexpr int64_t kFewChannels = 32;
constexpr int64_t kFloat = sizeof(float);

using Steps = std::array<int64_t, 3>;

// Which pixel of an image is read for which pixel of the result. The places are those pixels of the result that are
// `step` apart from `first` on; place i reads for a tap the pixel i * scale + shift.
struct Grid {
  Steps places, first, step, result, size, scale;
  int64_t pixel, line;           // how far apart two pixels and two lines of the image are
  std::vector<Steps> shifts;     // of the taps
  std::vector<int64_t> numbers;  // of the taps, in the kernel

  int64_t taps() const { return int64_t(shifts.size()); }
  int64_t count() const { return places[0] * places[1] * places[2]; }
};

template <class F>
void each_tap(const Conv& c, const F& f) {
  Steps t;
  int64_t number = 0;
  for (t[0] = 0; t[0] < c.kernel[0]; ++t[0])
    for (t[1] = 0; t[1] < c.kernel[1]; ++t[1])
      for (t[2] = 0; t[2] < c.kernel[2]; ++t[2]) f(t, number++);
}

Steps steps(const int64_t* v) { return {v[0], v[1], v[2]}; }

Grid forward_grid(const Conv& c) {
  Grid g{steps(c.result),  {0, 0, 0}, {1, 1, 1}, steps(c.result), steps(c.size), steps(c.stride), c.in,
         c.size[2] * c.in, {},        {}};
  each_tap(c, [&](const Steps& t, int64_t number) {
    Steps shift;
    for (int d = 0; d < 3; ++d) shift[d] = t[d] * c.dilation[d] - c.pad[d];
    g.shifts.push_back(shift), g.numbers.push_back(number);
  });
  return g;
}

// The gradient of the pixels `first + i * stride` of the input: only every stride-th tap reads them.
Grid input_grid(const Conv& c, const Steps& first) {
  Grid g{{}, first, steps(c.stride), steps(c.size), steps(c.result), {1, 1, 1}, c.out, c.result[2] * c.out, {}, {}};
  for (int d = 0; d < 3; ++d) g.places[d] = (c.size[d] - first[d] + c.stride[d] - 1) / c.stride[d];
  each_tap(c, [&](const Steps& t, int64_t number) {
    Steps shift;
    for (int d = 0; d < 3; ++d) {
      int64_t at = first[d] + c.pad[d] - t[d] * c.dilation[d];
      if (at % c.stride[d]) return;
      shift[d] = at / c.stride[d];
    }
    g.shifts.push_back(shift), g.numbers.push_back(number);
  });
  return g;
}

// A block of the places of all images, and what they read: parts of lines of places.
class Block {
 public:
  Block(const Grid& g, int64_t begin, int64_t end) : count(end - begin), g_(g) {
    int64_t line = begin / g.places[2], at2 = begin % g.places[2];
    for (int64_t i = 0; i < count; ++line, at2 = 0) {
      int64_t n = std::min(g.places[2] - at2, count - i), in_image = line % (g.places[0] * g.places[1]);
      runs_[size_t(used_++)] = {line / (g.places[0] * g.places[1]), in_image / g.places[1], in_image % g.places[1], at2,
                                n};
      i += n;
    }
  }
  const int64_t count;

  void read(const Steps& shift, const float* images, const float* zeros, const float** at) const {
    const Steps &size = g_.size, &scale = g_.scale;
    for (int64_t r = 0; r < used_; at += runs_[size_t(r++)].n) {
      const Run& p = runs_[size_t(r)];
      int64_t x0 = p.at0 * scale[0] + shift[0], x1 = p.at1 * scale[1] + shift[1], x2 = p.at2 * scale[2] + shift[2];
      bool inside = x0 >= 0 && x0 < size[0] && x1 >= 0 && x1 < size[1];
      const float* line = images + ((p.image * size[0] + x0) * size[1] + x1) * g_.line;
      for (int64_t i = 0; i < p.n; ++i, x2 += scale[2])
        at[i] = inside && uint64_t(x2) < uint64_t(size[2]) ? line + x2 * g_.pixel : zeros;
    }
  }
  void write(float* images, int64_t channels, float** at) const {
    const Steps &first = g_.first, &step = g_.step, &size = g_.result;
    for (int64_t r = 0; r < used_; at += runs_[size_t(r++)].n) {
      const Run& p = runs_[size_t(r)];
      int64_t x0 = first[0] + p.at0 * step[0], x1 = first[1] + p.at1 * step[1], x2 = first[2] + p.at2 * step[2];
      float* to = images + (((p.image * size[0] + x0) * size[1] + x1) * size[2] + x2) * channels;
      for (int64_t i = 0; i < p.n; ++i) at[i] = to + i * step[2] * channels;
    }
  }

 private:
  struct Run {
    int64_t image, at0, at1, at2, n;
  };
  const Grid& g_;
  int64_t used_ = 0;
  std::array<Run, size_t(kMostPlaces)> runs_;
};

// Numbers that are zero, to read beyond the edges of images.
class Zeros {
 public:
  explicit Zeros(int64_t n) : row_(n * kFloat) { std::memset(data(), 0, size_t(n) * sizeof(float)); }
  float* data() const { return row_.as<float>(); }

 private:
  Scratch row_;
};

// What a convolution reads. Few channels: a line of taps is read as one, from images whose lines have their padding.
struct Reads {
  Reads(const Conv& c, const float* x) : line(taps_in_line(c)), grid(forward_grid(c)), images(x) {
    if (line == 1) return;
    int64_t pixels = padded(c), lines = c.batch * c.size[0] * c.size[1], wide = pixels * c.in;
    Conv by_lines = c;
    by_lines.kernel[2] = 1, by_lines.pad[2] = 0, by_lines.size[2] = pixels - line + 1;
    grid = forward_grid(by_lines);
    grid.line = wide;
    padded_.emplace(lines * wide * kFloat);
    images = padded_->as<float>();
    int64_t before = std::min(c.pad[2], pixels) * c.in, copied = std::min(c.size[2] * c.in, wide - before);
    parallel_shares(lines, std::max<int64_t>(1, kGrain / wide), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* to = padded_->as<float>() + i * wide;
        std::fill_n(to, before, 0.0f);
        std::copy_n(x + i * c.size[2] * c.in, copied, to + before);
        std::fill_n(to + before + copied, wide - before - copied, 0.0f);
      }
    });
  }
  int64_t line;  // taps that are read as one
  Grid grid;
  const float* images;

  static int64_t taps_in_line(const Conv& c) {
    bool few = c.groups == 1 && c.in < kFewChannels && c.dilation[2] == 1;
    return few && padded(c) <= 2 * (c.size[2] + c.kernel[2]) ? c.kernel[2] : 1;
  }

 private:
  static int64_t padded(const Conv& c) { return (c.result[2] - 1) * c.stride[2] + c.kernel[2]; }
  std::optional<Scratch> padded_;
};

// Whether the kernels of small groups take it, which make whole vectors of channels.
bool small_groups(const Conv& c) {
  return c.groups > 1 && c.in == c.out && indirect_kernels().small(c.in / c.groups) &&
         c.in % indirect_kernels().lanes == 0;
}

// A kernel of small groups (channels, in, taps), packed; `back`: each group transposed. And the way back.
class PackedSmall final : public PackedKernel {
 public:
  PackedSmall(const Conv& c, const float* w, bool back)
      : taps(c.taps()), channels(c.in), depth(c.in / c.groups), packed_(channels * depth * taps * kFloat) {
    each_number(*this, [&](int64_t channel, int64_t k, int64_t t, int64_t at) {
      int64_t group = channel / depth * depth, o = back ? group + k : channel, i = back ? channel - group : k;
      packed_.as<float>()[at] = w[(o * depth + i) * taps + t];
    });
  }
  const int64_t taps, channels, depth;
  IndirectKernel kernel() const { return {taps, depth, channels, packed_.as<float>()}; }

  // Calls f(channel, number in its group, tap, place when packed).
  template <class Shape, class F>
  static void each_number(const Shape& s, const F& f) {
    int64_t lanes = indirect_kernels().lanes;
    for (int64_t channel = 0; channel < s.channels; ++channel)
      for (int64_t k = 0; k < s.depth; ++k)
        for (int64_t t = 0; t < s.taps; ++t)
          f(channel, k, t, ((channel / lanes * s.taps + t) * s.depth + k) * lanes + channel % lanes);
  }

 private:
  Scratch packed_;
};

// A kernel (out, in / groups, taps), packed, `line` taps as one; `back`: from out to in channels.
class Packed final : public PackedKernel {
 public:
  Packed(const Conv& c, const float* w, bool back, int64_t line)
      : taps(c.taps() / line),
        columns((back ? c.in : c.out) / c.groups),
        depth((back ? c.out : c.in) / c.groups * line),
        slivers_(slivers_of(columns)),
        wide_(slivers_.back().at + filled(slivers_.back())),
        packed_(c.groups * wide_ * taps * depth * kFloat) {
    // Forward, a column is a row (in, taps) of w; back, it has a place in each of these rows.
    int64_t in = c.in / c.groups, all = c.taps(), count = int64_t(slivers_.size());
    int64_t numbers = back ? all : in * all, times = back ? depth : 1;
    std::vector<int64_t> row(static_cast<size_t>(numbers));
    for (int64_t q = 0; q < numbers; ++q) row[size_t(q)] = q % all / line * depth + q % line * in + q / all;
    parallel_each(c.groups * count, [&](int64_t i) {
      const Sliver& s = slivers_[size_t(i % count)];
      const float* from = w + i / count * columns * depth * taps + s.begin * numbers;
      float* to = at(i / count) + s.at * taps * depth;
      for (int64_t o = 0; o < times; ++o)
        indirect_kernels().pack(from + o * in * all, numbers, s.columns, numbers, row.data(), to + o * filled(s));
    });
  }
  const int64_t taps, columns, depth;
  IndirectKernel group(int64_t i) const { return {taps, depth, columns, at(i)}; }

 private:
  struct Sliver {
    int64_t begin, columns, at;  // `at`: numbers in a row before it
  };
  static int64_t filled(const Sliver& s) { return indirect_kernels().filled(s.columns); }
  static std::vector<Sliver> slivers_of(int64_t columns) {
    std::vector<Sliver> all;
    for (int64_t j = 0, at = 0; j < columns; at += filled(all.back()), j += all.back().columns)
      all.push_back({j, indirect_kernels().sliver(columns, j), at});
    return all;
  }
  float* at(int64_t group) const { return packed_.as<float>() + group * taps * wide_ * depth; }
  std::vector<Sliver> slivers_;
  int64_t wide_;  // numbers in a row of all slivers
  Scratch packed_;
};

// Few where there are very many taps: their pointers are memory too.
int64_t places_at_once(int64_t taps) {
  return std::clamp<int64_t>(kPointers / std::max<int64_t>(taps, 1) / 8 * 8, taps < kPointers ? 64 : 8, kMostPlaces);
}

// Calls f(rows, rows of the result) for blocks of places of the result, which has so many channels.
template <class F>
void each_block(const Grid& g, int64_t batch, int64_t reads, const float* x, int64_t makes, float* y, const F& f) {
  int64_t block = places_at_once(g.taps());
  Zeros zeros(reads);
  PerThread pointers(block * (g.taps() + 1) * int64_t(sizeof(float*)), batch * g.count());
  parallel_chunks(batch * g.count(), block, [&](int64_t begin, int64_t stop) {
    Block b(g, begin, stop);
    auto** rows = pointers.mine<float*>();
    auto** at = const_cast<const float**>(rows + block);
    b.write(y, makes, rows);
    for (int64_t t = 0; t < g.taps(); ++t) b.read(g.shifts[size_t(t)], x, zeros.data(), at + t * b.count);
    f(IndirectRows{b.count, g.taps(), at, g.numbers.data(), zeros.data()}, rows);
  });
}

// A block of the result of a convolution, whose places lie side by side. What is added without a loop before it is
// added as results are written.
void finish(const Ending& end, float* const* result, int64_t places, int64_t channels) {
  if (end.finish.loop) gemm_kernels().finish(end.finish, result[0], places * channels);
}

void multiply(const Grid& g, int64_t batch, int64_t groups, const float* x, const Packed& kernel, Ending end,
              float* y) {
  int64_t at_once = std::max<int64_t>(kDepth / kernel.depth, 1);  // taps
  each_block(g, batch, groups * kernel.depth, x, groups * kernel.columns, y,
             [&](const IndirectRows& all, float* const* result) {
               for (int64_t first = 0; first < all.taps || first == 0; first += at_once) {
                 IndirectRows some = all;
                 some.taps = std::min(at_once, all.taps - first);
                 some.at += first * all.places, some.numbers += first;
                 bool last = first + some.taps == all.taps;
                 for (int64_t group = 0; group < groups; ++group) {
                   Ending ends = last ? end.of_channels_from(group * kernel.columns) : Ending{};
                   indirect_kernels().multiply(some, group * kernel.depth, kernel.group(group), first > 0, ends, result,
                                               group * kernel.columns);
                 }
               }
               finish(end, result, all.places, groups * kernel.columns);
             });
}

void multiply(const Grid& g, int64_t batch, const float* x, const PackedSmall& kernel, Ending end, float* y) {
  each_block(g, batch, kernel.channels, x, kernel.channels, y, [&](const IndirectRows& rows, float* const* result) {
    indirect_kernels().multiply_small(rows, kernel.kernel(), end, result);
    finish(end, result, rows.places, kernel.channels);
  });
}

// What `packed` holds, if it suits, else what make() gives, left there.
template <class T, class F, class G>
std::shared_ptr<T> kept(std::shared_ptr<PackedKernel>* packed, const F& suits, const G& make) {
  if (!packed) return make();
  auto known = std::dynamic_pointer_cast<T>(*packed);  // another loop may have packed it
  if (known && suits(*known)) return known;
  WithLoan outlives_the_call(nullptr);
  known = make();
  *packed = known;
  return known;
}

}  // namespace

void indirect_conv_forward(const Conv& plain, const float* x, const float* w, Ending end, float* y,
                           std::shared_ptr<PackedKernel>* packed) {
  Conv c = moved_to_end(plain);
  Reads from(c, x);
  if (small_groups(c)) {
    auto kernel = kept<PackedSmall>(
        packed,
        [&](const PackedSmall& k) { return k.taps == c.taps() && k.channels == c.in && k.depth * c.groups == c.in; },
        [&] { return std::make_shared<PackedSmall>(c, w, false); });
    return multiply(from.grid, c.batch, from.images, *kernel, end, y);
  }
  auto kernel = kept<Packed>(
      packed,
      [&](const Packed& k) {
        return k.taps * from.line == c.taps() && k.columns * c.groups == c.out &&
               k.depth * c.groups == c.in * from.line;
      },
      [&] { return std::make_shared<Packed>(c, w, false, from.line); });
  multiply(from.grid, c.batch, c.groups, from.images, *kernel, end, y);
}

void indirect_conv_input(const Conv& plain, const float* g, const float* w, float* dx) {
  Conv c = moved_to_end(plain);
  std::optional<PackedSmall> small;
  std::optional<Packed> large;
  small_groups(c) ? void(small.emplace(c, w, true)) : void(large.emplace(c, w, true, 1));
  Steps first;
  for (first[0] = 0; first[0] < std::min(c.stride[0], c.size[0]); ++first[0])
    for (first[1] = 0; first[1] < std::min(c.stride[1], c.size[1]); ++first[1])
      for (first[2] = 0; first[2] < std::min(c.stride[2], c.size[2]); ++first[2]) {
        Grid grid = input_grid(c, first);
        small ? multiply(grid, c.batch, g, *small, {}, dx) : multiply(grid, c.batch, c.groups, g, *large, {}, dx);
      }
}

namespace {

constexpr int64_t kOuterPlaces = 64;  // at a time: their part of g and a sliver of their pixels stay in the L1 cache

// Calls f(block, where a tap reads, first place) for all places.
template <class F>
void each_outer(const Reads& from, int64_t batch, int64_t tap, const float* zeros, const F& f) {
  const float* at[kOuterPlaces];
  int64_t total = batch * from.grid.count();
  for (int64_t begin = 0; begin < total; begin += kOuterPlaces) {
    leave_if_interrupted();
    Block b(from.grid, begin, std::min(begin + kOuterPlaces, total));
    b.read(from.grid.shifts[size_t(tap)], from.images, zeros, at);
    bool reads = std::any_of(at, at + b.count, [&](const float* p) { return p != zeros; });
    if (reads) f(b.count, at, begin);
  }
}

void small_conv_weight(const Conv& c, const Reads& from, const float* g, float* dw) {
  struct {
    int64_t taps, channels, depth;
  } one{1, c.in, c.in / c.groups};
  int64_t taps = c.taps(), each = c.in * one.depth;
  Zeros zeros(c.in), sums(taps * each);
  parallel_each(taps, [&](int64_t t) {
    float* to = sums.data() + t * each;
    each_outer(from, c.batch, t, zeros.data(), [&](int64_t count, const float* const* at, int64_t begin) {
      indirect_kernels().add_outer_small(count, at, one.depth, g + begin * c.in, c.in, to);
    });
    PackedSmall::each_number(one, [&](int64_t channel, int64_t k, int64_t, int64_t at) {
      dw[(channel * one.depth + k) * taps + t] = to[at];
    });
  });
}

}  // namespace

void indirect_conv_weight(const Conv& plain, const float* x, const float* g, float* dw) {
  constexpr int64_t kColumns = 64;  // of one piece of work
  Conv c = moved_to_end(plain);
  Reads from(c, x);
  if (small_groups(c)) return small_conv_weight(c, from, g, dw);
  int64_t in = c.in / c.groups * from.line, out = c.out / c.groups, taps = c.taps() / from.line;
  int64_t pieces = (out + kColumns - 1) / kColumns;
  Zeros zeros(c.in * from.line);
  Scratch space(taps * c.out * in * kFloat);  // (taps, out, in)
  float* sums = space.as<float>();
  parallel_each(taps * c.groups * pieces, [&](int64_t i) {
    int64_t piece = i % pieces, group = i / pieces % c.groups, t = i / pieces / c.groups;
    int64_t first = group * out + piece * kColumns, columns = std::min(kColumns, out - piece * kColumns);
    float* to = sums + (t * c.out + first) * in;
    std::fill_n(to, columns * in, 0.0f);
    each_outer(from, c.batch, t, zeros.data(), [&](int64_t count, const float* const* at, int64_t begin) {
      indirect_kernels().add_outer(count, at, group * in, in, g + begin * c.out + first, c.out, columns, to, in);
    });
  });
  int64_t channels = c.in / c.groups, all = c.taps();
  parallel_each(c.out, [&](int64_t o) {
    for (int64_t k = 0; k < channels; ++k)
      for (int64_t t = 0; t < all; ++t)
        dw[(o * channels + k) * all + t] = sums[(t / from.line * c.out + o) * in + t % from.line * channels + k];
  });
}

}  // namespace weft
