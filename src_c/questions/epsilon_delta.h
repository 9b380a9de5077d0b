/* Epsilon at deltas and delta at epsilons, over directions that are made already. */
#ifndef PRV_EPSILON_DELTA_H
#define PRV_EPSILON_DELTA_H

#include "curve/direction.h"

/* Bounds of epsilon at each delta, or of delta at each epsilon, over these directions: what they bound is the
 * worst case of the mechanisms over data sets, whether their dominating pairs are attained or not. Every
 * answer passes here. reports may be NULL. */
prv_status prv_answer(prv_direction *directions, size_t direction_count, const prv_options *options,
                      prv_question question, const double *values, size_t length, prv_bounds *bounds,
                      prv_report *reports);

#endif
