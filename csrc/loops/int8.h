// Products of bytes: activations (0 to 255) times weights (-128 to 127), summed in int32, and what makes floats of the
// sums. Exact on every machine, however it multiplies.
#pragma once

#include <cstdint>

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

constexpr int64_t kInt8Group = 4;        // weights of one output that lie side by side; products run in such groups
constexpr int64_t kInt8Deepest = 65536;  // products whose sum an int32 is sure to hold
constexpr int64_t kInt8Slack = 64;       // bytes that may be read beyond the last activation

// Numbers that bytes stand for: (byte - zero) * scale, for bytes from 0 to `most`.
struct ByteGrid {
  float scale = 0;  // 0: none
  int32_t zero = 0;
  int32_t most = 255;
};

// The grid whose bytes go from low to high, and on which zero is; one of NaN where there is none, since a bound is not
// finite.
ByteGrid grid_between(float low, float high, int32_t most);

// Where the rows of the left factor begin: a + x step[0] + y step[1] + z step[2] + n step[3], x the fastest, which runs
// to count[0], then y to count[1], z to count[2]. In items: activations as an Int8Way holds them.
struct Int8Rows {
  const void* a;
  int64_t count[3], step[4];
};

// y = (a - zero) wᵀ scale + bias: rows of bytes times rows of weights. Then, where asked, another matrix is added,
// negative numbers become 0, and the result is rounded to `rounded`. A row of `a` is made of segments of k activations.
struct Int8Product {
  int64_t first, last, n, k, segments;  // rows [first, last) are computed
  Int8Rows rows;
  const int64_t* offsets;  // segments: where each begins, in items from the beginning of a row
  const int8_t* w;         // packed
  const int32_t* sums;     // n: of the rows of w
  ByteGrid grid;           // of a
  const float* scale;      // n, or one for all
  bool each;               // n
  const float* bias;       // n, or null
  const float* added;      // as y, or null
  float* y;                // rows ldy apart
  int64_t ldy;
  bool relu;
  ByteGrid rounded;
};

// A way to multiply, and how it wants its factors.
struct Int8Way {
  int64_t item;   // bytes that hold an activation: 1 or 2
  int64_t panel;  // rows of w that are packed together …
  int64_t unit;   // … and of which there is a multiple, filled up with zeros
  void (*quantize)(const float* x, int64_t n, ByteGrid grid, void* a);
  void (*multiply)(const Int8Product& p);
};

// How convolutions with kernels of 3 x 3 are made tile by tile (int8_winograd.cpp).
struct Int8Tiles {
  Int8Way way;    // of the activations; it multiplies nothing
  int64_t lanes;  // channels of a row of points are filled up to a multiple
  // The 16 points of 4 x 4 pixels, `apart` from each other.
  void (*read)(const int16_t* const* pixels, int64_t channels, int16_t* to, int64_t apart);
  // One of the points of some tiles, in rows of so many pairs of channels, times that of n kernels.
  void (*multiply)(const int16_t* a, int64_t rows, int64_t row, int64_t pairs, const int16_t* w, int64_t n, int32_t* c);
  // From the sums to the results of 2 x 2 places each, in these rows; -1: none.
  void (*write)(const Int8Product& p, const int32_t* points, int64_t apart, int64_t n, const int64_t* rows,
                int64_t tiles);
};

struct Int8Kernels {
  const Int8Way& (*way)(bool narrow);  // narrow: no byte is above 127
  const Int8Way* by_channel;           // where every channel has a kernel of its own
  const Int8Tiles* tiles;
  void (*range)(const float* x, int64_t n, float* low, float* high);  // NaN where an x is not finite
  // x, plus `more` unless that is null, at the numbers of a grid, or at those that are not negative.
  void (*round)(const float* x, const float* more, int64_t n, ByteGrid grid, bool relu, float* y);
};

WEFT_DECLARE_KERNELS(Int8Kernels, int8_kernels)

// Whether this CPU multiplies bytes (VNNI) in the vectors of machine_isa(); WEFT_VNNI=0 in the environment denies it.
bool machine_vnni();

