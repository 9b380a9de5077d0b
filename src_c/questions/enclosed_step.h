/* A combined mechanism that runs once: its bounds are read off the two pairs that enclose it, without
 * lattices of the loss or a composition, and the pairs are made finer until bounds are as close as asked. */
#ifndef PRV_ENCLOSED_STEP_H
#define PRV_ENCLOSED_STEP_H

#include <stdbool.h>

#include "curve/direction.h"

/* True if all directions have one combined mechanism, which runs once, and options leave the way to bounds
 * open. */
bool prv_is_enclosed_step(const prv_direction *directions, size_t count, const prv_options *options);

/* How finely a first look at a question encloses combined mechanisms: PRV_COARSE_FINENESS, but for epsilon of
 * one that runs once, which needs no losses beyond those that delta sees. */
prv_fineness prv_first_fineness(const prv_step *steps, size_t step_count, prv_question question,
                                double value);

/* Bounds of epsilon at the delta `value`, or of delta at the epsilon `value`, over the directions. Statuses
 * of prv_direction_enclose, PRV_ERR_BOUNDS. */
prv_status prv_read_enclosed_step(prv_direction *directions, size_t count, const prv_options *options,
                                  prv_question question, double value, prv_bounds *bounds,
                                  prv_report *report);

#endif
