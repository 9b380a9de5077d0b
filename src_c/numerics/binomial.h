/* Binomial laws. */
#ifndef PRV_BINOMIAL_H
#define PRV_BINOMIAL_H

#include <stddef.h>
#include <stdint.h>

typedef struct prv_binomial_tails {
    double below, from; /* P(X < k), P(X >= k) */
    double error;       /* relative, of each that is a normal double */
} prv_binomial_tails;

/* For X binomial of n <= 2^32 draws and probability p in [0, 1]. O(sqrt(n)). */
prv_binomial_tails prv_binomial_tails_at(uint64_t n, double p, uint64_t k);

/* Probabilities of 0..n, double[n + 1], from the mode outwards, for draws of probability p + rest. 0 < p < 1,
 * and rest less than an ulp of it. */
void prv_binomial_probabilities(size_t n, double p, double rest, double *masses);

#endif
