/* Both laws of likelihood ratios of a mechanism that is not combined: of a part of a combined one. A
 * mechanism of few atoms has its laws as lists, any other on a geometric lattice. */
#ifndef PRV_PART_LAWS_H
#define PRV_PART_LAWS_H

#include "lattices/combining.h"
#include "lattices/ratio_law.h"

/* What laws are made for. */
typedef struct prv_law_request {
    bool add;
    const prv_fineness *fineness;
    const prv_options *options;
    double cut;      /* mass that one operation may move to infinite losses */
    double low_cut;  /* mass that one operation may move at the end of small losses */
    double zero_cut; /* mass that all may move to R = 0 */
} prv_law_request;

/* Where the losses of a part lie: the range outside which little is lost, and the variance of log R. */
typedef struct prv_part_range {
    double low, high; /* of the loss, nats */
    double variance;
} prv_part_range;

/* The request for the law of one side: PRV_DOMINATING or PRV_DOMINATED. */
prv_ratio_side prv_request_side(const prv_law_request *request, int side);

/* Statuses of prv_profile_new. */
prv_status prv_part_find_range(const prv_mechanism *part, const prv_law_request *request,
                               prv_part_range *range);

/* The spacing closest to this one, below it, at which atoms a period apart are points; any if the period is
 * 0. */
double prv_fit_period(double period, double spacing);

/* The laws on a lattice of this spacing; with `means`, the dominated one is a list of the means between its
 * points. Statuses of prv_ratio_discretize, PRV_ERR_MEMORY_LIMIT; PRV_ERR_ENGINE if the lattice had too many
 * points. */
prv_status prv_part_laws_on_lattice(const prv_mechanism *part, const prv_law_request *request,
                                    const prv_part_range *range, double spacing, bool means,
                                    prv_law_pair *laws);

/* The laws of a discrete mechanism as lists. PRV_ERR_MEMORY; PRV_ERR_PRECISION if its losses are known too
 * poorly. */
prv_status prv_part_laws_as_lists(const prv_mechanism *part, const prv_law_request *request,
                                  prv_law_pair *laws);

#endif
