#include "loops/conv_joined.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/memory.h"
#include "loops/conv.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kNear = 32 << 10, kFar = 256 << 10;  // bytes that are read again and again: in the L1 and L2 cache

// Lines of the result that are made together, and the lines of the image that they see. Lines count over all dimensions
// but the last.
struct Stretch {
  int64_t begin, end, first, last;
};

// How images are joined: some lines at a time, as many as stay in the cache, with zeros at both ends of each line.
class Joining {
 public:
  explicit Joining(const Conv& c)
      : c_(c),
        line_((c.size[2] + 2 * c.pad[2]) * c.in),
        flat_(c.size[0] == 1 && c.result[0] == 1),
        extent_((c.kernel[1] - 1) * c.dilation[1] + 1) {
    int64_t fit = kFar / (line_ * lanes() * kFloat);
    at_once_ = flat_ ? std::max((fit - extent_) / c.stride[1] + 1, std::max<int64_t>(extent_, 4))
                     : c.result[0] * c.result[1];
  }
  static int64_t lanes() { return joined_kernels().lanes; }
  int64_t line() const { return line_; }
  int64_t floats() const {  // that one stretch needs
    int64_t all = c_.size[0] * c_.size[1], seen = (at_once_ - 1) * c_.stride[1] + extent_;
    return (flat_ ? std::min(seen, all) : all) * line_ * lanes();
  }
  // Calls f(stretch) for stretches that cover the lines [begin, end) of the result, when what they see of `count`
  // images from x on is joined.
  template <class F>
  void each_stretch(const float* x, int64_t count, int64_t begin, int64_t end, float* joined, const F& f) const {
    for (int64_t l = begin; l < end; l += at_once_) {
      Stretch s{l, std::min(l + at_once_, end), 0, c_.size[0] * c_.size[1]};
      if (flat_) {
        s.first = std::clamp<int64_t>(s.begin * c_.stride[1] - c_.pad[1], 0, s.last);
        s.last = std::clamp((s.end - 1) * c_.stride[1] - c_.pad[1] + extent_, s.first, s.last);
      }
      join(x, count, s, joined);
      f(s);
    }
  }

 private:
  void join(const float* x, int64_t count, const Stretch& s, float* joined) const {
    int64_t n = c_.size[2] * c_.in, edge = c_.pad[2] * c_.in, image = c_.pixels() * c_.in, lines = s.last - s.first;
    if (!edge) return joined_kernels().join(x + s.first * n, image, count, lines * n, joined);
    for (int64_t l = 0; l < lines; ++l) {
      float* line = joined + l * line_ * lanes();
      std::memset(line, 0, size_t(edge * lanes() * kFloat));
      joined_kernels().join(x + (s.first + l) * n, image, count, n, line + edge * lanes());
      std::memset(line + (edge + n) * lanes(), 0, size_t(edge * lanes() * kFloat));
    }
  }
  const Conv& c_;
  int64_t line_;
  bool flat_;  // at most two dimensions
  int64_t extent_, at_once_;
};

// How a window's taps follow each other in a line of the image.
struct Taps {
  int64_t runs, length;  // stretches per line of the kernel, numbers in each
  explicit Taps(const Conv& c) : runs(c.dilation[2] == 1 ? 1 : c.kernel[2]), length(c.kernel[2] / runs * c.in) {}
};

// Calls f(first image, images, begin, end) for every vector of images and all of [0, work), cut so that there is enough
// for all threads.
template <class F>
void each_vector(const Conv& c, int64_t work, const F& f) {
  int64_t lanes = Joining::lanes(), vectors = (c.batch + lanes - 1) / lanes;
  int64_t threads = loop_threads();
  int64_t parts = std::clamp<int64_t>((threads + vectors - 1) / vectors, 1, work);
  parallel_each(vectors * parts, [&](int64_t i) {
    int64_t part = i % parts, first = i / parts * lanes;
    f(first, std::min(lanes, c.batch - first), part * work / parts, (part + 1) * work / parts);
  });
}

