/* The likelihood ratios of one of many batches, and a mechanism whose privacy loss is a multiple of them:
 * what a sum of ratios is composed by (averaged_step.h; PAIRS.md, section 10). */
#ifndef PRV_BATCH_LOSSES_H
#define PRV_BATCH_LOSSES_H

#include <stdbool.h>

#include "lattices/ratio_law.h"

/* The law of R of one batch under the null measure, on the safe side of `side`, with the ratios above `most`
 * moved there, or dropped. H_a of the average is that of these ratios and `excess`, the special measure's
 * mass that was left out. */
typedef struct prv_batch_ratios {
    size_t length;
    double *r, *mass; /* [length], increasing */
    double most;
    double excess; /* on the safe side, too */
    double deviation;
} prv_batch_ratios;

/* `deviation` is left to the caller. PRV_ERR_MEMORY. */
prv_status prv_batch_ratios_of(const prv_ratio_law *law, const prv_ratio_side *side,
                               prv_batch_ratios *ratios);
void prv_batch_ratios_free(prv_batch_ratios *ratios);

/* The deviation of min(R, most), about. */
double prv_batch_deviation(const prv_batch_ratios *ratios, double most);

/* The least R above which E (R - r)_+ is this at most, about; 0 if it is less in all. */
double prv_batch_excess_point(const prv_batch_ratios *ratios, double excess);

/* Cuts the ratios above `most`: their mass stays there, or is dropped from below in the direction 'add'. */
void prv_batch_cut(prv_batch_ratios *ratios, double most, const prv_ratio_side *side);

/* So many deviations away a sum has a probability below all roundings. */
#define PRV_BATCH_DEVIATIONS 9.0

/* P(S < low) at most, S the sum of n - 1 ratios. */
double prv_batch_probability_below(const prv_batch_ratios *ratios, double n, double low);

/* The losses scale (R - 1) + shift of n batches, or scale (1 - R) + shift in the direction 'add', as those of
 * a mechanism under its Q, whose P has the mass 1 at most. */
typedef struct prv_batch_losses {
    bool add;
    double n, scale, shift;
    prv_mechanism *mechanism; /* to be freed */
} prv_batch_losses;

/* PRV_ERR_MEMORY. */
prv_status prv_batch_losses_new(const prv_batch_ratios *ratios, const prv_ratio_side *side, double n,
                                double scale, prv_batch_losses *losses);

/* With x = scale (S - n) - start, or scale (n - S) - start: the delta E (1 - e^-x)_+ of the losses at which E
 * x_+ is certain to be `target` at most, at every start that is no less; 0 if there is none. By E x_+ <= (1 +
 * far / 2 + far^2 / 12) E (1 - e^-x)_+ + E (x; x > far), for the best `far`. `deviation`, of the sum of the
 * losses, tells where to look for it. */
double prv_batch_delta_above(const prv_batch_losses *losses, double target, double start, double deviation);

#endif
