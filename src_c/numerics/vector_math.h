#ifndef PRV_VECTOR_MATH_H
#define PRV_VECTOR_MATH_H

/*
 * Elementary functions that vectorise when inlined into a plain loop.
 *
 * Every function is straight-line code once ternaries become blends: no libm call, no table, no
 * double <-> integer conversion instruction (AVX2 has none for 64 bits; adding and subtracting a
 * magic constant replaces it) and no arithmetic 64-bit shift.  Build the caller with
 *     -O3 -fno-math-errno -fno-trapping-math
 * (the last is what allows a comparison to become a blend).  -ffast-math is neither needed nor
 * allowed, as re-association would delete the error-compensation steps.  The results are within
 * the stated bounds whether or not a*b+c is contracted to a fused multiply-add: each product
 * whose exactness matters has few enough significand bits to be exact without fusing, so fusing
 * cannot change it, and every other product may gain or lose one rounding.
 *
 * The functions assume round-to-nearest, binary64, and no flush-to-zero.
 *
 * Errors are relative, |computed - exact| / |exact|, in units of u = 2^-53 (half the spacing of
 * doubles at 1, so that correct rounding costs at most 1 u).  "Measured" is the largest value
 * seen; it is not a proof.  The reference was long double with a 64-bit significand; the samples
 * are those of tests/test_vector_math.c (run with 20000000 points each), uniform and log-uniform
 * over several ranges, with and without contraction to fused multiply-add; the worst is given.
 * The normal upper tail normal_density_exponent(z) * mills(z) / sqrt(2 pi) was within 4.75 u for
 * 0 <= z <= 37.5.  Exception flags are not meaningful, as both sides of a ternary are evaluated.
 */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) ||                                               \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "vector_math.h relies on IEEE arithmetic; compile without -ffast-math and what is part of it"
#endif
#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD == 2 || FLT_EVAL_METHOD == -1)
#error "vector_math.h needs double evaluation in double (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#if DBL_MANT_DIG != 53 || DBL_MAX_EXP != 1024
#error "vector_math.h needs IEEE binary64 doubles"
#endif

/* 1.5 * 2^52: adding it rounds |x| < 2^51 to an integer, held in two's complement in the low bits
 * of the sum, because the spacing of doubles there is 1. */
#define PRV_VM_SHIFTER 0x1.8p52
#define PRV_VM_LOG2E 0x1.71547652b82fep+0
/* ln 2 = HI + LO; HI has 42 significant bits, so k * HI is exact for |k| < 2^11. */
#define PRV_VM_LN2_HI 0x1.62e42fefa3800p-1
#define PRV_VM_LN2_LO 0x1.ef35793c76730p-45

/* fmin and fmax are calls that keep loops from being vectorised. Neither argument may be nan. */
static inline double prv_vm_min(double a, double b)
{
    return a < b ? a : b;
}

static inline double prv_vm_max(double a, double b)
{
    return a > b ? a : b;
}

static inline uint64_t prv_vm_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double prv_vm_from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* x with its significand cut to 26 bits: the product of two such heads is exact, and so is the
 * difference x - head. */
static inline double prv_vm_head(double x)
{
    return prv_vm_from_bits(prv_vm_bits(x) & ~UINT64_C(0x7ffffff));
}

/* 2^k for a shifted integer PRV_VM_SHIFTER + k, -1022 <= k <= 1023.  The shift discards the
 * exponent field of the shifted number and leaves k + 1023 in place of it. */
static inline double prv_vm_pow2_shifted(double shifted)
{
    return prv_vm_from_bits((prv_vm_bits(shifted) + 1023u) << 52);
}

/*
 * (exp(r) - 1 - r) / r^2 for |r| <= 0.3469, error below 0.01 u relative to (exp(r) - 1) / r^2.
 * Coefficients: interpolation at the 11 Chebyshev nodes with 60 digits, rounded to double.
 */
static inline double prv_vm_exp_poly(double r, double r2)
{
    /* Even and odd powers: two chains, each step one fused multiply-add with its coefficient in memory. */
    double even = 0x1.27e4db47938d1p-22 + r2 * 0x1.1f733f411b727p-29;
    double odd = 0x1.71de01ff19a6bp-19 + r2 * 0x1.af4e5274a366cp-26;
    even = 0x1.a01a01a6e1a43p-16 + r2 * even;
    odd = 0x1.a01a01abf7ed6p-13 + r2 * odd;
    even = 0x1.6c16c16c162c3p-10 + r2 * even;
    odd = 0x1.11111111100bep-7 + r2 * odd;
    even = 0x1.5555555555556p-5 + r2 * even;
    odd = 0x1.5555555555557p-3 + r2 * odd;
    return (0.5 + r2 * even) + r * odd;
}

