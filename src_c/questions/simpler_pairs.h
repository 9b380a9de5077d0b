/* Allocations between two mechanisms without averages, for questions to which no lattice of an average is an
 * answer: laws too wide for one, or too narrow. The pair of one batch that the record is known to be in
 * dominates an average of batches; what is seen of the first batch alone, which is the batch on a Poisson
 * sample of probability 1 / batches, is dominated by it (PAIRS.md, section 10). */
#ifndef PRV_SIMPLER_PAIRS_H
#define PRV_SIMPLER_PAIRS_H

#include <stdbool.h>

#include "curve/direction.h"

typedef struct prv_simpler_pairs {
    prv_directions directions;
    prv_mechanism **made; /* [count], which the directions refer to */
    size_t count;
} prv_simpler_pairs;

/* True if a mechanism of these steps is made of averages. */
bool prv_have_averages(const prv_direction *direction);

/* The directions of the simpler mechanisms, of the same number of steps or more: `above` or below the pairs
 * of `directions`. Statuses of prv_direction_new, PRV_ERR_COUNT if a step runs too often.
 * prv_simpler_pairs_free frees them, whatever is returned. */
prv_status prv_simpler_pairs_new(const prv_direction *directions, size_t count, bool above,
                                 const prv_options *options, prv_simpler_pairs *pairs);
void prv_simpler_pairs_free(prv_simpler_pairs *pairs);

#endif
