/* Tails of binomial laws. */
#ifndef PRV_BINOMIAL_H
#define PRV_BINOMIAL_H

#include <stdint.h>

/* P(X >= k) for X binomial of n <= 2^53 draws and probability p in [0, 1], to a relative error of
 * prv_binomial_error of it where it is a normal double. O(sqrt(n)) terms. */
double prv_binomial_upper_tail(uint64_t n, double p, uint64_t k);
double prv_binomial_error(double tail);

#endif
