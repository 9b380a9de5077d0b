/* Tails of the normal law where neither they nor their differences need be doubles. */
#ifndef PRV_NORMAL_H
#define PRV_NORMAL_H

/* 1 - Phi(x), as exact as the C library's erfc. */
double prv_upper_tail(double x);

/* (1 - Phi(x)) / phi(x) for x >= 0, relatively off by at most 4 u from x = 2 on, and below by 8 u beside
 * what exp and erfc are off by. O(1 + 1 / x^2). */
double prv_mills_ratio(double x);

/* The same in long double, for x >= PRV_FAR_TAIL: relatively off by at most 8 units PRV_WIDE_LIBM_UNIT.
 * O(1 + 1 / x^2). */
#define PRV_FAR_TAIL 3.0L
long double prv_wide_mills_ratio(long double x);

/* log(1 - Phi(x)). */
double prv_log_upper_tail(double x);

/* log(Phi(b) - Phi(a)), a < b, both may be infinite. With Z the greater modulus of the finite ones,
 * absolutely off by u (32 + 16 (1 + Z) / w + 2 Z^2), w = min(b - a, 1), beside what rounding of a and b does.
 */
double prv_log_between(double a, double b);

#endif
