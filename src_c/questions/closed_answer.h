/* Answers by closed forms: bounds that rounding alone keeps apart. */
#ifndef PRV_CLOSED_ANSWER_H
#define PRV_CLOSED_ANSWER_H

#include <stdbool.h>

#include "curve/direction.h"

/* Bounds of epsilon at the delta `value`, in (mass at infinity, 1), or of delta at the finite epsilon
 * `value`, over the directions asked (1 or 2). *answered is false if a direction has no closed form, and then
 * *bounds is as it was; or if bounds are wider than asked, and lattices may bring them closer. If lattices
 * cannot, *answered is true, and report->accurate 0. PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, PRV_ERR_BOUNDS. May
 * change which cells are in use. O(atoms) for each of some dozen values of the curve. */
prv_status prv_answer_closed(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, double value, bool *answered, prv_bounds *bounds,
                             prv_report *report);

#endif
