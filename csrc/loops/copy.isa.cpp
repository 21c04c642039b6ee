#include "loops/copy.h"

#include <cstring>

#include "core/dims.h"
#include "loops/convert.h"
#include "loops/parallel.h"
#include "loops/transpose.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int kMaxDims = kMaxRank;
constexpr int64_t kBuffer = 512;     // elements converted at a time
constexpr int64_t kSide = 64;        // the side of a block that is transposed at a time
constexpr int64_t kRowPart = 16384;  // elements of a row that one task copies
constexpr int64_t kShort = 8;        // rows of fewer elements are not worth a loop of their own

struct Quad {
  uint64_t low, high;
};

// Calls f with a plain type of the size of t's elements: where nothing is converted, only the size counts.
template <class F>
inline void visit_size(DType t, const F& f) {
  switch (item_size(t)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Quad{});
  }
}

// ---- contiguous blocks ----

template <class H>
void from_half(DType to, const H* src, char* dst, int64_t n);

template <class H>
void to_half(DType from, const char* src, H* dst, int64_t n);

void convert(DType from, DType to, const void* src, void* dst, int64_t n) {
  if (from == to) {
    if (n) std::memmove(dst, src, size_t(n * item_size(to)));
    return;
  }
  if (from == DType::Half) return from_half(to, static_cast<const Half*>(src), static_cast<char*>(dst), n);
  if (from == DType::BFloat16) return from_half(to, static_cast<const BFloat16*>(src), static_cast<char*>(dst), n);
  if (to == DType::Half) return to_half(from, static_cast<const char*>(src), static_cast<Half*>(dst), n);
  if (to == DType::BFloat16) return to_half(from, static_cast<const char*>(src), static_cast<BFloat16*>(dst), n);
  visit(from, [&](auto f) {
    visit(to, [&](auto t) {
      using From = decltype(f);
      using To = decltype(t);
      if constexpr (!std::is_class_v<From> || is_complex(dtype_of<From>))
        if constexpr (!std::is_class_v<To> || is_complex(dtype_of<To>)) convert_loop<To, From>(src, dst, n);
    });
  });
}

// The half types meet all others through float.
template <class H>
void from_half(DType to, const H* src, char* dst, int64_t n) {
  if (to == DType::Float) return widen(src, reinterpret_cast<float*>(dst), n);
  float buffer[kBuffer];
  for (int64_t i = 0; i < n; i += kBuffer) {
    int64_t part = n - i < kBuffer ? n - i : kBuffer;
    widen(src + i, buffer, part);
    convert(DType::Float, to, buffer, dst + i * item_size(to), part);
  }
}

template <class H>
void to_half(DType from, const char* src, H* dst, int64_t n) {
  if (from == DType::Float) return narrow(reinterpret_cast<const float*>(src), dst, n);
  float buffer[kBuffer];
  for (int64_t i = 0; i < n; i += kBuffer) {
    int64_t part = n - i < kBuffer ? n - i : kBuffer;
    convert(from, DType::Float, src + i * item_size(from), buffer, part);
    narrow(buffer, dst + i, part);
  }
}

void copy_contiguous(DType to, char* dst, DType from, const char* src, int64_t n) {
  int64_t to_size = item_size(to), from_size = item_size(from);
  parallel_shares(n, kGrain, 64, [&](int64_t begin, int64_t end) {
    convert(from, to, src + begin * from_size, dst + begin * to_size, end - begin);
  });
}

template <class T>
inline void fill_row(T* dst, T value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = value;
}

constexpr int64_t kFarBytes = 4 << 20;  // of what does not stay in the cache until it is read

// Writes past the caches: they would read all lines first, and forget others for them.
template <class T>
void fill_far(T* dst, T value, int64_t n) {
  constexpr int64_t kWidth = 16 / sizeof(T);
  T some[kWidth];
  for (T& x : some) x = value;
  for (; n && reinterpret_cast<uintptr_t>(dst) % 64; --n) *dst++ = value;
  for (; n >= 4 * kWidth; n -= 4 * kWidth, dst += 4 * kWidth)
    for (int i = 0; i < 4; ++i) store_past_caches(dst + i * kWidth, some);
  end_stores_past_caches();
  fill_row(dst, value, n);
}

