/* The rounding model: what every bound allows for floating point, each constant with its derivation.
 *
 * Operations round to nearest, so that +, -, *, / and sqrt have a relative error of at most u = PRV_UNIT, and an absolute
 * one of at most DBL_TRUE_MIN where a result is subnormal. Functions of libm are trusted to PRV_LIBM_ERROR, which
 * tests/test_rounding.c measures; those of vector_math.h to the errors stated there. An error of a sum is counted with the
 * number of its terms, never with a constant. What is counted in doubles of the size of u is itself rounded by parts of
 * u^2: PRV_SECOND_ORDER covers that once, where a count becomes part of a bound. */
#ifndef PRV_ROUNDING_H
#define PRV_ROUNDING_H

#include <float.h>
#include <math.h>

/* u: half the distance of 1 and the next double. */
#define PRV_UNIT (0.5 * DBL_EPSILON)

/* exp, expm1, log, log1p, pow, erfc, ... of double: less than 1 ulp, which is 2 u of a value just above a power of two. */
#define PRV_LIBM_ERROR (2.0 * PRV_UNIT)

/* A count c of first-order terms stands for (1 + u)^n - 1 <= n u / (1 - n u), and is summed up in at most a few thousand
 * additions, each off by u of the sum; so the true error is below c (1 + c + 2^-30). All counts that become part of a bound
 * are below 2^-10. */
#define PRV_SECOND_ORDER (1.0 + 0x1p-9)

/* The doubles next to x: no value that rounds to x lies outside them. */
static inline double prv_above(double x)
{
    return nextafter(x, HUGE_VAL);
}

static inline double prv_below(double x)
{
    return nextafter(x, -HUGE_VAL);
}

/* x from above or below, where x is off by at most this part of itself. */
static inline double prv_outwards(double x, double relative_error, int side)
{
    const double moved = fabs(x) * (relative_error * PRV_SECOND_ORDER);
    return side > 0 ? prv_above(x + moved) : prv_below(x - moved);
}

/* 1 - e^x for x <= 0 (0 above), from below or above: expm1 is off by PRV_LIBM_ERROR. No privacy curve lies below it. */
static inline double prv_least_delta(double epsilon, int side)
{
    if (epsilon >= 0.0) return 0.0;
    const double value = -expm1(epsilon), moved = prv_outwards(value, PRV_LIBM_ERROR, side);
    return fmin(fmax(moved, 0.0), 1.0);
}

#endif
