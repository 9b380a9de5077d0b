#include "composition/infinite_mass.h"

#include <float.h>
#include <math.h>

#include "numerics/rounding.h"

/* Adds a step that is known by its mass m alone, which lies below 1, or is 1 exactly; where m is off by e,
 * log(1 - m) is by e / (1 - m - e) at most. */
static void add_log(prv_infinite *s, double m, double e, double most, double count)
{
    /* log1p is off by PRV_LIBM_ERROR, the product by u, the sum by u of itself; and each of these errors is 0
     * if it underflows. */
    const double term = count * prv_log_rest(m);
    s->log_finite += term;
    s->log_error += fabs(term) * (PRV_LIBM_ERROR + PRV_UNIT) + PRV_UNIT * fabs(s->log_finite) +
                    4.0 * DBL_TRUE_MIN;
    if (e > 0.0) s->log_error += count * (e / (1.0 - most));
}

void prv_infinite_add(prv_infinite *s, double mass, double error, double count)
{
    const double m = fmin(mass, 1.0), most = prv_above(m + error), least = fmax(prv_below(m - error), 0.0);
    const int alone = s->steps == 0.0 && count == 1.0;
    s->steps += count;
    if (m == 1.0 && error == 0.0) s->certain = 1;
    if (error > 0.0 && most >= 1.0) {
        s->may_be_one = 1;
        if (least > 0.0) add_log(s, least, 0.0, least, count);
    } else if (m > 0.0 || error > 0.0) {
        add_log(s, m, error, most, count);
    }
    if (alone) {
        s->mass = m;
        s->low = error > 0.0 ? least : m;
        s->high = error > 0.0 ? fmin(most, 1.0) : m;
        return;
    }
    /* Where nothing has mass at infinity, the composition has none. */
    const double moved = s->log_error * PRV_SECOND_ORDER;
    s->mass = 0.0 + prv_one_less_exp(s->log_finite); /* no mass is 0, not -0, which answers would show */
    s->low = fmax(
        prv_outwards(prv_one_less_exp(fmin(s->log_finite + moved, 0.0)), PRV_LIBM_ERROR + PRV_UNIT, -1), 0.0);
    s->high = s->log_finite < 0.0 || moved > 0.0
                  ? fmin(prv_outwards(prv_one_less_exp(s->log_finite - moved), PRV_LIBM_ERROR + PRV_UNIT, 1),
                         1.0)
                  : 0.0;
    if (s->may_be_one) s->high = 1.0;
    if (s->log_finite == -HUGE_VAL) {
        /* Some mass is 1. */
        s->mass = s->high = 1.0;
        s->low = s->certain ? 1.0 : 0.0;
    }
}

void prv_infinite_lengthen(prv_infinite *s, double factor)
{
    s->steps *= factor;
    s->log_finite *= factor;
    s->mass = 0.0 + prv_one_less_exp(s->log_finite);
}