void fill(DType type, void* dst, int64_t n, const void* value) {
  visit_size(type, [&](auto zero) {
    using T = decltype(zero);
    T element;
    std::memcpy(&element, value, sizeof(T));
    auto* part = n * int64_t(sizeof(T)) < kFarBytes ? fill_row<T> : fill_far<T>;
    parallel_shares(n, kGrain, 64,
                    [&](int64_t begin, int64_t end) { part(static_cast<T*>(dst) + begin, element, end - begin); });
  });
}

// ---- the walk over an n-d box ----

struct Box {
  int ndim = 0, inner = 0;  // dimensions before the last two that lie inside of the one before the last in dst
  int64_t size[kMaxDims], dst[kMaxDims], src[kMaxDims];

  void push(int64_t n, int64_t d, int64_t s) {
    size[ndim] = n, dst[ndim] = d, src[ndim] = s;
    ++ndim;
  }
  void swap(int i, int j) {
    auto exchange = [=](int64_t* v) {
      int64_t t = v[i];
      v[i] = v[j];
      v[j] = t;
    };
    exchange(size), exchange(dst), exchange(src);
  }
};

inline int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

// Puts the dimension along which dst is densest last, and joins dimensions that one stride can walk.
// Returns false if there is nothing to copy.
bool simplify(Box& box, const int64_t* dst, const int64_t* src, const int64_t* sizes, int ndim) {
  Box all;
  for (int d = 0; d < ndim; ++d) {
    if (sizes[d] == 0) return false;
    if (sizes[d] == 1) continue;
    all.push(sizes[d], dst[d], src[d]);
    for (int i = all.ndim - 1; i > 0 && magnitude(all.dst[i - 1]) < magnitude(all.dst[i]); --i) all.swap(i - 1, i);
  }
  for (int d = 0; d < all.ndim; ++d) {
    int last = box.ndim - 1;
    if (last >= 0 && box.dst[last] == all.dst[d] * all.size[d] && box.src[last] == all.src[d] * all.size[d]) {
      box.size[last] *= all.size[d];
      box.dst[last] = all.dst[d], box.src[last] = all.src[d];
    } else {
      box.push(all.size[d], all.dst[d], all.src[d]);
    }
  }
  return true;
}

// The last two dimensions, which one kernel call walks; the dimensions before them are walked by each_block.
struct Block {
  int64_t rows, cols, dst_row, dst_col, src_row, src_col;
};

// Cuts the box into blocks of at most rows x cols and calls f(block, dst offset, src offset) for each.
template <class F>
void each_block(const Box& box, int64_t rows, int64_t cols, const F& f) {
  int r = box.ndim - 2, c = box.ndim - 1;
  int64_t row_blocks = (box.size[r] + rows - 1) / rows, col_blocks = (box.size[c] + cols - 1) / cols;
  int64_t blocks = row_blocks * col_blocks;
  for (int d = 0; d < r; ++d) blocks *= box.size[d];
  int64_t inner = (box.size[r] < rows ? box.size[r] : rows) * (box.size[c] < cols ? box.size[c] : cols);
  int64_t grain = inner >= kGrain ? 1 : kGrain / inner;
  parallel_shares(blocks, grain, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      int64_t rest = b / col_blocks, j = b % col_blocks * cols, d_at = j * box.dst[c], s_at = j * box.src[c];
      auto step_to = [&](int d) {
        int64_t k = rest % box.size[d];
        rest /= box.size[d];
        d_at += k * box.dst[d], s_at += k * box.src[d];
      };
      for (int d = r - 1; d >= r - box.inner; --d) step_to(d);
      int64_t i = rest % row_blocks * rows;
      rest /= row_blocks;
      d_at += i * box.dst[r], s_at += i * box.src[r];
      for (int d = r - 1 - box.inner; d >= 0 && rest; --d) step_to(d);
      Block block{box.size[r] - i < rows ? box.size[r] - i : rows,
                  box.size[c] - j < cols ? box.size[c] - j : cols,
                  box.dst[r],
                  box.dst[c],
                  box.src[r],
                  box.src[c]};
      f(block, d_at, s_at);
    }
  });
}

