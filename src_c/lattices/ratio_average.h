/* The average of two laws of likelihood ratios: the law of w R_1 + (1 - w) R_2, as of a record that takes
 * part in one of two groups of batches. */
#ifndef PRV_RATIO_AVERAGE_H
#define PRV_RATIO_AVERAGE_H

#include "lattices/ratio_law.h"

/* The law of w R_1 + (1 - w) R_2, w in [2^-64, 1/2], on a lattice that is `finer` times finer. Offsets and
 * spacings are equal. `share` is the spacing as a part of the deviation: beside points far from R = 1 that
 * lie farther apart others may as well; 0: all points stay. O(points of a times points of b). Errors:
 * PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, those of callbacks; PRV_ERR_PRECISION if the spacing is far less than
 * what places are known to. */
prv_status prv_ratio_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight, unsigned finer,
                             double share, const prv_ratio_side *side, prv_ratio_law *average);

/* Mass at R = 0 of one law up to which averages beside it need no place, but count as R = 0: from below, in
 * the direction 'remove', what is left out does; from above, in 'add', R = 0 is on the safe side. */
double prv_ratio_least_zero(const prv_ratio_side *side);

/* `zero` and `infinite` of the average. */
void prv_ratio_set_ends_of_average(const prv_ratio_law *a, const prv_ratio_law *b, double weight,
                                   const prv_ratio_side *side, prv_ratio_law *average);

#endif
