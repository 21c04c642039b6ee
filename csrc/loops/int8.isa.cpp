#include "loops/int8_lanes.h"

namespace weft::WEFT_ISA {
namespace {

void range(const float* x, int64_t n, float* low, float* high) {
  using Vec = Floats::Vec;
  constexpr int kChains = 4;                                // of comparisons that do not wait for each other
  Vec least[kChains]{}, most[kChains]{}, wrong[kChains]{};  // zero is always within
  auto take = [&](int c, Vec v) {
    least[c] = v < least[c] ? v : least[c];
    most[c] = v > most[c] ? v : most[c];
    wrong[c] += v * 0.0f;
  };
  int64_t i = 0;
  for (; i + kChains * Floats::W <= n; i += kChains * Floats::W)
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) take(c, Floats::load(x + i + c * Floats::W));
  for (; i + Floats::W <= n; i += Floats::W) take(0, Floats::load(x + i));
  if (i < n) take(0, Floats::load(x + i, n - i));
  for (int c = 1; c < kChains; ++c) take(0, least[c]), take(0, most[c]), wrong[0] += wrong[c];
  float a = 0, b = 0;
  for (int j = 0; j < Floats::W; ++j) {
    a = least[0][j] < a ? least[0][j] : a;
    b = most[0][j] > b ? most[0][j] : b;
  }
  float bad = Floats::sum(wrong[0]);
  *low = a + bad, *high = b + bad;
}

void round(const float* x, const float* more, int64_t n, ByteGrid grid, bool relu, float* y) {
  const Rounding rounding(grid, relu);
  int64_t i = 0;
  for (; i + Floats::W <= n; i += Floats::W) {
    Floats::Vec v = Floats::load(x + i);
    Floats::store(y + i, rounding(more ? v + Floats::load(more + i) : v));
  }
  if (i == n) return;
  Floats::Vec v = Floats::load(x + i, n - i);
  Floats::store(y + i, rounding(more ? v + Floats::load(more + i, n - i) : v), n - i);
}

// WidenedBytes, FastBytes and NarrowBytes (simd/) multiply a group of activations of one row with the groups of several
// rows of weights: a vector of weights has groups of `rows` rows of w; each leaves `partial` sums, side by side.

// ---- one tile: R rows of a times the rows of w in V vectors, from the sums to the result ----

template <size_t... I>
inline Ints::Vec add_neighbours(Ints::Vec a, Ints::Vec b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...) + __builtin_shufflevector(a, b, (2 * I + 1)...);
}

// The sums of one row of a, in order: V vectors of parts become V / P.
template <int V, int P>
inline void join(Ints::Vec* sum) {
  if constexpr (P > 1) {
    for (int v = 0; v < V / 2; ++v)
      sum[v] = add_neighbours(sum[2 * v], sum[2 * v + 1], std::make_index_sequence<Ints::W>());
    join<V / 2, P / 2>(sum);
  }
}

template <class Way>
using Tile = void (*)(const Int8Product& p, const typename Way::Item* const* rows, const int8_t* w, int64_t i,
                      int64_t j);

template <class Way, int R, int V>
void tile(const Int8Product& p, const typename Way::Item* const* rows, const int8_t* w, int64_t i, int64_t j) {
  constexpr int kStep = V * Way::rows * kInt8Group, kJoined = V / Way::partial, kAhead = 1024;
  Ints::Vec sum[R][V] = {};
  for (int64_t s = 0; s < p.segments; ++s) {
    const typename Way::Item* a[R];
    for (int r = 0; r < R; ++r) a[r] = rows[r] + p.offsets[s];
    for (int64_t q = 0; q < p.k; q += kInt8Group, w += kStep) {
      Ints::Vec weights[V];
      if (kStep <= 64) __builtin_prefetch(w + kAhead);  // else the machine keeps up
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) weights[v] = Way::load(w + v * Way::rows * kInt8Group);
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r) {
        Ints::Vec x = Way::spread(a[r] + q);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) Way::add(sum[r][v], x, weights[v]);
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) join<V, Way::partial>(sum[r]);
#pragma GCC unroll 4
  for (int v = 0; v < kJoined; ++v) {
    int64_t left = p.n - j - v * Floats::W;
    if (left <= 0) return;
    Finish finish(p, j + v * Floats::W, left < Floats::W ? left : Floats::W);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) finish(sum[r][v], i + r);
  }
}

// ---- the product ----

constexpr int kRows = 6;  // of a tile: its sums stay in registers

template <class Way, size_t... I>
constexpr Tile<Way> tile_of(int rows, int units, std::index_sequence<I...>) {
  constexpr Tile<Way> all[] = {tile<Way, int(I % kRows) + 1, (int(I) / kRows + 1) * Way::partial>...};
  return all[(units - 1) * kRows + rows - 1];
}

// Walks from one row of the left factor to the next.
template <class Item>
class Walk {
 public:
  Walk(const Int8Rows& rows, int64_t first) : rows_(rows), x_(first % rows.count[0]) {
    int64_t rest = first / rows.count[0];
    y_ = rest % rows.count[1], rest /= rows.count[1], z_ = rest % rows.count[2], n_ = rest / rows.count[2];
  }
  const Item* next() {
    const int64_t* step = rows_.step;
    const Item* here = static_cast<const Item*>(rows_.a) + x_ * step[0] + y_ * step[1] + z_ * step[2] + n_ * step[3];
    if (++x_ == rows_.count[0]) {
      x_ = 0;
      if (++y_ == rows_.count[1]) {
        y_ = 0;
        if (++z_ == rows_.count[2]) z_ = 0, ++n_;
      }
    }
    return here;
  }

 private:
  const Int8Rows& rows_;
  int64_t x_, y_, z_, n_;
};

