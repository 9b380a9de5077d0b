#include "composition/infinite_mass.h"

#include <math.h>

#include "numerics/rounding.h"

void prv_infinite_add(prv_infinite *s, double mass, double error, double count)
{
    const double m = fmin(mass, 1.0), most = prv_above(m + error);
    const int alone = s->steps == 0.0 && count == 1.0;
    s->steps += count;
    if (m == 1.0 && error == 0.0) s->certain = 1;
    if (m > 0.0 || error > 0.0) {
        /* log1p is off by PRV_LIBM_ERROR, the product by u, the sum by u of itself; and where m is off by e,
         * log1p(-m) is by e / (1 - m - e) at most. */
        const double term = count * log1p(-m);
        s->log_finite += term;
        s->log_error += fabs(term) * (PRV_LIBM_ERROR + PRV_UNIT) + PRV_UNIT * fabs(s->log_finite);
        if (error > 0.0) s->log_error += most < 1.0 ? count * (error / (1.0 - most)) : HUGE_VAL;
    }
    if (alone) {
        s->mass = m;
        s->low = error > 0.0 ? fmax(prv_below(m - error), 0.0) : m;
        s->high = error > 0.0 ? fmin(most, 1.0) : m;
        return;
    }
    /* Where nothing has mass at infinity, the composition has none. */
    const double moved = s->log_error * PRV_SECOND_ORDER;
    s->mass = -expm1(s->log_finite);
    s->low = fmax(prv_outwards(-expm1(fmin(s->log_finite + moved, 0.0)), PRV_LIBM_ERROR + PRV_UNIT, -1), 0.0);
    s->high = s->log_finite < 0.0 || moved > 0.0
                  ? fmin(prv_outwards(-expm1(s->log_finite - moved), PRV_LIBM_ERROR + PRV_UNIT, 1), 1.0)
                  : 0.0;
    if (s->log_finite == -HUGE_VAL) {
        /* Some mass is 1, or rounds to it. */
        s->mass = s->high = 1.0;
        s->low = s->certain ? 1.0 : 0.0;
    }
}

void prv_infinite_lengthen(prv_infinite *s, double factor)
{
    s->steps *= factor;
    s->log_finite *= factor;
    s->mass = -expm1(s->log_finite);
}
