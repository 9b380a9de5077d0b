/* The worst mechanisms of bounded range, generalized randomized responses: one for each moment, while the
 * pair that dominates them all is none of them (PAIRS.md, section 5). */
#ifndef PRV_BOUNDED_RANGE_H
#define PRV_BOUNDED_RANGE_H

#include "mechanisms/mechanism.h"

/* Whether m is a bounded range and no sample of one, so that prv_most_log_moment applies. */
bool prv_is_bounded_range(const prv_mechanism *m);

/* An upper bound, rounding included, of log E_Q[e^(lam L)], lam > 0, over all mechanisms whose losses lie in
 * an interval of length `range` > 0. Its relative error is about 1e-7 if it is small, 1e-13 otherwise. */
double prv_most_log_moment(double range, double lam);

/* The place t in (0, range) at which the generalized randomized response with losses t and t - range, on a
 * sample if m is one, has about the greatest moment at the tilt lam in the direction `add`; half of the range
 * for lam <= 0. Any place is that of a mechanism of bounded range, so that no bound relies on the best one.
 */
double prv_worst_place(const prv_mechanism *m, bool add, double lam);

/* The generalized randomized response with two outcomes, of losses `place` and place - range, 0 < place <
 * range; the latter is rounded towards 0, to a smaller range. */
prv_status prv_mechanism_response(double range, double place, prv_mechanism **mechanism);

#endif
