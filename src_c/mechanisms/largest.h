/* The pair that is seen of the largest of many Gaussian outputs: for lower bounds of mechanisms that release
 * all of them. PAIRS.md, sections 8 and 10, says which. */
#ifndef PRV_LARGEST_H
#define PRV_LARGEST_H

#include <stdint.h>

#include "mechanisms/mechanism.h"

/* Independent normal variables of variance 1: so many of this mean, and others of mean 0. */
typedef struct prv_variables {
    long double mean;
    uint64_t moved, others;
} prv_variables;

/* Q is the law of the slice that the largest of the variables `with` lies in, and P that of `without`: fewer
 * slices give a lower bound that is less tight. Their masses are rounded, as density_error says. Counts are
 * at most 2^32. O(slices). PRV_ERR_MEMORY. */
prv_status prv_mechanism_largest(const prv_variables *with, const prv_variables *without, int slices,
                                 prv_mechanism **mechanism);

#endif
