/* Stage 3: composition by circular convolution. The tilted steps are convolved modulo `length` lattice points
 * by real transforms: spectrum = prod_j DFT(w_j)^k_j. lam = 0 is the paper's ComposePRV (its Algorithm 1). */
#ifndef PRV_CONVOLUTION_H
#define PRV_CONVOLUTION_H

#include "composition/composed.h"
#include "composition/transforms.h"
#include "composition/window.h"

/* Composes steps with counts >= 1, integers. fft->length and work->length must be window->length. If fft is
 * NULL nothing is transformed, and several steps are multiplied out (direct_convolution.h).
 * result->convolved.mass points into the workspace. PRV_ERR_PRECISION if the power would amplify the rounding
 * of the transforms so far that their second order counted; PRV_ERR_MEMORY; PRV_ERR_INTERRUPTED. Cost: one
 * transform per distinct step and one back.
 *
 * Rounding: with eta = 7 u log2(length) the relative L2 error of a transform (fft provider's contract), and J
 * distinct steps,
 *     |mass~ - mass| <= 1.2 (eta sum_j k_j |w_j|_2 |prod without one j|_2 + sum_j 3 k_j u |W_j^k_j|_2
 *                            + (eta + 4 J u) |mass|_2) + 4e-36,
 * norms of spectra by Parseval; docs/bounds.rst, "Transforms", has the proof. In L2, all errors together are
 * below the same with the sum |w_j|_1 in place of |w_j|_2, since no output of a transform is off by more than
 * eta |w_j|_1, and with 4e-36 sqrt(length).
 *
 * window->precise takes the powers the precise way (spectral_power.h), in which |w_j|_2 becomes the norm of
 * the light atoms alone and 3 K u the error of an exponential. */
prv_status prv_compose(const prv_lattice *const *lattices, const double *counts, size_t steps, double tilt,
                       const prv_window *window, const prv_fft *fft, prv_workspace *work,
                       prv_composed *result);

/* The loss of a point of the window, counted from its lowest, nats. */
double prv_composed_loss(const prv_composed *composed, size_t point);

#endif
