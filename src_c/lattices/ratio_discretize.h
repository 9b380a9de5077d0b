/* The law of the likelihood ratio of a mechanism that has cells, on a geometric lattice: its dominating or
 * dominated lattice of losses, reweighted to the null measure. */
#ifndef PRV_RATIO_DISCRETIZE_H
#define PRV_RATIO_DISCRETIZE_H

#include "lattices/ratio_law.h"

/* The points offset + spacing * index of the *loss*, nats, index from first to last. */
typedef struct prv_ratio_points {
    double offset, spacing;
    int64_t first, last;
    int64_t period; /* > 0: the loss may have atoms at these indices, either way, besides 0 */
    bool atoms;     /* whether it has atoms */
} prv_ratio_points;

/* O(points). Statuses of prv_cells_compute; PRV_ERR_PRECISION if rounding hides the masses. */
prv_status prv_ratio_discretize(const prv_mechanism *mechanism, const prv_ratio_side *side,
                                const prv_ratio_points *points, prv_ratio_law *law);

/* The law that is dominated, as a list of points that need not lie on a lattice: of each cell between two
 * points, its mean. Closer than the same on the lattice. Statuses as above. */
prv_status prv_ratio_cell_means(const prv_mechanism *mechanism, const prv_ratio_side *side,
                                const prv_ratio_points *points, prv_ratio_law *law);

#endif
