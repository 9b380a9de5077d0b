#include "composed.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tilt.h"

prv_tilted prv_tilted_new(double tilt, const prv_window *window)
{
    prv_tilted t;
    memset(&t, 0, sizeof t);
    t.tilt = tilt;
    /* At no shift Chernoff's bounds are 1; at one to the other side, or none at all, they would be no bounds. */
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
    t->relative_error += k * prv_tilt_error(y->loss, y->length, t->tilt, at.log_moment) + DBL_EPSILON * fabs(t->log_moment);
    t->log_error += DBL_EPSILON * (fabs(t->log_up) + fabs(t->log_down));
    prv_infinite_add(&t->infinite, y->infinite_mass, y->infinite_error, k);
    t->total += k;
    size_t low = 0, high = y->length;
    while (high > 0 && y->mass[high - 1] == 0.0) high--;
    while (low < high && y->mass[low] == 0.0) low++;
    if (low < high) {
        t->support_low += k * y->loss[low];
        t->support_high += k * y->loss[high - 1];
    }
}

/* 1.01 covers the rounding of the exponential and its argument. */
static double chernoff(const prv_tilted *t, double log_mass)
{
    return fmin(1.01 * exp(log_mass + t->log_error + t->relative_error), 1.0);
}

/* The ends of the support are rounded sums: this much of them. */
static double blur(const prv_tilted *t)
{
    return 4.0 * DBL_EPSILON * (fabs(t->support_low) + fabs(t->support_high));
}

double prv_tilted_above(const prv_tilted *t, double a)
{
    return a > t->support_high + blur(t) ? 0.0 : chernoff(t, t->log_up - t->shift_up * a);
}

double prv_tilted_below(const prv_tilted *t, double a)
{
    return a < t->support_low - blur(t) ? 0.0 : chernoff(t, t->log_down + t->shift_down * a);
}
