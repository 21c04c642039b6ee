// How split, chunk and unbind cut a tensor, as their node knows it.
#pragma once

#include "ops/op.h"

namespace weft {

struct Parts {
  int dim = 0;
  Dims widths;  // none: slices without that dimension
};
const Parts* parts_of(const Node& n);  // null: the node is another op's

}  // namespace weft
