/* How a composition is to be computed: planning fills a window, the engines read it. Any numbers within these
 * ranges are sound; poor ones make bounds wide. */
#ifndef PRV_WINDOW_H
#define PRV_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "prvcore.h"

/* Losses are in nats; lam is the tilt, M the composition's moment at it. */
typedef struct prv_window {
    const prv_options *options;  /* asked now and then whether to go on; may be NULL */
    double shift_up, shift_down; /* of the tilt, for Chernoff's bounds of both tails; a bound is 1 if its
                                    shift is <= 0 */
    double tolerance;            /* the cost that each part left out may have, in units of M e^(-lam eps) */

    /* For a convolution. */
    double lowest; /* rounded to a lattice point */
    size_t length; /* lattice points, a length that transforms well; 0 if there is none */
    bool precise;  /* powers are taken the precise way, see prv_compose */

    /* For a spectrum. */
    double low_epsilon, high_epsilon; /* lower bounds are wanted between these */
    double room_to_grow;              /* count of steps that may be added later, over the present count: the
                                         period has room for them */
    bool separate;                    /* losses above `bulk` are rare jumps, see spectrum.h */
    double bulk;
    double bulk_low;  /* sums without a jump make up at most so much of delta as Chernoff's bound at bulk_tilt
                         says, at epsilons from bulk_low on */
    double bulk_tilt; /* see bulk_low */
} prv_window;

#endif
