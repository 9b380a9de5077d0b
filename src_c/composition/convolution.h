/* Stage 3: tilted composition by circular convolution: the tilted steps are convolved modulo `length` lattice
 * points by real transforms: spectrum = prod_j DFT(w_j)^k_j. lam = 0 is the paper's ComposePRV (its Algorithm
 * 2). */
#ifndef PRV_CONVOLUTION_H
#define PRV_CONVOLUTION_H

#include <stdint.h>

#include "composition/composed.h"

/* The loss of a point of the window, counted from its lowest, nats. */
double prv_composed_loss(const prv_composed *composed, size_t point);

/* Buffers for one length, shared by the compositions of a query. */
typedef struct prv_workspace {
    size_t length;
    double *real, *spectrum, *product; /* [length + 2] each; product NULL for a single step */
    double *weight;                    /* [longest lattice] */
} prv_workspace;

/* Bytes that a workspace takes. */
double prv_workspace_bytes(double length, size_t steps);
prv_status prv_workspace_new(size_t length, size_t steps, size_t longest, prv_workspace *work);
void prv_workspace_free(prv_workspace *work);

/* No transform is longer: its buffers, and sums of sizes of some of them, fit in size_t. */
#if SIZE_MAX > UINT32_MAX
#define PRV_LONGEST_TRANSFORM (UINT64_C(1) << 40)
#else
#define PRV_LONGEST_TRANSFORM (UINT64_C(1) << 27)
#endif

/* The smallest length >= wanted with small prime factors only, `odd` or any; 0 if there is none up to
 * PRV_LONGEST_TRANSFORM, which prv_workspace_new and prv_layout_plan take for PRV_ERR_MEMORY_LIMIT. */
size_t prv_transform_length(double wanted, int odd);

/* Composes. fft->length must be window->length; with NULL nothing is transformed, and several steps are
 * multiplied out (direct_convolution.h). result->mass points into the workspace. PRV_ERR_PRECISION when the
 * power would amplify the rounding of the transforms beyond first order. Cost: one transform per distinct
 * step and one back.
 *
 * Rounding: with eta = 7 u log2(length) the relative L2 error of a transform (fft provider's contract)
 *     |mass~ - mass| <= eta sum_j k_j |w_j|_2 |prod without one j|_2 + (eta + 3 K u) |mass|_2
 * (Young's inequality on the first-order error of the power; repeated squaring multiplies relative
 * errors by at most K; norms of spectra by Parseval). In L2, all errors together are below the same with the
 * sum |w_j|_1 in place of |w_j|_2, since no output of a transform is off by more than eta |w_j|_1.
 *
 * window->precise is for laws whose bulk is a few atoms, where rare jumps decide and the factor K above would
 * drown them: the heaviest atoms' part of the spectrum is summed as sum w (e^(i t x) - 1), the transform
 * carries the light rest alone (so that |w_j|_2 becomes its norm), and the power is taken as
 * exp(k log1p(z)), whose error is a few u of |k log1p(z)|. Costs length * 32 sines at most. */
prv_status prv_compose(const prv_lattice *const *lattices, const double *counts, size_t steps, double tilt,
                       const prv_window *window, const prv_fft *fft, prv_workspace *work,
                       prv_composed *result);

#endif
