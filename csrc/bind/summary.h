// The values of a tensor in a few numbers and a histogram, for those who look at a running program.
#pragma once

#include "bind/python.h"

namespace weft {

void bind_summary(nb::module_& m);

}  // namespace weft
