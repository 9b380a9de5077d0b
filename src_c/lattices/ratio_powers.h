/* Laws of likelihood ratios combined with themselves many times, by doubling: products of equal factors and
 * averages over equal batches. Laws of few points stay lists as long as these are short. */
#ifndef PRV_RATIO_POWERS_H
#define PRV_RATIO_POWERS_H

#include "lattices/ratio_law.h"

/* The spacing that is this share of the deviation. */
double prv_fine_spacing(double share, double variance);

/* Puts a law of either form onto the lattice of this spacing with a point at 0. Statuses of
 * prv_ratio_mixture. */
prv_status prv_ratio_move_onto(prv_ratio_law *law, double spacing, const prv_ratio_side *side);

/* Takes `power` as the law of one factor and leaves the product of `count` of them times *product, if that is
 * not empty. Lists that grow too long are put onto lattices of this spacing. Statuses of prv_ratio_product;
 * PRV_ERR_ENGINE if a lattice had too many points. */
prv_status prv_ratio_multiply_powers(prv_ratio_law *power, uint64_t count, double spacing,
                                     const prv_ratio_side *side, prv_ratio_law *product);

/* Takes *law as the law of one batch, and replaces it by that of the average over `batches`. Spacings become
 * finer as deviations shrink: `share` of these. If an error is returned, *law is freed. Statuses of
 * prv_ratio_average; PRV_ERR_ENGINE as above. */
prv_status prv_ratio_average_batches(prv_ratio_law *law, uint64_t batches, double share,
                                     const prv_ratio_side *side);

#endif
