// Padding with a constant, cropping; pixel and channel shuffles.
#include <algorithm>
#include <cstring>
#include <optional>

#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/order.h"
#include "ops/reduced.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef pad_constant{"constant_pad_nd"};

// pad has two numbers for each of the last dimensions, the last one first.
Dims padded_sizes(Call& c) {
  Dims sizes = c.tensor(0).sizes();
  const Dims& pad = c.ints(1);
  int n = sizes.size();
  if (pad.size() % 2 || pad.size() > 2 * n)
    fail(c.name(), ": Length of pad must be even and no more than twice the number of dimensions, got ", pad.size(),
         " for ", n, " dimensions");
  for (int i = 0; i < pad.size() / 2; ++i) {
    if (std::max(std::abs(int64_t(pad[2 * i])), std::abs(int64_t(pad[2 * i + 1]))) > kMaxExtent)
      fail(c.name(), ": numbers of pad must be less than 2^56, got ", pad);
    Size size = sizes[n - 1 - i];
    size += pad[2 * i], size += pad[2 * i + 1];
    if (size < 0)
      fail(c.name(), ": The input size ", sizes[n - 1 - i], ", plus negative padding ", pad[2 * i], " and ",
           pad[2 * i + 1], " resulted in a negative output size");
    sizes[n - 1 - i] = size;
  }
  return sizes;
}

struct Wide {  // an element of 16 bytes
  uint64_t low, high;
};

// The sizes of input and result, and what comes before the input, as they lie.
struct Padded {
  Dims x, y, before;
};

// Whether the pixels of images that lie channels last are padded: these may stay so.
bool pads_last(Call& c) {
  return lies_last(c.tensor(0)) && c.ints(1).size() <= 2 * (c.tensor(0).dim() - 2) && c.out[0].numel() &&
         can_lie_last(c.out[0]);
}

Padded padded(Call& c, bool last) {
  const Tensor &x = c.tensor(0), &y = c.out[0];
  const Dims& pad = c.ints(1);
  Padded p;
  for (int i = 0; i < y.dim(); ++i) {
    int d = !last || i == 0 ? i : i + 1 < y.dim() ? i + 1 : 1, back = y.dim() - 1 - d;
    p.x.push(x.size(d)), p.y.push(y.size(d)), p.before.push(back < pad.size() / 2 ? int64_t(pad[2 * back]) : 0);
  }
  return p;
}

// By copies of what is filled already, which memcpy makes in wide steps.
template <class T>
void fill_line(T* to, int64_t n, T value) {
  int64_t done = std::min<int64_t>(n, 32);
  std::fill_n(to, done, value);
  for (int64_t some; done < n; done += some) {
    some = std::min({done, n - done, int64_t(4096)});
    std::memcpy(static_cast<void*>(to + done), to, size_t(some) * sizeof(T));
  }
}

// Plane by plane, row by row: what is outside is filled, of the other rows both ends.
template <class T>
void run_pad(const Padded& p, const T* from, T value, T* to) {
  const Dims &x = p.x, &y = p.y, &before = p.before;
  const int n = y.size() - 2;  // dimensions of planes
  const int64_t in = x[n + 1], out = y[n + 1], left = before[n + 1];
  const int64_t height = n < 0 ? 1 : int64_t(x[n]), rows = n < 0 ? 1 : int64_t(y[n]),
                top = n < 0 ? 0 : int64_t(before[n]);
  const int64_t numel = numel_of(y);
  const int64_t first = std::clamp<int64_t>(left, 0, out), end = std::clamp<int64_t>(left + in, first, out);
  const int64_t skip = std::max<int64_t>(-left, 0), bytes = (end - first) * int64_t(sizeof(T));
  parallel_chunks(numel / (rows * out), 1 + kGrain / (rows * out), [&](int64_t begin, int64_t stop) {
    for (int64_t plane = begin; plane < stop; ++plane) {
      bool inside = bytes > 0;
      int64_t rest = plane, base = 0, step = 1;
      for (int d = n - 1; inside && d >= 0; --d) {
        int64_t place = rest % y[d] - before[d];
        rest /= y[d];
        inside = place >= 0 && place < x[d];
        if (inside) base = base + place * step, step = step * x[d];  // beyond, the product could overflow
      }
      T* line = to + plane * rows * out;
      if (!inside) {
        fill_line(line, rows * out, value);
        continue;
      }
      for (int64_t r = 0; r < rows; ++r, line += out) {
        if (r < top || r - top >= height) {
          fill_line(line, out, value);
          continue;
        }
        for (int64_t i = 0; i < first; ++i) line[i] = value;
        std::memcpy(static_cast<void*>(line + first), from + (base * height + r - top) * in + skip, size_t(bytes));
        for (int64_t i = end; i < out; ++i) line[i] = value;
      }
    }
  });
}

