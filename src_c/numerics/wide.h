/* Sums with more than double precision: long double where it has at least 64 bits, elsewhere pairs
 * of doubles with compensated operations (Dekker 1971; Knuth's two-sum), which need no fused
 * multiply-add. PRV_FORCE_COMPENSATED selects the pairs anywhere, so that both ways are tested. */
#ifndef PRV_WIDE_H
#define PRV_WIDE_H

#include <float.h>
#include <math.h>

#if LDBL_MANT_DIG >= 64 && !defined(PRV_FORCE_COMPENSATED)

typedef long double prv_wide;
#define PRV_WIDE_UNIT 0x1p-64

static inline prv_wide prv_wide_of(double x)
{
    return (prv_wide)x;
}
static inline double prv_wide_value(prv_wide a)
{
    return (double)a;
}
static inline long double prv_wide_long(prv_wide a)
{
    return a;
}
static inline prv_wide prv_wide_add(prv_wide a, prv_wide b)
{
    return a + b;
}
static inline prv_wide prv_wide_mul(prv_wide a, prv_wide b)
{
    return a * b;
}

#else

typedef struct prv_wide {
    double high, low;
} prv_wide;
#define PRV_WIDE_UNIT 0x1p-100

static inline prv_wide prv_wide_of(double x)
{
    const prv_wide r = {x, 0.0};
    return r;
}
static inline double prv_wide_value(prv_wide a)
{
    return a.high + a.low;
}
static inline long double prv_wide_long(prv_wide a)
{
    return (long double)a.high + (long double)a.low;
}
static inline prv_wide prv_wide_normal(double high, double low)
{
    prv_wide r;
    r.high = high + low;
    r.low = low - (r.high - high);
    return r;
}
static inline prv_wide prv_wide_add(prv_wide a, prv_wide b)
{
    const double s = a.high + b.high, t = s - a.high;
    const double error = (a.high - (s - t)) + (b.high - t);
    return prv_wide_normal(s, error + (a.low + b.low));
}
static inline prv_wide prv_wide_mul(prv_wide a, prv_wide b)
{
    const double p = a.high * b.high;
#ifdef FP_FAST_FMA
    /* Compilers may fuse parts of Dekker's product where there is such an instruction, and break it. */
    const double error = fma(a.high, b.high, -p);
#else
    const double split = 134217729.0; /* 2^27 + 1 */
    const double ca = split * a.high, cb = split * b.high;
    const double ah = ca - (ca - a.high), al = a.high - ah;
    const double bh = cb - (cb - b.high), bl = b.high - bh;
    const double error = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
    return prv_wide_normal(p, error + (a.high * b.low + a.low * b.high));
}

#endif
#endif
