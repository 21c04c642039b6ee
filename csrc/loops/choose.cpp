// Chooses the kernels for the machine at run time.
#if defined(__x86_64__)
#include <cpuid.h>
#endif

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
#include "simd/choose.h"

namespace weft {
namespace {

#if defined(__x86_64__)
// Compilers know features by name, but not all of them know these two.
bool cpuid(unsigned leaf, unsigned part, int word, int bit) {
  unsigned found[4];
  return __get_cpuid_count(leaf, part, &found[0], &found[1], &found[2], &found[3]) && found[word] >> bit & 1;
}
[[maybe_unused]] bool has_f16c() { return cpuid(1, 0, 2, 29); }
[[maybe_unused]] bool has_avxvnni() { return cpuid(7, 1, 0, 4); }
#define WEFT_FEATURE(name) \
  [[maybe_unused]] bool has_##name() { return __builtin_cpu_supports(#name); }
WEFT_FEATURE(avx2)
WEFT_FEATURE(fma)
WEFT_FEATURE(bmi2)
WEFT_FEATURE(avx512f)
WEFT_FEATURE(avx512dq)
WEFT_FEATURE(avx512bw)
WEFT_FEATURE(avx512vl)
WEFT_FEATURE(avx512vnni)
#endif
#define WEFT_CPU(feature) &&has_##feature()
#define WEFT_NEVER &&false

}  // namespace

const char* name_of(Isa isa) {
#define WEFT_NAME(set, ...) WEFT_BUILT(WEFT_HAS_##set)(#set, )
  static constexpr const char* names[] = {WEFT_SETS(WEFT_NAME)};
  return names[int(isa)];
}

Isa machine_isa() {
  static const Isa best = [] {
    Isa isa = Isa::base;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
#define WEFT_BEST(set, processor, bits, flags, cpu, ...) WEFT_BUILT(WEFT_HAS_##set)(if (true cpu) isa = Isa::set;)
    WEFT_SETS(WEFT_BEST)
    const char* wish = std::getenv("WEFT_ISA");
    for (int lower = 0; wish && lower < int(isa); ++lower)
      if (!std::strcmp(wish, name_of(Isa(lower)))) isa = Isa(lower);
    return isa;
  }();
  return best;
}

bool machine_vnni() {
  static const bool has = [] {
    const char* wish = std::getenv("WEFT_VNNI");
    if (wish && !std::strcmp(wish, "0")) return false;
#define WEFT_BYTES(set, processor, bits, flags, cpu, bytes, ...) \
  WEFT_BUILT(WEFT_HAS_##set)(if (machine_isa() == Isa::set) return true bytes;)
    WEFT_SETS(WEFT_BYTES)
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
