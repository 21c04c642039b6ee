// Convolutions as products whose rows are found by pointers: for each place of the result and each tap of the kernel,
// one to the pixel that the tap reads there, or to zeros beyond the edge of the image. No window is laid out.
#pragma once

#include "loops/conv.h"
#include "simd/isa.h"

namespace weft {

// The rows that a product reads: `taps` pointers for each of `places` rows of the result, tap by tap, `places` apart;
// and which taps of the kernel these are.
struct IndirectRows {
  int64_t places, taps;
  const float* const* at;
  const int64_t* numbers;
  const float* zeros;  // beyond the edge
};

// What is multiplied by them, for one group of channels.
struct IndirectKernel {
  int64_t taps, depth, columns;  // depth: numbers behind a pointer; columns: of the result
  const float* packed;           // by slivers of columns, each (taps, depth, columns of the sliver)
};

struct IndirectKernels {
  // Columns of the sliver that begins at this one.
  int64_t (*sliver)(int64_t columns, int64_t begin);
  // Numbers that a sliver of so many columns has in each row: whole vectors.
  int64_t (*filled)(int64_t columns);
  // Packs `count` numbers of each of some columns of a sliver, which are `apart` numbers apart: number q of all of
  // them goes side by side to row[q] of `to`.
  void (*pack)(const float* from, int64_t apart, int64_t columns, int64_t count, const int64_t* row, float* to);
  // result[place] = the sum over the taps of (the numbers behind the pointer, `offset` on) x (the tap's matrix), for
  // columns `to` on of the rows of the result. `adds`: to what is there.
  void (*multiply)(const IndirectRows& rows, int64_t offset, const IndirectKernel& kernel, bool adds, Ending end,
                   float* const* result, int64_t to);
  // The same for small groups, in which as many channels are made as are read (`small`), with kernels packed by vectors
  // of channels: each (taps, channels of a group, a vector). The kernel's columns are the channels of all groups.
  int64_t lanes;
  bool (*small)(int64_t channels_of_group);
  void (*multiply_small)(const IndirectRows& rows, const IndirectKernel& kernel, Ending end, float* const* result);
  // sums, for each vector of channels (channels of a group, a vector) += as below, within groups.
  void (*add_outer_small)(int64_t places, const float* const* at, int64_t depth, const float* g, int64_t channels,
                          float* sums);
  // sums (columns of g) x (depth) += the sum over places of the outer products of g's row and the numbers behind the
  // pointer of one tap; rows of g are ldg apart, rows of sums lds.
  void (*add_outer)(int64_t places, const float* const* at, int64_t offset, int64_t depth, const float* g, int64_t ldg,
                    int64_t columns, float* sums, int64_t lds);
};

WEFT_DECLARE_KERNELS(IndirectKernels, indirect_kernels)

}  // namespace weft
