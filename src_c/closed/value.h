/* A value of a privacy curve that a formula gives, with what it is off by. */
#ifndef PRV_CLOSED_VALUE_H
#define PRV_CLOSED_VALUE_H

#include <stdbool.h>

#include "numerics/rounding.h"

/* delta at an epsilon, of the finite losses: E[(1 - e^(epsilon - Y))_+].
 *
 * Formulas are computed in long double. All errors are counted in PRV_WIDE_LIBM_UNIT, which is no less than
 * two roundings of long double: `U` in the comments of this room. */
typedef struct prv_closed_value {
    long double delta; /* rounded */
    long double fall; /* -d delta / d epsilon = E[e^(epsilon - Y); Y > epsilon], rounded: it chooses the steps
                         of a search, and no bound relies on it */
    long double error; /* |delta - the true value|, at most; infinite if the formula says nothing there */
} prv_closed_value;

/* Where an epsilon that a curve is asked at is itself uncertain by `blur` nats: such values are small, so
 * that (1 + PRV_MOST_BLUR)^2 and exponentials of it are below PRV_BLURRED. More blur makes a value say
 * nothing. */
#define PRV_MOST_BLUR 0x1p-10
#define PRV_BLURRED 1.01L

static inline prv_closed_value prv_closed_nothing(void)
{
    return (prv_closed_value){0.0L, 0.0L, (long double)HUGE_VAL};
}

#endif
