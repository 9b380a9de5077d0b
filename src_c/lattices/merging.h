/* Likelihood-ratio merging of the cells of a mechanism.
 *
 * Outcomes are split freely and merged into lattice points whose likelihood ratio the merged masses have.
 * Merging is post-processing, so that every choice it makes gives a lower bound; choices decide how tight it
 * is. Mass that fits nowhere is dropped, which lowers the curve further. */
#ifndef PRV_MERGING_H
#define PRV_MERGING_H

#include "lattices/lattice.h"

/* Merges all cells onto the targets of the mesh, which lie mesh->shift above lattice points. `lattice` has
 * room for mesh->length, `scratch` for cells->length + 1. O(cells), vectorised where exponentials are. */
void prv_merge_cells(const prv_cells *cells, const prv_mesh *mesh, double *scratch, prv_lattice *lattice);

#endif