// Short copies without a call.
inline void copy_bytes(char* dst, const char* src, int64_t bytes) {
  if (bytes >= 1024) return void(std::memcpy(dst, src, size_t(bytes)));
  for (; bytes >= 64; bytes -= 64, dst += 64, src += 64) std::memcpy(dst, src, 64);
  for (; bytes >= 8; bytes -= 8, dst += 8, src += 8) std::memcpy(dst, src, 8);
  for (; bytes > 0; --bytes) *dst++ = *src++;
}

template <class T>
inline void move_row(T* __restrict dst, int64_t ds, const T* __restrict src, int64_t ss, int64_t n) {
  if (ds == 1 && ss == 1) {
    copy_bytes(reinterpret_cast<char*>(dst), reinterpret_cast<const char*>(src), n * int64_t(sizeof(T)));
  } else if (ds == 1 && ss == 0) {
    fill_row(dst, *src, n);
  } else if (ds == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i * ss];
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * ds] = src[i * ss];
  }
}

// Rows of N elements.
template <class T, int N>
void move_short(T* __restrict dst, const T* __restrict src, const Block& b) {
  if (b.dst_col == 1 && b.src_col == 1) {
    for (int64_t i = 0; i < b.rows; ++i) std::memcpy(dst + i * b.dst_row, src + i * b.src_row, N * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < b.rows; ++i)
    for (int j = 0; j < N; ++j) dst[i * b.dst_row + j * b.dst_col] = src[i * b.src_row + j * b.src_col];
}
template <class T>
void move_block(T* dst, const T* src, const Block& b) {
  switch (b.cols) {
    case 1: return move_short<T, 1>(dst, src, b);
    case 2: return move_short<T, 2>(dst, src, b);
    case 3: return move_short<T, 3>(dst, src, b);
    case 4: return move_short<T, 4>(dst, src, b);
    default:
      for (int64_t i = 0; i < b.rows; ++i)
        move_row(dst + i * b.dst_row, b.dst_col, src + i * b.src_row, b.src_col, b.cols);
  }
}

void convert_row(DType to, char* dst, int64_t ds, DType from, const char* src, int64_t ss, int64_t n) {
  int64_t to_size = item_size(to), from_size = item_size(from);
  if (ds == 1 && ss == 1) return convert(from, to, src, dst, n);
  alignas(64) char gathered[kBuffer * 16], converted[kBuffer * 16];
  for (int64_t i = 0; i < n; i += kBuffer) {
    int64_t part = n - i < kBuffer ? n - i : kBuffer;
    const char* in = src + i * ss * from_size;
    char* out = dst + i * ds * to_size;
    if (ss != 1) {
      visit_size(from, [&](auto zero) {
        using T = decltype(zero);
        move_row(reinterpret_cast<T*>(gathered), 1, reinterpret_cast<const T*>(in), ss, part);
      });
      in = gathered;
    }
    convert(from, to, in, ds == 1 ? out : converted, part);
    if (ds != 1) {
      visit_size(to, [&](auto zero) {
        using T = decltype(zero);
        move_row(reinterpret_cast<T*>(out), ds, reinterpret_cast<const T*>(converted), 1, part);
      });
    }
  }
}

// Where rows are short, the longest of the other dimensions is walked inside of the rest.
void lengthen_blocks(Box& box) {
  const int r = box.ndim - 2;
  int longest = r;
  for (int d = 0; d < r; ++d)
    if (box.size[d] > box.size[longest]) longest = d;
  if (box.size[r + 1] >= kShort || box.size[r] >= 4 * kShort) return;
  box.inner = r - longest;
  for (int d = longest; d < r; ++d) box.swap(d, d + 1);
}

void copy_rows(Box& box, DType to, char* dst, DType from, const char* src) {
  lengthen_blocks(box);
  int64_t length = box.size[box.ndim - 1] < kRowPart ? box.size[box.ndim - 1] : kRowPart;
  int64_t rows = kRowPart / length;
  if (box.inner) {  // the inner dimensions write between the rows: while these are in the cache
    int64_t apart = magnitude(box.dst[box.ndim - 2]);
    rows = apart * 64 < kRowPart ? kRowPart / (apart + 1) : 64;
  }
  if (to != from) {
    int64_t to_size = item_size(to), from_size = item_size(from);
    return each_block(box, rows, length, [&](const Block& b, int64_t d_at, int64_t s_at) {
      for (int64_t i = 0; i < b.rows; ++i)
        convert_row(to, dst + (d_at + i * b.dst_row) * to_size, b.dst_col, from,
                    src + (s_at + i * b.src_row) * from_size, b.src_col, b.cols);
    });
  }
  visit_size(to, [&](auto zero) {
    using T = decltype(zero);
    each_block(box, rows, length, [&](const Block& b, int64_t d_at, int64_t s_at) {
      T* d = reinterpret_cast<T*>(dst) + d_at;
      const T* s = reinterpret_cast<const T*>(src) + s_at;
      move_block(d, s, b);
    });
  });
}

// dst[i * N + j] = src[j * ss + i]: N rows become columns.
template <int N, class T>
void interleave(const T* __restrict src, int64_t ss, T* __restrict dst, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i)
    for (int j = 0; j < N; ++j) dst[i * N + j] = src[j * ss + i];
}

