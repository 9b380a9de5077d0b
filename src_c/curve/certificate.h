/* What every bound adds for everything that is not exact. `design` of the parts:
 *
 * wrap-around and truncation of the window: a tilted mass outside it weighs at most
 *     M e^(-lam eps) g(lam) P_c(outside),  g(lam) = max_s e^(-lam s)(1 - e^-s) = lam^lam / (1 + lam)^(1 +
 * lam); rounding of the transforms: `rounding` a point, summed against the kernel e^(-lam s)(1 - e^-s), whose
 * sum over a lattice of step h is at most 1 / (h lam (lam + 1)) + g(lam) (unimodal), and N g(lam); underflow
 * of weights, and of products in the recurrences of the kernel: absolute; for a spectrum: frequencies left
 * out, rounding of those kept, and periodic images (SPECTRUM.md); rounding of weights and moments: relative,
 * since all terms are positive; rounding of cells and lattices: a step's true curve lies below 1 + relative
 * times that of its lattice, moved up by shift, and above likewise (lattice.h); domination under composition
 * makes that exp(sum k relative) and sum k shift. */
#ifndef PRV_CERTIFICATE_H
#define PRV_CERTIFICATE_H

#include "curve/curve.h"

typedef struct prv_slack_parts {
    prv_slack slack;
    double outside,
        transforms; /* the two parts of slack.additive and slack.images: what is left out, rounding */
} prv_slack_parts;

/* `cells` is sum_j k_j times the rounding of lattice j. */
prv_slack_parts prv_certificate(const prv_composed *composed, const prv_rounding *cells);

#endif
