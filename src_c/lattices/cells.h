/* Stage 1: the two masses of every cell between increasing knots.
 *
 * Knots x[0] < ... < x[length-1] cut the line into length + 1 cells: cell 0 is (-inf, x[0]], cell i is
 * (x[i-1], x[i]], the last is (x[length-1], inf) without +infinity itself. mass[i] is Q's mass of
 * the cell. P's mass n[i] is kept relative to the cell, relative[i] = n[i] e^(anchor), the anchor being the
 * cell's lower knot (x[0] for cell 0): it lies between mass e^(-width) and mass (any size up to
 * infinity in cell 0), and does not underflow where P does. */
#ifndef PRV_CELLS_H
#define PRV_CELLS_H

#include "mechanisms/mechanism.h"

/* Which bound the cells serve. It matters for privacy curves, of which only values at the knots are
 * known, and for cdfs of a callback, which are off by their rounding: their cells are those of a
 * pair above, or of a pair below. */
typedef enum prv_side { PRV_DOMINATING, PRV_DOMINATED } prv_side;

typedef struct prv_cells {
    size_t length;           /* of knots */
    double *knots;           /* [length] */
    double *mass, *relative; /* [length + 1] */
    double *excess; /* [length + 1] of inner cells: mass - relative, from above as PRV_DOMINATING needs it */
    double infinite_mass;  /* Q's mass at +infinity */
    double infinite_error; /* what that may be off by, absolutely */
    double tail_error;     /* a of the contract below */
    double
        least_width; /* nats: the knots that it speaks of are at least so far apart; 0 for discrete losses */
    const prv_options *options; /* asked in long work whether to go on; NULL at first, and may stay so */
} prv_cells;

/* Meshes of laws that are known by their tails have no narrower cells (nats): more than least_width below,
 * unless losses are so large that it is no use. */
#define PRV_NARROWEST_CELL 0x1p-34

/* Room for `length` knots; the caller fills knots. PRV_ERR_MEMORY. */
prv_status prv_cells_new(size_t length, prv_cells *cells);
void prv_cells_free(prv_cells *cells);

/* Fills the masses. Errors: PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED and those of callbacks.
 *
 * The contract of rounding, proved in bounds.rst ("Cells"). Let a = tail_error, delta the curve of the
 * mechanism's finite losses, those above the last knot counting as infinite, and D the curve of the lattice
 * on knots y[0] = x[0] < y[1] < ... that are some of the x[i], least_width apart, the last of all among them.
 * The lattice has, of each cell (y[j-1], y[j]] with mass M and excess E, min(E / (1 - e^(y[j-1] - y[j])), M)
 * at the upper knot and the rest of M at the lower one, and mass[0] at x[0]. (E is the sum of mass -
 * relative, relative to y[j-1], and M that of mass, of the cells that it is made of.) Let C be the curve of
 * the pair with one outcome for each inner cell, of masses mass[i] and relative[i]. Then, for every real
 * epsilon, delta(epsilon) <= (1 + 1.5 a) D(epsilon - 2.5 a),    delta(epsilon) >= C(epsilon + 2.5 a) / (1
 * + 1.5 a). What callbacks' values are off by comes on top (prv_absolute_cdf_error). Cost O(length),
 * vectorised. */
prv_status prv_cells_compute(const prv_mechanism *mechanism, int add, prv_side side, prv_cells *cells);

/* The factor 1 + relative and the shift (nats) of that contract. */
typedef struct prv_rounding {
    double relative, shift;
} prv_rounding;
prv_rounding prv_cells_rounding(const prv_cells *cells);

#endif
