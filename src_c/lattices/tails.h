/* Tails of the losses of base pairs, in closed form or from a callback's cdfs or tails.
 *
 * A tail is held as the smaller of its two sides: +T for the upper tail T, -F (or -0.0) for the lower tail F.
 * Differences of neighbouring tails then keep their relative accuracy far out on both sides. */
#ifndef PRV_TAILS_H
#define PRV_TAILS_H

#include <math.h>
#include <stdbool.h>

#include "mechanisms/mechanism.h"

static inline double prv_upper_tail(double tail)
{
    return signbit(tail) ? 1.0 + tail : tail;
}

static inline double prv_lower_tail(double tail)
{
    return signbit(tail) ? -tail : 1.0 - tail;
}

/* Q's and P's tails of the base pair's loss at increasing y (nats), each double[length]. If `reversed`, the
 * tails are those of the reverse pair (losses negated, P and Q exchanged), which for the built-in bases is
 * the base itself. y is scratch, and restored. Not for mixtures, atoms and choices. *error gets the error
 * that a callback tells of its tails (prv_tail_callback), else 0.
 *
 * Errors: PRV_ERR_CALLBACK, PRV_ERR_CDF (decreasing, or out of [0, 1]) and PRV_ERR_ARITHMETIC, of callbacks
 * alone. O(length), vectorised. */
prv_status prv_base_tails(const prv_mechanism *m, bool reversed, double *y, size_t length, double *tail_q,
                          double *tail_p, double *error);

/* e^y times P's upper tail at increasing y, where either factor may leave the range of double:
 * double[length]. Of Gaussian, Laplace and mixture bases, of bounded ranges and of a callback's tails, for
 * which `reversed` is as above. `options` may be NULL. PRV_ERR_INTERRUPTED, PRV_ERR_MEMORY and the errors of
 * callbacks. */
prv_status prv_base_scaled_tails(const prv_mechanism *m, bool reversed, const double *y, size_t length,
                                 const prv_options *options, double *scaled);

#endif
