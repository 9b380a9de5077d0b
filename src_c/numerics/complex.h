/* Complex numbers, named after those of C. C's own multiply and divide slowly where they look for infinities,
 * and compilers for Windows have none.
 *
 * Each function is what its formula says, with the operations in the order written, so that error bounds can
 * be read off it. A product is off by sqrt(5) u of itself, fused multiply-adds or not (Brent, Percival,
 * Zimmermann 2007). */
#ifndef PRV_COMPLEX_H
#define PRV_COMPLEX_H

typedef struct prv_complex {
    double re, im;
} prv_complex;

static inline prv_complex prv_cadd(prv_complex a, prv_complex b)
{
    return (prv_complex){a.re + b.re, a.im + b.im};
}

static inline prv_complex prv_csub(prv_complex a, prv_complex b)
{
    return (prv_complex){a.re - b.re, a.im - b.im};
}

static inline prv_complex prv_cmul(prv_complex a, prv_complex b)
{
    return (prv_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* a times the conjugate of b. */
static inline prv_complex prv_cmul_conj(prv_complex a, prv_complex b)
{
    return (prv_complex){a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im};
}

static inline prv_complex prv_cscale(double x, prv_complex a)
{
    return (prv_complex){x * a.re, x * a.im};
}

/* |a|^2, which may underflow or overflow. */
static inline double prv_cabs_square(prv_complex a)
{
    return a.re * a.re + a.im * a.im;
}

/* a / b, where |b|^2 is a normal double. */
static inline prv_complex prv_cdiv(prv_complex a, prv_complex b)
{
    const prv_complex c = prv_cmul_conj(a, b);
    const double square = prv_cabs_square(b);
    return (prv_complex){c.re / square, c.im / square};
}

/* 1 / b, likewise. */
static inline prv_complex prv_cinverse(prv_complex b)
{
    const double square = prv_cabs_square(b);
    return (prv_complex){b.re / square, -b.im / square};
}

#endif
