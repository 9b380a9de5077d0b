/* What the frequencies that are not summed may add to or take from D: SPECTRUM.md, section 5. */
#ifndef PRV_REMAINDER_H
#define PRV_REMAINDER_H

#include "composition/characteristic.h"

typedef struct march {
    prv_source *sources; /* of the bulk, where */
    prv_source *jumps;   /* are apart; else NULL, and of all */
    size_t steps;
    double work, most_work;
    double kept_work; /* of computing phi at one frequency */
    double *kept;     /* first frequencies of blocks of PRV_FREQUENCY_BLOCK that are too large to leave out;
                         prv_release */
    size_t kept_length, kept_capacity;
    const prv_options *options; /* asked whether to go on; may be NULL */
} prv_march;

/* Fills march->kept, and *result with at least sum (2 / N) |Phi(theta_j)| |kern_j| over the other frequencies
 * j >= first, N = points: about half the tolerance or less. With jumps apart Phi is prod (b + j)^k - prod b^k
 * (spectrum.h). PRV_ERR_PRECISION when that would take more than march->most_work. */
prv_status prv_left_out(prv_march *march, double first, double points, double unit, double tilt,
                        double tolerance, double *result);

#endif
