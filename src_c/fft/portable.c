/* The transform without any library: real, of mixed radix, after Stockham (no reordering of the digits).
 *
 * A stage combines r transforms of length m into one of n = r m. Transform t of c is that of x[t], x[t + c],
 * ..., so a stage takes c r transforms to c. Half of each is stored, for the rest is conjugate: rows [re 0],
 * [re 1], [im 1], [re 2], [im 2], ..., and [re m/2] last where m is even; a row has one number for each
 * transform, so that inner loops run along rows. The first row may lie apart: that is how spectra of pairs
 * are read and written. Between stages the data goes to and fro between the two buffers of the caller, hence
 * no workspace and no lock. The inverse runs the stages backwards.
 *
 * Accuracy. A complex product has an error of sqrt(5) u (Brent, Percival, Zimmermann 2007), the factors
 * below 1.5 u: 3.8 u for the twiddling of a stage. In the butterfly of an odd r let a and b be sums and
 * differences of pairs; outputs are z0 + C a -+ i S b with |a|^2 + |b|^2 <= 2 |z|^2, and each product of a
 * real factor with a or b went through k = 3, 4, 5 roundings (r = 3, 5, 7: a or b, the factor, the product,
 * their sum). In L2, relative to sqrt(r) |z|, that is at most 2 k |S| / sqrt(r) u, where the row sums |S| =
 * 0.87, 1.54, 2.20 exceed those of C, and 2 u for the two sums after it: 5.0 u, 7.6 u, 10.4 u. With the
 * twiddling 8.8 u, 11.4 u, 14.2 u, where prvcore.h allows 7 u log2(r) = 11.0 u, 16.2 u, 19.6 u. For one term
 * of one output it is at most sqrt(2) (k + 2) u: but for r = 3, where the factor of a is exact, so that it is
 * sqrt(2) 4 u, 12.3 u and 13.8 u with the twiddling; 9.5 u for r = 3. Radices 2 and 4 have 4.8 u of 7 u
 * and 5.8 u of 14 u. */
#include <math.h>
#include <stdint.h>

#include "base/allocate.h"

#include "fft/plans.h"

#include "numerics/complex.h"
#include "numerics/constants.h"
#include "numerics/dispatch.h"

#define MOST_STAGES 64

/* The radix becomes a constant where these are inlined: they must be. */
#if defined(__GNUC__)
#define PRV_INLINE static inline __attribute__((always_inline))
#else
#define PRV_INLINE static inline
#endif

/* Rows do not overlap, which no compiler can see. */
#if defined(__clang__)
#define PRV_ROWS_APART _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PRV_ROWS_APART _Pragma("GCC ivdep")
#else
#define PRV_ROWS_APART
#endif

typedef struct stage {
    size_t radix;
    size_t shorter;       /* m */
    size_t count;         /* c */
    prv_complex *twiddle; /* [m / 2][radix - 1]: e^(-2 pi i k q / n), k = 1, 2, ..., q = 1, 2, ... */
} stage;

typedef struct transform {
    size_t length, stages;
    stage stage[MOST_STAGES];
} transform;

/* ---- Butterflies ------------------------------------------------------------------------------- */

/* a - i b and a + i b. */
static inline prv_complex subtract_turned(prv_complex a, prv_complex b)
{
    return (prv_complex){a.re + b.im, a.im - b.re};
}
static inline prv_complex add_turned(prv_complex a, prv_complex b)
{
    return (prv_complex){a.re - b.im, a.im + b.re};
}
static inline prv_complex mix2(prv_complex a, double x, prv_complex b, double y)
{
    return (prv_complex){a.re * x + b.re * y, a.im * x + b.im * y};
}
static inline prv_complex mix3(prv_complex a, double x, prv_complex b, double y, prv_complex c, double z)
{
    return (prv_complex){(a.re * x + b.re * y) + c.re * z, (a.im * x + b.im * y) + c.im * z};
}

