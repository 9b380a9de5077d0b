/* The curve of an untilted convolution at many epsilons: both sums of curve.h at each of its points.
 *
 * Mean-matching asks one composition all its values, so D and B are computed once for all points, instead of
 * from marks as curve.c does. */
#ifndef PRV_UNTILTED_H
#define PRV_UNTILTED_H

#include "composition/composed.h"

/* At each point of the window, D and B without a tilt. D falls with the loss; rounding of the transforms
 * makes it wavy, so its greatest value from the top down is kept: that is as close to the true D, since the
 * true one falls. */
typedef struct prv_untilted_curve {
    const prv_composed *composed;
    size_t bottom;   /* lowest point that was looked at */
    double *sums;    /* [length] D, by point */
    double *reverse; /* [length] B, by position on the circle: in place of the masses */
} prv_untilted_curve;

/* Of a convolution with tilt 0, down to the loss `floor`. Takes its masses: they become `reverse`; sums has
 * room for composed->length. Nothing is to be freed. O(length). */
prv_untilted_curve prv_untilted_curve_of(const prv_composed *composed, double floor, double *sums);

/* delta of the finite losses at an epsilon above the floor; *slope is minus its derivative. O(1). */
double prv_untilted_delta(const prv_untilted_curve *curve, double epsilon, double *slope);

/* The greatest epsilon at which that delta is `level`: infinite if it is above `level` everywhere, and any
 * number below the floor if it lies there. O(log length). */
double prv_untilted_epsilon(const prv_untilted_curve *curve, double level);

#endif
