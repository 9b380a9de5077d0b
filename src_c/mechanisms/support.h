/* Where the loss of a mechanism lies, and what is special about it. */
#ifndef PRV_SUPPORT_H
#define PRV_SUPPORT_H

#include "mechanisms/mechanism.h"

/* Where the sharp features of a loss lie, so that a lattice can be put onto them. */
typedef struct prv_features {
    double anchor;    /* an atom or an edge of the support; a knot is put here */
    double period;    /* distance of further atoms, 0 where there are none */
    int atoms;        /* the anchor is an atom: dominated targets belong on knots, not between */
    int only_lattice; /* all mass lies on anchor + period * integers */
} prv_features;

/* 1 if both directions are the same pair. */
int prv_is_symmetric(const prv_mechanism *m);

/* Q's mass at +infinity, and the least upper bound of the finite losses (may be +infinity). */
double prv_infinite_mass(const prv_mechanism *m, int add);
double prv_greatest_loss(const prv_mechanism *m, int add);

/* What the mass at infinity may be off by, absolutely; 0 where it was stated. */
double prv_infinite_mass_error(const prv_mechanism *m, int add);

/* 0 if the greatest loss is only known to be no greater: of callbacks nobody knows where their losses end. */
int prv_greatest_loss_is_reached(const prv_mechanism *m);

/* What the greatest loss may be off by, nats. */
double prv_greatest_loss_error(const prv_mechanism *m, int add);

prv_features prv_mechanism_features(const prv_mechanism *m, int add);

/* Bound of what double arithmetic may move mass absolutely, per step, beyond the relative errors that
 * the certificate assumes: the cdfs of callbacks are absolute. */
double prv_absolute_cdf_error(const prv_mechanism *m);

#endif
