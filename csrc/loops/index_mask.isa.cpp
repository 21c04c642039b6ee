// Masks: choosing between two tensors, packing what a mask selects, counting and finding what is not zero.
#include "loops/convert.h"
#include "loops/index_parts.h"
#include "loops/index_walk.h"

namespace weft::WEFT_ISA {
namespace {

// ---- cond ? a : b ----

// A row's operand: consecutive elements, or one for all.
template <class T>
struct Many {
  const T* p;
  T operator[](int64_t i) const { return p[i]; }
};
template <class T>
struct Same {
  T value;
  T operator[](int64_t) const { return value; }
};

template <class T, class A, class B>
inline void blend_contiguous(T* out, const uint8_t* cond, A a, B b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T x = a[i], y = b[i];
    out[i] = cond[i] ? x : y;
  }
}

struct RowStrides {
  int64_t out, cond, a, b;
};

template <class T>
inline void blend_row(char* out, const char* cond, const char* a, const char* b, RowStrides s, int64_t n) {
  constexpr int64_t size = sizeof(T);
  auto* to = reinterpret_cast<T*>(out);
  auto* c = reinterpret_cast<const uint8_t*>(cond);
  auto many = [](const char* p) { return Many<T>{reinterpret_cast<const T*>(p)}; };
  auto same = [](const char* p) { return Same<T>{load<T>(p)}; };
  if (s.out == size && s.cond == 1 && s.a == size && s.b == size) return blend_contiguous(to, c, many(a), many(b), n);
  if (s.out == size && s.cond == 1 && s.a == 0 && s.b == size) return blend_contiguous(to, c, same(a), many(b), n);
  if (s.out == size && s.cond == 1 && s.a == size && s.b == 0) return blend_contiguous(to, c, many(a), same(b), n);
  if (s.out == size && s.cond == 1 && s.a == 0 && s.b == 0) return blend_contiguous(to, c, same(a), same(b), n);
  for (int64_t i = 0; i < n; ++i) {
    T x = load<T>(a + i * s.a), y = load<T>(b + i * s.b);
    store(out + i * s.out, cond[i * s.cond] ? x : y);
  }
}

template <class T>
void blend_items(const Walk<4>& w, char* out, const char* cond, const char* a, const char* b) {
  constexpr int64_t part = kGrain / 2;
  int64_t parts = (w.row() + part - 1) / part, rows = w.count() / w.row();
  int64_t grain = w.row() < part ? part / w.row() : 1;
  RowStrides s{w.row_stride(0), w.row_stride(1), w.row_stride(2), w.row_stride(3)};
  parallel_shares(rows * parts, grain, 1, [&](int64_t begin, int64_t end) {
    Rows<4> at(w, begin / parts);
    int64_t p = begin % parts;
    for (int64_t i = begin; i < end; ++i) {
      int64_t j = p * part, n = w.row() - j < part ? w.row() - j : part;
      blend_row<T>(out + at.offset[0] + j * s.out, cond + at.offset[1] + j * s.cond, a + at.offset[2] + j * s.a,
                   b + at.offset[3] + j * s.b, s, n);
      if (++p == parts) p = 0, at.next();
    }
  });
}

// ---- counting ----

template <class V>
inline uint8_t truth(V x) {
  return is_nonzero(x);
}
inline uint8_t truth(Half x) { return (x.bits & 0x7fff) != 0; }
inline uint8_t truth(BFloat16 x) { return (x.bits & 0x7fff) != 0; }

template <class V>
inline int64_t count_nonzero(const V* x, int64_t n) {
  int64_t total = 0;
  for (int64_t begin = 0; begin < n; begin += 128) {  // bytes can count so far
    int64_t end = n - begin < 128 ? n : begin + 128;
    uint8_t count = 0;
    for (int64_t i = begin; i < end; ++i) count = uint8_t(count + truth(x[i]));
    total += count;
  }
  return total;
}

// ---- packing what the mask keeps ----

// Packs until `count` elements are found: never writes past them, since the next chunk's begin there.
template <class T>
inline void pack(T* out, const T* x, const uint8_t* mask, int64_t count) {
  int64_t found = 0, i = 0;
#if WEFT_SIMD_PACKS
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    for (; count - found >= kLanes<U>; i += kLanes<U>)
      found += store_packed(reinterpret_cast<U*>(out + found), load<Vec<U>>(x + i), nonzero_bytes<U>(mask + i));
  }
#endif
  for (; found < count; ++i) {
    out[found] = x[i];
    found += mask[i] != 0;
  }
}

template <class T>
inline void unpack(T* x, const uint8_t* mask, const T* source, int64_t count) {
  for (int64_t found = 0, i = 0; found < count; ++i) {
    x[i] = mask[i] ? source[found] : x[i];
    found += mask[i] != 0;
  }
}

// ---- coordinates of what is not zero ----

