/* Lists from below whose points are means of what lies close together: for laws of atoms, which no lattice
 * has room for. */
#ifndef PRV_RATIO_MEANS_H
#define PRV_RATIO_MEANS_H

#include <stdbool.h>

#include "lattices/ratio_list.h"

/* The mean of the points `first` up to `end` of a list, on the safe side, with their masses from below.
 * O(end - first). */
prv_ratio_listed prv_ratio_mean_of(const prv_ratio_law *list, size_t first, size_t end,
                                   const prv_ratio_side *side);

/* Whether all averages of these two lists, and none of their points, are normal doubles. */
bool prv_ratio_have_means(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                          const prv_ratio_side *side);

/* The law of w R_1 + (1 - w) R_2 from below, w in [2^-64, 1/2], of lists for which prv_ratio_have_means: a
 * point of it is the mean of all averages in a cell that is about this wide, nats. O(pairs + cells). Errors:
 * PRV_ERR_MEMORY, PRV_ERR_MEMORY_LIMIT; PRV_ERR_ENGINE if there were very many cells; those of callbacks. */
prv_status prv_ratio_average_means(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                   double spacing, const prv_ratio_side *side, prv_ratio_law *average);

#endif
