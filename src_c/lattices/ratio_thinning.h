/* Laws on a lattice that was made fine for where their mass lies, with fewer points farther out: the pairs of
 * points that an average visits are fewer by far if R is seldom large. */
#ifndef PRV_RATIO_THINNING_H
#define PRV_RATIO_THINNING_H

#include "lattices/ratio_law.h"
#include "lattices/ratio_stretches.h"

/* Moves masses far from log R = 0 to every second point, every fourth one, and so on up to
 * PRV_WIDEST_STRIDE (ratio_stretches.h): from above split with their mean kept, from below merged. `share` is
 * the spacing as a part of the deviation. Points everywhere may be `coarser` >= 1 times as far apart; if all
 * points with mass are then a stride apart, the lattice has that spacing. Of a list from below that is not
 * short, points that lie so close become their mean; one from above is left as it is. If an error is
 * returned, the law is as it was. O(length). PRV_ERR_MEMORY. */
prv_status prv_ratio_thin(const prv_ratio_side *side, double share, double coarser, prv_ratio_law *law);

/* How far apart points may lie whose log R is so far from 0, nats. No bound relies on it. */
double prv_ratio_thinned_spacing(double share, double from_zero);

/* The points of a stretch, thinned as above to a stride no less than its own, at most 1/2 nat if it is
 * greater: *count of them, from number *first on, a multiple of the stride. Their masses are written to
 * `masses`, with room for those of the stretch and twice the stride; *shift is what merged means miss their
 * points by. PRV_ERR_MEMORY. */
prv_status prv_ratio_thin_stretch(const prv_ratio_side *side, const prv_ratio_law *law,
                                  const prv_ratio_stretch *stretch, size_t stride, double *masses,
                                  int64_t *first, size_t *count, double *shift);

#endif
