/* The paper's Algorithms 1 and 2: estimates from mean-matched lattices, widened by the errors of its
 * Theorem 5.5. */
#ifndef PRV_MEAN_MATCHING_H
#define PRV_MEAN_MATCHING_H

#include "curve/direction.h"

/* Mean-matching: one composition a direction answers all values. */
prv_status prv_mean_matching(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, const double *values, size_t length, prv_bounds *bounds,
                             prv_report *reports);

#endif
