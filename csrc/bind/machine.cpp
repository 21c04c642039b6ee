// What weft/jit's generator of machine code reads: the instruction sets, and the numbers of the pointwise maths.
#include <nanobind/stl/vector.h>

#include "bind/python.h"
#include "simd/choose.h"

namespace weft {
namespace {

// Of each instruction set, whether it was built or not.
nb::dict vector_bits() {
  nb::dict all;
#define WEFT_BITS(set, processor, bits, ...) all[#set] = bits;
  WEFT_SETS(WEFT_BITS)
#undef WEFT_BITS
  return all;
}

nb::dict numbers() {
  nb::dict all;
#define WEFT_NUMBERS(type, name, ...) all[#name] = std::vector<double>{__VA_ARGS__};
#include "loops/numbers.inc"
#undef WEFT_NUMBERS
  return all;
}

}  // namespace

void bind_machine(nb::module_& m) {
  m.def("_isa", [] { return name_of(machine_isa()); });
  m.def("_vector_bits", vector_bits);
  m.def("_numbers", numbers);
}

}  // namespace weft
