/* Mechanisms on a sample of the records: how losses change. prvcore.h has the constructors. */
#ifndef PRV_SUBSAMPLED_H
#define PRV_SUBSAMPLED_H

#include "mechanisms/mechanism.h"

/* log(1 + p (e^y - 1)), the loss of the sampled pair at an outcome where the base has loss y (nats), to a few
 * roundings of itself and of y. No e^y overflows. */
double prv_subsampled_loss(double base_loss, double p);

/* The inverse, to a few roundings of both losses; -infinity at and below log(1 - p). */
double prv_base_loss(double loss, double p);

/* The relative error of prv_subsampled_loss, at most, where that is a normal number, if y has the relative
 * error `error`: y times the derivative is at most 1.5 (1 + |y|) times the loss. */
double prv_subsampled_loss_error(double y, double error);

/* The atoms of ((1-p)P + pQ, P), from those of (Q, P); NULL if there is no memory. */
prv_atoms *prv_atoms_subsampled(const prv_atoms *a, double p);

/* The symmetric pair whose losses above 0 are those of (P, (1-p)P + pQ), of a pair that is its own reverse;
 * the rest of the mass is at 0, none if those have all. NULL if there is no memory. */
prv_atoms *prv_atoms_folded(const prv_atoms *a, double p);

/* `base`, which is not sampled, on a Poisson sample like that of m, whose probability may be a product that
 * is no double. PRV_ERR_MEMORY. */
prv_status prv_sampled_like(const prv_mechanism *m, const prv_mechanism *base, prv_mechanism **mechanism);

/* The mixture of a group: `spread` (units of sensitivity) for each member in the sample. components[length..2
 * length - 1] are the probabilities of 0, 1, ... members, `complete` as prv_binomial_probabilities returns
 * it; the first half is filled with centres. The caller counts the probabilities' error. PRV_ERR_GROUP, and
 * the statuses of prv_mechanism_gaussian_mixture. */
prv_status prv_group_mixture(double noise_multiplier, double *components, size_t length, double spread,
                             bool complete, prv_mechanism **mechanism);

/* The mechanism of a group with its noise multiplied by noise_factor, and another sampling probability if
 * `probability` is not its own. */
prv_status prv_group_scaled(const prv_mechanism *m, double noise_factor, double probability,
                            prv_mechanism **mechanism);

#endif
