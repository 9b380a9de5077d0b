/* Stage 2, the lattice that is dominated: likelihood-ratio merging.
 *
 * Outcomes are split freely and merged into lattice points whose likelihood ratio the merged masses have.
 * Merging is post-processing, so that every choice it makes gives a lower bound; choices decide how tight it
 * is. Mass that fits nowhere is dropped, which lowers the curve further. */
#ifndef PRV_MERGING_H
#define PRV_MERGING_H

#include "lattices/lattice.h"

/* The dominated lattice on the targets of the mesh. If the mesh is coarse, several shifts of the targets are
 * tried, and the one with the largest moment at mesh->tilt is kept in mesh->shift. `lattice` has room for
 * mesh->length, `scratch` for cells->length + 1. O(cells), vectorised where exponentials are. */
void prv_lattice_dominated(const prv_cells *cells, prv_mesh *mesh, double *scratch, prv_lattice *lattice);

#endif
