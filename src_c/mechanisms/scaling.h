/* Multiplying a parameter of a mechanism, for calibration: prvcore.h has prv_mechanism_scaled. */
#ifndef PRV_SCALING_H
#define PRV_SCALING_H

#include "mechanisms/mechanism.h"

/* The mechanism that was sampled, with its noise multiplied by `factor`; of one that was not, itself. */
prv_status prv_mechanism_unsampled(const prv_mechanism *m, double factor, prv_mechanism **mechanism);

/* Whether prv_mechanism_scaled can multiply this parameter of the mechanism. */
bool prv_has_parameter(const prv_mechanism *m, prv_parameter parameter);

/* Whether more noise is post-processing of less noise, so that epsilon falls with it. Gaussian noise, and
 * Laplace noise on real numbers and on integers, are sums of less of the same noise and of independent noise
 * (ratios of their characteristic functions are characteristic functions again). Discrete Gaussian noise is
 * not such a sum. */
bool prv_falls_with_noise(const prv_mechanism *m);

#endif
