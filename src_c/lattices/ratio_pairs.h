/* All pairs of points of two laws on one lattice, added up in the cells that their averages lie in. */
#ifndef PRV_RATIO_PAIRS_H
#define PRV_RATIO_PAIRS_H

#include "lattices/ratio_cells.h"
#include "lattices/ratio_stretches.h"

/* The average w R_1 + (1 - w) R_2 of points of a and b, w in [2^-64, 1/2], on a lattice `finer` times finer,
 * a power of two. */
typedef struct prv_ratio_averaging {
    const prv_ratio_law *a, *b;
    prv_ratio_stretches of_a, of_b;
    double weight;
    unsigned finer;
    double share; /* of the deviation, which the spacing is: how many points may be left out
                     (ratio_thinning.h) */
    const prv_ratio_side *side;
} prv_ratio_averaging;

/* Adds all pairs to cells made for them, and counts their terms. Averages may be up to twice the widest
 * stride beyond both laws. O(points of a times points of b): pairs whose numbers differ by d have averages in
 * the same place between points. Errors: PRV_ERR_MEMORY,
 * PRV_ERR_INTERRUPTED, those of callbacks. */
prv_status prv_ratio_add_pairs(const prv_ratio_averaging *averaging, prv_ratio_cells *cells);

#endif
