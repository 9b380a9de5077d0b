/* What programs that ask whole queries share. */
#ifndef PRV_TESTS_ASKING_H
#define PRV_TESTS_ASKING_H

#include "prvcore.h"

#include "check.h"
#include "fft/plans.h"

static prv_fft_provider *provider; /* made by the program, before it asks */

static inline prv_options options_of(double eps_error)
{
    const prv_options o = {.eps_error = eps_error, .memory_limit = (size_t)1 << 28, .fft = provider};
    return o;
}

static inline prv_mechanism *gaussian(double noise)
{
    prv_mechanism *m = NULL;
    if (prv_mechanism_gaussian(noise, &m) != PRV_OK) abort();
    return m;
}

static inline prv_mechanism *subsampled(double noise, double p)
{
    prv_mechanism *base = gaussian(noise), *m = NULL;
    if (prv_mechanism_poisson_subsampled(base, p, &m) != PRV_OK) abort();
    prv_mechanism_free(base);
    return m;
}

/* Of N(0, 1) against N(mu, 1) (Balle and Wang 2018, Theorem 8). */
static inline long double gaussian_delta(long double e, long double mu)
{
    return normal_upper(e / mu - 0.5L * mu) - expl(e + logl(normal_upper(e / mu + 0.5L * mu)));
}

#endif
