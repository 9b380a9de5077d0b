/* Stage 4: delta and epsilon of a composed, tilted loss.
 *
 *     delta~(eps) = M e^(-lam eps) sum_{x > eps} c(x) e^(-lam (x - eps)) (1 - e^(-(x - eps)))
 *                   + 1 - prod (1 - y(inf))^k
 *
 * With x_i the lattice point next above eps, v = eps - x_i and
 *
 *     B_i = sum_{x >= x_i} c(x) e^(-(lam + 1) (x - x_i)),
 *     D_i = sum_{x >= x_i} c(x) e^(-lam (x - x_i)) (1 - e^(-(x - x_i))),
 *
 * the finite part of delta~ is M e^(-lam x_i) (D_i - B_i expm1(v)): nothing cancels. A spectrum gives D and B
 * by its sums; the masses of a convolution give them by recurrences from the largest loss down, in wide
 * precision:
 *
 *     D_i = e^(-lam h) (D_{i+1} + (1 - e^(-h)) B_{i+1}),
 *     B_i = c(x_i) + e^(-(lam + 1) h) B_{i+1}. */
#ifndef PRV_CURVE_H
#define PRV_CURVE_H

#include "composition/composed.h"

/* The errors of a curve: certificate.h. `additive`, `images` and `bulk` are in units of M e^(-lam eps). */
typedef struct prv_slack {
    double additive; /* added to the finite part of delta~ on the dominating side, subtracted on the dominated
                        one */
    double relative; /* delta may have the factor 1 + relative */
    double shift;    /* of epsilon, nats */
    bool imaged;     /* lower bounds exist for epsilons between low and high alone */
    double low, high;
    double images; /* if imaged: subtracted from lower bounds, beside `additive` */
    bool apart;    /* upper bounds exist for epsilons from bulk_low on alone */
    double bulk_low;
    double bulk; /* if apart: added to upper bounds, beside `additive` */
} prv_slack;

typedef struct prv_value {
    double delta; /* with the slack of the side asked */
    double plain; /* without any slack */
    double slope; /* -d log(finite part) / d eps, of plain */
    double scale; /* M e^(-lam eps) */
} prv_value;

/* An upper bound of a composition of dominating lattices, a lower one of dominated lattices, both clipped to
 * [0, 1]. epsilon finite. */
prv_value prv_curve_delta(const prv_composed *composed, double epsilon, prv_side side,
                          const prv_slack *slack);

typedef struct prv_inverse {
    double epsilon;  /* bound of the side asked; >= 0, may be infinite */
    double plain;    /* crossing without slack */
    double slope;    /* -d log(finite part of delta) / d eps at the plain crossing; 0 if there is none */
    double additive; /* part of the distance between both that the additive slack takes, about */
    bool resolved;   /* if false, the slack hid the crossing, and epsilon is a weak bound */
} prv_inverse;

/* The epsilon at which the curve reaches delta > 0: Newton's method on log delta from `guess`, kept in a
 * bracket. The bound returned is a point at which the curve with its slack was found on the right side of
 * delta, so that it holds however the search went. */
prv_inverse prv_curve_epsilon(const prv_composed *composed, double delta, prv_side side,
                              const prv_slack *slack, double guess);

#endif