/* z[0..radix-1] to its discrete Fourier transform. radix is a constant wherever this is inlined. */
PRV_INLINE void butterfly(size_t radix, prv_complex *z)
{
    if (radix == 2) {
        const prv_complex a = z[0];
        z[0] = prv_cadd(a, z[1]);
        z[1] = prv_csub(a, z[1]);
    } else if (radix == 3) {
        const prv_complex a = prv_cadd(z[1], z[2]),
                          b = prv_cscale(0.86602540378443864676, prv_csub(z[1], z[2]));
        const prv_complex p = prv_csub(z[0], prv_cscale(0.5, a));
        z[0] = prv_cadd(z[0], a);
        z[1] = subtract_turned(p, b);
        z[2] = add_turned(p, b);
    } else if (radix == 4) {
        const prv_complex a = prv_cadd(z[0], z[2]), b = prv_csub(z[0], z[2]);
        const prv_complex c = prv_cadd(z[1], z[3]), d = prv_csub(z[1], z[3]);
        z[0] = prv_cadd(a, c);
        z[1] = subtract_turned(b, d);
        z[2] = prv_csub(a, c);
        z[3] = add_turned(b, d);
    } else if (radix == 5) {
        const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
        const double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
        const prv_complex a1 = prv_cadd(z[1], z[4]), b1 = prv_csub(z[1], z[4]);
        const prv_complex a2 = prv_cadd(z[2], z[3]), b2 = prv_csub(z[2], z[3]);
        const prv_complex p1 = prv_cadd(z[0], mix2(a1, c1, a2, c2)), q1 = mix2(b1, s1, b2, s2);
        const prv_complex p2 = prv_cadd(z[0], mix2(a1, c2, a2, c1)), q2 = mix2(b1, s2, b2, -s1);
        z[0] = prv_cadd(z[0], prv_cadd(a1, a2));
        z[1] = subtract_turned(p1, q1);
        z[2] = subtract_turned(p2, q2);
        z[3] = add_turned(p2, q2);
        z[4] = add_turned(p1, q1);
    } else {
        const double c1 = 0.62348980185873353053, c2 = -0.22252093395631440429, c3 = -0.90096886790241912624;
        const double s1 = 0.78183148246802980871, s2 = 0.97492791218182360702, s3 = 0.43388373911755812048;
        const prv_complex a1 = prv_cadd(z[1], z[6]), b1 = prv_csub(z[1], z[6]);
        const prv_complex a2 = prv_cadd(z[2], z[5]), b2 = prv_csub(z[2], z[5]);
        const prv_complex a3 = prv_cadd(z[3], z[4]), b3 = prv_csub(z[3], z[4]);
        const prv_complex p1 = prv_cadd(z[0], mix3(a1, c1, a2, c2, a3, c3)),
                          q1 = mix3(b1, s1, b2, s2, b3, s3);
        const prv_complex p2 = prv_cadd(z[0], mix3(a1, c2, a2, c3, a3, c1)),
                          q2 = mix3(b1, s2, b2, -s3, b3, -s1);
        const prv_complex p3 = prv_cadd(z[0], mix3(a1, c3, a2, c1, a3, c2)),
                          q3 = mix3(b1, s3, b2, -s1, b3, s2);
        z[0] = prv_cadd(z[0], prv_cadd(prv_cadd(a1, a2), a3));
        z[1] = subtract_turned(p1, q1);
        z[2] = subtract_turned(p2, q2);
        z[3] = subtract_turned(p3, q3);
        z[4] = add_turned(p3, q3);
        z[5] = add_turned(p2, q2);
        z[6] = add_turned(p1, q1);
    }
}

/* ---- Stages ------------------------------------------------------------------------------------ */

/* Rows of frequency j > 0; the first row is `zero` of the same transform, j = 0. */
#define RE_ROW(rows, j, width) ((rows) + (2 * (j) - 1) * (width))
#define IM_ROW(rows, j, width) ((rows) + 2 * (j) * (width))

