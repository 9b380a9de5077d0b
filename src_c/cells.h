/* Stage 1: the two masses of every cell between increasing knots.
 *
 * Knots x[0] < ... < x[length-1] cut the line into length + 1 cells: cell 0 is (-inf, x[0]], cell i is
 * (x[i-1], x[i]], the last is (x[length-1], inf) without +infinity itself. mass[i] is Q's mass of
 * the cell. P's mass n[i] is kept relative to the cell, relative[i] = n[i] e^(anchor), the anchor being the
 * cell's lower knot (x[0] for cell 0): it lies between mass e^(-width) and mass (any size up to
 * infinity in cell 0), and does not underflow where P does. */
#ifndef PRV_CELLS_H
#define PRV_CELLS_H

#include "mechanisms.h"

/* Which bound the cells serve. It matters for privacy curves, of which only values at the knots are
 * known, and for cdfs of a callback, which are off by their rounding: their cells are those of a
 * pair above, or of a pair below. */
typedef enum prv_side { PRV_DOMINATING, PRV_DOMINATED } prv_side;

typedef struct prv_cells {
    size_t length;           /* of knots */
    double *knots;           /* [length] */
    double *mass, *relative; /* [length + 1] */
    double infinite_mass;    /* Q's mass at +infinity */
    double tail_error;       /* relative error of every upper tail of mass or relative, at most */
    const prv_options *options; /* asked in long work whether to go on; NULL at first, and may stay so */
} prv_cells;

/* Room for `length` knots; the caller fills knots. PRV_ERR_MEMORY. */
prv_status prv_cells_new(size_t length, prv_cells *cells);
void prv_cells_free(prv_cells *cells);

/* Fills the masses. Errors: PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED and those of callbacks.
 *
 * Rounding: with T the upper tail of Q (or of P, relative) at a knot and T~ the sum of the computed
 * masses above it, T~ is T(1 + a) at a knot moved by b, with |a| and |b| below tail_error. This is
 * what the certificate needs: see certificate.h. Cost O(length), vectorised. */
prv_status prv_cells_compute(const prv_mechanism *mechanism, int add, prv_side side,
                             prv_cells *cells);

#endif
