/* Laws of likelihood ratios of few points, as lists: exact but for rounding. What the operations on lattices
 * make of laws, these make of lists. */
#ifndef PRV_RATIO_LIST_H
#define PRV_RATIO_LIST_H

#include "lattices/ratio_law.h"

/* One point of a list that is being made: log R and its mass. */
typedef struct prv_ratio_listed {
    double at, mass;
} prv_ratio_listed;

/* A place that is known to `error`, on the safe side of it. */
static inline double prv_ratio_safely(double at, double error, const prv_ratio_side *side)
{
    return prv_ratio_up_is_safe(side) ? at + error : at - error;
}

/* The law of these points, whose masses are known to `error` of themselves; they are sorted. `law` has zero,
 * infinite and shift. O(points log points). PRV_ERR_MEMORY, as of the functions below. */
prv_status prv_ratio_list_close(prv_ratio_listed *points, size_t count, double error,
                                const prv_ratio_side *side, prv_ratio_law *law);

/* The points of discrete losses, whose masses are off by a part `error` of themselves, and losses by `error`
 * nats. O(points log points). */
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
