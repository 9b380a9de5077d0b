/* A step on two lattices: losses near the least one, its bulk, on a fine lattice, and jumps on a coarse one.
 *
 * With y the least loss of the step, or a number a little below, S = loss - y >= 0 is cut in three: the bulk,
 * S <= cut, on points of bulk_spacing * Z; jumps, cut < S <= top, on carried + jump_spacing * Z; and one
 * outcome for all losses above the top. As outcomes without a place on a lattice need none where all that
 * matters is whether one of them occurs (JUMPS.md, section 1), the top may be low: no higher than the epsilon
 * that is asked about. */
#ifndef PRV_JUMP_LATTICES_H
#define PRV_JUMP_LATTICES_H

#include "lattices/lattice.h"

/* Where the knots lie. No bound relies on the choice. */
typedef struct prv_jump_mesh {
    double least;        /* nats: the loss at which S is 0 */
    double bulk_spacing; /* nats */
    size_t bulk_length;  /* of knots of the bulk, at least 2 */
    int64_t *bulk_index; /* [bulk_length] increasing from 0; the cut is the last one */
    double jump_spacing; /* nats */
    size_t jump_length;  /* of knots of jumps, at least 2; 0 where the top is the cut */
    int64_t *jump_index; /* [jump_length] increasing from cut = carried + jump_spacing * jump_index[0] to the
                            top. Neighbours differ by even numbers, unless on_knots. */
    bool on_knots; /* of discrete losses: knots lie about atoms, and the dominated lattice of jumps has these,
                      not the middles of cells */
    double carried; /* nats, in [0, cut): a jump counts as so much less, which its place in the bulk adds */
    double tilt;    /* about the saddle, for tightness alone */
} prv_jump_mesh;

/* Room for so many knots; all else is 0. PRV_ERR_MEMORY. */
prv_status prv_jump_mesh_new(size_t bulk_length, size_t jump_length, prv_jump_mesh *mesh);
void prv_jump_mesh_free(prv_jump_mesh *mesh);

/* nats above the least loss. */
double prv_jump_mesh_cut(const prv_jump_mesh *mesh);
double prv_jump_mesh_top(const prv_jump_mesh *mesh);

/* A lattice that dominates the step or is dominated by it, in these three parts. */
typedef struct prv_jump_lattice {
    prv_lattice bulk, jumps;       /* masses of Q; jumps has no points where the mesh has none */
    double top_mass, top_relative; /* Q's mass above the top, and P's times e^(least + top) */
} prv_jump_lattice;

typedef struct prv_jump_lattices {
    prv_jump_lattice dominating, dominated;
    size_t knots;          /* of cells */
    prv_rounding rounding; /* of either, as that of a lattice; the outcome above the top included. Holds of a
                              dominating lattice for epsilons up to least + top. */
} prv_jump_lattices;

/* Of a mechanism whose cells are known relatively (prv_absolute_cdf_error is 0), without mass at infinity; of
 * atoms only if mesh->on_knots.
 * PRV_ERR_ENGINE if cells are narrower than their rounding allows; PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED. */
prv_status prv_jump_lattices_new(const prv_mechanism *mechanism, bool add, const prv_jump_mesh *mesh,
                                 const prv_options *options, prv_jump_lattices *lattices);
void prv_jump_lattices_free(prv_jump_lattices *lattices);

#endif
