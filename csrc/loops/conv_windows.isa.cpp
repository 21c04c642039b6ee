#include "loops/conv_windows.h"

#include "simd/simd.h"

namespace weft::WEFT_ISA {
namespace {

using S = Simd<float>;

// Calls f(offset, lanes) for whole vectors and for the rest.
template <class F>
inline void each_vector(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + S::W <= n; i += S::W) f(i, int64_t(S::W));
  if (i < n) f(i, n - i);
}

void lay_out(const Run* runs, int64_t count, const Images& all, const float* images, float* windows) {
  for (int64_t n = 0; n < all.count; ++n, images += all.image_step, windows += all.window_step)
    for (const Run* r = runs; r < runs + count; ++r) {
      float* to = windows + r->window;
      const float* from = images + r->image;
      if (r->image < 0)
        each_vector(r->n, [&](int64_t i, int64_t lanes) { S::store(to + i, S::Vec{}, lanes); });
      else
        each_vector(r->n, [&](int64_t i, int64_t lanes) { S::store(to + i, S::load(from + i, lanes), lanes); });
    }
}

void add_back(const Run* runs, int64_t count, const Images& all, const float* windows, float* images) {
  for (const Run* r = runs; r < runs + count; ++r) {
    if (r->image < 0) continue;
    float* to = images + r->image;
    const float* from = windows + r->window;
    for (int64_t n = 0; n < all.count; ++n, to += all.image_step, from += all.window_step)
      each_vector(r->n, [&](int64_t i, int64_t lanes) {
        S::store(to + i, S::load(to + i, lanes) + S::load(from + i, lanes), lanes);
      });
  }
}

}  // namespace

extern const WindowKernels window_kernels_table;
const WindowKernels window_kernels_table{lay_out, add_back};

}  // namespace weft::WEFT_ISA