/* exp(a + b) = result * 2^k, where shifted = PRV_VM_SHIFTER + k; |a| <= 820, |b| <= 1e-4 (b is a small
 * correction that a + b would lose). */
static inline double prv_vm_exp_reduced(double a, double b, double *shifted)
{
    *shifted = a * PRV_VM_LOG2E + PRV_VM_SHIFTER;
    const double k = *shifted - PRV_VM_SHIFTER;
    const double hi = a - k * PRV_VM_LN2_HI;
    const double lo = k * PRV_VM_LN2_LO - b;
    const double r = hi - lo;
    const double c = (hi - r) - lo; /* what rounding took from r */
    const double r2 = r * r;
    return 1.0 + (r + (c + r2 * prv_vm_exp_poly(r, r2)));
}

/* exp(a + b), -820 <= a <= 710, |b| <= 1e-4. */
static inline double prv_vm_exp_sum(double a, double b)
{
    double shifted;
    const double p = prv_vm_exp_reduced(a, b, &shifted);
    /* Two factors, each a normal power of two, reach 2^1024 and the subnormals; only the last
     * product can round, so underflow is gradual. */
    const double k = shifted - PRV_VM_SHIFTER;
    const double half_shifted = k * 0.5 + PRV_VM_SHIFTER;
    const double rest_shifted = (k - (half_shifted - PRV_VM_SHIFTER)) + PRV_VM_SHIFTER;
    return (p * prv_vm_pow2_shifted(half_shifted)) * prv_vm_pow2_shifted(rest_shifted);
}

/* exp(x) where |x| <= 708: no range to check, one factor. Measured as prv_vm_exp. */
static inline double prv_vm_exp_near(double x)
{
    double shifted;
    const double p = prv_vm_exp_reduced(x, 0.0, &shifted);
    return p * prv_vm_pow2_shifted(shifted);
}

/*
 * exp(x).  Domain: all doubles; 0 below -745.14, infinity above 709.79, NaN for NaN; in the
 * subnormal range within one subnormal spacing.
 * Measured: 1.28 u over [-708, 709.7].
 * Method: x = k ln 2 + r, Chebyshev-interpolated polynomial in r, scaling by 2^k in two steps.
 */
static inline double prv_vm_exp(double x)
{
    /* -746 and 710 already give 0 and infinity; beyond them k would leave its field. */
    const double a = x < -746.0 ? -746.0 : x;
    return prv_vm_exp_sum(a > 710.0 ? 710.0 : a, 0.0);
}

/* exp(r) - 1 = p, x = k ln 2 + r, shifted = PRV_VM_SHIFTER + k. */
static inline double prv_vm_expm1_reduced(double x, double *shifted)
{
    *shifted = x * PRV_VM_LOG2E + PRV_VM_SHIFTER;
    const double k = *shifted - PRV_VM_SHIFTER;
    const double hi = x - k * PRV_VM_LN2_HI;
    const double lo = k * PRV_VM_LN2_LO;
    const double r = hi - lo;
    const double c = (hi - r) - lo;
    const double r2 = r * r;
    return r + (c + r2 * prv_vm_exp_poly(r, r2));
}

/*
 * exp(x) - 1.  Domain: all doubles; x itself for |x| < 2^-54, -1 for x <= -40, infinity above
 * 709.79, NaN for NaN.
 * Measured: 2.08 u over [-745, 709] (log-uniform: 1e-300 <= |x|).
 * Method: x = k ln 2 + r, 2^k (exp(r) - 1) + (2^k - 1); k = 0 gives the plain polynomial, which
 * is what keeps relative accuracy near 0.
 */
static inline double prv_vm_expm1(double x)
{
    const double b = x < -64.0 ? -64.0 : x;
    double shifted;
    const double p = prv_vm_expm1_reduced(b > 710.0 ? 710.0 : b, &shifted);
    /* Half of everything, as 2^1024 is not a double. */
    const double scale = prv_vm_pow2_shifted(((shifted - PRV_VM_SHIFTER) - 1.0) + PRV_VM_SHIFTER);
    const double y = 2.0 * (scale * p + (scale - 0.5));
    /* Keeps subnormals (which halving would round) and the sign of zero. */
    const double ax = x < 0.0 ? -x : x;
    return ax < 0x1p-54 ? x : y;
}

