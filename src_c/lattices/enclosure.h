/* One step between two lattices: one that dominates it, and one that it dominates. */
#ifndef PRV_ENCLOSURE_H
#define PRV_ENCLOSURE_H

#include "lattices/lattice.h"

typedef struct prv_enclosure {
    prv_lattice dominating, dominated;
    size_t knots;
    double absolute_error; /* what a callback's values may be off by */
    double log_true, log_above,
        log_below; /* log-moments at the saddle: of the step, about, and of both lattices */
} prv_enclosure;

/* The lattices on the mesh, cells of whose knots are computed; mesh->shift is chosen. O(knots). */
prv_status prv_enclosure_new(const prv_mechanism *mechanism, bool add, prv_mesh *mesh, prv_cells *cells,
                             double saddle, const prv_options *options, prv_enclosure *enclosure);
void prv_enclosure_free(prv_enclosure *enclosure);

/* Sums over the steps of a composition, each as often as it runs. */
typedef struct prv_enclosed {
    size_t knots;              /* of distinct steps */
    prv_rounding above, below; /* of the dominating and of the dominated lattices: lattice.h */
    double absolute_error, log_true, log_above, log_below;
} prv_enclosed;

/* The greater of both factors that rounding of the cells puts on delta, as a logarithm, and the greater shift
 * (nats). */
prv_rounding prv_enclosed_rounding(const prv_enclosed *sums);

void prv_enclosed_add(prv_enclosed *sums, const prv_enclosure *enclosure, double count);

/* What the upper crossing counts in an estimate that lies between both. */
double prv_upper_weight(const prv_enclosed *sums);

#endif
