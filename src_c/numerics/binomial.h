/* Binomial and hypergeometric laws. */
#ifndef PRV_BINOMIAL_H
#define PRV_BINOMIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct prv_binomial_tails {
    double below, from; /* P(X < k), P(X >= k) */
    double error;       /* relative, of each that is a normal double */
} prv_binomial_tails;

/* For X binomial of n <= 2^32 draws and probability p in [0, 1]. O(sqrt(n)). */
prv_binomial_tails prv_binomial_tails_at(uint64_t n, double p, uint64_t k);

/* A number that log P(X >= k) is not above, by Hoeffding, "Probability inequalities for sums of bounded
 * random variables", 1963, theorem 1: -n times the relative entropy of k / n and p. For k above n p. O(1). */
double prv_log_binomial_tail_above(uint64_t n, double p, uint64_t k);

/* Probabilities of 0..n, double[n + 1], from the mode outwards, for draws of probability p + rest. 0 < p < 1,
 * and rest less than an ulp of it. Those below 2^-1022 are left out, as 0, and false is returned if some are.
 */
bool prv_binomial_probabilities(size_t n, double p, double rest, double *masses);

/* P(K = k), k from 0 to the lesser of `marked` and `drawn`, double[that + 1], of the number K of marked ones
 * among `drawn` of `size` things, drawn without replacement: from the mode outwards. size <= 2^32, and
 * `drawn` of them are not marked. As above, those below 2^-1022 are left out. */
bool prv_hypergeometric_probabilities(uint64_t size, uint64_t marked, uint64_t drawn, double *masses);

#endif