// weights: (taps, in, out).
void forward(const Conv& c, const float* x, const float* weights, Ending ending, float* y) {
  const JoinedKernels& kernels = joined_kernels();
  Joining joining(c);
  Taps taps(c);
  int64_t lines = c.result[0] * c.result[1], n = c.result[2] * c.out;
  PerThread space((joining.floats() + n * kernels.lanes) * kFloat, PerThread::kMany);
  each_vector(c, lines, [&](int64_t first, int64_t images, int64_t begin, int64_t end) {
    float *joined = space.mine<float>(), *result = joined + joining.floats();
    std::vector<int64_t> run_begin, run_number;
    JoinedLine line{c.result[2], c.out, c.stride[2] * c.in, 0, joining.line() + taps.length, 0, taps.length, {}, {}};
    if (taps.runs == 1) line.before = c.pad[2] * c.in, line.within = (c.size[2] + c.pad[2]) * c.in;
    joining.each_stretch(x + first * c.pixels() * c.in, images, begin, end, joined, [&](const Stretch& s) {
      for (int64_t l = s.begin; l < s.end; ++l) {
        run_begin.clear(), run_number.clear();
        for (int64_t t = 0; t < c.kernel[0] * c.kernel[1]; ++t) {
          int64_t x0 = l / c.result[1] * c.stride[0] + t / c.kernel[1] * c.dilation[0] - c.pad[0];
          int64_t x1 = l % c.result[1] * c.stride[1] + t % c.kernel[1] * c.dilation[1] - c.pad[1];
          if (x0 < 0 || x0 >= c.size[0] || x1 < 0 || x1 >= c.size[1]) continue;
          for (int64_t r = 0; r < taps.runs; ++r) {
            run_begin.push_back((x0 * c.size[1] + x1 - s.first) * joining.line() + r * c.dilation[2] * c.in);
            run_number.push_back(t * taps.runs + r);
          }
        }
        line.runs = int64_t(run_begin.size()), line.run_begin = run_begin.data(), line.run_number = run_number.data();
        kernels.forward(line, joined, weights, ending, result);
        kernels.part(result, n, images, y + (first * lines + l) * n, lines * n);
      }
    });
  });
}

constexpr int64_t kFewChannels = 24;

// Lines that fit the cache, and a batch that leaves few lanes idle.
bool can_be_joined(const Conv& given) {
  const Conv c = moved_to_end(given);
  int64_t lanes = Joining::lanes(), idle = (c.batch + lanes - 1) / lanes * lanes - c.batch;
  constexpr int64_t kLine = 4096, kVolume = 1 << 14;
  bool flat = c.size[0] == 1 && c.result[0] == 1;
  return c.groups == 1 && c.in > 0 && c.out > 0 && 4 * idle <= c.batch && c.size[2] * c.in <= kLine &&
         c.result[2] * c.out <= kLine && (flat || c.pixels() * c.in <= kVolume);
}
bool wide_vectors() { return Joining::lanes() == 16; }
bool fills_vectors(int64_t channels) { return channels % Joining::lanes() == 0; }

}  // namespace

// By measurement: docs/notes/channels_last.md.
bool joined_suits_forward(const Conv& c) {
  bool much_work = wide_vectors() && c.in * c.taps() >= 64;
  return c.out <= kFewChannels && c.in <= 32 && (!fills_vectors(c.out) || much_work) && can_be_joined(c);
}
bool joined_suits_input(const Conv& c) {
  for (int d = 0; d < 3; ++d)
    if (c.stride[d] > 1 || c.pad[d] > (c.kernel[d] - 1) * c.dilation[d]) return false;
  bool much_work = wide_vectors() && c.out * c.taps() >= 64, many = c.out > 24 && c.in < 4;
  return c.in <= kFewChannels && c.out <= 32 && !many && (!fills_vectors(c.in) || much_work) && can_be_joined(c);
}
bool joined_suits_weight(const Conv& c) {
  bool much_work = c.in <= 8 && c.in * c.taps() >= 64;
  bool wide = wide_vectors() && (!fills_vectors(c.out) || much_work);
  return c.out <= kFewChannels && c.in <= 16 && (c.out < Joining::lanes() || wide) && can_be_joined(c);
}

void joined_conv_forward(const Conv& given, const float* x, const float* w, Ending end, float* y) {
  const Conv c = moved_to_end(given);
  Scratch weights(c.taps() * c.in * c.out * kFloat);
  for (int64_t t = 0; t < c.taps(); ++t)
    for (int64_t i = 0; i < c.in; ++i)
      for (int64_t o = 0; o < c.out; ++o)
        weights.as<float>()[(t * c.in + i) * c.out + o] = w[(o * c.in + i) * c.taps() + t];
  forward(c, x, weights.as<float>(), end, y);
}

