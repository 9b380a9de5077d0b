/* Pairs (P, Q) of mixtures of normal laws of variance 1 whose centres lie on either side of 0: Q's at or
 * above, P's at or below. The loss is then an increasing function of the outcome z, l(z) = log sum_i q_i
 * e^(a_i (z - a_i / 2)) - log sum_j p_j e^(b_j (z - b_j / 2)),   b_j <= 0 <= a_i, so that tails of the loss
 * are tails of z. PAIRS.md says of which mechanisms such pairs are. */
#ifndef PRV_GAUSSIAN_MIXTURE_H
#define PRV_GAUSSIAN_MIXTURE_H

#include "prvcore.h"

typedef struct prv_components {
    size_t length;
    double *center; /* in standard deviations, distinct, by distance from 0 */
    double *weight; /* > 0, sum 1 */
    double reach;   /* greatest distance of a centre from 0 */
} prv_components;

typedef struct prv_gaussian_mixture {
    prv_components q, p;
    double lowest_loss; /* -infinity where losses have no lower bound */
    int mirrored;       /* P is Q mirrored: both directions are the same pair */
} prv_gaussian_mixture;

/* Q has these centres >= 0 (in any order, equal ones are merged, not all 0) and weights >= 0 (normalised);
 * P is N(0, 1), or Q mirrored. PRV_ERR_MEMORY. */
prv_status prv_gaussian_mixture_new(const double *centers, const double *weights, size_t length, int mirrored,
                                    prv_gaussian_mixture **mixture);
void prv_gaussian_mixture_free(prv_gaussian_mixture *mixture);

/* l(z), and the z of a loss: infinite where its tails are no doubles. */
double prv_gaussian_mixture_loss(const prv_gaussian_mixture *m, double z);
double prv_gaussian_mixture_outcome(const prv_gaussian_mixture *m, double loss);

/* Q's and P's masses of the cells between increasing x: mass_q, mass_p double[length + 1]. Each component's
 * are taken by themselves, so that a cell between two of them keeps its digits; losses are off by
 * prv_gaussian_mixture_error at most. O(length * components); `options` are asked whether to go on, and may
 * be NULL. PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED. */
prv_status prv_gaussian_mixture_masses(const prv_gaussian_mixture *m, const double *x, size_t length,
                                       const prv_options *options, double *mass_q, double *mass_p);

/* e^x times P's upper tail at increasing x > 0, where neither factor need be a double. As above. */
prv_status prv_gaussian_mixture_scaled_tails(const prv_gaussian_mixture *m, const double *x, size_t length,
                                             const prv_options *options, double *scaled);

/* Relative error of masses above a loss, and shift of that loss, in units of 2^-53, beyond what the
 * functions and the rounding of the losses themselves make. With c the greatest centre, an outcome z of a
 * tail that is a double is below 40 + c; rounding of it, of the products c z and of the search for it moves
 * the loss by a few c |z|. */
double prv_gaussian_mixture_error(const prv_gaussian_mixture *m);

#endif
