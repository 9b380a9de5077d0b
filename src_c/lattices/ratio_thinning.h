/* Laws on a lattice that was made fine for where their mass lies, with fewer points farther out: the pairs of
 * points that an average visits are fewer by far if R is seldom large. */
#ifndef PRV_RATIO_THINNING_H
#define PRV_RATIO_THINNING_H

#include "lattices/ratio_law.h"

/* Moves masses far from log R = 0 to every second point, every fourth one, and so on up to
 * PRV_WIDEST_STRIDE (ratio_stretches.h): from above split with their mean kept, from below merged. `share` is
 * the spacing as a part of the deviation. Points everywhere may be `coarser` >= 1 times as far apart; if all
 * points with mass are then a stride apart, the lattice has that spacing. If an error is returned, the law is
 * as it was. O(length). PRV_ERR_MEMORY. */
prv_status prv_ratio_thin(const prv_ratio_side *side, double share, double coarser, prv_ratio_law *law);

#endif
