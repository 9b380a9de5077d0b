/* Bounds of compositions in which some steps hardly matter, such as rare samples beside mechanisms of far
 * larger losses: the other steps are asked alone, and those are bounded by Chernoff's inequality. A lattice
 * of all would have to be as fine as the smallest losses, and as long as the largest. */
#ifndef PRV_NEGLIGIBLE_STEPS_H
#define PRV_NEGLIGIBLE_STEPS_H

#include <stdbool.h>

#include "curve/direction.h"

/* Bounds of epsilon at a delta, of the worst direction, if some steps are negligible, the others have a
 * closed form, and bounds are then well within the width asked; *answered is false if not, and then *bounds
 * and *report are as they were. */
prv_status prv_epsilon_without_negligible(prv_direction *directions, size_t direction_count,
                                          const prv_options *options, double delta, bool *answered,
                                          prv_bounds *bounds, prv_report *report);

#endif
