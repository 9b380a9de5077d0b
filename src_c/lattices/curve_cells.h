/* Cells of a privacy curve that a callback computes. Its values at the knots alone are known, so that the
 * cells are those of a pair whose curve lies above, or of one whose curve lies below. */
#ifndef PRV_CURVE_CELLS_H
#define PRV_CURVE_CELLS_H

#include "lattices/cells.h"

/* Fills mass, relative, infinite_mass and tail_error of cells whose knots are set; P's masses are not clipped
 * and the excesses not formed yet. tail_error lacks the error of the mechanism's densities. O(length).
 *
 * Errors: PRV_ERR_MEMORY, PRV_ERR_CALLBACK, PRV_ERR_ARITHMETIC, and PRV_ERR_CURVE if a value lies outside [0,
 * 1] or the values rise by more than rounding explains. */
prv_status prv_curve_cells(const prv_mechanism *m, bool add, prv_side side, prv_cells *cells);

#endif
