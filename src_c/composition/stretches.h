/* Stretches of atoms at equal distances whose masses change slowly. Their part of a characteristic function
 * is bounded at many frequencies at once, without a look at the atoms: SPECTRUM.md, section 5. */
#ifndef PRV_STRETCHES_H
#define PRV_STRETCHES_H

#include "composition/characteristic.h"

/* Of one step. */
enum { PRV_MOST_STRETCHES = 16 };

typedef struct prv_stretch {
    double stride;    /* units between its atoms */
    double weight;    /* sum w, at most */
    double variation; /* w of both ends and sum |w_(n + 1) - w_n|, at least */
} prv_stretch;

typedef struct prv_stretches {
    size_t count;
    prv_stretch each[PRV_MOST_STRETCHES];
} prv_stretches;

/* Those of a source that tell most. Its heaviest atom is in none. O(length). */
prv_stretches prv_stretches_of(const prv_source *source);

/* 1 - |phi(theta_j)|^2 at least, theta_j = 2 pi j / points, at all frequencies j from `first` to `last` > 0.
 * Positions and frequencies are integers, and points < 2^50, too. */
double prv_gap_of_stretches(const prv_stretches *stretches, double first, double last, double points);

#endif