/* Frequency k of the shorter transforms makes k + m s, s = 0, 1, ..., of the longer ones; those above n / 2
 * are conjugates of n - k - m s. Of k = 0 and k = m / 2, which are their own partners, half of the results
 * are spare. */
PRV_INLINE void combine(size_t radix, const stage *s, const double *restrict from, double *restrict zero,
                        double *restrict to)
{
    const size_t m = s->shorter, n = radix * m, c = s->count, wide = c * radix;
    PRV_ROWS_APART
    for (size_t u = 0; u < c; u++) {
        prv_complex z[7] = {{0.0, 0.0}};
        for (size_t q = 0; q < radix; q++) z[q] = (prv_complex){from[q * c + u], 0.0};
        butterfly(radix, z);
        zero[u] = z[0].re;
        for (size_t j = 1; 2 * j <= radix; j++) {
            RE_ROW(to, j * m, c)[u] = z[j].re;
            if (2 * j < radix) IM_ROW(to, j * m, c)[u] = z[j].im;
        }
    }
    const prv_complex *twiddle = s->twiddle;
    for (size_t k = 1; 2 * k < m; k++, twiddle += radix - 1) {
        const double *re = RE_ROW(from, k, wide), *im = IM_ROW(from, k, wide);
        PRV_ROWS_APART
        for (size_t u = 0; u < c; u++) {
            prv_complex z[7] = {{0.0, 0.0}};
            z[0] = (prv_complex){re[u], im[u]};
            for (size_t q = 1; q < radix; q++)
                z[q] = prv_cmul((prv_complex){re[q * c + u], im[q * c + u]}, twiddle[q - 1]);
            butterfly(radix, z);
            for (size_t j = 0; j < radix; j++) {
                const size_t at = k + j * m;
                if (2 * j < radix) {
                    RE_ROW(to, at, c)[u] = z[j].re;
                    IM_ROW(to, at, c)[u] = z[j].im;
                } else {
                    RE_ROW(to, n - at, c)[u] = z[j].re;
                    IM_ROW(to, n - at, c)[u] = -z[j].im;
                }
            }
        }
    }
    if (m % 2 != 0) return;
    const double *re = RE_ROW(from, m / 2, wide);
    PRV_ROWS_APART
    for (size_t u = 0; u < c; u++) {
        prv_complex z[7] = {{0.0, 0.0}};
        z[0] = (prv_complex){re[u], 0.0};
        for (size_t q = 1; q < radix; q++) {
            const double x = re[q * c + u];
            z[q] = prv_cscale(x, twiddle[q - 1]);
        }
        butterfly(radix, z);
        for (size_t j = 0; 2 * j < radix; j++) {
            RE_ROW(to, m / 2 + j * m, c)[u] = z[j].re;
            if (2 * j + 1 < radix) IM_ROW(to, m / 2 + j * m, c)[u] = z[j].im;
        }
    }
}

