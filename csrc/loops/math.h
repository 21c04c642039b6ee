// Elementary functions without branches, on float and double, so that a loop over them becomes
// vector code.
#pragma once

#include "loops/math_base.h"
#include "loops/math_exp.h"
#include "loops/math_pow.h"
#include "loops/math_special.h"
#include "loops/math_trig.h"
