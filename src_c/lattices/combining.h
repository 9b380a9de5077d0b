/* Combined mechanisms between two pairs with atoms: laws of their parts on geometric lattices (ratio_law.h),
 * combined as the mechanism says. */
#ifndef PRV_COMBINING_H
#define PRV_COMBINING_H

#include <stdbool.h>

#include "lattices/ratio_law.h"

/* How fine the lattices are. No bound relies on it. */
typedef struct prv_fineness {
    double share;   /* the spacing of a lattice, as a part of the deviation of log R */
    double cut;     /* mass that may be moved to infinite losses, of all operations together */
    double low_cut; /* mass that may be moved at the end of small losses, in each operation */
} prv_fineness;

/* A first look. */
#define PRV_COARSE_FINENESS ((prv_fineness){0.125, 1e-40, 1e-8})
/* None: pairs that say nothing. */
#define PRV_NO_FINENESS ((prv_fineness){0.0, 0.0, 0.0})

/* The mechanism of PRV_BASE_ENCLOSED that encloses a combined one in a direction. It refers to `mechanism`,
 * which must outlive it. Errors: PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, those of callbacks;
 * PRV_ERR_MEMORY_LIMIT if a lattice needs more than options->memory_limit bytes (options may be NULL),
 * PRV_ERR_ENGINE if it has so many points that not all pairs of them can be visited, PRV_ERR_PRECISION if
 * rounding hides the laws. */
prv_status prv_enclose(const prv_mechanism *mechanism, bool add, const prv_fineness *fineness,
                       const prv_options *options, prv_mechanism **enclosed);

/* The laws of one batch of an average, as finely as prv_enclose makes them. Errors as above;
 * prv_law_pair_free frees them, whatever the status. */
prv_status prv_batch_laws(const prv_mechanism *average, bool add, const prv_fineness *fineness,
                          const prv_options *options, prv_law_pair *laws);

/* The same between pairs that say nothing: an infinite loss, and no loss. PRV_ERR_MEMORY. */
prv_status prv_enclose_trivially(const prv_mechanism *mechanism, prv_mechanism **enclosed);

#endif
