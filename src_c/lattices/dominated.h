/* Stage 2, the lattice that is dominated: where its points go, and cells merged onto them (merging.h). */
#ifndef PRV_DOMINATED_H
#define PRV_DOMINATED_H

#include "lattices/lattice.h"

/* The dominated lattice on the targets of the mesh. If the mesh is coarse, several shifts of the targets are
 * tried, and the one with the largest moment at mesh->tilt is kept in mesh->shift. `lattice` has room for
 * mesh->length, `scratch` for cells->length + 1. O(cells), vectorised where exponentials are. */
void prv_lattice_dominated(const prv_cells *cells, prv_mesh *mesh, double *scratch, prv_lattice *lattice);

#endif