WEFT_OP{
  .signature = "constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor",
  .doc = R"(Dimensions widened with value: pad says by how much before and after, the last dimension first. Negative
numbers cut off.

>>> weft.constant_pad_nd(weft.ones(2), (1, 2))
tensor([0., 1., 1., 0., 0.]))",
  .traits = kNoMethod | kNoOut,
  .infer = [](Call& c) { c.give(0, meta(c.tensor(0).dtype(), padded_sizes(c))); },
  .run =
      [](Call& c) {
        const Tensor &x = c.tensor(0), &y = c.out[0];
        if (y.numel() == 0) return;
        alignas(16) char value[16];
        c.arg(2).store(x.dtype(), value);
        const bool last = pads_last(c);
        std::optional<LaidOut> copy;
        if (!last) copy.emplace(x, x.dtype());
        const char* from = last ? as_it_lies(x) : copy->data();
        char* to = last ? as_it_lies(y) : y.data();
        if (last) set_lies_last(y);
        auto run = [&](auto zero) {
          using T = decltype(zero);
          if (x.dim() == 0) {
            std::memcpy(to, from, sizeof(T));
            return;
          }
          T v;
          std::memcpy(&v, value, sizeof(T));
          run_pad(padded(c, last), reinterpret_cast<const T*>(from), v, reinterpret_cast<T*>(to));
        };
        switch (item_size(x.dtype())) {
          case 1: return run(uint8_t());
          case 2: return run(uint16_t());
          case 4: return run(uint32_t());
          case 8: return run(uint64_t());
          default: return run(Wide());
        }
      },
  .any_order = pads_last,
  .back =
      [](Grad& d) {
        Dims less = d.arg(1).ints();
        for (int i = 0; i < less.size(); ++i) less[i] = -less[i];
        d.give(0, pad_constant(d.g(), less, 0));
      },
};

// ---- pixels and channels in another order: views, one copy, and a view of that

Tensor in_order(const Tensor& x, const Dims& sizes) { return view(layout_as(x, contiguous_strides(x.sizes())), sizes); }

void need_image(Call& c, const char* what) {
  if (c.tensor(0).dim() < 3)
    fail(c.name(), " expects input to have at least 3 dimensions, but got input with ", c.tensor(0).dim(),
         " dimension(s)");
  if (c.integer(1) <= 0 || c.integer(1) > 1 << 20)
    fail(c.name(), " expects a positive ", what, ", but got ", c.integer(1));
}

// The dimensions in front of an image, then these, counted from where it begins.
Dims behind(int lead, std::initializer_list<int> rest) {
  Dims order;
  for (int d = 0; d < lead; ++d) order.push(d);
  for (int d : rest) order.push(lead + d);
  return order;
}
Dims behind(const Tensor& x, std::initializer_list<int64_t> rest) {
  Dims sizes(x.sizes().data(), x.dim() - 3);
  for (int64_t n : rest) sizes.push(n);
  return sizes;
}

WEFT_OP{
  .signature = "pixel_shuffle(Tensor input, int upscale_factor) -> Tensor",
  .doc = "Images made larger with elements of their channels.",
  .traits = kHidden | kNoOut,
  .compose =
      [](Call& c) {
        need_image(c, "upscale_factor");
        const Tensor& x = c.tensor(0);
        const Size r = c.integer(1), n = x.size(-3), h = x.size(-2), w = x.size(-1);
        if (n % (r * r))
          fail(
              "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, ",
              "but input.size(-3)=", n, " is not divisible by ", r * r);
        Tensor y = permute(reshape(x, behind(x, {n / (r * r), r, r, h, w})), behind(x.dim() - 3, {0, 3, 1, 4, 2}));
        c.give(0, in_order(y, behind(x, {n / (r * r), h * r, w * r})));
      },
};

WEFT_OP{
  .signature = "pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor",
  .doc = "Images made smaller by moving elements to channels.",
  .traits = kHidden | kNoOut,
  .compose =
      [](Call& c) {
        need_image(c, "downscale_factor");
        const Tensor& x = c.tensor(0);
        const Size r = c.integer(1), n = x.size(-3), h = x.size(-2), w = x.size(-1);
        if (h % r || w % r)
          fail("pixel_unshuffle expects height and width to be divisible by downscale_factor, but ", Dims{h, w},
               " is not divisible by ", r);
        Tensor y = permute(reshape(x, behind(x, {n, h / r, r, w / r, r})), behind(x.dim() - 3, {0, 2, 4, 1, 3}));
        c.give(0, in_order(y, behind(x, {n * r * r, h / r, w / r})));
      },
};

WEFT_OP{
  .signature = "channel_shuffle(Tensor input, int groups) -> Tensor",
  .doc = "The channels of groups dealt out in turn.",
  .traits = kHidden | kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        const Size groups = c.integer(1);
        if (x.dim() < 3) fail("channel_shuffle expects input with > 2 dims, but got input with sizes ", x.sizes());
        if (groups <= 0) fail("channel_shuffle: Number of groups to divide channels in must be positive, got ", groups);
        if (x.size(1) % groups)
          fail("channel_shuffle: Number of channels must be divisible by groups. Got ", x.size(1), " channels and ",
               groups, " groups.");
        Dims split = x.sizes();
        split[1] = x.size(1) / groups;
        split.insert(1, groups);
        c.give(0, in_order(transpose(reshape(x, split), 1, 2), x.sizes()));
      },
};

}  // namespace
}  // namespace weft
