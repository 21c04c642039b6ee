// What the parts of the index kernels hand to their table, for inclusion in *.isa.cpp files.
#pragma once

#include "loops/index.h"

namespace weft::WEFT_ISA {

bool check_indices(const IndexPlan&, IndexFault*);
bool gather(int64_t item, char* dense, const char* table, const IndexPlan&);

bool scatter(Scatter, DType, char* table, const char* dense, const IndexPlan&);
void scatter_windows(Scatter, DType, char* table, const char* dense, const IndexPlan&);

void blend(int64_t item, char* out, const char* cond, const char* a, const char* b, int ndim, const int64_t* sizes,
           const BlendStrides&);
int64_t count_true(DType, const char* x, int64_t n, int64_t* starts);
void masked_select(int64_t item, char* out, const char* x, const char* mask, int64_t n, const int64_t* starts);
void masked_scatter(int64_t item, char* x, const char* mask, const char* source, int64_t n, const int64_t* starts);
void nonzero(DType, const char* x, int ndim, const int64_t* sizes, const int64_t* starts, int64_t* out, int64_t row,
             int64_t column);

void triangle(int64_t item, char* out, const char* x, int64_t batch, int64_t rows, int64_t cols, int64_t diagonal,
              bool upper);
void join(char* out, const JoinPart* parts, int64_t count, int64_t rows);
void flip(int64_t item, char* out, const char* x, int ndim, const int64_t* sizes, uint64_t flipped);
void repeat_index(int64_t* out, const int64_t* repeats, int64_t n);

}  // namespace weft::WEFT_ISA
