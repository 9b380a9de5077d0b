/* Cells whose masses are differences of tails: Gaussian, Laplace and mixture bases, bounded ranges, and the
 * cdfs of a callback; unsampled or on a Poisson sample. */
#ifndef PRV_TAIL_CELLS_H
#define PRV_TAIL_CELLS_H

#include "lattices/cells.h"

/* Fills mass, relative, infinite_mass and tail_error of cells whose knots are set; P's masses are not clipped
 * and the excesses not formed yet. tail_error lacks the error of the mechanism's densities. O(length),
 * vectorised.
 *
 * Errors: PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, those of prv_base_tails, and PRV_ERR_CDF_PAIR if P's and Q's
 * cdfs are farther from those of a pair than rounding explains. */
prv_status prv_tail_cells(const prv_mechanism *m, bool add, prv_side side, prv_cells *cells);

#endif
