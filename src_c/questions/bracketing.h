/* Bounds from dominating and dominated lattices, refined until they are as close as asked. */
#ifndef PRV_BRACKETING_H
#define PRV_BRACKETING_H

#include "curve/direction.h"

/* Bounds of epsilon at the delta `value`, in (mass at infinity, 1), or of delta at the epsilon `value`,
 * finite and below the greatest loss, over the directions asked (1 or 2). On PRV_ERR_MEMORY_LIMIT
 * report->memory is what the first pass needs. */
prv_status prv_bracket(prv_direction *directions, size_t direction_count, const prv_options *options,
                       prv_question question, double value, prv_bounds *bounds, prv_report *report);

#endif
