/* Discrete losses. */
#ifndef PRV_ATOMS_H
#define PRV_ATOMS_H

#include "prvcore.h"

/* q[i] and p[i] are the masses of loss[i] (increasing) under Q and P. */
typedef struct prv_atoms {
    size_t length;
    double *loss, *q, *p;
    double q_infinity;                     /* Q's mass where P vanishes: loss +infinity */
    double p_only;                         /* P's mass where Q vanishes: loss -infinity */
    double q_infinity_error, p_only_error; /* what these may be off by, absolutely */
    double loss_error;                     /* relative, of each loss */
    double mass_error; /* what the masses of all atoms together may be off by, absolutely, beyond a few units
                          of each */
    int unbounded;     /* the atoms were cut off where their mass underflows */
} prv_atoms;

/* All zero but for the length and what the arrays hold. All that make atoms return NULL where there is no
 * memory. */
prv_atoms *prv_atoms_new(size_t length);
prv_atoms *prv_atoms_copy(const prv_atoms *a);
prv_atoms *prv_atoms_reversed(const prv_atoms *a); /* of (Q, P), for those of (P, Q) */
void prv_atoms_free(prv_atoms *a);

/* Of outcomes with these masses under Q and P, double[length], all > 0, in any order. */
prv_atoms *prv_atoms_of_outcomes(const double *q, const double *p, size_t length);

#endif
