/* Answers by inequalities, of all directions at once: Chernoff's, and that of the total variation. They take
 * no composition. */
#ifndef PRV_INEQUALITIES_H
#define PRV_INEQUALITIES_H

#include <stdbool.h>

#include "curve/direction.h"

/* Bounds of epsilon at the delta `value`, or of delta at the epsilon `value`, if inequalities bring them as
 * close as asked, or tell on which side of a threshold the answer lies; *answered is false if not, and then
 * *bounds and *report are as they were. PRV_ERR_BOUNDS. */
prv_status prv_answer_by_inequalities(prv_direction *directions, size_t direction_count,
                                      const prv_options *options, prv_question question, double value,
                                      bool *answered, prv_bounds *bounds, prv_report *report);

/* A lower bound of delta by Chernoff's bound of 1 - delta: below 0 where that says nothing. O(cells). */
double prv_least_by_complement(const prv_direction *directions, size_t count, double epsilon);

/* Deltas so small that a composition loses them in its rounding are bounded by the total variation.
 * PRV_ERR_BOUNDS. */
prv_status prv_clip_small_delta(const prv_direction *directions, size_t direction_count, double epsilon,
                                prv_bounds *bounds);

/* Where no lattice could be made, for the reason `limit`: bounds of delta that are known without one, if the
 * total variation is tiny. False, and nothing is told, if it is not. */
bool prv_is_known_by_variation(const prv_direction *directions, size_t direction_count,
                               const prv_options *options, double epsilon, prv_limit limit,
                               prv_bounds *bounds, prv_report *report);

#endif
