/* The excess moment M - 1 of one step, M = E_P[(dQ/dP)^alpha], from bounds of its parts.
 *
 * M - 1 = E_P[f(r)], r = dQ/dP, f(r) = r^alpha - 1 - alpha (r - 1), because P and Q have mass 1: f is convex
 * and >= 0, so nothing cancels however close to 1 the ratios are. In a cell with masses m and n of Q and P,
 * whose ratios lie between r_a and r_b,
 *     n f(m / n)  <=  E_P[f(r); cell]  <=  n f(m / n) + n alpha (alpha - 1) s (r_b - r_a)^2 / 8,
 *     s = max(r_a^(alpha - 2), r_b^(alpha - 2)),
 * by Jensen's inequality and by the chord of f. All orders alpha are > 1. */
#ifndef PRV_RENYI_EXCESS_H
#define PRV_RENYI_EXCESS_H

#include "numerics/log_sum.h"

/* How far apart cells may leave the bounds of M - 1, relatively: cells are halved until the bounds are as
 * close. No bound relies on the number. */
#define PRV_RENYI_TOLERANCE 5e-5

/* Bounds of M - 1, or of the part that some outcomes make of it. */
typedef struct prv_excess {
    prv_log_sum lower, upper;
} prv_excess;

#define PRV_NO_EXCESS {PRV_EMPTY_LOG_SUM, PRV_EMPTY_LOG_SUM}

/* Adds a part that lies between e^lower and e^upper. */
void prv_excess_add(prv_excess *excess, double lower, double upper);

/* Bounds of log f(e^y) at the log ratio y, which is off by at most y_error >= 0. */
void prv_excess_bounds_at(double y, double y_error, double alpha, double *lower, double *upper);

/* Bounds of the logarithm of what a cell adds. P's mass of the cell is e^log_mass, off by mass_error in the
 * logarithm; the mean ratio m / n is e^y, off by y_error likewise; all ratios lie between e^low and e^high.
 */
void prv_excess_bounds_of_cell(double log_mass, double mass_error, double y, double y_error, double low,
                               double high, double alpha, double *lower, double *upper);

#endif