// dst runs along the last dimension, src along the one before it.
void copy_transposed(const Box& box, DType to, char* dst, DType from, const char* src) {
  int64_t to_size = item_size(to);
  visit_size(from, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (sizeof(T) <= 8) {
      int64_t cols = box.size[box.ndim - 1];
      bool narrow = to == from && cols <= (sizeof(T) == 4 ? 8 : 4) && box.dst[box.ndim - 2] == cols;  // no gaps
      each_block(box, narrow ? kSide * kSide / cols : kSide, kSide, [&](const Block& b, int64_t d_at, int64_t s_at) {
        const T* s = reinterpret_cast<const T*>(src) + s_at;
        if (to == from) {
          T* d = reinterpret_cast<T*>(dst) + d_at;
          if (narrow && b.cols == 2) return interleave<2>(s, b.src_col, d, b.rows);
          if constexpr (sizeof(T) == 4) {
            if (narrow) return transpose_narrow(s, b.src_col, d, b.rows, b.cols);
          } else {
            if (narrow && b.cols == 3) return interleave<3>(s, b.src_col, d, b.rows);
            if (narrow && b.cols == 4) return interleave<4>(s, b.src_col, d, b.rows);
          }
          return transpose_block(s, b.src_col, d, b.dst_row, b.rows, b.cols);
        }
        alignas(64) T turned[kSide * kSide];
        transpose_block(s, b.src_col, turned, kSide, b.rows, b.cols);
        for (int64_t i = 0; i < b.rows; ++i)
          convert(from, to, turned + i * kSide, dst + (d_at + i * b.dst_row) * to_size, b.cols);
      });
    }
  });
}

// Whether src runs along another dimension than dst does; moves that one to the second place from the end.
bool is_transposed(Box& box, DType from) {
  int last = box.ndim - 1;
  if (box.dst[last] != 1 || box.src[last] == 1 || box.src[last] == 0 || item_size(from) > 8) return false;
  for (int d = 0; d < last; ++d) {
    if (box.src[d] != 1) continue;
    if (box.size[d] < kShort && box.size[last] < kShort) return false;
    for (; d < last - 1; ++d) box.swap(d, d + 1);
    return true;
  }
  return false;
}

void copy(DType to, char* dst, const int64_t* dst_strides, DType from, const char* src, const int64_t* src_strides,
          const int64_t* sizes, int ndim) {
  Box box;
  if (!simplify(box, dst_strides, src_strides, sizes, ndim)) return;
  if (box.ndim == 0) return convert(from, to, src, dst, 1);
  if (box.ndim == 1) {
    if (box.dst[0] == 1 && box.src[0] == 1) return copy_contiguous(to, dst, from, src, box.size[0]);
    box.push(1, 0, 0);
    box.swap(0, 1);
  }
  if (is_transposed(box, from))
    copy_transposed(box, to, dst, from, src);
  else
    copy_rows(box, to, dst, from, src);
}

}  // namespace

extern const CopyKernels copy_kernels_table;
const CopyKernels copy_kernels_table = {copy, convert, fill};

}  // namespace weft::WEFT_ISA
