#include "loops/reduce.h"

#include <algorithm>

#include "core/dims.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int kMaxAxes = kMaxRank;
constexpr int64_t kLongest = int64_t(1) << 24;   // elements that are joined before Ctrl-C is looked for
constexpr int64_t kPackItems = 4096;             // elements that are copied together before a kernel sees them
constexpr int64_t kMaxPartials = 4096;           // partial results of one reduction that is cut into chunks
constexpr int64_t kMaxAccSize = 24;              // count, mean and squares
constexpr int64_t kShortRow = kShortestMadeRow;  // shorter rows are taken across, many at a time
constexpr int64_t kMaxStrided = 256;  // columns at a time if they are not neighbours: their lines stay in the cache
constexpr int64_t kFewRows = 16;      // so many are reduced together without further ado
constexpr int64_t kNarrow = 64;       // narrower columns are taken several rows at a time

struct Axis {
  int64_t size, in, out;  // out is the stride in the result
};

// Drops axes of size 1, puts the largest stride first and joins neighbours that lie in memory like one axis.
int simplify(Axis* axes, int n) {
  int used = 0;
  for (int i = 0; i < n; ++i) {
    if (axes[i].size == 1) continue;
    Axis a = axes[i];
    int at = used++;
    for (; at > 0 && axes[at - 1].in < a.in; --at) axes[at] = axes[at - 1];
    axes[at] = a;
  }
  int joined = 0;
  for (int i = 0; i < used; ++i) {
    Axis a = axes[i];
    if (joined > 0 && axes[joined - 1].in == a.in * a.size && axes[joined - 1].out == a.out * a.size)
      axes[joined - 1] = {axes[joined - 1].size * a.size, a.in, a.out};
    else
      axes[joined++] = a;
  }
  return joined;
}

int64_t product(const Axis* axes, int n) {
  int64_t p = 1;
  for (int i = 0; i < n; ++i) p *= axes[i].size;
  return p;
}

// The offsets of the index-th element of the box of these axes.
Axis offsets(const Axis* axes, int n, int64_t index) {
  Axis at{0, 0, 0};
  for (int i = n - 1; i >= 0; --i) {
    int64_t next = index / axes[i].size, k = index - next * axes[i].size;
    at.in += k * axes[i].in;
    at.out += k * axes[i].out;
    index = next;
  }
  return at;
}

// One reduction, its axes put in order: `across` is the innermost kept axis, `along` the innermost reduced one.
struct Walk {
  const Reducer& op;
  const char* x;
  int64_t x_size;  // bytes of an element of x
  Reducer::Result result;
  Axis kept[kMaxAxes], reduced[kMaxAxes];
  int kept_n, reduced_n;
  Axis across, along;
  int64_t total;  // elements joined into one result
  bool by_rows;
  int64_t grouped = 1;         // narrow columns: so many rows of x are taken as one
  const Made* made = nullptr;  // then x is no memory, only a place to count from

  Walk(const Reducer& r, const void* data, DType dtype, const Axes& k, const Axes& red, const Reducer::Result& res)
      : op(r), x(static_cast<const char*>(data)), x_size(item_size(dtype)), result(res) {
    int64_t out = 1;
    for (int i = k.n - 1; i >= 0; --i) {
      kept[i] = {k.sizes[i], k.strides[i], out};
      out *= k.sizes[i];
    }
    for (int i = 0; i < red.n; ++i) reduced[i] = {red.sizes[i], red.strides[i], red.strides[i]};
    kept_n = simplify(kept, k.n);
    reduced_n = simplify(reduced, red.n);
    across = kept_n > 0 ? kept[--kept_n] : Axis{1, 0, 0};
    total = product(reduced, reduced_n);
    along = reduced_n > 0 ? reduced[--reduced_n] : Axis{1, 0, 0};
    choose();
  }

  void choose() {
    bool short_row = along.size < kShortRow && across.size > along.size;
    by_rows = across.size == 1 || (along.in <= across.in && !short_row);
    bool narrow = !by_rows && across.in == 1 && along.in == across.size && across.size <= kNarrow;
    if (narrow && !op.indexed && along.size * across.size >= 4 * kNarrow) grouped = 4 * kNarrow / across.size;
  }

  const char* at(const char* p, int64_t elements) const { return p + elements * x_size; }

