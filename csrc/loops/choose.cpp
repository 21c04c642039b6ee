// Chooses the kernels for the machine at run time.
#include <cstdlib>
#include <cstring>

#include "loops/attention.h"
#include "loops/bags.h"
#include "loops/conv_depthwise.h"
#include "loops/conv_direct.h"
#include "loops/conv_indirect.h"
#include "loops/conv_joined.h"
#include "loops/conv_planes.h"
#include "loops/conv_single.h"
#include "loops/conv_windows.h"
#include "loops/conv_winograd.h"
#include "loops/copy.h"
#include "loops/distance.h"
#include "loops/fft.h"
#include "loops/fold.h"
#include "loops/gemm_half.h"
#include "loops/gemm_kernels.h"
#include "loops/grid.h"
#include "loops/index.h"
#include "loops/int8.h"
#include "loops/isa.h"
#include "loops/losses.h"
#include "loops/norm.h"
#include "loops/outer.h"
#include "loops/pool.h"
#include "loops/random.h"
#include "loops/recurrent.h"
#include "loops/reduce.h"
#include "loops/resample.h"
#include "loops/scan.h"
#include "loops/softmax.h"
#include "loops/sort.h"
#include "loops/triangular.h"
#include "loops/update.h"

namespace weft {

Isa machine_isa() {
  static const Isa best = [] {
    Isa isa = Isa::base;
#if defined(WEFT_HAVE_AVX512)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("f16c"))
      isa = Isa::avx2;
    if (isa == Isa::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      isa = Isa::avx512;
#endif
    if (const char* wish = std::getenv("WEFT_ISA")) {
      if (!std::strcmp(wish, "base")) isa = Isa::base;
      if (!std::strcmp(wish, "avx2") && isa == Isa::avx512) isa = Isa::avx2;
    }
    return isa;
  }();
  return best;
}

bool machine_vnni() {
  static const bool has = [] {
    const char* wish = std::getenv("WEFT_VNNI");
    if (wish && !std::strcmp(wish, "0")) return false;
#if defined(WEFT_HAVE_AVX512)
    if (machine_isa() == Isa::avx512) return __builtin_cpu_supports("avx512vnni") != 0;
    if (machine_isa() == Isa::avx2) return __builtin_cpu_supports("avxvnni") != 0;
#endif
    return false;
  }();
  return has;
}

WEFT_CHOOSE_KERNELS(AttentionKernels, attention_kernels)
WEFT_CHOOSE_KERNELS(BagKernels, bag_kernels)
WEFT_CHOOSE_KERNELS(CopyKernels, copy_kernels)
WEFT_CHOOSE_KERNELS(DepthwiseKernels, depthwise_kernels)
WEFT_CHOOSE_KERNELS(DirectKernels, direct_kernels)
WEFT_CHOOSE_KERNELS(DistanceKernels, distance_kernels)
WEFT_CHOOSE_KERNELS(FftKernels, fft_kernels)
WEFT_CHOOSE_KERNELS(FoldKernels, fold_kernels)
WEFT_CHOOSE_KERNELS(GemmKernels, gemm_kernels)
WEFT_CHOOSE_KERNELS(GridKernels, grid_kernels)
WEFT_CHOOSE_KERNELS(HalfGemmKernels, half_gemm_kernels)
WEFT_CHOOSE_KERNELS(IndexKernels, index_kernels)
WEFT_CHOOSE_KERNELS(IndirectKernels, indirect_kernels)
WEFT_CHOOSE_KERNELS(PlaneKernels, plane_kernels)
WEFT_CHOOSE_KERNELS(Int8Kernels, int8_kernels)
WEFT_CHOOSE_KERNELS(JoinedKernels, joined_kernels)
WEFT_CHOOSE_KERNELS(LossKernels, loss_kernels)
WEFT_CHOOSE_KERNELS(NormKernels, norm_kernels)
WEFT_CHOOSE_KERNELS(OuterKernels, outer_kernels)
WEFT_CHOOSE_KERNELS(PoolKernels, pool_kernels)
WEFT_CHOOSE_KERNELS(RandomKernels, random_kernels)
WEFT_CHOOSE_KERNELS(RecurrentKernels, recurrent_kernels)
WEFT_CHOOSE_KERNELS(ReduceKernels, reduce_kernels)
WEFT_CHOOSE_KERNELS(ResampleKernels, resample_kernels)
WEFT_CHOOSE_KERNELS(SortKernels, sort_kernels)
WEFT_CHOOSE_KERNELS(SoftmaxKernels, softmax_kernels)
WEFT_CHOOSE_KERNELS(ScanKernels, scan_kernels)
WEFT_CHOOSE_KERNELS(UpdateKernels, update_kernels)
WEFT_CHOOSE_KERNELS(SlideKernels, slide_kernels)
WEFT_CHOOSE_KERNELS(TriangularKernels, triangular_kernels)
WEFT_CHOOSE_KERNELS(WindowKernels, window_kernels)
WEFT_CHOOSE_KERNELS(WinogradKernels, winograd_kernels)

}  // namespace weft
