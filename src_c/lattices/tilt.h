/* Exponential tilting of one step's loss: w(x) = y(x) e^(lam x) / M(lam), M(lam) = sum y e^(lam x). */
#ifndef PRV_TILT_H
#define PRV_TILT_H

#include <stddef.h>

typedef struct prv_moments {
    double log_moment; /* log M(lam) */
    double mean;       /* of the loss under w */
    double variance;
} prv_moments;

/* Moments of `length` atoms at loss[] (nats, finite) of mass[] (>= 0, not all 0) at the tilt lam. Where
 * weight is not NULL it gets w, double[length]. Never overflows: exponents are kept relative to the
 * largest term. The relative error of each weight times M, and so of M, is below
 *     u (96 + 4 lam max|loss| + 4 |log M|),   u = 2^-53.
 * All masses 0 give log_moment = -infinity. O(length), vectorised. */
prv_moments prv_tilt(const double *loss, const double *mass, size_t length, double lam, double *weight);

/* log M(lam), not below it by this bound. */
double prv_log_moment_above(const double *loss, const double *mass, size_t length, double lam);

/* The bound above. */
double prv_tilt_error(const double *loss, size_t length, double lam, double log_moment);

#endif
