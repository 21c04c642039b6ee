// Mixed precision. Inside an autocast block the dispatcher casts the arguments of those ops that stand on one of three
// lists (weft/amp/lists.py), and runs them with what it cast.
#pragma once

#include "ops/op.h"

namespace weft {

// Of this thread; whether it is on stands in t_modes.
struct Autocast {
  DType type = DType::BFloat16;
  bool cache = true;
  int depth = 0;  // blocks within blocks
};
extern thread_local Autocast t_autocast;

class AutocastOff {  // for a scope
 public:
  AutocastOff() : before_(t_modes.autocast) { t_modes.autocast = false; }
  ~AutocastOff() { t_modes.autocast = before_; }

 private:
  bool before_;
};

// The tensor in a floating type, cast with a derivative; double, integers and sparse tensors stay as they are. Casts of
// parameters to the type of the block are kept until the outermost block ends.
Tensor autocast_to(const Tensor& t, DType type);
DType autocast_type(Cast cast, const TensorList& tensors);  // what ops of a list compute in
void forget_casts();

void run_cast(Call& c);  // the dispatcher for an op on a list

}  // namespace weft
