/* Outcomes merged until they lie on the points of a geometric lattice: likelihood-ratio merging, for laws
 * whose point masses are too rough for the sweep of merging.h (cells alternately full and empty), by sums of
 * positive terms alone. */
#ifndef PRV_RATIO_MERGING_H
#define PRV_RATIO_MERGING_H

#include <stdbool.h>
#include <stddef.h>

/* mass[c] lies between point c and point c + 1 of a lattice of log R of this spacing, c < cells; of it
 * upper[c] would go to point c + 1 if it were split between both with its mean kept. null[cells + 1], masses
 * on points before, gets those of outcomes merged at the points as well. What cannot be merged is moved to
 * the point above, or below, as `up` says. Returns the relative distance of merged means from their points,
 * at most, by roundings of this function. O(cells). */
double prv_ratio_merge(const double *mass, const double *upper, size_t cells, double spacing, bool up,
                       double *null);

#endif
