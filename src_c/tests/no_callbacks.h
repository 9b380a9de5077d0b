/* Callbacks that report failure, for mechanisms that are made and never asked. */
#ifndef PRV_TESTS_NO_CALLBACKS_H
#define PRV_TESTS_NO_CALLBACKS_H

#include <stddef.h>

static int no_cdfs(void *context, const double *losses, size_t length, double *cdf_q, double *cdf_p)
{
    (void)context, (void)losses, (void)length, (void)cdf_q, (void)cdf_p;
    return 1;
}
static int no_tails(void *context, int reversed, const double *losses, size_t length, double *tail_q,
                    double *tail_p, double *scaled_p, double *error)
{
    (void)context, (void)reversed, (void)losses, (void)length;
    (void)tail_q, (void)tail_p, (void)scaled_p, (void)error;
    return 1;
}
static int no_curve(void *context, const double *epsilons, size_t length, double *deltas)
{
    (void)context, (void)epsilons, (void)length, (void)deltas;
    return 1;
}

#endif
