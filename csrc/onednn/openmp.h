// oneDNN asks OpenMP for threads. The answers come from here, so that one set of threads serves it and weft's own
// loops.
#pragma once

#include "loops/helpers.h"

namespace weft {

void use_gang(const Gang& gang);

}  // namespace weft

extern "C" {
int omp_get_max_threads();  // of the next parallel region of this thread
void omp_set_num_threads(int n);
}
