/* The excess moment of Gaussian noise: closed form of one Gaussian against another, and integrals over the
 * outcome where P or Q is a mixture of several. */
#ifndef PRV_RENYI_GAUSSIAN_H
#define PRV_RENYI_GAUSSIAN_H

#include <stdbool.h>

#include "mechanisms/gaussian_mixture.h"
#include "questions/renyi_excess.h"

/* E_P[f(r)], or E_Q[f(1 / r)] if `reversed`, of two mixtures sum w_i N(sign c_i, 1) whose loss rises with the
 * outcome z. */
typedef struct prv_gaussian_integrand {
    const prv_components *q, *p;
    double sign, alpha;
    bool reversed;
} prv_gaussian_integrand;

/* Bounds of the logarithm of what outcomes between finite a < b add to it. O(components). */
void prv_gaussian_excess_of_cell(const prv_gaussian_integrand *integrand, double a, double b, double *lower,
                                 double *upper);

/* Of the pair (P, Q) of these components, Q's centres >= 0 >= P's, or of its reverse (Q, P) if `add`. If
 * `folded`, losses above 0 are those of the pair and losses below 0 those of its reverse. Time: at most about
 * 2^18 cells, each O(components). PRV_ERR_INTERRUPTED; options may be NULL. */
prv_status prv_gaussian_excess(const prv_components *q, const prv_components *p, bool add, bool folded,
                               double alpha, const prv_options *options, prv_excess *excess);

#endif