  // Joins n positions along the reduced axis, starting at p, into `width` partial results.
  void feed(char* acc, const char* p, int64_t width, int64_t step, int64_t n, int64_t stride, int64_t position) const {
    if (made) return feed_made(acc, (p - x) / x_size, width, step, n, position);
    bool direct = !op.must_pack && (by_rows ? stride == 1 : step == 1);
    if (direct) {
      if (by_rows)
        op.rows(acc, p, width, step, n, {position, result.p});
      else
        op.columns(acc, p, n, stride, width, {position, result.p});
      return;
    }
    alignas(64) char buffer[kPackItems * 16];
    if (by_rows) {
      int64_t piece = std::min(n, kPackItems), rows = std::max<int64_t>(1, kPackItems / piece);
      for (int64_t i = 0; i < width; i += rows)
        for (int64_t k = 0; k < n; k += piece) {
          int64_t m = std::min(rows, width - i), len = std::min(piece, n - k);
          op.pack(buffer, at(p, i * step + k * stride), m, step, len, stride);
          op.rows(acc + i * op.acc_size, buffer, m, len, len, {position + k, result.p});
        }
    } else {
      int64_t rows = std::max<int64_t>(1, kPackItems / width);
      for (int64_t k = 0; k < n; k += rows) {
        int64_t m = std::min(rows, n - k);
        op.pack(buffer, at(p, k * stride), m, stride, width, step);
        op.columns(acc, buffer, m, width, width, {position + k, result.p});
      }
    }
  }

  // The same for elements that are made, from the at-th on. The kernels join blocks of kPackItems, too.
  void feed_made(char* acc, int64_t at, int64_t width, int64_t step, int64_t n, int64_t position) const {
    alignas(64) char buffer[kPackItems * 8];
    for (int64_t i = 0; i < width; ++i)
      for (int64_t k = 0; k < n; k += kPackItems) {
        int64_t some = std::min(n - k, kPackItems);
        made->make(made->state, buffer, at + i * step + k, some);
        op.rows(acc + i * op.acc_size, buffer, 1, 0, some, {position + k, result.p});
      }
  }

  // The same where several narrow rows are taken as one wide one.
  void feed_grouped(char* acc, const char* p, int64_t n, int64_t position) const {
    alignas(64) char wide[4 * kNarrow * kMaxAccSize];
    int64_t width = across.size, groups = n / grouped;
    op.start(wide, grouped * width);
    feed(wide, p, grouped * width, 1, groups, grouped * width, position);
    for (int64_t g = 0; g < grouped; ++g) op.merge(acc, wide + g * width * op.acc_size, width);
    int64_t done = groups * grouped;
    if (done < n) feed(acc, at(p, done * width), width, 1, n - done, width, position + done);
  }

  // Joins the positions [from, to) along the reduced axes into the results [i, i + width) of the inner kept axis.
  void part(char* acc, const char* base, int64_t i, int64_t width, int64_t from, int64_t to) const {
    op.start(acc, width);
    base = at(base, i * across.in);
    const int64_t most = std::max<int64_t>(1, kLongest / std::max<int64_t>(1, width));
    while (from < to) {
      int64_t outer = from / along.size, k = from - outer * along.size;
      int64_t n = std::min({along.size - k, to - from, most});
      const char* p = at(base, offsets(reduced, reduced_n, outer).in + k * along.in);
      if (grouped > 1 && width == across.size)
        feed_grouped(acc, p, n, from);
      else
        feed(acc, p, width, across.in, n, along.in, from);
      from += n;
      if (from < to) leave_if_interrupted();
    }
  }

  void finish(const char* acc, int64_t n, int64_t out) const {
    Reducer::Result r = result;
    r.stride = across.out;
    r.y += out * op.result_size;
    if (r.second) r.second += out * op.second_size;
    op.finish(acc, n, r);
  }