inline const Int8Way& int8_way(ByteGrid grid) { return int8_kernels().way(grid.most <= 127); }

// Bytes of n rows of weights, each of `segments` of k, packed: panel after panel; in each, group after group of k, and
// in each the groups of all its rows.
inline int64_t int8_packed_size(const Int8Way& way, int64_t n, int64_t k, int64_t segments) {
  int64_t groups = (k + kInt8Group - 1) / kInt8Group;
  return (n + way.unit - 1) / way.unit * way.unit * segments * groups * kInt8Group;
}
// `at(i, s, j)` is the weight j of segment s of row i.
template <class F>
void int8_pack(const Int8Way& way, int64_t n, int64_t k, int64_t segments, const F& at, int8_t* to) {
  for (int64_t first = 0; first < n; first += way.panel) {
    int64_t width = std::min(way.panel, (n - first + way.unit - 1) / way.unit * way.unit);
    for (int64_t s = 0; s < segments; ++s)
      for (int64_t g = 0; g < k; g += kInt8Group)
        for (int64_t i = first; i < first + width; ++i)
          for (int64_t j = g; j < g + kInt8Group; ++j) *to++ = i < n && j < k ? at(i, s, j) : int8_t(0);
  }
}

// The kernels of n channels, `taps` each, for `by_channel`: for a panel of channels and a pair of taps, the pairs of
// the first four of every eight channels, then those of the others, as instructions that join two vectors leave them.
inline int64_t int8_packed_size_by_channel(const Int8Way& way, int64_t n, int64_t taps) {
  return (n + way.panel - 1) / way.panel * way.panel * ((taps + 1) / 2 * 2) * int64_t(sizeof(int16_t));
}
inline void int8_pack_by_channel(const Int8Way& way, int64_t n, int64_t taps, const int8_t* w, int16_t* to) {
  for (int64_t first = 0; first < n; first += way.panel)
    for (int64_t t = 0; t < taps; t += 2)
      for (int64_t half = 0; half < 8; half += 4)
        for (int64_t i = half; i < way.panel; i += i % 4 == 3 ? 5 : 1)
          for (int64_t j = t; j < t + 2; ++j)
            *to++ = first + i < n && j < taps ? w[(first + i) * taps + j] : int16_t(0);
}

// The points of `out` kernels of (in, 3, 3), for `tiles`: point after point; in each, panel after panel, pairs of
// channels of all its kernels.
int64_t int8_packed_size_by_tiles(int64_t out, int64_t in);
void int8_pack_by_tiles(int64_t out, int64_t in, const int8_t* w, int16_t* to);

// Over all threads.
ByteGrid grid_of(const float* x, int64_t n, int32_t most);
int64_t int8_row(int64_t k);  // items from one row of a matrix to the next
void int8_quantize(const Int8Way& way, const float* x, int64_t m, int64_t k, ByteGrid grid, void* a);
void int8_multiply(const Int8Way& way, const Int8Product& p);

// A convolution of an image that lies channels last. Its activations are written with a border of zeros, so that each
// window is a few segments that lie in one piece.
class Int8Windows {
 public:
  Int8Windows(const Conv& given, const Int8Way& way);
  bool joined() const { return joined_; }  // whether segments are rows of windows, with all channels, or single taps
  static bool by_channel(const Conv& c) { return c.groups > 1 && c.groups == c.in && c.in == c.out; }
  static bool by_tiles(const Conv& c);  // whether that is the fastest
  // Groups are multiplied as one, with zeros between them, where a vector has room for the results of several.
  int64_t groups() const { return c_.groups; }
  int64_t merged() const { return merged_; }
  int64_t items() const { return c_.batch * plane_; }
  void quantize(const Int8Way& way, const float* x, ByteGrid grid, void* a) const;
  // `p` holds what is not the image's. Groups have `packed` bytes of weights each.
  void multiply(const Int8Way& way, Int8Product p, const void* a, int64_t packed) const;
  void multiply_by_tiles(Int8Product p, const void* a) const;

 private:
  Conv c_;
  bool by_channel_, joined_;
  int64_t merged_ = 1;
  int64_t padded_[3], plane_;
};

}  // namespace weft
