// Which history a view has, and what a change in place does to it.
#pragma once

#include "ops/recording.h"

namespace weft {

bool shows_grad(TensorImpl& t);                     // as the user sees it: a constant view says what its base says
void rebase_history(Tensor& self, Ref<Node> node);  // after an in-place change
void take_geometry(Tensor& t, const Tensor& view);  // t becomes what `view`, a view of it, is

}  // namespace weft