  void run() const {
    int64_t outer = product(kept, kept_n);
    int64_t per_result = std::max<int64_t>(total, 1);
    int64_t width = std::min(across.size, kMaxColumns);
    if (!by_rows && across.in != 1) width = std::min(width, kMaxStrided);
    if (by_rows) width = std::min(width, std::max<int64_t>(1, kGrain / per_result));
    int64_t blocks = (across.size + width - 1) / width, tasks = outer * blocks;
    int64_t results = outer * across.size;
    int64_t chunks = 1;
    if (tasks < 16 && results * total >= 2 * kGrain)
      chunks = std::min({kMaxPartials / results, (width * total + kGrain - 1) / kGrain, total});
    if (chunks > 1) return run_in_chunks(tasks, blocks, width, chunks);
    parallel_shares(tasks, std::max<int64_t>(1, kGrain / (width * per_result)), 1, [&](int64_t begin, int64_t end) {
      alignas(64) char acc[kMaxColumns * kMaxAccSize];
      for (int64_t t = begin; t < end; ++t) {
        Axis o = offsets(kept, kept_n, t / blocks);
        int64_t i = t % blocks * width, n = std::min(width, across.size - i);
        part(acc, at(x, o.in), i, n, 0, total);
        finish(acc, n, o.out + i * across.out);
      }
    });
  }

  // Few results of many elements each: partial results of chunks along the reduced axes, joined in order.
  void run_in_chunks(int64_t tasks, int64_t blocks, int64_t width, int64_t chunks) const {
    alignas(64) char partials[kMaxPartials * kMaxAccSize];
    int64_t length = (total + chunks - 1) / chunks;
    chunks = (total + length - 1) / length;
    auto acc_of = [&](int64_t task, int64_t c) {
      int64_t first = task / blocks * across.size * chunks;
      int64_t i = task % blocks * width, n = std::min(width, across.size - i);
      return partials + (first + i * chunks + c * n) * op.acc_size;
    };
    parallel_chunks(tasks * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        int64_t t = j / chunks, c = j % chunks, i = t % blocks * width;
        const char* base = at(x, offsets(kept, kept_n, t / blocks).in);
        part(acc_of(t, c), base, i, std::min(width, across.size - i), c * length, std::min(total, (c + 1) * length));
      }
    });
    for (int64_t t = 0; t < tasks; ++t) {
      int64_t i = t % blocks * width, n = std::min(width, across.size - i);
      for (int64_t c = 1; c < chunks; ++c) op.merge(acc_of(t, 0), acc_of(t, c), n);
      finish(acc_of(t, 0), n, offsets(kept, kept_n, t / blocks).out + i * across.out);
    }
  }
};

// Few rows of elements that lie side by side, as in most small tensors: what Walk would do with them, without the way
// there.
bool reduce_few_rows(const Reducer& op, const void* x, const Axes& kept, const Axes& reduced,
                     const Reducer::Result& result) {
  if (kept.n > 1 || reduced.n != 1 || reduced.strides[0] != 1 || op.must_pack) return false;
  int64_t n = reduced.sizes[0], rows = kept.n ? kept.sizes[0] : 1, step = kept.n ? kept.strides[0] : 0;
  if (n < 2 || rows > kFewRows || rows * n >= kGrain) return false;
  if (rows > 1 && (step < 1 || (n < kShortRow && rows > n))) return false;
  alignas(64) char acc[kFewRows * kMaxAccSize];
  op.start(acc, rows);
  op.rows(acc, x, rows, step, n, {0, result.p});
  op.finish(acc, rows, result);
  return true;
}

bool has_elements(const Axes& axes) {
  for (int i = 0; i < axes.n; ++i)
    if (axes.sizes[i] == 0) return false;
  return true;
}

[[gnu::noinline]] void walk(const Reducer& op, const void* x, DType dtype, const Axes& kept, const Axes& reduced,
                            const Reducer::Result& result) {
  Walk(op, x, dtype, kept, reduced, result).run();
}

}  // namespace

void reduce(Reduce op, DType dtype, const void* x, const Axes& kept, const Axes& reduced, void* y, void* second,
            double p) {
  if (!has_elements(kept)) return;
  const Reducer* r = reduce_kernels().find(op, dtype);
  Reducer::Result result{static_cast<char*>(y), static_cast<char*>(second), 1, 1, p};
  for (int i = 0; i < reduced.n; ++i) result.count *= reduced.sizes[i];
  if (!reduce_few_rows(*r, x, kept, reduced, result)) walk(*r, x, dtype, kept, reduced, result);
}

void reduce_made(Reduce op, DType dtype, int64_t rows, int64_t length, const Made& made, void* y) {
  static const char nowhere = 0;
  int64_t one = 1;
  Walk walk(*reduce_kernels().find(op, dtype), &nowhere, dtype, {1, &rows, &length}, {1, &length, &one},
            {static_cast<char*>(y), nullptr, 1, length, 0});
  walk.made = &made;
  walk.run();
}

}  // namespace weft
