/* DiscretizePRV of Gopi, Lee and Wutschitz (2021): one step's loss on a uniform lattice that has its mean.
 *
 * The lattice is close to the step and neither dominates it nor is dominated: Theorem 5.5 of the paper bounds
 * the difference for the whole composition. The mean-matching discretization alone uses it. */
#ifndef PRV_DISCRETIZE_PRV_H
#define PRV_DISCRETIZE_PRV_H

#include <stdbool.h>

#include "lattices/lattice.h"

/* Bounds of rounding, of one step that is taken once. The theorem knows nothing of rounding. */
typedef struct prv_discretization_error {
    double cells; /* tail_error of the cells (cells.h) */
    double mean;  /* nats: of the lattice's mean */
    double cdfs;  /* of probabilities, absolutely: error allowed to a callback's values */
    size_t knots; /* of the cells that were computed */
} prv_discretization_error;

/* The finite loss Y of a step, given that |Y| <= (n + 1/2) spacing, on the points mu + spacing * i, |i| <= n.
 * mu makes the lattice's mean the conditional mean of the loss. Points that no loss can reach are left out,
 * and infinite_mass is that of the step. The mechanism must have a mean (prv_mean_exists). On success the
 * caller frees the lattice; its `rounding` is not set.
 *
 * Errors: PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, those of callbacks, and PRV_ERR_PRECISION if there is no mass
 * on any point. O(n). */
prv_status prv_discretize_prv(const prv_mechanism *mechanism, bool add, double spacing, size_t n,
                              const prv_options *options, prv_lattice *lattice,
                              prv_discretization_error *error);

#endif
