/* The mean of one step's loss, computed from the law of the loss for mean-matching. If a mesh is too coarse
 * to resolve the law, the mean of the lattice differs from it. */
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
 * Gaussian, Laplace and mixture bases take Gauss-Legendre panels in the noise variable, discrete ones a sum.
 * For cdfs of a callback, the two masses of each cell bound its mean on both sides, by inequalities that are
 * sharp; the error is then about spacing^2 / 12. The mechanism must have a mean (prv_mean_exists). */
prv_mean prv_conditional_mean(const prv_mechanism *mechanism, bool add, const prv_cells *cells,
                              double outside);

/* False for mechanisms that are known by their privacy curve alone, which does not determine the mean. */
bool prv_mean_exists(const prv_mechanism *mechanism);

#endif
