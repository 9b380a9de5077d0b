#include "composition/tilted.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "numerics/rounding.h"
#include "lattices/tilt.h"

prv_tilted prv_tilted_new(double tilt, const prv_window *window)
{
    prv_tilted t;
    memset(&t, 0, sizeof t);
    t.tilt = tilt;
    /* At shift 0 Chernoff's bounds are 1. At one to the other side, or at nan, they would be no bounds. */
    t.shift_up = fmax(window->shift_up, 0.0);
    t.shift_down = fmax(window->shift_down, 0.0);
    return t;
}

void prv_tilted_add(prv_tilted *t, const prv_lattice *y, double k, double *weight)
{
    const prv_moments at = prv_tilt(y->loss, y->mass, y->length, t->tilt, weight);
    t->log_moment += k * at.log_moment;
    if (t->shift_up > 0.0) {
        const prv_moments up = prv_tilt(y->loss, y->mass, y->length, t->tilt + t->shift_up, NULL);
        t->log_up += k * (up.log_moment - at.log_moment);
        t->log_error += k * prv_tilt_error(y->loss, y->length, t->tilt + t->shift_up, up.log_moment);
    }
    if (t->shift_down > 0.0) {
        const prv_moments down = prv_tilt(y->loss, y->mass, y->length, t->tilt - t->shift_down, NULL);
        t->log_down += k * (down.log_moment - at.log_moment);
        t->log_error += k * prv_tilt_error(y->loss, y->length, t->tilt - t->shift_down, down.log_moment);
    }
    /* With the rounding of the sums over the steps. */
    t->relative_error += k * prv_tilt_error(y->loss, y->length, t->tilt, at.log_moment) +
                         DBL_EPSILON * fabs(t->log_moment);
    t->log_error += DBL_EPSILON * (fabs(t->log_up) + fabs(t->log_down));
    prv_infinite_add(&t->infinite, y->infinite_mass, y->infinite_error, k);
    t->total += k;
    size_t low = 0, high = y->length;
    while (high > 0 && y->mass[high - 1] == 0.0) high--;
    while (low < high && y->mass[low] == 0.0) low++;
    if (low < high) {
        t->support_low += k * y->loss[low];
        t->support_high += k * y->loss[high - 1];
        t->support_size += k * (fabs(y->loss[low]) + fabs(y->loss[high - 1]));
        t->laws += 1.0;
    }
}

/* The errors count 2 u of each sum already, which covers the product by the count, too. */
prv_tilted prv_tilted_repeat(const prv_tilted *once, const prv_lattice *y, double k)
{
    prv_tilted t = *once;
    t.log_moment *= k;
    t.log_up *= k;
    t.log_down *= k;
    t.relative_error *= k;
    t.log_error *= k;
    t.support_low *= k;
    t.support_high *= k;
    t.support_size *= k;
    t.total *= k;
    memset(&t.infinite, 0, sizeof t.infinite);
    prv_infinite_add(&t.infinite, y->infinite_mass, y->infinite_error, k);
    return t;
}

/* e^(log + product), from above: their sum, and the product itself, round by u each. */
static double chernoff(const prv_tilted *t, double log, double product)
{
    const double errors = t->log_error + t->relative_error + 4.0 * PRV_UNIT * (fabs(log) + fabs(product));
    const double mass = prv_outwards(exp(log + product + errors * PRV_SECOND_ORDER), PRV_LIBM_ERROR, 1);
    return mass < 1.0 ? mass : 1.0;
}

double prv_tilted_blur(const prv_tilted *t)
{
    /* Each product and each sum rounds by u of what it is, at most of all sizes together. */
    return PRV_UNIT * (2.0 + t->laws) * t->support_size * PRV_SECOND_ORDER;
}

double prv_tilted_above(const prv_tilted *t, double a)
{
    return a > t->support_high + prv_tilted_blur(t) ? 0.0 : chernoff(t, t->log_up, -t->shift_up * a);
}

double prv_tilted_below(const prv_tilted *t, double a)
{
    return a < t->support_low - prv_tilted_blur(t) ? 0.0 : chernoff(t, t->log_down, t->shift_down * a);
}
