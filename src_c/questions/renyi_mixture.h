/* Density and mass of a mixture of normal laws relative to those of N(0, 1), by their logarithms, which never
 * underflow. The mixture is sum w_i N(sign c_i, 1), c its centres. O(components). */
#ifndef PRV_RENYI_MIXTURE_H
#define PRV_RENYI_MIXTURE_H

#include "mechanisms/gaussian_mixture.h"

/* From this x on e^x stands for itself: a sum is not formed as 1 + the sum of e^x - 1, and log(e^x - 1) is x
 * + log1p(-e^-x). Below it nothing overflows. */
#define PRV_LARGE_LOGARITHM 30.0

/* The logarithm of the density relative to N(0, 1) at one z, which is convex in z; its derivative; and what
 * both are off by at most. */
typedef struct prv_tangent {
    double value, slope, error, slope_error;
} prv_tangent;

prv_tangent prv_mixture_log_density(const prv_components *components, double sign, double z);

/* log of the mass between a and b relative to that of N(0, 1), which is e^normal; *error is what it is off
 * by. single_error: of the logarithm of such a mass of one component. */
double prv_mixture_log_mass(const prv_components *components, double sign, double a, double b, double normal,
                            double single_error, double *error);

#endif
