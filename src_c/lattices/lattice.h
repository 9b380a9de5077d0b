/* Stage 2: lattices from cells.
 *
 * A lattice has its atoms on offset + spacing * index. The dominating lattice bounds delta from above, the
 * dominated one (dominated.h) from below, each for every epsilon, and composition keeps both bounds (Zhu,
 * Dong, Wang 2022, Theorem 10). Composition, curves and questions see lattices alone. */
#ifndef PRV_LATTICE_H
#define PRV_LATTICE_H

#include "lattices/cells.h"
#include "lattices/mesh.h"

typedef struct prv_lattice {
    size_t length;
    double offset, spacing; /* nats */
    int64_t *index;         /* [length] increasing */
    double *loss;           /* [length] nats: offset + spacing * index */
    double *mass;           /* [length] >= 0; with infinite_mass they sum to at most 1 */
    double infinite_mass;   /* at the loss +infinity */
    double infinite_error;  /* absolute error of infinite_mass, at most */
    /* The top, if mesh->keeps_top: one outcome without a place on the lattice, for the losses above the last
     * knot. Q's mass, P's times e^(last knot), and that knot; else 0. With it the bound below holds of a
     * dominating lattice for e up to the last knot. JUMPS.md, section 1. */
    double top_mass, top_relative, top_knot;
    /* Bound of the effects of rounding. With D the curve of the finite atoms and delta that of the
     * mechanism's finite losses (losses above the last knot of a dominating lattice count as infinite), for
     * every real e: delta(e) <= (1 + relative) D(e - shift) if the lattice dominates, delta(e) >= D(e +
     * shift) / (1 + relative) if it is dominated. */
    prv_rounding rounding;
} prv_lattice;

/* PRV_ERR_MEMORY. All but the length is 0, and the arrays are not filled. */
prv_status prv_lattice_new(size_t length, prv_lattice *lattice);
void prv_lattice_free(prv_lattice *lattice);

/* The pessimistic lattice of "Connect the Dots" (Doroshenko et al. 2022, section 4): a cell's mass is split
 * between its two knots so that both Q's and P's mass are kept. The privacy curve is then the piecewise
 * linear (in e^eps) interpolation of the mechanism's at the knots. Mass above the last knot goes to
 * +infinity. `lattice` has room for mesh->length. O(cells), vectorised. */
void prv_lattice_dominating(const prv_cells *cells, const prv_mesh *mesh, prv_lattice *lattice);

/* The same split on the cells' own knots, without the outer cells: mass double[cells->length]. */
void prv_split_cells(const prv_cells *cells, double *mass);

/* Gives the lattice of these cells its top, and counts what this adds to its rounding. */
void prv_lattice_keep_top(const prv_cells *cells, prv_side side, prv_lattice *lattice);

/* top_relative of a dominating lattice of these cells. */
double prv_raised_top(const prv_cells *cells);

/* The shift (nats) that compositions add by taking atoms to be exactly at offset + spacing * index, while
 * cells were computed at its rounded value: product and sum round by u of themselves each. */
double prv_rounding_of_points(const prv_cells *cells, const prv_mesh *mesh);

#endif
