/* The mean of one step's loss from its own law, for mean-matching: that of a lattice is not it
 * where the mesh does not resolve the loss. */
#ifndef PRV_CONDITIONAL_MEAN_H
#define PRV_CONDITIONAL_MEAN_H

#include "lattices/cells.h"

typedef struct prv_mean {
    long double value; /* nats */
    double error;      /* of value, at most */
} prv_mean;

/* E[Y | x_0 < Y <= x_top], x_0 and x_top the outermost knots of the cells, which are filled.
 * `outside` is Q's mass (infinity included) beyond them, below 1.
 *
 * Gaussian, Laplace and mixture bases: Gauss-Legendre panels in the noise variable. Discrete ones: a sum.
 * Cdfs of a callback: from the two masses of each cell, between which and the mean lie sharp
 * inequalities; the error is then about step^2 / 12. Privacy curves have no such mean;
 * prv_mean_exists. */
prv_mean prv_conditional_mean(const prv_mechanism *mechanism, bool add, const prv_cells *cells,
                              double outside);

/* 0 for mechanisms that are known by their privacy curve alone. */
bool prv_mean_exists(const prv_mechanism *mechanism);

#endif
