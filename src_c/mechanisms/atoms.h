/* Pairs of discrete distributions, by the atoms of their loss. */
#ifndef PRV_ATOMS_H
#define PRV_ATOMS_H

#include <stdbool.h>

#include "prvcore.h"

/* Roundings of masses that go down to where they underflow: exponentials of exponents up to 740, each rounded
 * by 4 u of itself. */
#define PRV_CUT_OFF_ROUNDINGS (4.0 * 740.0)

typedef struct prv_atoms {
    size_t length;
    double *loss;                      /* [length] nats, increasing */
    double *q, *p;                     /* [length] masses of each loss under Q and P */
    double q_only;                     /* Q's mass where P vanishes: the loss is +infinity */
    double p_only;                     /* P's mass where Q vanishes: the loss is -infinity */
    double q_only_error, p_only_error; /* absolute errors of these two, at most */
    double loss_error;                 /* relative error of each loss, at most */
    double mass_error; /* absolute error of all masses together, at most, beyond a few units of each */
    double response; /* if > 0, the law in full: losses are this and its negative, which is off by loss_error
                        alone, and masses are (1 - q_only) / (1 + e^-loss) */
    bool unbounded;  /* there are more atoms beyond the ends, whose mass underflows */
} prv_atoms;

/* Functions that make atoms return NULL if there is no memory. */

/* All but the length is 0, and the arrays are not filled. NULL, too, for more than PRV_MAX_ATOMS + 1. */
prv_atoms *prv_atoms_new(size_t length);
prv_atoms *prv_atoms_copy(const prv_atoms *a);
prv_atoms *prv_atoms_reversed(const prv_atoms *a); /* the atoms of (Q, P) for those of (P, Q) */
void prv_atoms_free(prv_atoms *a);

/* The atoms of outcomes with these masses under Q and P, double[length], all > 0, in any order. */
prv_atoms *prv_atoms_of_outcomes(const double *q, const double *p, size_t length);

#endif
