/* A mesh: lattice points of one uniform lattice that are knots of the cells. It need not be uniform itself: a
 * mesh is coarse where little mass lies. planning/spacing.h chooses meshes; no bound relies on the choice. */
#ifndef PRV_MESH_H
#define PRV_MESH_H

#include <stdbool.h>

#include "prvcore.h"

/* No cell of a mesh may be wider (nats): e^-width and sums of such numbers must not underflow, or P's mass
 * would be lost. */
#define PRV_WIDEST_CELL 100.0

typedef struct prv_mesh {
    double offset, spacing; /* nats: lattice points are offset + spacing * index */
    size_t length;
    int64_t *index; /* [length] lattice points that are knots, increasing */
    size_t *knot;   /* [length] position of each among the cells' knots */
    bool on_knots; /* targets of the dominated lattice are the knots themselves, for losses with atoms on them
                    */
    bool may_shift;     /* if on_knots: targets beside the knots may be taken instead where they lose less */
    bool lone_atoms;    /* most cells hold one atom or nothing: what to merge an atom with is compared however
                           near */
    bool keeps_top;     /* what lies above the last knot is one finite outcome, and not a loss of +infinity */
    bool clears_bottom; /* the little that rounding leaves at the first knot, below all losses, is moved up */
    double shift; /* nats, in [0, spacing): if not on_knots, targets lie this far above lattice points */
    double tilt;  /* about the saddle: weighs ways of merging against each other, for tightness alone */
} prv_mesh;

/* PRV_ERR_MEMORY. All but the length is 0, and the arrays are not filled. */
prv_status prv_mesh_new(size_t length, prv_mesh *mesh);
void prv_mesh_free(prv_mesh *mesh);

#endif
