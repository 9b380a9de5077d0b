#include "base/arithmetic.h"

#include <float.h>

/* Read anew each time, so that no compiler knows what the operations below give. */
static const volatile double one = 1.0, small = 0x1p-55, normal = DBL_MIN, subnormal = 0x1p-1074, half = 0.5,
                             large = 0x1p60;
static const volatile long double wide_one = 1.0L, wide_step = LDBL_EPSILON, wide_small = LDBL_EPSILON / 8.0L;

prv_status prv_check_arithmetic(void)
{
    /* Less than half of the step to the next double on either side of 1: only to nearest do both round to 1.
     * Upwards the sum would not, downwards and towards 0 the difference would not. */
    const int nearest = one + small == 1.0 && one - small == 1.0;
    /* The first result is flushed to 0 in one mode, the operand of the second one in the other. */
    const int keeps_subnormals = normal * half > 0.0 && subnormal * large > 0.0;
    /* On x86 long double has modes of its own: one to round, and one that cuts it to the precision of double,
     * in which debuggers and some systems leave it. */
    const int wide_nearest = wide_one + wide_small == 1.0L && wide_one - wide_small == 1.0L;
#ifdef PRV_CUT_LONG_DOUBLE
    const int is_wide =
        1; /* tests under valgrind, which has no more of it, look for faults of memory alone */
#else
    const int is_wide = wide_one + wide_step > 1.0L;
#endif
    return nearest && keeps_subnormals && wide_nearest && is_wide ? PRV_OK : PRV_ERR_ARITHMETIC;
}