// The gradient is convolved with the kernel turned round.
void joined_conv_input(const Conv& given, const float* g, const float* w, float* dx) {
  const Conv c = moved_to_end(given);
  Conv turned = c;
  std::swap(turned.in, turned.out);
  std::swap(turned.size, turned.result);
  for (int d = 0; d < 3; ++d) turned.pad[d] = (c.kernel[d] - 1) * c.dilation[d] - c.pad[d];
  Scratch weights(c.taps() * c.in * c.out * kFloat);
  for (int64_t t = 0; t < c.taps(); ++t)
    for (int64_t o = 0; o < c.out; ++o)
      for (int64_t i = 0; i < c.in; ++i)
        weights.as<float>()[(t * c.out + o) * c.in + i] = w[(o * c.in + i) * c.taps() + c.taps() - 1 - t];
  forward(turned, g, weights.as<float>(), {}, dx);
}

// Each vector of images has sums of its own, which are added in their order: threads change nothing.
void joined_conv_weight(const Conv& given, const float* x, const float* g, float* dw) {
  const Conv c = moved_to_end(given);
  const JoinedKernels& kernels = joined_kernels();
  const int64_t lanes = kernels.lanes, vectors = (c.batch + lanes - 1) / lanes;
  Joining joining(c);
  Taps taps(c);
  int64_t lines = c.result[0] * c.result[1], n = c.result[2] * c.out, kernel_lines = c.kernel[0] * c.kernel[1];
  int64_t per_line = (c.kernel[2] * c.in * c.out + 3) / 4 * 4;  // sums of a line of the kernel, filled up to fours
  int64_t near = std::clamp<int64_t>(kNear / ((n + joining.line()) * lanes * kFloat), 1, c.result[1]);
  Scratch all(vectors * kernel_lines * per_line * kFloat);
  int64_t floats = joining.floats() + (near * n + kernel_lines * per_line) * lanes;
  PerThread space(floats * kFloat, PerThread::kMany);
  each_vector(c, kernel_lines, [&](int64_t first, int64_t images, int64_t begin, int64_t end) {
    float *joined = space.mine<float>(), *part = joined + joining.floats(), *sums = part + near * n * lanes;
    std::memset(sums, 0, size_t((end - begin) * per_line * lanes * kFloat));
    joining.each_stretch(x + first * c.pixels() * c.in, images, 0, lines, joined, [&](const Stretch& s) {
      for (int64_t l = s.begin, stop; l < s.end; l = stop) {
        int64_t a = l / c.result[1];  // all lines up to `stop` have the same one
        stop = std::min({l + near, s.end, (a + 1) * c.result[1]});
        kernels.join(g + (first * lines + l) * n, lines * n, images, (stop - l) * n, part);
        for (int64_t t = begin; t < end; ++t) {
          int64_t x0 = a * c.stride[0] + t / c.kernel[1] * c.dilation[0] - c.pad[0];
          if (x0 < 0 || x0 >= c.size[0]) continue;
          // The lines from b up to `last` see a line of the image.
          int64_t shift = t % c.kernel[1] * c.dilation[1] - c.pad[1], b = l - a * c.result[1];
          int64_t last = std::min(stop - a * c.result[1], (c.size[1] - shift + c.stride[1] - 1) / c.stride[1]);
          int64_t skipped = std::max<int64_t>((-shift + c.stride[1] - 1) / c.stride[1] - b, 0);
          if (b + skipped >= last || c.size[1] <= shift) continue;
          int64_t seen = x0 * c.size[1] + (b + skipped) * c.stride[1] + shift - s.first;
          JoinedLines some{last - b - skipped, c.stride[1] * joining.line(), c.result[2], c.out, c.stride[2] * c.in,
                           taps.length};
          for (int64_t r = 0; r < taps.runs; ++r)
            kernels.weight(some, joined + (seen * joining.line() + r * c.dilation[2] * c.in) * lanes,
                           part + skipped * n * lanes,
                           sums + ((t - begin) * per_line + r * taps.length * c.out) * lanes);
        }
      }
    });
    kernels.add_lanes(sums, (end - begin) * per_line,
                      all.as<float>() + (first / lanes * kernel_lines + begin) * per_line);
  });
  for (int64_t t = 0; t < c.taps(); ++t)
    for (int64_t i = 0; i < c.in; ++i)
      for (int64_t o = 0; o < c.out; ++o) {
        const float* from = all.as<float>() + t / c.kernel[2] * per_line + (t % c.kernel[2] * c.in + i) * c.out + o;
        float sum = from[0];
        for (int64_t v = 1; v < vectors; ++v) sum += from[v * kernel_lines * per_line];
        dw[(o * c.in + i) * c.taps() + t] = sum;
      }
}

}  // namespace weft
