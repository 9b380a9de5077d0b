/* Changes of a parameter: prvcore.h has prv_mechanism_scaled. */
#ifndef PRV_SCALING_H
#define PRV_SCALING_H

#include "mechanisms/mechanism.h"

/* 1 if prv_mechanism_scaled can multiply this parameter of it. */
int prv_has_parameter(const prv_mechanism *m, prv_parameter parameter);

/* 1 if more noise is post-processing of less: Gaussian noise, Laplace noise on real numbers and on integers
 * are sums of less of the same and independent noise (ratios of their characteristic functions are such
 * functions again). Discrete Gaussian noise is not. */
int prv_falls_with_noise(const prv_mechanism *m);

#endif
