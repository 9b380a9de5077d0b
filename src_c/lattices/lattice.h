/* Stage 2: lattices from cells.
 *
 * A lattice has its atoms on offset + step * index. The dominating one bounds delta from above, the
 * dominated one from below, each for every epsilon, and both survive composition (Zhu, Dong, Wang
 * 2022, Theorem 10). The mesh need not be uniform: knots and targets are some of the lattice points.
 */
#ifndef PRV_LATTICE_H
#define PRV_LATTICE_H

#include "lattices/cells.h"

/* No cell of a mesh may be wider (nats): e^-width and sums of such numbers must not underflow, or P's mass
 * would be lost. */
#define PRV_WIDEST_CELL 100.0

typedef struct prv_lattice {
    size_t length;
    double offset, step;
    int64_t *index;                       /* [length], increasing */
    double *loss;                         /* [length], offset + step * index */
    double *mass;                         /* [length], >= 0; with infinite_mass they sum to at most 1 */
    double infinite_mass, infinite_error; /* loss +infinity; and what that is off by, absolutely */
    /* What rounding may have moved. With D the curve of the finite atoms and delta that of the mechanism's
     * finite losses (those above the last knot of a dominating lattice count as infinite), for every real e:
     *     delta(e) <= (1 + relative) D(e - shift) if it dominates, delta(e) >= D(e + shift) / (1 + relative)
     * if not. */
    prv_rounding rounding;
} prv_lattice;

/* Which of the cells' knots are lattice points, and where dominated mass is gathered. */
typedef struct prv_mesh {
    double offset, step;
    size_t length;
    int64_t *index; /* [length] lattice points that are knots, increasing */
    size_t *knot;   /* [length] position of each among the cells' knots */
    int on_knots;   /* dominated targets are the knots themselves (losses with atoms there) */
    double shift;   /* else: targets lie this far above lattice points, in [0, step) */
    double tilt;    /* near the saddle: weighs one way of merging against another; tightness only */
} prv_mesh;

prv_status prv_mesh_new(size_t length, prv_mesh *mesh);
void prv_mesh_free(prv_mesh *mesh);

prv_status prv_lattice_new(size_t length, prv_lattice *lattice);
void prv_lattice_free(prv_lattice *lattice);

/* The pessimistic lattice of "Connect the Dots" (Doroshenko et al. 2022, section 4): each cell's two
 * masses are kept by splitting it onto its two knots, so that the privacy curve is the piecewise
 * linear (in e^eps) interpolation at the knots; what lies above the last knot goes to +infinity. `lattice`
 * has room for mesh->length. O(cells). */
void prv_lattice_dominating(const prv_cells *cells, const prv_mesh *mesh, prv_lattice *lattice);

/* The same on the cells' own knots, without the outer cells: mass double[cells->length]. */
void prv_split_cells(const prv_cells *cells, double *mass);

/* Likelihood-ratio merging: outcomes are split freely and merged into lattice points whose ratio the
 * merged masses have exactly. Merging is post-processing, so every choice it makes gives a
 * lower bound; the choices only decide how tight. Masses that fit nowhere are dropped. Where the mesh is
 * coarse, several shifts of the targets are tried and the one with the largest tilted moment is kept in
 * mesh->shift. `lattice` has room for mesh->length, `left` is scratch of cells->length + 1. O(cells). */
void prv_lattice_dominated(const prv_cells *cells, prv_mesh *mesh, double *left, prv_lattice *lattice);

#endif
