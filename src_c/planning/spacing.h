/* Where the knots of each step lie: spacings that are powers of two times the lattice's step, fine where the
 * tilted mass is. */
#ifndef PRV_SPACING_H
#define PRV_SPACING_H

#include "planning/layout.h"

/* Of a knot's cells and its points of both lattices. */
#define PRV_BYTES_OF_KNOT 160.0

/* `step`, or one near it that puts sharp features onto the lattice: the period of the most frequent mechanism
 * that has one becomes a multiple of it (or it a multiple of the period). */
double prv_align_step(const prv_direction *direction, double step);

/* No lattice step may be less if cells are to be at least as wide as their rounding needs (nats; 0 for
 * discrete laws). */
double prv_narrowest_step(const prv_direction *direction);

/* Sets layout->scale, the scale of all spacings, from layout->law_step; and for a spectrum layout->step, a
 * power of two smaller, so that the least spacing wanted is on the lattice. weight: twice the cells of the
 * longest profile, scratch. */
void prv_scale_meshes(const prv_direction *direction, const prv_aim *aim, double *weight, prv_layout *layout);

/* Fills the mesh of step j and the knots of its cells. */
prv_status prv_mesh_of_step(const prv_direction *direction, size_t j, const prv_aim *aim, double *weight,
                            prv_layout *layout);

#endif
