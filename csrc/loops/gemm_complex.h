// Products of complex matrices and vectors, by the kernels for real ones.
#pragma once

#include "loops/gemm_kernels.h"

namespace weft {

// The product as gemm_kernels.h describes it, of ComplexFloat or ComplexDouble, without plus and bounds.
void gemm_complex(DType type, const Product& p);

// sum of a[i * a_stride] * b[i * b_stride], with conj: of the conjugate of a.
void dot_complex(DType type, int64_t n, const void* a, int64_t a_stride, const void* b, int64_t b_stride, bool conj,
                 void* result);

}  // namespace weft
