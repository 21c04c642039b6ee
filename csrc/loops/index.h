// Kernels that move elements to and from places chosen by index tensors or masks.
//
// Two tensors meet in every indexing kernel: the `table`, whose places the indices choose, and the `dense` one,
// which is walked in order (the result of a gather, the source of a scatter). An IndexPlan says where both lie:
//
//   place in the table = sum over dimensions (coordinate * stride) + sum over inputs (value * step)
//
// so one pair of kernels serves gather, index_select, take and x[i, j] on one side, and scatter, index_add,
// index_copy, index_fill, put and x[i, j] = y on the other. Strides are counted in elements.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "simd/isa.h"

namespace weft {

// Values that choose along one dimension of the table: 0 <= value < size, or -size <= value if negatives count
// from the end.
struct IndexInput {
  const int64_t* values;
  const int64_t* strides;  // one for every dimension walked; 0 where the index is broadcast
  int64_t size;
  int64_t step;  // the stride of that dimension of the table
};

struct IndexPlan {
  int ndim;
  const int64_t* sizes;
  const int64_t* dense;  // strides
  const int64_t* table;  // strides; 0 along the dimensions in which only the indices move
  int inputs = 0;
  const IndexInput* input = nullptr;
  bool negatives = false;
};

struct IndexFault {
  int input;
  int64_t value;
};

enum class Scatter : uint8_t { set, add, mul, amin, amax };

struct BlendStrides {
  const int64_t *out, *cond, *a, *b;
};

// One of the tensors that are joined: rows of `bytes`, `stride` bytes apart.
struct JoinPart {
  const char* data;
  int64_t bytes, stride;
};

// Masks are cut in chunks of this many elements; `starts` has one entry for each chunk and one more, and says how
// many true elements come before it.
constexpr int64_t kMaskChunk = 32768;
constexpr int64_t mask_chunks(int64_t n) { return (n + kMaskChunk - 1) / kMaskChunk; }

struct IndexKernels {
  // Whether every value is in range; if not, the first that is not.
  bool (*check)(const IndexPlan&, IndexFault*);
  // dense = table[places]; false if a value is out of range (dense is then unspecified).
  bool (*gather)(int64_t item, char* dense, const char* table, const IndexPlan&);
  // table[places] (op)= dense, in the order of the walk where places meet; false if a value is out of range (the table
  // is then written in part). Dimensions walked with a table stride other than 0 must lead to different places.
  bool (*scatter)(Scatter op, DType, char* table, const char* dense, const IndexPlan&);
  // table[places] (op)= dense without indices, for windows that overlap: one after the other.
  void (*scatter_windows)(Scatter op, DType, char* table, const char* dense, const IndexPlan&);

  // out = cond ? a : b, each with its strides.
  void (*blend)(int64_t item, char* out, const char* cond, const char* a, const char* b, int ndim, const int64_t* sizes,
                const BlendStrides&);
  // Counts what is not zero among n contiguous elements and fills `starts`.
  int64_t (*count)(DType, const char* x, int64_t n, int64_t* starts);
  void (*masked_select)(int64_t item, char* out, const char* x, const char* mask, int64_t n, const int64_t* starts);
  void (*masked_scatter)(int64_t item, char* x, const char* mask, const char* source, int64_t n, const int64_t* starts);
  // The coordinates of what is not zero: out[k * row + d * column].
  void (*nonzero)(DType, const char* x, int ndim, const int64_t* sizes, const int64_t* starts, int64_t* out,
                  int64_t row, int64_t column);

  // Contiguous [batch, rows, cols]: what lies above (or below) the diagonal becomes zero.
  void (*triangle)(int64_t item, char* out, const char* x, int64_t batch, int64_t rows, int64_t cols, int64_t diagonal,
                   bool upper);
  // Contiguous out: row r is made of the rows r of all parts, side by side.
  void (*join)(char* out, const JoinPart* parts, int64_t count, int64_t rows);
  // Contiguous both: the dimensions in `flipped` (bits) run backwards.
  void (*flip)(int64_t item, char* out, const char* x, int ndim, const int64_t* sizes, uint64_t flipped);
  // Writes i repeats[i] times, for every i.
  void (*repeat_index)(int64_t* out, const int64_t* repeats, int64_t n);
};

WEFT_DECLARE_KERNELS(IndexKernels, index_kernels)

}  // namespace weft
