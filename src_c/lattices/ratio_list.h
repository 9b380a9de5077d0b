/* Laws of likelihood ratios of few points, as lists: exact but for rounding. What the operations on lattices
 * make of laws, these make of lists. */
#ifndef PRV_RATIO_LIST_H
#define PRV_RATIO_LIST_H

#include "lattices/ratio_law.h"

/* The points of discrete losses, whose masses are off by a part `error` of themselves, and losses by `error`
 * nats. O(points log points). PRV_ERR_MEMORY, as of the functions below. */
prv_status prv_ratio_list_of(const prv_atoms *atoms, double error, const prv_ratio_side *side,
                             prv_ratio_law *law);

/* The laws of R_1 R_2, w R_1 + (1 - w) R_2 and 1 - p + p R. O(pairs log pairs). */
prv_status prv_ratio_list_product(const prv_ratio_law *a, const prv_ratio_law *b, const prv_ratio_side *side,
                                  prv_ratio_law *product);
prv_status prv_ratio_list_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                  const prv_ratio_side *side, prv_ratio_law *average);
prv_status prv_ratio_list_mixture(const prv_ratio_law *a, double p, const prv_ratio_side *side,
                                  prv_ratio_law *mixture);

#endif
