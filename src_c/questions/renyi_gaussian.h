/* The excess moment of Gaussian noise: closed form of one Gaussian against another, and integrals over the
 * outcome where P or Q is a mixture of several. */
#ifndef PRV_RENYI_GAUSSIAN_H
#define PRV_RENYI_GAUSSIAN_H

#include <stdbool.h>

#include "mechanisms/gaussian_mixture.h"
#include "questions/renyi_excess.h"

/* Of the pair (P, Q) of these components, Q's centres >= 0 >= P's, or of its reverse (Q, P) if `add`. If
 * `folded`, losses above 0 are those of the pair and losses below 0 those of its reverse. Time: at most about
 * 2^18 cells, each O(components). PRV_ERR_INTERRUPTED; options may be NULL. */
prv_status prv_gaussian_excess(const prv_components *q, const prv_components *p, bool add, bool folded,
                               double alpha, const prv_options *options, prv_excess *excess);

#endif
