/* Bounded range: what the worst mechanism of one step has, which is not the pair that dominates them all
 * (PAIRS.md, section 5). */
#ifndef PRV_BOUNDED_RANGE_H
#define PRV_BOUNDED_RANGE_H

#include "mechanisms/mechanism.h"

/* 1 if nothing was sampled from it, so that prv_most_log_moment applies. */
int prv_is_bounded_range(const prv_mechanism *m);

/* No mechanism whose losses lie in an interval of length `range` > 0 has a greater log E_Q[e^(lam L)], lam >
 * 0. An upper bound, with its rounding: of relative error about 1e-7 where it is small, 1e-13 else. */
double prv_most_log_moment(double range, double lam);

/* The place t in (0, range) of the outcome with the greater loss at which the moment of the generalized
 * randomized response with losses t and t - range is greatest at the tilt lam; half of the range for tilts of
 * 0 or less. About: any place is one of a mechanism of bounded range. */
double prv_worst_place(double range, double lam);

/* The same of m, of bounded range and perhaps a sample, in the direction `add`. */
double prv_worst_place_of(const prv_mechanism *m, int add, double lam);

/* Generalized randomized response: two outcomes, losses `place` and, rounded to the side of less range, place
 * - range, where 0 < place < range. */
prv_status prv_mechanism_response(double range, double place, prv_mechanism **mechanism);

#endif