// The positions in x[0, n), n <= kBlock, of what is not zero; returns how many. Room for 16 more is needed.
template <class V>
inline int64_t true_positions(const V* x, int64_t n, int32_t* positions) {
  uint8_t flags[kBlock + 16];
  for (int64_t i = 0; i < n; ++i) flags[i] = truth(x[i]);
  int64_t found = 0, i = 0;
#if WEFT_SIMD_PACKS
  std::memset(flags + n, 0, 16);
  constexpr int W = kLanes<int32_t>;
  static_assert(W <= 16);
  Vec<int32_t> at;
  for (int k = 0; k < W; ++k) at[k] = k;
  for (; i < n; i += W, at += W) found += store_packed(positions + found, at, nonzero_bytes<int32_t>(flags + i));
#endif
  for (; i < n; ++i) {
    positions[found] = int32_t(i);
    found += flags[i];
  }
  return found;
}

// Writes the coordinates of what is not zero in the flat range [begin, end), a stretch of the last dimension at a time.
template <class V>
void write_coordinates(const V* x, int64_t begin, int64_t end, int ndim, const int64_t* sizes, int64_t* out,
                       int64_t row, int64_t column) {
  int64_t coord[kIndexDims], rest = begin;
  for (int d = ndim - 1; d >= 0; --d) coord[d] = rest % sizes[d], rest /= sizes[d];
  int last = ndim - 1;
  int32_t positions[kBlock + 16];
  while (begin < end) {
    int64_t n = sizes[last] - coord[last];
    n = n < kBlock ? n : kBlock;
    n = n < end - begin ? n : end - begin;
    int64_t found = true_positions(x + begin, n, positions);
    for (int64_t i = 0; i < found; ++i) out[i * row + last * column] = coord[last] + positions[i];
    for (int d = 0; d < last; ++d)
      for (int64_t i = 0; i < found; ++i) out[i * row + d * column] = coord[d];
    out += found * row;
    begin += n, coord[last] += n;
    for (int d = last; d > 0 && coord[d] == sizes[d]; --d) coord[d] = 0, ++coord[d - 1];
  }
}

}  // namespace

void blend(int64_t item, char* out, const char* cond, const char* a, const char* b, int ndim, const int64_t* sizes,
           const BlendStrides& s) {
  if (is_empty(ndim, sizes)) return;
  Walk<4> w;
  w.start(4);
  for (int d = 0; d < ndim; ++d) {
    int64_t strides[4] = {s.out[d] * item, s.cond[d], s.a[d] * item, s.b[d] * item};
    w.push(sizes[d], strides);
  }
  w.finish();
  visit_item(item, [&](auto zero) { blend_items<decltype(zero)>(w, out, cond, a, b); });
}

int64_t count_true(DType type, const char* x, int64_t n, int64_t* starts) {
  int64_t chunks = mask_chunks(n);
  visit(type, [&](auto zero) {
    using V = typename Stored<decltype(zero)>::type;
    const V* values = reinterpret_cast<const V*>(x);
    parallel_chunks(n, kMaskChunk, [&](int64_t begin, int64_t end) {
      starts[begin / kMaskChunk + 1] = count_nonzero(values + begin, end - begin);
    });
  });
  starts[0] = 0;
  for (int64_t c = 0; c < chunks; ++c) starts[c + 1] += starts[c];
  return starts[chunks];
}

void masked_select(int64_t item, char* out, const char* x, const char* mask, int64_t n, const int64_t* starts) {
  visit_item(item, [&](auto zero) {
    using T = decltype(zero);
    parallel_chunks(n, kMaskChunk, [&](int64_t begin, int64_t) {
      const int64_t* start = starts + begin / kMaskChunk;
      pack(reinterpret_cast<T*>(out) + start[0], reinterpret_cast<const T*>(x) + begin,
           reinterpret_cast<const uint8_t*>(mask) + begin, start[1] - start[0]);
    });
  });
}

void masked_scatter(int64_t item, char* x, const char* mask, const char* source, int64_t n, const int64_t* starts) {
  visit_item(item, [&](auto zero) {
    using T = decltype(zero);
    parallel_chunks(n, kMaskChunk, [&](int64_t begin, int64_t) {
      const int64_t* start = starts + begin / kMaskChunk;
      unpack(reinterpret_cast<T*>(x) + begin, reinterpret_cast<const uint8_t*>(mask) + begin,
             reinterpret_cast<const T*>(source) + start[0], start[1] - start[0]);
    });
  });
}

void nonzero(DType type, const char* x, int ndim, const int64_t* sizes, const int64_t* starts, int64_t* out,
             int64_t row, int64_t column) {
  if (ndim == 0) return;
  int64_t n = 1;
  for (int d = 0; d < ndim; ++d) n *= sizes[d];
  visit(type, [&](auto zero) {
    using V = typename Stored<decltype(zero)>::type;
    const V* values = reinterpret_cast<const V*>(x);
    parallel_chunks(n, kMaskChunk, [&](int64_t begin, int64_t end) {
      write_coordinates(values, begin, end, ndim, sizes, out + starts[begin / kMaskChunk] * row, row, column);
    });
  });
}

}  // namespace weft::WEFT_ISA
