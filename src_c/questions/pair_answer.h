/* Bounds of the pairs of directions, and of what is known to lie below them: bounded ranges. */
#ifndef PRV_PAIR_ANSWER_H
#define PRV_PAIR_ANSWER_H

#include "curve/direction.h"

/* prv_answer (questions/epsilon_delta.h), but that lower bounds and estimates are those of the pairs of the
 * directions, whoever attains them. */
prv_status prv_answer_pairs(prv_direction *directions, size_t direction_count, const prv_options *options,
                            prv_question question, const double *values, size_t length, prv_bounds *bounds,
                            prv_report *reports);

/* An upper bound where bounded ranges compose, whose worst moments are below those of their pair; and the
 * tilts of the question in each direction. */
double prv_most_of_all_ranges(prv_direction *directions, size_t direction_count, prv_question question,
                              double value, double *lam);

#endif
