/* A bound of the effect on D of all frequencies that are not summed: SPECTRUM.md, section 5. */
#ifndef PRV_REMAINDER_H
#define PRV_REMAINDER_H

#include "composition/characteristic.h"

typedef struct march {
    size_t steps;
    prv_source *sources; /* [steps] atoms of each step; of its bulk alone if jumps are separate */
    prv_source *jumps;   /* [steps] the rare large losses, or NULL if they are not separate */
    double work;         /* done so far: products of an atom and a frequency */
    double most_work;
    double radius;                   /* of the subsets in use, in units */
    size_t *order;                   /* [steps] from the smallest subset to the largest */
    prv_source *saved;               /* [steps] sources before their subsets were made smaller */
    struct prv_stretches *stretches; /* [steps] */
    double kept_work;                /* of computing phi at one frequency */
    double *kept; /* [kept_length] first frequencies of the blocks of PRV_FREQUENCY_BLOCK that are too large
                     to leave out; prv_release */
    size_t kept_length, kept_capacity;
    const prv_options *options; /* asked whether to go on; may be NULL */
} prv_march;

/* Fills march->kept. *result is at least sum (2 / N) |Phi(theta_j)| |kern_j| over the other frequencies j >=
 * first, N = points: about half the tolerance or less. If jumps are separate, Phi is prod (b + j)^k - prod
 * b^k (spectrum.h). PRV_ERR_PRECISION if this would take more than march->most_work. */
prv_status prv_left_out(prv_march *march, double first, double points, double unit, double tilt,
                        double tolerance, double *result);

#endif
