/* Gaussian noise on samples of fixed size, for neighbours that differ by a group of records (PAIRS.md,
 * section 4). */
#ifndef PRV_FIXED_SIZE_GROUP_H
#define PRV_FIXED_SIZE_GROUP_H

#include "mechanisms/mechanism.h"

/* The mechanism of such a group with its noise multiplied by the factor. Statuses of
 * prv_mechanism_fixed_size_group_gaussian. */
prv_status prv_fixed_size_group_scaled(const prv_mechanism *m, double noise_factor,
                                       prv_mechanism **mechanism);

#endif
