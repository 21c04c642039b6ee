// What the random ops share.
#pragma once

#include "core/generator.h"
#include "loops/random.h"
#include "ops/api.h"

namespace weft {

// The generator in argument i, or the default one.
Generator& generator_of(Call& c, int i);

// Calls draw(type, memory, n, seed, counter) to fill out; complex numbers are filled as pairs of
// reals.
template <class Draw>
void fill_random(const Tensor& out, Generator& generator, const Draw& draw);

// The elements of t, cast and broadcast to sizes, one behind the other.
class Elements {
 public:
  Elements(const Tensor& t, const Dims& sizes, DType type);
  template <class T>
  T* as() const {
    return memory_.as<T>();
  }

 private:
  Scratch memory_;
};

// Writes n = out.numel() contiguous elements of out's type into out, whatever its layout.
void store_elements(const Tensor& out, const void* elements);

// The derivative of a random result: nothing flows back, neither to the parameters nor to what was
// overwritten.
void no_influence(Grad& d);
constexpr const char* kRandom = "the result is random";

void refuse_type(DType t, const char* op);  // fails: op not implemented for this type

template <class Draw>
void fill_random(const Tensor& out, Generator& generator, const Draw& draw) {
  int64_t n = out.numel();
  if (n == 0) return;
  if (is_complex(out.dtype())) n *= 2;
  auto [seed, counter] = generator.take(n);
  if (out.contiguous() || is_dense(out.sizes(), out.strides())) {
    draw(real_of(out.dtype()), out.data(), n, seed, counter);
    return;
  }
  Scratch memory(n * item_size(real_of(out.dtype())));
  draw(real_of(out.dtype()), memory.as<char>(), n, seed, counter);
  store_elements(out, memory.as<char>());
}

}  // namespace weft
