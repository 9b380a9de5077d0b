/* The kernel K(s) = e^(-lam s) (1 - e^-s), s > 0, that reads delta off a law with tilt lam, and bounds of it.
 */
#ifndef PRV_KERNEL_H
#define PRV_KERNEL_H

/* g(lam) = max_s K(s) = lam^lam / (1 + lam)^(1 + lam), lam >= 0. */
double prv_kernel_maximum(double lam);

/* The transform of K on a lattice of spacing q, kern, falls: |kern(lam q + i theta)| <= q /
 * prv_kernel_divisor(lam q, theta), 0 < theta <= pi (SPECTRUM.md, section 2). */
double prv_kernel_divisor(double lam_q, double theta);

#endif
