/* Noise that is added to a query. */
#ifndef PRV_NOISE_H
#define PRV_NOISE_H

#include "mechanisms/mechanism.h"

/* What a query of this sensitivity changes by, in units of its noise, which may be a 0 of either sign. */
double prv_separation(double sensitivity, double noise);

/* 1 if the noise is so little that squares of the sensitivity in its scales overflow: every outcome tells the
 * two data sets apart. */
int prv_noiseless(double sensitivity);

/* Of a base that mu alone describes. */
prv_status prv_mechanism_additive(prv_base base, double mu, prv_mechanism **mechanism);

/* prv_mechanism_gaussian of a noise multiplier that is off by a part `error` of itself, which both bounds
 * then allow for. */
prv_status prv_mechanism_gaussian_rounded(double noise_multiplier, double error, prv_mechanism **mechanism);

/* Centres >= 0 in standard deviations, not all 0, and weights >= 0, not all of them 0. */
prv_status prv_mechanism_of_mixture(const double *centers, const double *weights, size_t length, int mirrored,
                                    prv_mechanism **mechanism);

/* PRV_NOISE_DISCRETE_GAUSSIAN or PRV_NOISE_DISCRETE_LAPLACE. */
prv_status prv_mechanism_discrete_noise(prv_noise noise, double scale, int64_t sensitivity,
                                        prv_mechanism **mechanism);

#endif