/* The way back: conjugates go through the same butterfly. */
PRV_INLINE void separate(size_t radix, const stage *s, const double *restrict zero,
                         const double *restrict from, double *restrict to)
{
    const size_t m = s->shorter, n = radix * m, c = s->count, wide = c * radix;
    PRV_ROWS_APART
    for (size_t u = 0; u < c; u++) {
        prv_complex z[7] = {{0.0, 0.0}};
        z[0] = (prv_complex){zero[u], 0.0};
        for (size_t j = 1; 2 * j <= radix; j++) {
            const double re = RE_ROW(from, j * m, c)[u], im = 2 * j < radix ? IM_ROW(from, j * m, c)[u] : 0.0;
            z[j] = (prv_complex){re, -im};
            z[radix - j] = (prv_complex){re, 2 * j < radix ? im : 0.0};
        }
        butterfly(radix, z);
        for (size_t q = 0; q < radix; q++) to[q * c + u] = z[q].re;
    }
    const prv_complex *twiddle = s->twiddle;
    for (size_t k = 1; 2 * k < m; k++, twiddle += radix - 1) {
        double *re = RE_ROW(to, k, wide), *im = IM_ROW(to, k, wide);
        PRV_ROWS_APART
        for (size_t u = 0; u < c; u++) {
            prv_complex z[7] = {{0.0, 0.0}};
            for (size_t j = 0; j < radix; j++) {
                const size_t at = k + j * m;
                if (2 * j < radix)
                    z[j] = (prv_complex){RE_ROW(from, at, c)[u], -IM_ROW(from, at, c)[u]};
                else
                    z[j] = (prv_complex){RE_ROW(from, n - at, c)[u], IM_ROW(from, n - at, c)[u]};
            }
            butterfly(radix, z);
            re[u] = z[0].re;
            im[u] = -z[0].im;
            for (size_t q = 1; q < radix; q++) {
                const prv_complex x = prv_cmul(z[q], twiddle[q - 1]);
                re[q * c + u] = x.re;
                im[q * c + u] = -x.im;
            }
        }
    }
    if (m % 2 != 0) return;
    double *re = RE_ROW(to, m / 2, wide);
    PRV_ROWS_APART
    for (size_t u = 0; u < c; u++) {
        prv_complex z[7] = {{0.0, 0.0}};
        for (size_t j = 0; 2 * j < radix; j++) {
            const size_t at = m / 2 + j * m;
            const double x = RE_ROW(from, at, c)[u], y = 2 * j + 1 < radix ? IM_ROW(from, at, c)[u] : 0.0;
            z[j] = (prv_complex){x, -y};
            z[radix - 1 - j] = (prv_complex){x, 2 * j + 1 < radix ? y : 0.0};
        }
        butterfly(radix, z);
        re[u] = z[0].re;
        for (size_t q = 1; q < radix; q++) re[q * c + u] = prv_cmul(z[q], twiddle[q - 1]).re;
    }
}

/* One function for each radix, so that its loops have no branches. */
#define PRV_STAGES(radix)                                                                                    \
    PRV_VECTOR static void combine_##radix(const stage *s, const double *from, double *zero, double *to)     \
    {                                                                                                        \
        combine(radix, s, from, zero, to);                                                                   \
    }                                                                                                        \
    PRV_VECTOR static void separate_##radix(const stage *s, const double *zero, const double *from,          \
                                            double *to)                                                      \
    {                                                                                                        \
        separate(radix, s, zero, from, to);                                                                  \
    }
PRV_STAGES(2)
PRV_STAGES(3)
PRV_STAGES(4)
PRV_STAGES(5)
PRV_STAGES(7)

static void combine_any(const stage *s, const double *from, double *zero, double *to)
{
    switch (s->radix) {
    case 2: combine_2(s, from, zero, to); break;
    case 3: combine_3(s, from, zero, to); break;
    case 4: combine_4(s, from, zero, to); break;
    case 5: combine_5(s, from, zero, to); break;
    default: combine_7(s, from, zero, to); break;
    }
}

static void separate_any(const stage *s, const double *zero, const double *from, double *to)
{
    switch (s->radix) {
    case 2: separate_2(s, zero, from, to); break;
    case 3: separate_3(s, zero, from, to); break;
    case 4: separate_4(s, zero, from, to); break;
    case 5: separate_5(s, zero, from, to); break;
    default: separate_7(s, zero, from, to); break;
    }
}

/* ---- Transforms -------------------------------------------------------------------------------- */

static void forward(void *plan, void *in, void *out)
{
    const transform *t = plan;
    const size_t n = t->length;
    double *from = in, *to = out, *spectrum = out;
    for (size_t i = 0; i < t->stages; i++) {
        /* The last stage leaves a gap after the first row: its imaginary part. */
        if (i + 1 == t->stages && to == spectrum)
            combine_any(&t->stage[i], from, spectrum, spectrum + 1);
        else
            combine_any(&t->stage[i], from, to, to);
        double *const next = from;
        from = to;
        to = next;
    }
    if (t->stages % 2 == 0) {
        spectrum[0] = from[0];
        for (size_t i = 1; i < n; i++) spectrum[i + 1] = from[i];
    }
    spectrum[1] = 0.0;
    if (n % 2 == 0) spectrum[n + 1] = 0.0;
}

