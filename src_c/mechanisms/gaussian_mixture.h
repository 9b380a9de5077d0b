/* Pairs (P, Q) of mixtures of normal distributions of variance 1, with Q's centres a_i >= 0 and P's centres
 * b_j <= 0. The loss is then an increasing function of the outcome z, l(z) = log sum_i q_i e^(a_i (z - a_i /
 * 2)) - log sum_j p_j e^(b_j (z - b_j / 2)), so that tails of the loss are tails of z. PAIRS.md names the
 * mechanisms that have such pairs. */
#ifndef PRV_GAUSSIAN_MIXTURE_H
#define PRV_GAUSSIAN_MIXTURE_H

#include <stdbool.h>

#include "prvcore.h"

typedef struct prv_components {
    size_t length;
    double *center; /* [length] in standard deviations, distinct, by distance from 0 */
    double *weight; /* [length] > 0, sum 1 */
    double reach;   /* greatest distance of a centre from 0 */
} prv_components;

typedef struct prv_gaussian_mixture {
    prv_components q, p;
    double lowest_loss; /* greatest lower bound of the losses, -infinity if there is none */
    bool mirrored;      /* P is the mirror image of Q: both directions are the same pair */
} prv_gaussian_mixture;

/* Q has these centres >= 0 (in any order, not all 0; equal ones are merged) and weights >= 0 (they are
 * normalised). P is N(0, 1), or the mirror image of Q if `mirrored`. PRV_ERR_MEMORY. */
prv_status prv_gaussian_mixture_new(const double *centers, const double *weights, size_t length,
                                    bool mirrored, prv_gaussian_mixture **mixture);
/* The same numbers. */
prv_status prv_gaussian_mixture_copy(const prv_gaussian_mixture *mixture, prv_gaussian_mixture **copy);
void prv_gaussian_mixture_free(prv_gaussian_mixture *mixture);

/* l(z), and its inverse, which is infinite where the tails of z underflow. */
double prv_gaussian_mixture_loss(const prv_gaussian_mixture *m, double z);
double prv_gaussian_mixture_outcome(const prv_gaussian_mixture *m, double loss);

/* Q's and P's masses of the cells between increasing losses x: mass_q, mass_p double[length + 1]. The masses
 * of each component are differences of their own, so that a cell between two centres keeps its digits.
 * `options` are asked whether to go on, and may be NULL. O(length * components). PRV_ERR_MEMORY,
 * PRV_ERR_INTERRUPTED. */
prv_status prv_gaussian_mixture_masses(const prv_gaussian_mixture *m, const double *x, size_t length,
                                       const prv_options *options, double *mass_q, double *mass_p);

/* e^x times P's upper tail at increasing losses x > 0, even if either factor leaves the range of double.
 * O(length * components). PRV_ERR_INTERRUPTED. */
prv_status prv_gaussian_mixture_scaled_tails(const prv_gaussian_mixture *m, const double *x, size_t length,
                                             const prv_options *options, double *scaled);

/* A bound, in units of 2^-53, of the relative error of masses above a loss and of the shift of that loss
 * (nats), beyond the errors of functions and the rounding of the losses themselves. With c the greatest
 * centre, outcomes z whose tails do not underflow are below 40 + c; rounding of z, of the products c z and of
 * the search for z moves the loss by a few c |z|. */
double prv_gaussian_mixture_error(const prv_gaussian_mixture *m);

#endif
