// Elements moved without arithmetic: triangles, joins, flips, repeats.
#include <cstring>

#include "loops/convert.h"
#include "loops/index_parts.h"
#include "loops/index_walk.h"
#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

constexpr int64_t kTaskBytes = 1 << 17;  // bytes moved that make a task

inline int64_t between(int64_t low, int64_t x, int64_t high) { return x < low ? low : x > high ? high : x; }

inline int64_t rows_per_task(int64_t bytes) { return bytes >= kTaskBytes ? 1 : kTaskBytes / (bytes > 0 ? bytes : 1); }

inline void copy_bytes(char* out, const char* x, int64_t n) {
  if (n > 0 && out != x) std::memcpy(out, x, size_t(n));
}

inline void clear_bytes(char* out, int64_t n) {
  if (n > 0) std::memset(out, 0, size_t(n));
}

template <class T, int... I>
inline Vec<T> reversed(Vec<T> v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (kLanes<T> - 1 - I)...);
}

template <class T>
inline void reverse(char* out, const char* x, int64_t n) {
  constexpr int64_t L = kLanes<T>;
  if constexpr (L > 1) {
    if (n >= L) {  // the last vector may write some elements again
      constexpr auto lanes = std::make_integer_sequence<int, L>{};
      T* to = reinterpret_cast<T*>(out);
      const T* from = reinterpret_cast<const T*>(x);
      for (int64_t i = 0; i < n; i += L) {
        if (i + L > n) i = n - L;
        store(to + i, reversed<T>(load<Vec<T>>(from + n - L - i), lanes));
      }
      return;
    }
  }
  T* __restrict to = reinterpret_cast<T*>(out);
  const T* __restrict from = reinterpret_cast<const T*>(x) + n - 1;
  for (int64_t i = 0; i < n; ++i) to[i] = from[-i];
}

}  // namespace

void triangle(int64_t item, char* out, const char* x, int64_t batch, int64_t rows, int64_t cols, int64_t diagonal,
              bool upper) {
  int64_t bytes = cols * item;
  parallel_shares(batch * rows, rows_per_task(bytes), 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      // The first column right of the diagonal (tril keeps what is before it), or on it (triu keeps it and after).
      int64_t row = r % rows, border = between(0, row + between(-rows, diagonal, cols) + !upper, cols) * item;
      char* to = out + r * bytes;
      const char* from = x + r * bytes;
      if (upper)
        clear_bytes(to, border), copy_bytes(to + border, from + border, bytes - border);
      else
        copy_bytes(to, from, border), clear_bytes(to + border, bytes - border);
    }
  });
}

// Every task writes a range of bytes of out, in runs as long as the parts allow: memcpy knows best, given long ones.
// The same where every part gives one element of type T at a time: some rows of one part after the other, so that what
// is written stays near.
template <int n>
struct Bytes {
  char bytes[n];
};
template <class T>
void interleave(char* out, const JoinPart* parts, int64_t count, int64_t rows) {
  constexpr int64_t kNear = 8192;
  int64_t some = kNear / (count * int64_t(sizeof(T)));
  some = some < 16 ? 16 : some;
  parallel_shares(rows, kGrain / count + 1, some, [&](int64_t begin, int64_t end) {
    for (int64_t from = begin; from < end; from += some) {
      int64_t to = from + some < end ? from + some : end;
      for (int64_t p = 0; p < count; ++p) {
        T* each = reinterpret_cast<T*>(out) + p;
        const T* x = reinterpret_cast<const T*>(parts[p].data);
        for (int64_t r = from; r < to; ++r) each[r * count] = x[r];
      }
    }
  });
}

void join(char* out, const JoinPart* parts, int64_t count, int64_t rows) {
  int64_t width = 0;
  bool alike = rows > 1;
  for (int64_t p = 0; p < count; ++p) {
    width += parts[p].bytes;
    alike = alike && parts[p].bytes == parts[0].bytes && parts[p].stride == parts[p].bytes;
  }
  if (alike && parts[0].bytes == 1) return interleave<uint8_t>(out, parts, count, rows);
  if (alike && parts[0].bytes == 2) return interleave<uint16_t>(out, parts, count, rows);
  if (alike && parts[0].bytes == 4) return interleave<uint32_t>(out, parts, count, rows);
  if (alike && parts[0].bytes == 8) return interleave<uint64_t>(out, parts, count, rows);
  if (alike && parts[0].bytes == 16) return interleave<Bytes<16>>(out, parts, count, rows);
  if (alike && parts[0].bytes == 32) return interleave<Bytes<32>>(out, parts, count, rows);
  if (alike && parts[0].bytes == 64) return interleave<Bytes<64>>(out, parts, count, rows);
  int64_t total = width * rows, threads = total < 2 * kTaskBytes ? 1 : loop_threads();
  int64_t share = (total + threads - 1) / threads;
  share += -share & 63;
  parallel_chunks(total, share, [&](int64_t begin, int64_t end) {
    int64_t row = begin / width, skip = begin % width, p = 0;
    while (skip >= parts[p].bytes) skip -= parts[p++].bytes;
    while (begin < end) {
      int64_t n = parts[p].bytes - skip < end - begin ? parts[p].bytes - skip : end - begin;
      copy_bytes(out + begin, parts[p].data + row * parts[p].stride + skip, n);
      begin += n, skip = 0;
      if (++p == count) p = 0, ++row;
    }
  });
}

void flip(int64_t item, char* out, const char* x, int ndim, const int64_t* sizes, uint64_t flipped) {
  if (is_empty(ndim, sizes)) return;
  // Neighbours that go the same way are one dimension, walked from either end.
  Walk<2> w;
  w.start(2);
  int64_t step = item, steps[kIndexDims];
  for (int d = ndim - 1; d >= 0; step *= sizes[d--]) steps[d] = step;
  for (int d = 0; d < ndim; ++d) {
    bool back = flipped >> d & 1;
    int64_t strides[2] = {steps[d], back ? -steps[d] : steps[d]};
    w.push(sizes[d], strides);
    if (back) x += (sizes[d] - 1) * steps[d];
  }
  w.finish();
  // Long rows are cut, so that all threads have work.
  int64_t part = kTaskBytes / item, parts = (w.row() + part - 1) / part;
  bool back = w.row_stride(1) < 0;
  parallel_shares(w.count() / w.row() * parts, rows_per_task(w.row() * item), 1, [&](int64_t begin, int64_t end) {
    Rows<2> at(w, begin / parts);
    int64_t p = begin % parts;
    for (int64_t i = begin; i < end; ++i) {
      int64_t column = p * part, n = w.row() - column < part ? w.row() - column : part;
      char* to = out + at.offset[0] + column * item;
      const char* from = x + at.offset[1] + column * w.row_stride(1);
      if (back)
        visit_item(item, [&](auto zero) { reverse<decltype(zero)>(to, from - (n - 1) * item, n); });
      else
        copy_bytes(to, from, n * item);
      if (++p == parts) p = 0, at.next();
    }
  });
}

void repeat_index(int64_t* out, const int64_t* repeats, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < repeats[i]; ++k) *out++ = i;
}

}  // namespace weft::WEFT_ISA
