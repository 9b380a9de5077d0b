/* How large mu must be where delta is so near 1 that it rounds to it: by the complement c = 1 - delta.
 *
 * As a function of t = e^eps, c is concave and 0 at t = 0: c grows and c / t falls, so that a bound at one
 * epsilon is one at others, on either side. At single epsilons moments bound c from below. */
#ifndef PRV_GAUSSIAN_COMPLEMENT_H
#define PRV_GAUSSIAN_COMPLEMENT_H

#include "curve/direction.h"

/* The least *mu found, not below `start`, such that the complement of the Gaussian curve is certainly at most
 * that of the composition, in every direction, from epsilon 0 to `end`; at `end` the latter is at least
 * e^log_end. HUGE_VAL if there is none, or if a mechanism is known absolutely alone. PRV_ERR_INTERRUPTED.
 * O(2000 cells of the profiles). */
prv_status prv_mu_of_complement(const prv_directions *directions, const prv_options *options, double end,
                                double log_end, double start, double *mu);

#endif
