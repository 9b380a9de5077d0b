/* One step between two lattices: one that dominates it, and one that it dominates. */
#ifndef PRV_ENCLOSURE_H
#define PRV_ENCLOSURE_H

#include "lattices/lattice.h"

typedef struct prv_enclosure {
    prv_lattice dominating, dominated;
    size_t knots;
    double absolute_error; /* of masses: prv_absolute_cdf_error */
    /* Log-moments at the saddle: of the step itself, about, and of the two lattices. For the estimate alone.
     */
    double log_true, log_above, log_below;
} prv_enclosure;

/* The two lattices on the mesh; fills the cells, whose knots are given, and chooses mesh->shift. Nothing is
 * left to be freed unless PRV_OK is returned. O(knots). */
prv_status prv_enclosure_new(const prv_mechanism *mechanism, bool add, prv_mesh *mesh, prv_cells *cells,
                             double saddle, const prv_options *options, prv_enclosure *enclosure);
/* The dominating lattice alone; all that belongs to the other one is 0. */
prv_status prv_enclosure_above_new(const prv_mechanism *mechanism, bool add, const prv_mesh *mesh,
                                   prv_cells *cells, const prv_options *options, prv_enclosure *enclosure);
void prv_enclosure_free(prv_enclosure *enclosure);

/* Sums over the steps of a composition, each as often as it runs. */
typedef struct prv_enclosed {
    size_t knots;              /* of distinct steps */
    prv_rounding above, below; /* of the dominating and of the dominated lattices: lattice.h */
    double absolute_error, log_true, log_above, log_below;
} prv_enclosed;

void prv_enclosed_add(prv_enclosed *sums, const prv_enclosure *enclosure, double count);

/* The greater one of both sides' factors on delta, as a logarithm, and the greater shift (nats). */
prv_rounding prv_enclosed_rounding(const prv_enclosed *sums);

/* The weight of the upper crossing in an estimate that lies between both, in [0, 1]: by the log-moments, or
 * 1/3, the weight in second order. */
double prv_upper_weight(const prv_enclosed *sums);

#endif
