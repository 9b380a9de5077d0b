/* The certificate: what bounds add for everything that is not exact. docs/bounds.rst derives its parts.
 *
 * 1. Wrap-around and truncation of the window. A tilted mass P_c(outside) adds at most
 *        M e^(-lam eps) g(lam) P_c(outside),
 *        g(lam) = max_s e^(-lam s) (1 - e^-s) = lam^lam / (1 + lam)^(1 + lam).
 *
 * 2. Rounding of the transforms: `rounding` at each of N points, summed against the kernel e^(-lam s) (1 -
 *    e^-s). Since the kernel is unimodal, its sum over a lattice of spacing h is at most
 *        1 / (h lam (lam + 1)) + g(lam),   and at most N g(lam).
 *
 * 3. Underflow of weights, and of products in the recurrences of the kernel: absolute.
 *
 * 4. For a spectrum: frequencies left out, rounding of the frequencies kept, and periodic images
 *    (SPECTRUM.md).
 *
 * 5. Rounding of weights and moments: relative, since all terms are positive.
 *
 * 6. Rounding of cells and lattices: the true curve of a step lies below 1 + relative times the curve of its
 *    dominating lattice, moved up by shift, and above likewise (lattice.h). Since domination is kept under
 *    composition, the composition has the factor exp(sum k relative) and the shift sum k shift. */
#ifndef PRV_CERTIFICATE_H
#define PRV_CERTIFICATE_H

#include "curve/curve.h"

typedef struct prv_slack_parts {
    prv_slack slack;
    double outside;    /* part of slack.additive and slack.images for masses and frequencies left out */
    double transforms; /* their other part, for rounding */
} prv_slack_parts;

/* The slack of a composition. `cells` is sum_j k_j times the rounding of lattice j. */
prv_slack_parts prv_certificate(const prv_composed *composed, const prv_rounding *cells);

#endif
