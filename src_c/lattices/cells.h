/* Stage 1: the two masses of every cell between increasing knots.
 *
 * Knots x[0] < ... < x[length-1] cut the line of losses into length + 1 cells: cell 0 is (-inf, x[0]], cell i
 * is (x[i-1], x[i]], and the last cell is (x[length-1], inf) without +infinity itself. mass[i] is Q's mass of
 * cell i. P's mass n[i] is stored as relative[i] = n[i] e^(anchor), where the anchor is the cell's lower knot
 * (x[0] for cell 0): relative[i] lies between mass[i] e^(-width) and mass[i] (it has any size up to infinity
 * in cell 0), and does not underflow where n[i] does.
 *
 * This file makes the cells of every mechanism: from tails (tail_cells.h), from a privacy curve
 * (curve_cells.h), from atoms, and of pairs that are made of other pairs (folded ones and choices) from the
 * cells of these. Later stages see nothing of a mechanism but its cells and its support. */
#ifndef PRV_CELLS_H
#define PRV_CELLS_H

#include <stdbool.h>

#include "mechanisms/mechanism.h"

/* The bound that the cells serve. It matters if the exact masses are not known: of a privacy curve only
 * values at the knots are, and the cdfs of a callback have errors. Their cells are those of a pair that
 * dominates the mechanism, or of a pair that it dominates. */
typedef enum prv_side { PRV_DOMINATING, PRV_DOMINATED } prv_side;

typedef struct prv_cells {
    size_t length;    /* number of knots */
    double *knots;    /* [length] nats, increasing */
    double *mass;     /* [length + 1] Q's */
    double *relative; /* [length + 1] P's, times e^anchor */
    double *excess; /* [length + 1] mass - relative of inner cells, rounded up as the contract below needs */
    double infinite_mass;  /* Q's mass at +infinity */
    double infinite_error; /* absolute error of infinite_mass, at most */
    double tail_error;     /* a of the contract below, relative and in nats */
    double least_width;    /* nats: the contract holds if its knots are at least so far apart; 0 for atoms */
    double loss_error; /* relative error of the losses of atoms, with the roundings of P's masses; else 0 */
    const prv_options *options; /* asked whether long work goes on; may be NULL, as after prv_cells_new */
} prv_cells;

/* Meshes of laws that are known by their tails have no cells narrower than this (nats), which exceeds
 * least_width unless losses are so large that no mesh would help. */
#define PRV_NARROWEST_CELL 0x1p-34

/* Room for `length` knots; the caller fills knots. PRV_ERR_MEMORY. */
prv_status prv_cells_new(size_t length, prv_cells *cells);
void prv_cells_free(prv_cells *cells);

/* Fills everything but knots and options, of the direction 'add' or 'remove'. O(length), times the number of
 * components of a mixture; vectorised. Errors: PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED and those of callbacks.
 *
 * The contract of rounding, proved in bounds.rst ("Cells"), is about three privacy curves:
 *   delta   of the mechanism's finite losses, where losses above the last knot count as infinite;
 *   C       of the pair with one outcome for each inner cell, of masses mass[i] and relative[i];
 *   D       of a lattice on knots y[0] = x[0] < y[1] < ... that are some of the x[i], at least least_width
 *           apart, the last x among them. Of the cells that (y[j-1], y[j]] is made of let M be the sum of
 *           mass, and E the sum of mass - relative, relative to y[j-1]. The lattice has, of these, the mass
 *           min(E / (1 - e^(y[j-1] - y[j])), M) at the upper knot and the rest of M at the lower one; and
 *           mass[0] at x[0].
 * With a = tail_error, for every real epsilon,
 *     delta(epsilon) <= (1 + 1.5 a) D(epsilon - 2.5 a),
 *     delta(epsilon) >= C(epsilon + 2.5 a) / (1 + 1.5 a).
 * The absolute error of a callback's values comes on top (prv_absolute_cdf_error). */
prv_status prv_cells_compute(const prv_mechanism *mechanism, bool add, prv_side side, prv_cells *cells);

/* The factor 1 + relative and the shift (nats) of that contract: of these cells, and for any sum of
 * tail_error. */
typedef struct prv_rounding {
    double relative, shift;
} prv_rounding;
prv_rounding prv_cells_rounding(const prv_cells *cells);
prv_rounding prv_rounding_of_tails(double tail_error);

#endif
