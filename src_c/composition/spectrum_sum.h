/* The series of a spectrum summed at a lattice point, and what its periodic images add to the sum. */
#ifndef PRV_SPECTRUM_SUM_H
#define PRV_SPECTRUM_SUM_H

#include "composition/spectrum.h"

/* D and B at the lattice point lowest + n * spacing, n an integer below 2^52 in modulus. O(count),
 * vectorised. */
void prv_spectrum_at(const prv_spectrum *spectrum, double n, double *finite, double *reverse);

/* Periodic images add to D, never take: at most this for low_epsilon <= epsilon <= high_epsilon, in units of
 * M e^(-lam eps) (SPECTRUM.md, section 3). */
double prv_spectrum_images(const prv_composed *composed, double *low_epsilon, double *high_epsilon);

#endif
