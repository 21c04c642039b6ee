// Sums and products of complex numbers, as loops over their parts, which lie side by side.
#include "loops/reduce_lanes.h"

namespace weft::WEFT_ISA {
namespace {

// The parts of the numbers of a vector V, moved by F: from the I-th place to F(I).
template <class R, class V, class F>
inline V moved(V v, const F&) {
  return []<int... I>(V v, std::integer_sequence<int, I...>) { return __builtin_shufflevector(v, v, F{}(I)...); }(
             v, std::make_integer_sequence<int, int(sizeof(V) / sizeof(R))>());
}

template <class R>
struct Added {
  using Wide = Complex<double>;
  static constexpr R idle(int) { return 0; }
  template <class V>
  static V join(V a, V b) {
    return a + b;
  }
};

template <class R>
struct Multiplied {
  using Wide = Complex<R>;
  static constexpr R idle(int lane) { return R(1 - lane % 2); }
  template <class V>
  static V join(V a, V b) {
    V re = moved<R>(a, [](int i) { return i & ~1; }), im = moved<R>(a, [](int i) { return i | 1; }), sign;
    for (int l = 0; l < int(sizeof(V) / sizeof(R)); ++l) sign[l] = l % 2 ? R(1) : R(-1);
    return re * b + im * moved<R>(b, [](int i) { return i ^ 1; }) * sign;
  }
};

template <class R, class Op>
struct PairLoops {
  using W = typename Op::Wide;
  static constexpr int L = kLanes<R>, P = kPackVectors;

  static Vec<R> idle() {
    Vec<R> v;
    for (int l = 0; l < L; ++l) v[l] = Op::idle(l);
    return v;
  }
  static Vec<R> take(const R* x) { return load<Vec<R>>(x); }
  static Vec<R> take_some(const R* x, int64_t n) {
    Vec<mask_type<R>> lane;
    for (int l = 0; l < L; ++l) lane[l] = l;
    return lane < mask_type<R>(n) ? load_some<R>(x, n, R(0)) : idle();
  }
  template <int lanes, class V>
  static Complex<R> joined(V v) {
    if constexpr (lanes == 2) {
      return {v[0], v[1]};
    } else {
      constexpr auto half = std::make_integer_sequence<int, lanes / 2>{};
      return joined<lanes / 2>(Op::join(lanes_from<0>(v, half), lanes_from<lanes / 2>(v, half)));
    }
  }
  static W both(W a, W b) {
    if constexpr (std::is_same_v<Op, Added<R>>)
      return a + b;
    else
      return a * b;
  }

  // At most kRowBlock parts. As in Loops, part i always goes to lane i of a pack.
  static Complex<R> block(const R* x, int64_t n) {
    Vec<R> acc[P];
#pragma GCC unroll 16
    for (int k = 0; k < P; ++k) acc[k] = idle();
    int64_t i = 0;
    for (; i + P * L <= n; i += P * L)
#pragma GCC unroll 16
      for (int k = 0; k < P; ++k) acc[k] = Op::join(acc[k], take(x + i + k * L));
#pragma GCC unroll 16
    for (int k = 0; k < P; ++k) {
      int64_t left = n - i - k * L;
      if (left >= L)
        acc[k] = Op::join(acc[k], take(x + i + k * L));
      else if (left > 0)
        acc[k] = Op::join(acc[k], take_some(x + i + k * L, left));
    }
#pragma GCC unroll 4
    for (int half = P / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) acc[k] = Op::join(acc[k], acc[k + half]);
    }
    return joined<L>(acc[0]);
  }

  static void rows(void* acc, const void* data, int64_t rows, int64_t stride, int64_t n, const Reducer::Where&) {
    W* wide = static_cast<W*>(acc);
    const R* x = static_cast<const R*>(data);
    for (int64_t i = 0; i < rows; ++i, x += 2 * stride)
      for (int64_t k = 0; k < 2 * n; k += kRowBlock) {
        Complex<R> some = block(x + k, std::min(kRowBlock, 2 * n - k));
        wide[i] = both(wide[i], {some.re, some.im});
      }
  }

  // lanes[j] = part j of at most kColumnBlock rows, eight of which are first joined among themselves.
  static void join_rows(R* lanes, const R* x, int64_t n, int64_t stride, int64_t width) {
    for (int64_t k = 0; k < n; k += 8) {
      int64_t some = std::min<int64_t>(8, n - k);
      auto add = [&](int64_t j, auto&& fetch) {
        const R* at = x + k * stride + j;
        Vec<R> v = fetch(at);
        for (int64_t g = 1; g < some; ++g) v = Op::join(v, fetch(at + g * stride));
        store(lanes + j, k ? Op::join(load<Vec<R>>(lanes + j), v) : v);
      };
      int64_t j = 0;
      for (; j + L <= width; j += L) add(j, take);
      if (j < width) add(j, [&](const R* q) { return take_some(q, width - j); });
    }
  }

  static void columns(void* acc, const void* data, int64_t n, int64_t stride, int64_t width, const Reducer::Where&) {
    W* wide = static_cast<W*>(acc);
    const R* x = static_cast<const R*>(data);
    alignas(64) R lanes[2 * kMaxColumns + 64];
    for (int64_t k = 0; k < n; k += kColumnBlock) {
      join_rows(lanes, x + 2 * k * stride, std::min(kColumnBlock, n - k), 2 * stride, 2 * width);
      for (int64_t j = 0; j < width; ++j) wide[j] = both(wide[j], {lanes[2 * j], lanes[2 * j + 1]});
    }
  }

  static void start(void* acc, int64_t n) {
    using Part = decltype(W::re);
    for (int64_t i = 0; i < n; ++i) static_cast<W*>(acc)[i] = {Part(Op::idle(0)), 0};
  }
  static void merge(void* acc, const void* other, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<W*>(acc)[i] = both(static_cast<W*>(acc)[i], static_cast<const W*>(other)[i]);
  }
  template <bool mean>
  static void finish(const void* acc, int64_t n, const Reducer::Result& r) {
    const W* w = static_cast<const W*>(acc);
    for (int64_t i = 0; i < n; ++i)
      reinterpret_cast<Complex<R>*>(r.y)[i * r.stride] = cast<Complex<R>>(mean ? w[i] / double(r.count) : w[i]);
  }
};

template <class T, class R, class Op, bool mean = false>
const Reducer* reducer() {
  using L = PairLoops<R, Op>;
  static constexpr Reducer r{sizeof(typename Op::Wide),
                             sizeof(Complex<R>),
                             sizeof(Complex<R>),
                             0,
                             false,
                             L::start,
                             L::rows,
                             L::columns,
                             L::merge,
                             L::template finish<mean>,
                             pack<T, Plain>,
                             false};
  return &r;
}

template <class T, class R>
const Reducer* find_of(Reduce op) {
  if (op == Reduce::prod) return reducer<T, R, Multiplied<R>>();
  return op == Reduce::mean ? reducer<T, R, Added<R>, true>() : reducer<T, R, Added<R>>();
}

}  // namespace

const Reducer* find_pairs(Reduce op, DType dtype) {
  return dtype == DType::ComplexFloat ? find_of<c64, float>(op) : find_of<c128, double>(op);
}

}  // namespace weft::WEFT_ISA
