#include "core/exec.h"

namespace weft {

constinit thread_local Exec* Exec::t_current = nullptr;
constinit thread_local Exec Exec::t_outside{};

}  // namespace weft