static void inverse(void *plan, void *in, void *out)
{
    const transform *t = plan;
    double *from = in, *to = out;
    const double *zero = from, *rows = from + 1;
    if (t->stages == 0) to[0] = from[0];
    for (size_t i = t->stages; i-- > 0;) {
        separate_any(&t->stage[i], zero, rows, to);
        double *const next = from;
        zero = rows = from = to;
        to = next;
    }
    if (t->stages % 2 == 0 && t->stages > 0)
        for (size_t i = 0; i < t->length; i++) ((double *)out)[i] = from[i];
}

/* ---- Plans --------------------------------------------------------------------------------------- */

/* e^(-2 pi i j / n) for 0 <= j < n, each part within 1.05 u: by an angle of at most pi / 4 and the rounding
 * of it. */
static prv_complex root_of_unity(size_t j, size_t n)
{
    const double two_pi_rest = 0x1.1a62633145c07p-52; /* 2 pi - PRV_TWO_PI */
    /* j / n = eighths / 8 + part / n, |part| <= n / 16 in steps of 1 / 8. */
    const int64_t eight = 8 * (int64_t)j, length = (int64_t)n;
    const int64_t quarter = (eight + length) / (2 * length);
    const double part = (double)(eight - 2 * length * quarter), whole = 8.0 * (double)n;
    const double turns = part / whole, turns_rest = fma(-turns, whole, part) / whole;
    const double angle = PRV_TWO_PI * turns;
    const double rest = fma(PRV_TWO_PI, turns, -angle) + (two_pi_rest * turns + PRV_TWO_PI * turns_rest);
    const double c0 = cos(angle), s0 = sin(angle), c = c0 - s0 * rest, s = s0 + c0 * rest;
    switch (quarter & 3) {
    case 0: return (prv_complex){c, -s};
    case 1: return (prv_complex){-s, -c};
    case 2: return (prv_complex){-c, s};
    default: return (prv_complex){s, c};
    }
}

static void transform_free(prv_fft *fft)
{
    transform *t = fft->forward_plan;
    for (size_t i = 0; i < t->stages; i++) prv_release(t->stage[i].twiddle);
    prv_release(t);
}

static prv_status transform_new(size_t length, prv_fft *fft)
{
    /* Short transforms first have odd radices: rows are longest there, where these want most vectors. */
    static const size_t radices[] = {7, 5, 3, 4, 2};
    if (length < 1 || length > SIZE_MAX / 16) return PRV_ERR_FFT;
    transform *t = prv_allocate(1, sizeof *t);
    if (t == NULL) return PRV_ERR_MEMORY;
    t->length = length;
    t->stages = 0;
    *fft = (prv_fft){length, t, t, forward, inverse};
    size_t done = 1;
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++)
        for (const size_t r = radices[i]; length / done % r == 0;) {
            stage *s = &t->stage[t->stages];
            const size_t n = r * done, rows = done / 2;
            *s = (stage){r, done, length / n, prv_allocate(rows * (r - 1), sizeof(prv_complex))};
            if (s->twiddle == NULL) {
                transform_free(fft);
                return PRV_ERR_MEMORY;
            }
            t->stages++;
            for (size_t k = 1; k <= rows; k++)
                for (size_t q = 1; q < r; q++)
                    s->twiddle[(k - 1) * (r - 1) + q - 1] = root_of_unity(k * q, n);
            done = n;
        }
    if (done == length) return PRV_OK;
    transform_free(fft);
    return PRV_ERR_FFT;
}

const prv_planner prv_portable_planner = {"portable", transform_new, transform_free};
