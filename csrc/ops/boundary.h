// The checked boundary: which arguments a graph, a file or a program may give to an op. Calls from Python are read by
// signature in bind/args.cpp, and C++ writes its own arguments; everything else passes here before a shape rule.
#pragma once

#include "ops/op.h"

namespace weft {

// Throws unless every argument is of its parameter's declared type, and the call can run in place where it says so.
// A call that passes this and the shape rule runs without reading or writing outside of its tensors.
void check_arguments(Call& c);

}  // namespace weft
