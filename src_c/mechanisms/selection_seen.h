/* What is seen of a record that is in some of the batches, by pairs that data sets have: for lower bounds. */
#ifndef PRV_SELECTION_SEEN_H
#define PRV_SELECTION_SEEN_H

#include <stdint.h>

#include "mechanisms/mechanism.h"

/* The pair of the first batch alone; or with Gaussian noise that of the sum of all outcomes, or of the
 * largest one, if it has a larger epsilon where pairs are compared. 2 <= selected < batches <= 2^32. Statuses
 * of prv_mechanism_poisson_subsampled. */
prv_status prv_selection_seen(const prv_mechanism *base, uint64_t batches, uint64_t selected,
                              prv_mechanism **mechanism);

#endif
