/* Lower bounds by data sets, of compositions whose pairs no two data sets have. */
#ifndef PRV_DATA_BOUNDS_H
#define PRV_DATA_BOUNDS_H

#include "curve/direction.h"

/* Raises lower[length] to lower bounds by data sets: one choice for all values, or if ranges compose, one for
 * each. bounds[length] are those of the pairs. */
prv_status prv_raise_by_data(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, const double *values, size_t length,
                             const prv_bounds *bounds, double *lower);

#endif
