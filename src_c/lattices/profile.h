/* A coarse picture of one step's loss, from a few hundred cells placed where its law is. Tilts, meshes and
 * windows are chosen by it. Bounds rely on two things in it: the moments E[e^(lam Y)], lam >= 0, of the
 * coarse dominating lattice are upper bounds of the step's; and so are the moments E[e^(-t Y)], 0 <= t <= 1,
 * of the merged cells, since (dP/dQ)^t is concave. */
#ifndef PRV_PROFILE_H
#define PRV_PROFILE_H

#include "lattices/cells.h"
#include "lattices/tilt.h"

typedef struct prv_profile {
    size_t fineness;
    size_t length;
    double *low, *high;   /* [length] ends of the cells, nats; equal for an atom */
    double *center;       /* [length] loss of the cell merged into one atom, increasing, nats */
    double *mass;         /* [length] Q's, > 0 */
    double *tail;         /* [length] Q's mass of this cell and all finite ones above */
    double infinite_mass; /* of the step */
    double tail_error;    /* of the cells: cells.h */

    /* The coarse dominating lattice (lattice.h). */
    size_t knot_count;
    double *knots, *dominating; /* [knot_count] losses (nats) and masses */
    double dominating_infinite; /* mass at infinity */
    double infinite_error;      /* absolute error of the step's mass at infinity, at most */
    prv_rounding rounding;

    double *block; /* holds all arrays; NULL if there are none */
} prv_profile;

/* fineness 1 is the usual number of cells; 4 takes four times as many. */
prv_status prv_profile_new(const prv_mechanism *mechanism, bool add, size_t fineness, prv_profile *profile);
void prv_profile_free(prv_profile *profile);

#endif
