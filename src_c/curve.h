/* Stage 4: delta and epsilon of a composed, tilted loss.
 *
 *     delta~(eps) = M e^(-lam eps) sum_{x > eps} c(x) e^(-lam (x - eps)) (1 - e^(-(x - eps)))
 *                   + 1 - prod (1 - y(inf))^k
 *
 * The sums are taken from the largest loss down, in wide precision, as positive recurrences: with
 *     B_i = sum_{x >= x_i} c(x) e^(-(lam + 1)(x - x_i)),   D_i = sum_{x >= x_i} c(x) e^(-lam (x - x_i)) (1 - e^(-(x - x_i)))
 *     D_i = e^(-lam h) (D_{i+1} + (1 - e^(-h)) B_{i+1}),   B_i = c(x_i) + e^(-(lam + 1) h) B_{i+1},
 * nothing cancels. Between lattice points delta~ is linear in e^eps, so crossings have closed forms. */
#ifndef PRV_CURVE_H
#define PRV_CURVE_H

#include "convolution.h"

/* What is added to (dominating) or subtracted from (dominated) the finite part of delta~, in units of
 * M e^(-lam eps), and how far epsilon itself and delta relatively may be off: see certificate.h. */
typedef struct prv_slack {
    double additive, relative, shift;
} prv_slack;

typedef struct prv_value {
    double delta; /* with the slack of the side asked */
    double plain; /* without any slack */
    double slope; /* -d log(finite part) / d eps, of plain */
    double scale; /* M e^(-lam eps) */
} prv_value;

/* side > 0: an upper bound, side < 0: a lower bound, both clipped to [0, 1]. epsilon finite. */
prv_value prv_curve_delta(const prv_composed *composed, double epsilon, int side,
                          const prv_slack *slack);

typedef struct prv_inverse {
    double epsilon;  /* bound of the side asked; >= 0, may be infinite */
    double plain;    /* crossing without slack */
    double additive; /* crossing with the additive slack alone, before shift and relative slack */
    double slope;    /* -d log(finite part of delta) / d eps at the plain crossing; 0 if there is none */
    int resolved;    /* 0: the slack, or the window, hid the crossing, and epsilon is a weak bound */
} prv_inverse;

/* The epsilon at which the curve reaches delta > 0, searched from the top of the window down, where
 * the slack is smallest. */
prv_inverse prv_curve_epsilon(const prv_composed *composed, double delta, int side,
                              const prv_slack *slack);

#endif
