/* The paper's Algorithms 1 and 2: estimates from mean-matched lattices, widened by the errors of its
 * Theorem 5.5. */
#ifndef PRV_MEAN_MATCHING_H
#define PRV_MEAN_MATCHING_H

#include "curve/direction.h"

/* Bounds of epsilon at each delta, or of delta at each epsilon: one composition a direction answers all
 * values that the totals do not. reports may be NULL. */
prv_status prv_mean_matching(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, const double *values, size_t length, prv_bounds *bounds,
                             prv_report *reports);

#endif
