/* Epsilon of a random allocation to many batches, which runs once: the sum of the batches' likelihood ratios
 * is composed as if it were a sum of privacy losses. */
#ifndef PRV_AVERAGED_STEP_H
#define PRV_AVERAGED_STEP_H

#include <stdbool.h>

#include "curve/direction.h"

/* Whether the mechanism is an average of so many batches that this is likely to be fast. */
bool prv_is_averaged_step(const prv_mechanism *mechanism);

/* Bounds of epsilon at delta over the directions, whose one step is such an average. *found is false if they
 * are not as close as asked: another way has to be taken then. Statuses of prv_bracket. */
prv_status prv_read_averaged_step(const prv_direction *directions, size_t count, const prv_options *options,
                                  double delta, bool *found, prv_bounds *bounds, prv_report *report);

#endif
