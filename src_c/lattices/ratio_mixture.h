/* The mixture of a law of likelihood ratios with the constant 1: a mechanism on a Poisson sample. */
#ifndef PRV_RATIO_MIXTURE_H
#define PRV_RATIO_MIXTURE_H

#include "lattices/ratio_law.h"

/* The law of 1 - p + p R, p in (0, 1], on the points spacing * index; if p = 1, R itself on these points.
 * O(length). Errors: PRV_ERR_MEMORY, PRV_ERR_MEMORY_LIMIT, PRV_ERR_ENGINE if there were too many points,
 * PRV_ERR_PRECISION if the spacing is far less than what places are known to. */
prv_status prv_ratio_mixture(const prv_ratio_law *a, double p, double spacing, const prv_ratio_side *side,
                             prv_ratio_law *mixture);

/* `infinite` of the mixture. */
void prv_ratio_set_ends_of_mixture(const prv_ratio_law *a, double p, const prv_ratio_side *side,
                                   prv_ratio_law *mixture);

/* log(1 - p + p e^x). `error`: by how much it may be off at most, nats. */
double prv_ratio_log_mixture(double x, double p, double *error);

#endif