/* exp(x) - 1 where |x| <= 708: no range to check. Measured as prv_vm_expm1, but subnormals and the sign of
 * zero. */
static inline double prv_vm_expm1_near(double x)
{
    double shifted;
    const double p = prv_vm_expm1_reduced(x, &shifted);
    const double scale = prv_vm_pow2_shifted(shifted);
    return scale * p + (scale - 1.0);
}

/*
 * k ln 2 + log(1 + f), k integral, |k| <= 1100, sqrt(1/2) <= 1 + f < sqrt 2 (to within rounding).
 * With s = f / (2 + f): log(1 + f) = 2 s + s R(s^2) = f - (f^2/2 - s (f^2/2 + R)), which keeps the
 * exact f apart from everything that has been rounded.  R(z) / z is interpolated at the 8
 * Chebyshev nodes on [0, 0.02950] with 60 digits, then rounded to double; error below 0.01 u.
 */
static inline double prv_vm_log_sum(double k, double f)
{
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double z2 = z * z;
    const double b0 = 0x1.5555555555555p-1 + z * 0x1.9999999999a3ap-2;
    const double b1 = 0x1.2492492476785p-2 + z * 0x1.c71c7201ee6dfp-3;
    const double b2 = 0x1.745cf8c647bc8p-3 + z * 0x1.3b1c429271c4dp-3;
    const double b3 = 0x1.0fbd343001be7p-3 + z * 0x1.0c120b2636b3fp-3;
    const double big_r = z * ((b0 + z2 * b1) + (z2 * z2) * (b2 + z2 * b3));
    const double half_f2 = 0.5 * f * f;
    const double minor = half_f2 - (s * (half_f2 + big_r) + k * PRV_VM_LN2_LO);
    return k * PRV_VM_LN2_HI - (minor - f);
}

/* The bits of sqrt(1/2) rounded up, and what makes the exponent field of x count from there. */
#define PRV_VM_SQRT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define PRV_VM_SQRT_HALF_BIAS (UINT64_C(0x3ff0000000000000) - PRV_VM_SQRT_HALF_BITS)
#define PRV_VM_FRACTION_MASK UINT64_C(0x000fffffffffffff)

/* A non-negative integer below 2^52, as a double. */
static inline double prv_vm_small_to_double(uint64_t n)
{
    return prv_vm_from_bits(n | UINT64_C(0x4330000000000000)) - 0x1p52;
}

/*
 * log(x).  Domain: all doubles; -infinity at 0, infinity at infinity, NaN for x < 0 and NaN.
 * Measured: 1.36 u over [5e-324, 1.79e308] and, as closely, over [0.5, 2].
 * Method: x = 2^k (1 + f), then prv_vm_log_sum.
 */
static inline double prv_vm_log(double x)
{
    const double normal = x < DBL_MIN ? x * 0x1p54 : x;
    const double bias = x < DBL_MIN ? 1023.0 + 54.0 : 1023.0;
    const uint64_t t = prv_vm_bits(normal) + PRV_VM_SQRT_HALF_BIAS;
    const double k = prv_vm_small_to_double(t >> 52) - bias;
    const double m = prv_vm_from_bits((t & PRV_VM_FRACTION_MASK) + PRV_VM_SQRT_HALF_BITS);
    double y = prv_vm_log_sum(k, m - 1.0);
    y = x <= DBL_MAX ? y : x; /* infinity and NaN */
    y = x == 0.0 ? -(double)INFINITY : y;
    return x < 0.0 ? (double)NAN : y;
}

/* log(1 + x) where -1 < x < 2^1023: no range to check. Measured as prv_vm_log1p. */
static inline double prv_vm_log1p_near(double x)
{
    const double v = 1.0 + x;
    const double c = x < 1.0 ? x - (v - 1.0) : 1.0 - (v - x);
    const uint64_t t = prv_vm_bits(v) + PRV_VM_SQRT_HALF_BIAS;
    const double k = prv_vm_small_to_double(t >> 52) - 1023.0;
    const double m = prv_vm_from_bits((t & PRV_VM_FRACTION_MASK) + PRV_VM_SQRT_HALF_BITS);
    /* 2^(1-k), so that the largest v (k = 1024) gives a factor 0 and not a negative field. */
    const double scale = prv_vm_from_bits((UINT64_C(2047) - (t >> 52)) << 52);
    return prv_vm_log_sum(k, (m - 1.0) + 0.5 * (c * scale));
}