// Some panels of w stay in the L2 cache while all rows of a pass by.
template <class Way>
void multiply(const Int8Product& p) {
  constexpr int64_t kNear = 192 * 1024, kUnit = Floats::W, kUnits = Way::vectors / Way::partial,
                    kPanel = kUnits * kUnit;
  constexpr auto all = std::make_index_sequence<kRows * kUnits>();
  int64_t deep = p.segments * ((p.k + kInt8Group - 1) / kInt8Group) * kInt8Group;
  int64_t width = (deep && deep * kPanel < kNear ? kNear / (deep * kPanel) : 1) * kPanel;
  for (int64_t begin = 0; begin < p.n; begin += width) {
    int64_t end = p.n - begin < width ? p.n : begin + width;
    Walk<typename Way::Item> walk(p.rows, p.first);
    for (int64_t i = p.first; i < p.last;) {
      int64_t left = p.last - i, tiles = (left + kRows - 1) / kRows, count = (left + tiles - 1) / tiles;
      const typename Way::Item* rows[kRows];
      for (int64_t r = 0; r < count; ++r) rows[r] = walk.next();
      for (int64_t j = begin; j < end; j += kPanel) {
        int64_t units = p.n - j < kPanel ? (p.n - j + kUnit - 1) / kUnit : kUnits;
        tile_of<Way>(int(count), int(units), all)(p, rows, p.w + j * deep, i, j);
      }
      i += count;
    }
  }
}

// ---- convolutions whose channels do not see each other ----

// The first (Half 0) or the last four of every eight elements, each beside its fellow in b.
template <int Half, size_t... I>
inline Shorts pairs(Shorts a, Shorts b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (int(I / 8 * 8 + I % 8 / 2) + Half * 4 + int(I % 2) * kShorts)...);
}
// Sums of both kinds of pairs in the order of the elements: the first vector or the second.
template <int Second, size_t... I>
inline Ints::Vec in_order(Ints::Vec low, Ints::Vec high, std::index_sequence<I...>) {
  constexpr int kHalf = Second * Ints::W;
  return __builtin_shufflevector(low, high,
                                 (int((I + kHalf) / 8 * 4 + (I + kHalf) % 4) + ((I + kHalf) % 8 < 4 ? 0 : Ints::W))...);
}

// A vector of channels of R places, two taps at a time.
template <int R>
inline void channels_of(const Int8Product& p, const uint8_t* const* places, const int16_t* w, int64_t j,
                        const Finish& lower, const Finish* upper, int64_t row) {
  constexpr auto all = std::make_index_sequence<kShorts>();
  constexpr auto words = std::make_index_sequence<Ints::W>();
  auto load = [](const int16_t* from) { return Shorts(*reinterpret_cast<const LooseShorts*>(from)); };
  Ints::Vec low[R]{}, high[R]{};
  for (int64_t t = 0; t < p.segments; t += 2, w += 2 * kShorts) {
    int64_t one = p.offsets[t] + j, two = t + 1 < p.segments ? p.offsets[t + 1] + j : one;  // a weight of 0
    Shorts first = load(w), second = load(w + kShorts);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      Shorts x = widen_bytes(places[r] + one), y = widen_bytes(places[r] + two);
      low[r] += add_pairs(pairs<0>(x, y, all), first);
      high[r] += add_pairs(pairs<1>(x, y, all), second);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    lower(in_order<0>(low[r], high[r], words), row + r);
    if (upper) (*upper)(in_order<1>(low[r], high[r], words), row + r);
  }
}

// Some places stay in the L1 cache while all channels pass by.
void multiply_by_channel(const Int8Product& p) {
  constexpr int64_t kPlaces = 32, kAtOnce = 4;
  const int64_t even = (p.segments + 1) / 2 * 2;
  Walk<uint8_t> walk(p.rows, p.first);
  for (int64_t first = p.first; first < p.last; first += kPlaces) {
    int64_t count = p.last - first < kPlaces ? p.last - first : kPlaces;
    const uint8_t* places[kPlaces];
    for (int64_t i = 0; i < count; ++i) places[i] = walk.next();
    for (int64_t j = 0; j < p.n; j += kShorts) {
      const int16_t* w = reinterpret_cast<const int16_t*>(p.w) + j * even;
      int64_t left = p.n - j, right = left - Ints::W, width = left < Ints::W ? left : Ints::W;
      Finish lower(p, j, width);
      Finish upper = right > 0 ? Finish(p, j + Ints::W, right < Ints::W ? right : Ints::W) : lower;
      const Finish* both = right > 0 ? &upper : nullptr;
      int64_t i = 0;
      for (; i + kAtOnce <= count; i += kAtOnce) channels_of<kAtOnce>(p, places + i, w, j, lower, both, first + i);
      for (; i < count; ++i) channels_of<1>(p, places + i, w, j, lower, both, first + i);
    }
  }
}

constexpr Int8Way by_channel{sizeof(uint8_t), kShorts, kShorts, quantize<uint8_t>, multiply_by_channel};

template <class Way>
constexpr Int8Way way_of() {
  return {sizeof(typename Way::Item), Way::vectors / Way::partial * Floats::W, Floats::W, quantize<typename Way::Item>,
          multiply<Way>};
}

const Int8Way& way(bool narrow) {
  static constexpr Int8Way fast = way_of<FastBytes>(), widened = way_of<WidenedBytes>(),
                           narrowed = way_of<NarrowBytes>();
  if (machine_vnni()) return fast;
  return narrow ? narrowed : widened;
}

}  // namespace

extern const Int8Kernels int8_kernels_table;
const Int8Kernels int8_kernels_table = {way, &by_channel, &int8_tiles, range, round};

}  // namespace weft::WEFT_ISA
