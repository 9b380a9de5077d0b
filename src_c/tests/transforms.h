/* Transforms for the tests: no library, and exact enough for the contract of prv_fft_provider. */
#ifndef PRV_TESTS_TRANSFORMS_H
#define PRV_TESTS_TRANSFORMS_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "prvcore.h"

#define TESTS_TWO_PI 6.28318530717958647692528676655900577L

/* ---- By definition, O(n^2), in long double --------------------------------------------------- */

static void naive_forward(void *plan, void *in, void *out)
{
    const size_t n = *(const size_t *)plan;
    const double *x = in;
    double *z = out;
    for (size_t j = 0; j <= n / 2; j++) {
        long double re = 0.0L, im = 0.0L;
        for (size_t i = 0; i < n; i++) {
            const long double angle = TESTS_TWO_PI * (long double)(i * j % n) / (long double)n;
            re += (long double)x[i] * cosl(angle);
            im -= (long double)x[i] * sinl(angle);
        }
        z[2 * j] = (double)re;
        z[2 * j + 1] = (double)im;
    }
}

static void naive_inverse(void *plan, void *in, void *out)
{
    const size_t n = *(const size_t *)plan;
    const double *z = in;
    double *x = out;
    for (size_t i = 0; i < n; i++) {
        long double sum = (long double)z[0];
        for (size_t j = 1; j <= n / 2; j++) {
            const long double angle = TESTS_TWO_PI * (long double)(i * j % n) / (long double)n;
            const long double twice = 2 * j == n ? 1.0L : 2.0L;
            sum += twice * ((long double)z[2 * j] * cosl(angle) - (long double)z[2 * j + 1] * sinl(angle));
        }
        x[i] = (double)sum;
    }
}

static inline prv_fft naive_fft(size_t *length)
{
    const prv_fft fft = {*length, length, length, naive_forward, naive_inverse};
    return fft;
}

/* ---- Mixed radix, O(n log n) ------------------------------------------------------------------ */

typedef struct radix_plan {
    size_t length;
    double *twiddle; /* [2 * length] e^(-2 pi i j / length) */
    struct radix_plan *next;
} radix_plan;

/* out = DFT of in[0], in[stride], ... (complex), out contiguous; recursion on the least factor. */
static void radix_complex(const radix_plan *p, const double *in, double *out, size_t n, size_t stride)
{
    if (n == 1) {
        out[0] = in[0];
        out[1] = in[1];
        return;
    }
    const size_t r = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : n % 5 == 0 ? 5 : n % 7 == 0 ? 7 : n;
    const size_t m = n / r;
    for (size_t q = 0; q < r; q++) radix_complex(p, in + 2 * q * stride, out + 2 * q * m, m, stride * r);
    double re[8], im[8];
    for (size_t k = 0; k < m && r <= 7; k++) {
        for (size_t q = 0; q < r; q++) {
            re[q] = out[2 * (q * m + k)];
            im[q] = out[2 * (q * m + k) + 1];
        }
        for (size_t s = 0; s < r; s++) {
            double a = 0.0, b = 0.0;
            for (size_t q = 0; q < r; q++) {
                const double *t = p->twiddle + 2 * ((q * (k + s * m) % n) * stride);
                a += re[q] * t[0] - im[q] * t[1];
                b += re[q] * t[1] + im[q] * t[0];
            }
            out[2 * (s * m + k)] = a;
            out[2 * (s * m + k) + 1] = b;
        }
    }
}

static void radix_forward(void *plan, void *in, void *out)
{
    const radix_plan *p = plan;
    const size_t n = p->length;
    double *work = calloc(4 * n, sizeof *work);
    if (work == NULL) abort();
    for (size_t i = 0; i < n; i++) {
        work[2 * i] = ((const double *)in)[i];
        work[2 * i + 1] = 0.0;
    }
    radix_complex(p, work, work + 2 * n, n, 1);
    memcpy(out, work + 2 * n, 2 * (n / 2 + 1) * sizeof *work);
    free(work);
}

static void radix_inverse(void *plan, void *in, void *out)
{
    const radix_plan *p = plan;
    const size_t n = p->length;
    const double *z = in;
    double *work = calloc(4 * n, sizeof *work);
    if (work == NULL) abort();
    /* The conjugate's forward transform is the conjugate of the inverse, which is real. */
    for (size_t j = 0; j <= n / 2; j++) {
        work[2 * j] = z[2 * j];
        work[2 * j + 1] = j == 0 || 2 * j == n ? 0.0 : -z[2 * j + 1];
        if (j > 0) {
            work[2 * (n - j)] = work[2 * j];
            work[2 * (n - j) + 1] = -work[2 * j + 1];
        }
    }
    radix_complex(p, work, work + 2 * n, n, 1);
    for (size_t i = 0; i < n; i++) ((double *)out)[i] = work[2 * n + 2 * i];
    free(work);
}

/* context is a radix_plan * that heads the list of plans made; free it with radix_free. */
static inline prv_status radix_plan_new(void *context, size_t length, prv_fft *fft)
{
    radix_plan **plans = context, *p = *plans;
    while (p != NULL && p->length != length) p = p->next;
    if (p == NULL) {
        p = malloc(sizeof *p);
        if (p == NULL) abort();
        p->length = length;
        p->twiddle = malloc(2 * length * sizeof *p->twiddle);
        if (p->twiddle == NULL) abort();
        for (size_t j = 0; j < length; j++) {
            const long double angle = TESTS_TWO_PI * (long double)j / (long double)length;
            p->twiddle[2 * j] = (double)cosl(angle);
            p->twiddle[2 * j + 1] = (double)-sinl(angle);
        }
        p->next = *plans;
        *plans = p;
    }
    fft->length = length;
    fft->forward_plan = fft->inverse_plan = p;
    fft->forward = radix_forward;
    fft->inverse = radix_inverse;
    return PRV_OK;
}

static inline void radix_free(radix_plan **plans)
{
    while (*plans != NULL) {
        radix_plan *p = *plans;
        *plans = p->next;
        free(p->twiddle);
        free(p);
    }
}

#endif
