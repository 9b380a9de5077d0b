/* The transforms of prv_fft by their definition, O(n^2), in long double: the truth for those of libraries. */
#ifndef PRV_TESTS_TRANSFORMS_H
#define PRV_TESTS_TRANSFORMS_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "prvcore.h"

#define TESTS_TWO_PI 6.28318530717958647692528676655900577L

/* [2 * n]: cosines and sines of 2 pi i / n; free it. */
static long double *roots_of_unity(size_t n)
{
    long double *roots = malloc(2 * n * sizeof *roots);
    if (roots == NULL) abort();
    for (size_t i = 0; i < n; i++) {
        const long double angle = TESTS_TWO_PI * (long double)i / (long double)n;
        roots[2 * i] = cosl(angle);
        roots[2 * i + 1] = sinl(angle);
    }
    return roots;
}

static void naive_forward(void *plan, void *in, void *out)
{
    const size_t n = *(const size_t *)plan;
    const double *x = in;
    double *z = out;
    long double *roots = roots_of_unity(n);
    for (size_t j = 0; j <= n / 2; j++) {
        long double re = 0.0L, im = 0.0L;
        for (size_t i = 0; i < n; i++) {
            const long double *root = roots + 2 * (i * j % n);
            re += (long double)x[i] * root[0];
            im -= (long double)x[i] * root[1];
        }
        z[2 * j] = (double)re;
        z[2 * j + 1] = (double)im;
    }
    free(roots);
}

static void naive_inverse(void *plan, void *in, void *out)
{
    const size_t n = *(const size_t *)plan;
    const double *z = in;
    double *x = out;
    long double *roots = roots_of_unity(n);
    for (size_t i = 0; i < n; i++) {
        long double sum = (long double)z[0];
        for (size_t j = 1; j <= n / 2; j++) {
            const long double *root = roots + 2 * (i * j % n);
            const long double twice = 2 * j == n ? 1.0L : 2.0L;
            sum += twice * ((long double)z[2 * j] * root[0] - (long double)z[2 * j + 1] * root[1]);
        }
        x[i] = (double)sum;
    }
    free(roots);
}

static inline prv_fft naive_fft(size_t *length)
{
    const prv_fft fft = {*length, length, length, naive_forward, naive_inverse};
    return fft;
}

#endif
