/* Where the losses of a mechanism lie: mass at infinity, the greatest loss, atoms and edges. */
#ifndef PRV_SUPPORT_H
#define PRV_SUPPORT_H

#include "mechanisms/mechanism.h"

/* Where a mesh puts a knot so that the sharp features of the law lie on knots. No bound relies on it. */
typedef struct prv_features {
    double anchor;       /* nats: an atom or an edge of the support */
    double period;       /* nats: distance of further atoms from the anchor, 0 if there are none */
    bool is_lattice;     /* all atoms lie at multiples of the period from the anchor */
    bool anchor_is_atom; /* if so, targets of the dominated lattice belong on knots, else between them */
} prv_features;

/* Whether both directions are the same pair. */
bool prv_is_symmetric(const prv_mechanism *m);

/* Whether records that are removed have one pair, and those that are added another, of both of which no
 * sample or combination is known. */
bool prv_has_two_pairs(const prv_mechanism *m);

/* Q's mass at +infinity, and its absolute error, at most: 0 if the caller stated the mass. */
double prv_infinite_mass(const prv_mechanism *m, bool add);
double prv_infinite_mass_error(const prv_mechanism *m, bool add);

/* The least upper bound of the finite losses (nats, may be +infinity), and its error, at most. Losses of
 * callbacks are only known to be no greater: prv_greatest_loss_is_reached is false. */
double prv_greatest_loss(const prv_mechanism *m, bool add);
double prv_greatest_loss_error(const prv_mechanism *m, bool add);
bool prv_greatest_loss_is_reached(const prv_mechanism *m);

/* The total variation of the pair at most, from the probabilities of samples alone: whoever is not in a
 * sample loses nothing. 1 of what is not sampled. */
double prv_most_by_samples(const prv_mechanism *m);

/* The greatest lower bound of the finite losses (nats, may be -infinity, as of all combined mechanisms),
 * about; and a number that none of them is below. */
double prv_lowest_loss(const prv_mechanism *m, bool add);
double prv_least_loss(const prv_mechanism *m, bool add);

/* Delta that the pair leaves out, at most: that of batches that are hardly ever cut, below 2^-1021 for each
 * time they are drawn. */
double prv_delta_of_rare_cuts(const prv_mechanism *m);

/* Delta that a step may have beyond what its lattices count, at most: the above, and what masses of its n
 * cells below the normal numbers lose, some 16 n 2^-1074, which is less than DBL_MIN. */
double prv_lost_delta(const prv_mechanism *m);

prv_features prv_mechanism_features(const prv_mechanism *m, bool add);

/* The absolute error of a step's masses, at most, beyond the relative errors that cells.h promises: the cdfs
 * of callbacks are rounded absolutely, and so are sums of atoms. */
double prv_absolute_cdf_error(const prv_mechanism *m);

#endif
