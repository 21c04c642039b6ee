// Recording: what stays of a call on the tape (the interface to the dispatcher is ops/recording.h).
#pragma once

#include "ops/recording.h"

namespace weft {

extern int g_saved_hooks;  // how many saved_tensors_hooks are active, of all threads

uint32_t versions_of(const TensorList& list);  // grows with every change of one of them
Value place_value(const TensorImpl& t);        // what Grad::place reads

}  // namespace weft