/*
 * log(1 + x).  Domain: all doubles; -infinity at -1, infinity at infinity, NaN for x < -1 and
 * NaN; relative accuracy down to the subnormals.
 * Measured: 2.01 u over (-1, 1e300] (log-uniform: 1e-300 <= |x|).
 * Method: 1 + x = v + c exactly (v the rounded sum), v = 2^k m, f = (m - 1) + c 2^-k, which is x
 * itself when k = 0; then prv_vm_log_sum.
 */
static inline double prv_vm_log1p(double x)
{
    double y = prv_vm_log1p_near(x);
    y = x <= DBL_MAX ? y : x; /* infinity and NaN */
    y = x == -1.0 ? -(double)INFINITY : y;
    return x < -1.0 ? (double)NAN : y;
}

/*
 * exp(-z^2/2).  Domain: all doubles; 0 for |z| >= 38.61, NaN for NaN; in the subnormal range
 * (|z| > 37.64) within one subnormal spacing.
 * Measured: 1.28 u over |z| <= 37.6.
 * Method: z = h + l, h the 26-bit head, so that h^2 is exact; -h^2/2 is the main argument of the
 * exponential and -l (z + h) / 2, below 5e-5, its correction.
 */
static inline double prv_vm_normal_density_exponent(double z)
{
    const double az = z < 0.0 ? -z : z;
    const double w = az > 40.0 ? 40.0 : az; /* exp(-800) is 0 already */
    const double h = prv_vm_head(w);
    return prv_vm_exp_sum((-0.5 * h) * h, (-0.5 * (w - h)) * (w + h));
}

/*
 * Mills ratio of the standard normal, R(z) = (1 - Phi(z)) / phi(z) = exp(z^2/2) * integral from z
 * to infinity of exp(-y^2/2) dy; R(0) = sqrt(pi/2).  Domain: z >= 0 up to infinity (R = 0), NaN
 * for NaN; meaningless for z < 0.
 * Measured: 2.22 u over [0, 1e8].
 * Method: with K = 2, t = (z - K) / (z + K) in [-1, 1] and y = 1 - t = 2 K / (z + K),
 * R(z) = (1 + y h(t)) / (z + K), h a polynomial of degree 30.  (z + K) R(z) is smooth in t up to
 * t = 1, where it is 1; taking that 1 out keeps rounding errors of h small for large z, and this K
 * keeps the effect of the rounding of t small everywhere.
 * Coefficients: weighted least squares at 90 Chebyshev nodes with 50 digits, the first eight
 * rounded to double one after another and the rest fitted again each time; error below 0.2 u.
 */
