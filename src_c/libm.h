/* What the functions of the C library are trusted for: relative errors, of results that are normal numbers. No standard
 * promises any; tests/test_libm.c measures those of the platform against exact values, and fails where they are worse.
 * Found with more arguments than there: glibc 2.36 1.4 u (erfc 5.5 u), musl 1.2.3 1.6 u (atan2 2.3 u, erfc 3.7 u),
 * u = 2^-53. */
#ifndef PRV_LIBM_H
#define PRV_LIBM_H

#include <float.h>
#include <limits.h> /* so that __GLIBC__ is known */

/* exp, expm1, log, log1p, pow, sin, cos, hypot. */
#ifndef PRV_LIBM_ERROR
#define PRV_LIBM_ERROR (2.0 * (0.5 * DBL_EPSILON))
#endif
#define PRV_LIBM_ATAN2_ERROR (3.0 * (0.5 * DBL_EPSILON))
#define PRV_LIBM_ERFC_ERROR (8.0 * (0.5 * DBL_EPSILON))

/* The step of long double after 1: an operation rounds by half of that. Pairs of doubles, which long double is on some
 * machines, say another LDBL_EPSILON, as the second one may be as small as it likes. */
#if LDBL_MANT_DIG == 106
#define PRV_LONG_EPSILON 0x1p-100
#else
#define PRV_LONG_EPSILON ((double)LDBL_EPSILON)
#endif

/* The step of the numbers that the long double functions are as exact as. Where long double has 113 bits, musl and other
 * libraries compute expl, logl, ... in double; x86 has instructions for 64 bits, which all libraries use. */
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

#endif
