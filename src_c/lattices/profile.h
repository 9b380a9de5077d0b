/* A coarse picture of one step's loss, from a few hundred cells placed where its law is: it chooses tilts,
 * meshes and windows. Nothing that a bound relies on comes from here, but for two things: the
 * coarse dominating lattice, whose moments E[e^(lam Y)], lam >= 0, are true upper bounds of the step's; and
 * the merged cells, whose E[e^(-t Y)], 0 <= t <= 1, are that too, since (dP/dQ)^t is concave. */
#ifndef PRV_PROFILE_H
#define PRV_PROFILE_H

#include "lattices/cells.h"
#include "lattices/tilt.h"

typedef struct prv_profile {
    size_t length;
    double *low, *high;         /* [length] ends of the cells; equal for an atom */
    double *center;             /* [length] loss of the cell merged into one atom, increasing */
    double *mass;               /* [length] Q's, > 0 */
    double *tail;               /* [length] Q's mass of this cell and all finite ones above */
    double *knots, *dominating; /* [knot_count] coarse connect-the-dots lattice */
    size_t knot_count;
    double dominating_infinite,
        infinite_error; /* mass at infinity; and what that of the step itself is off by */
    double infinite_mass;
    double tail_error;     /* of the cells: cells.h */
    prv_rounding rounding; /* of the coarse lattice, as lattice.h has it of a dominating one */
    double *block;
} prv_profile;

/* fineness 1 is the usual number of cells; 4 takes four times as many. */
prv_status prv_profile_new(const prv_mechanism *mechanism, bool add, size_t fineness, prv_profile *profile);
void prv_profile_free(prv_profile *profile);

#endif
