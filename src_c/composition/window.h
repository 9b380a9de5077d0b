/* How a composition is to be computed: planning fills a window, the engines read it. Any numbers within these
 * ranges are sound; poor ones make bounds wide. */
#ifndef PRV_WINDOW_H
#define PRV_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "prvcore.h"

/* Losses are in nats; lam is the tilt, M the composition's moment at it. */
typedef struct prv_window {
    const prv_options *options; /* asked now and then whether to go on; may be NULL */
    double shift_up,
        shift_down; /* of the tilt, for Chernoff's bounds of both tails; a bound is 1 if its shift is <= 0 */
    double tolerance; /* what each thing left out may cost, in units of M e^(-lam eps) */
    /* For a convolution. */
    double lowest; /* rounded to a lattice point */
    size_t length; /* lattice points, a length that transforms well; 0: there is none */
    bool precise;  /* powers are taken the precise way, see prv_compose */
    /* For a spectrum. */
    double low_epsilon, high_epsilon; /* where lower bounds are wanted */
    double room_to_grow; /* steps that may be added later, relative to those there are; the period has room
                            for them */
    bool separate;       /* losses above `bulk` are rare jumps, see spectrum.h */
    double bulk;
    double bulk_tilt; /* Chernoff's bound at this tilt counts what sums without a jump make up of delta, */
    double bulk_low;  /* for epsilons from this one on */
} prv_window;

#endif
