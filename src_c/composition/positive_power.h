/* The first coefficients of a power of a polynomial without negative coefficients: the masses of a sum of
 * losses that are all at least 0, up to a greatest sum. Whatever lies above does not enter.
 *
 * Nothing is subtracted, so that each coefficient is as exact, relative to itself, as the number of roundings
 * says: no transform and no tilt. With f = sum_a w_a z^(i_a), i_0 = 0 < i_1 < ..., and g = f^k, the identity
 * f g' = k f' g says
 *
 *     n w_0 g_n = sum_(a >= 1) ((k + 1) i_a - n) w_a g_(n - i_a)
 *
 * (Euler; Panjer's recursion of the binomial law). All its terms are positive as long as n <= (k + 1) i_1,
 * and one pass over the atoms gives each coefficient, whatever k is. Otherwise the power is multiplied out by
 * squaring. JUMPS.md, section 2, counts the rounding. */
#ifndef PRV_POSITIVE_POWER_H
#define PRV_POSITIVE_POWER_H

#include <stddef.h>

#include "prvcore.h"

typedef struct prv_polynomial {
    size_t count;   /* of terms, at least 1 */
    size_t *at;     /* [count] exponents, increasing; the first is 0 */
    double *weight; /* [count] > 0 */
} prv_polynomial;

/* Room for `count` terms. PRV_ERR_MEMORY. */
prv_status prv_polynomial_new(size_t count, prv_polynomial *f);
void prv_polynomial_free(prv_polynomial *f);

/* What coefficients are off by: each by a part of itself, and all together by an absolute sum. */
typedef struct prv_power_error {
    double relative, absolute;
} prv_power_error;

/* About how many products prv_positive_power takes. O(log power). */
double prv_positive_power_work(const prv_polynomial *f, double power, size_t length, double negligible);

/* g double[length] = the coefficients of exponents below `length` of f^power; power >= 0 is an integer below
 * 2^31, and power times the last exponent below 2^52. The weights sum to at most 1, and a little. options may
 * be NULL. PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED.
 *
 * `negligible` is an absolute error that does not matter; which of both ways is taken depends on it. */
prv_status prv_positive_power(const prv_polynomial *f, double power, size_t length, double negligible,
                              const prv_options *options, double *g, prv_power_error *error);

#endif
