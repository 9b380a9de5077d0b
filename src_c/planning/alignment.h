/* Spacings of lattices on which atoms of losses lie, or near which they do. No bound relies on the choice. */
#ifndef PRV_ALIGNMENT_H
#define PRV_ALIGNMENT_H

#include <stdbool.h>

#include "planning/aim.h"

/* Whether the losses are atoms that lie off the lattice of this spacing (nats) through the heaviest of them,
 * other than those on a lattice that is finer. */
bool prv_is_off_lattice(const prv_direction *direction, size_t step, double spacing);

/* The spacing (nats), `spacing` at most, of a lattice that is fine enough for the atoms of steps that lie off
 * the one of this spacing, wherever they lie: they cost a small part of aim->width. O(atoms). */
double prv_fine_about_atoms(const prv_direction *direction, const prv_aim *aim, double spacing);

/* What atoms off the lattice of this spacing are guessed to cost a convolution, nats of epsilon. O(atoms). */
double prv_cost_off_lattice(const prv_direction *direction, const prv_aim *aim, double spacing);

/* `spacing` (nats), or one near it that puts sharp features onto the lattice: the period of the most frequent
 * mechanism that has one becomes a multiple of it (or it a multiple of the period). If a convolution has
 * atoms that lie on no common lattice, a spacing of 1/16 of that or more on whose lattice they cost no more
 * than a part of aim->width, or as little as any that was tried. O(atoms * spacings tried). */
double prv_align_spacing(const prv_direction *direction, const prv_aim *aim, double spacing,
                         prv_engine engine);

#endif
