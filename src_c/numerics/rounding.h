/* The rounding model: what every bound allows for floating point, each constant with its derivation.
 *
 * Operations round to nearest, so that +, -, *, / and sqrt have a relative error of at most u = PRV_UNIT, and
 * an absolute one of at most DBL_TRUE_MIN where a result is subnormal. Functions of libm are trusted to
 * PRV_LIBM_ERROR and its like; those of vector_math.h to the errors stated there. An error of a sum is
 * counted with the number of its terms, never with a constant. What is counted in doubles of the size of u is
 * itself rounded by parts of u^2: PRV_SECOND_ORDER covers that once, where a count becomes part of a bound.
 */
#ifndef PRV_ROUNDING_H
#define PRV_ROUNDING_H

#include <float.h>
#include <limits.h> /* after which __GLIBC__ is known */
#include <math.h>

/* u: half the distance of 1 and the next double. */
#define PRV_UNIT (0.5 * DBL_EPSILON)

/* What the functions of the C library are trusted for: relative errors, of results that are normal numbers.
 * No standard promises any; tests/test_libm.c measures those of the platform against exact values, and fails
 * where they are worse. At millions of arguments glibc 2.36 was off by 1.4 u (erfc 5.5 u), musl 1.2.3 by 1.6
 * u (atan2 2.3 u, erfc 3.7 u). First exp, expm1, log, log1p, pow, sin, cos, hypot: less than 1 ulp, which is
 * 2 u of a value just above a power of two. */
#define PRV_LIBM_ERROR (2.0 * PRV_UNIT)
#define PRV_LIBM_ATAN2_ERROR (3.0 * PRV_UNIT)
#define PRV_LIBM_ERFC_ERROR (8.0 * PRV_UNIT) /* and erf */

/* The step of long double after 1: an operation rounds by half of that. Pairs of doubles, which long double
 * is on some machines, say another LDBL_EPSILON, as the second one may be as small as it likes. */
#if LDBL_MANT_DIG == 106
#define PRV_LONG_EPSILON 0x1p-100
#else
#define PRV_LONG_EPSILON ((double)LDBL_EPSILON)
#endif

/* The step of the numbers that the long double functions are as exact as. Where long double has 113 bits,
 * musl and other libraries compute expl, logl, ... in double; x86 has instructions for 64 bits, which all
 * libraries use. */
#if LDBL_MANT_DIG == 64 || (LDBL_MANT_DIG == 113 && defined(__GLIBC__))
#define PRV_WIDE_LIBM_UNIT PRV_LONG_EPSILON
#define PRV_WIDE_LIBM_ERROR (2.0 * PRV_WIDE_LIBM_UNIT) /* expl, logl, log1pl */
#else
#define PRV_WIDE_LIBM_UNIT DBL_EPSILON
#define PRV_WIDE_LIBM_ERROR PRV_LIBM_ERROR
#endif

/* expm1l at x, which musl makes of e^x with an exponent rounded as a whole; and erfcl. */
#define PRV_WIDE_LIBM_EXPM1_ERROR(x) ((2.0 + ((x) > 0.0 ? (x) : 0.0)) * PRV_WIDE_LIBM_UNIT)
#define PRV_WIDE_LIBM_ERFC_ERROR (8.0 * PRV_WIDE_LIBM_UNIT)

/* A count c of first-order terms stands for (1 + u)^n - 1 <= n u / (1 - n u), and is summed up in at most a
 * few thousand additions, each off by u of the sum; so the true error is below c (1 + c + 2^-30). All counts
 * that become part of a bound are below 2^-10. */
#define PRV_SECOND_ORDER (1.0 + 0x1p-9)

/* From a product of doubles of this size on, fma tells its rounding exactly: below, it may have no room for
 * the digits. */
#define PRV_LEAST_EXACT_PRODUCT 0x1p-900

/* The doubles next to x: no value that rounds to x lies outside them. */
static inline double prv_above(double x)
{
    return nextafter(x, HUGE_VAL);
}

static inline double prv_below(double x)
{
    return nextafter(x, -HUGE_VAL);
}

/* x from above (sign > 0) or below, where x is off by at most so much; x itself where it is not off. */
static inline double prv_apart(double x, double error, int sign)
{
    if (error == 0.0) return x;
    return sign > 0 ? prv_above(x + error) : prv_below(x - error);
}

/* The same, where x is off by at most this part of itself, and is rounded at least. */
static inline double prv_outwards(double x, double relative_error, int sign)
{
    const double moved = fabs(x) * (relative_error * PRV_SECOND_ORDER);
    return sign > 0 ? prv_above(x + moved) : prv_below(x - moved);
}

/* What a product, a quotient or a power of numbers > 0 is off by at most that came out as `value`, and is off
 * by this part of itself where it is a normal number. A subnormal one has lost digits, and one that came out
 * as 0 is not 0: both are off by less than the smallest normal double. */
static inline double prv_error_of_product(double value, double relative_error)
{
    return relative_error * value + DBL_MIN;
}

/* log(1 - m) for m >= 0, and 1 - e^x for x <= 0, to PRV_LIBM_ERROR: below the normal doubles, where nothing
 * is promised of the C library, m and -x are the nearest doubles. */
static inline double prv_log_rest(double m)
{
    return m < DBL_MIN ? -m : log1p(-m);
}

static inline double prv_one_less_exp(double x)
{
    return x > -DBL_MIN ? -x : -expm1(x);
}

/* 1 - e^x for x <= 0 (0 above), from above (sign > 0) or below: expm1 is off by PRV_LIBM_ERROR. No privacy
 * curve lies below it. */
static inline double prv_least_delta(double epsilon, int sign)
{
    if (epsilon >= 0.0) return 0.0;
    const double value = -expm1(epsilon), moved = prv_outwards(value, PRV_LIBM_ERROR, sign);
    return fmin(fmax(moved, 0.0), 1.0);
}

#endif
