/* Mechanisms that add noise to a query: building blocks of their constructors, which prvcore.h has. */
#ifndef PRV_NOISE_H
#define PRV_NOISE_H

#include "mechanisms/mechanism.h"

/* *separation = sensitivity / noise, the distance of the two outputs in units of the noise, > 0; infinite if
 * noise is a 0 of either sign. False if it is finite and not in [2^-1022, 1e150). Such mechanisms are
 * refused: a quotient below has no relative accuracy, and above, where squares overflow, to take the noise
 * for none would be no bound from below. */
bool prv_separation(double sensitivity, double noise, double *separation);

/* A mechanism whose base mu alone describes: Gaussian, Laplace, bounded range. If mu is infinite, no outcome
 * is shared. */
prv_status prv_mechanism_additive(prv_base base, double mu, prv_mechanism **mechanism);

/* prv_mechanism_gaussian of a noise multiplier that has the relative error `error`, which both bounds then
 * allow for. */
prv_status prv_mechanism_gaussian_rounded(double noise_multiplier, double error, prv_mechanism **mechanism);

/* A mixture, as of prv_gaussian_mixture_new. */
prv_status prv_mechanism_of_mixture(const double *centers, const double *weights, size_t length,
                                    bool mirrored, prv_mechanism **mechanism);

/* `noise` is PRV_NOISE_DISCRETE_GAUSSIAN or PRV_NOISE_DISCRETE_LAPLACE. PRV_ERR_SCALE, PRV_ERR_SENSITIVITY,
 * PRV_ERR_SUPPORT (more than PRV_MAX_ATOMS atoms), PRV_ERR_MEMORY. */
prv_status prv_mechanism_discrete_noise(prv_noise noise, double scale, int64_t sensitivity,
                                        prv_mechanism **mechanism);

#endif
