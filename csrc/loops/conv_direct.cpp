#include "loops/conv_direct.h"

#include <cstring>
#include <vector>

#include "core/memory.h"
#include "loops/conv.h"
#include "loops/parallel.h"

namespace weft {
namespace {

// The kernel as (taps, in, out), out filled up to a whole vector.
void lay_out_kernel(const Conv& c, const float* w, float* to) {
  std::memset(to, 0, size_t(c.taps() * c.in * kDirectChannels) * sizeof(float));
  for (int64_t o = 0; o < c.out; ++o)
    for (int64_t i = 0; i < c.in; ++i)
      for (int64_t t = 0; t < c.taps(); ++t)
        to[(t * c.in + i) * kDirectChannels + o] = w[(o * c.in + i) * c.taps() + t];
}

}  // namespace

void direct_conv_forward(const Conv& given, const float* x, const float* w, Ending ending, float* y) {
  const Conv c = moved_to_end(given);
  int64_t padded[3], line = c.size[2] * c.in;
  for (int i = 0; i < 3; ++i) padded[i] = c.size[i] + 2 * c.pad[i];
  int64_t row = padded[2] * c.in, image = padded[0] * padded[1] * row;
  std::vector<int64_t> lines, offsets;
  for (int64_t a = 0; a < c.result[0]; ++a)
    for (int64_t b = 0; b < c.result[1]; ++b) lines.push_back((a * c.stride[0] * padded[1] + b * c.stride[1]) * row);
  for (int64_t a = 0; a < c.kernel[0]; ++a)
    for (int64_t b = 0; b < c.kernel[1]; ++b)
      for (int64_t e = 0; e < c.kernel[2]; ++e)
        for (int64_t i = 0; i < c.in; ++i)
          offsets.push_back((a * c.dilation[0] * padded[1] + b * c.dilation[1]) * row + e * c.dilation[2] * c.in + i);
  DirectImage d{int64_t(lines.size()),   c.result[2],    lines.data(), c.stride[2] * c.in,
                int64_t(offsets.size()), offsets.data(), c.out};
  Scratch kernel(c.taps() * c.in * kDirectChannels * int64_t(sizeof(float)));
  lay_out_kernel(c, w, kernel.as<float>());
  int64_t threads = loop_threads(), share = (c.batch + threads - 1) / threads;
  Scratch edges(threads * image * int64_t(sizeof(float)));  // an image with its edges, for each thread
  parallel_chunks(c.batch, share, [&](int64_t begin, int64_t end) {
    float* whole = edges.as<float>() + begin / share * image;
    std::memset(whole, 0, size_t(image) * sizeof(float));
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t a = 0; a < c.size[0]; ++a)
        for (int64_t b = 0; b < c.size[1]; ++b)
          std::memcpy(whole + ((a + c.pad[0]) * padded[1] + b + c.pad[1]) * row + c.pad[2] * c.in,
                      x + ((n * c.size[0] + a) * c.size[1] + b) * line, size_t(line) * sizeof(float));
      direct_kernels().forward(d, whole, kernel.as<float>(), ending, y + n * c.places() * c.out);
    }
  });
}

}  // namespace weft