static inline double prv_vm_mills(double z)
{
    const int is_low = z < 2.0;
    const double s = z + 2.0;
    /* z + K = s + s_low exactly; v = 1 - |t|, formed without cancellation. */
    const double s_low = is_low ? z - (s - 2.0) : 2.0 - (s - z);
    const double v = (is_low ? 2.0 * z : 4.0) / s;
    const double t = is_low ? v - 1.0 : 1.0 - v;
    const double y = is_low ? 2.0 - v : v;
    const double q = 0.25 * y; /* 1 / s, nearly */
    const double w = t * t;
    double odd = 0x1.459483dd72fd5p-25;
    odd = odd * w - 0x1.e2149c5ec5794p-23;
    odd = odd * w + 0x1.809e85d8ba205p-22;
    odd = odd * w + 0x1.f87af35fd5a52p-22;
    odd = odd * w - 0x1.b3663d69023cep-20;
    odd = odd * w - 0x1.03e9430b06773p-19;
    odd = odd * w + 0x1.24bd777efce4dp-17;
    odd = odd * w + 0x1.6eaf296c1793ep-17;
    odd = odd * w - 0x1.3ac4621c14e60p-14;
    odd = odd * w + 0x1.0ed799b49348dp-16;
    odd = odd * w + 0x1.4972a28998489p-11;
    odd = odd * w - 0x1.016b8bdc1f5e5p-9;
    odd = odd * w + 0x1.f6add1d67f277p-11;
    odd = odd * w + 0x1.372d49a0d32c5p-6;
    double even = 0x1.a25cad1bc406ep-28;
    even = even * w + 0x1.6f88ca7084cdap-26;
    even = even * w - 0x1.8469545eb3807p-22;
    even = even * w + 0x1.4158d533aa3fap-20;
    even = even * w - 0x1.21d65822ede81p-20;
    even = even * w - 0x1.e7427d59f4eecp-20;
    even = even * w + 0x1.1281c06f78042p-20;
    even = even * w + 0x1.0e616366ddff5p-16;
    even = even * w - 0x1.5ad4d44fecc2bp-16;
    even = even * w - 0x1.a074afe330accp-14;
    even = even * w + 0x1.62cec80cfd9dep-12;
    even = even * w + 0x1.cb5d430357d0ap-14;
    even = even * w - 0x1.01af5307d6d15p-8;
    even = even * w + 0x1.23e4271409031p-6;
    /* The low coefficients one by one: they decide the rounding error. */
    const double h2 = -0x1.2b32dc2c7139ap-4 + t * (odd + t * even);
    const double h = 0x1.5ef6d49aa9d1ap-1 + t * (-0x1.296ec7d577403p-3 + t * h2);
    const double yh = y * h;
    /* g = 1 + y h, with its rounding error less what s_low does to y h through v. */
    const double g = 1.0 + yh;
    const double e = s_low * q; /* s_low / s */
    const double g_low = (yh - (g - 1.0)) - (is_low ? yh - 2.0 * h : yh) * e;
    /* g / s by one Newton step on a 26-bit quotient whose product with the 26-bit head of s is
     * exact, so that only the last addition rounds noticeably. */
    const double r = prv_vm_head(g * q);
    const double s_head = prv_vm_head(s);
    const double residual = ((g - r * s_head) - r * ((s - s_head) + s_low)) + g_low;
    /* Far out R(z) is 1/z to full precision, and infinity has made s_low a NaN. */
    return z > 1e18 ? q : r + residual * q;
}

/* ---- e^(2 pi i r) - 1 ---------------------------------------------------------------------
 *
 * sin and cos of h = pi r, |h| <= pi / 2, by their Taylor polynomials of degree 23 and 24, whose
 * remainders are below 2e-18 and 1e-19: together 4 u of the sum of the moduli of the terms, which is at most
 * sinh(pi / 2) and cosh(pi / 2). Then e^(2 i h) - 1 = 2 sin h (-sin h + i cos h), without the cancellation
 * of cos - 1. For |r| <= 1/2 the error is below 24 u |e^(2 pi i r) - 1|. */
static inline void prv_vm_turn(double r, double *re, double *im)
{
    const double w = r * r;
    double s = -0x1.7215f879e1ac9p-37;
    s = s * w + 0x1.2877020d52cf0p-31;
    s = s * w - 0x1.8a404211f9547p-26;
    s = s * w + 0x1.aaec32af93359p-21;
    s = s * w - 0x1.6fadb9f155744p-16;
    s = s * w + 0x1.e8f434d018d63p-12;
    s = s * w - 0x1.e3074fde8871fp-8;
    s = s * w + 0x1.50783487ee782p-4;
    s = s * w - 0x1.32d2cce62bd86p-1;
    s = s * w + 0x1.466bc6775aae2p+1;
    s = s * w - 0x1.4abbce625be53p+2;
    s = s * w + 0x1.921fb54442d18p+1;
    s *= r;
    double c = 0x1.838d8f4321800p-40;
    c = c * w - 0x1.52ae4120fde27p-34;
    c = c * w + 0x1.ef6e308d6d1c4p-29;
    c = c * w - 0x1.2a0c591af8314p-23;
    c = c * w + 0x1.20c62c2f2d7f5p-18;
    c = c * w - 0x1.b6e24f44b128fp-14;
    c = c * w + 0x1.f9d38a3763cc3p-10;
    c = c * w - 0x1.a6d1f2a204a8cp-6;
    c = c * w + 0x1.e1f506891babbp-3;
    c = c * w - 0x1.55d3c7e3cbffap+0;
    c = c * w + 0x1.03c1f081b5ac4p+2;
    c = c * w - 0x1.3bd3cc9be45dep+2;
    c = c * w + 1.0;
    *re = -2.0 * s * s;
    *im = 2.0 * s * c;
}

#endif /* PRV_VECTOR_MATH_H */
