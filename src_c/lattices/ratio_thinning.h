/* Laws on a lattice that was made fine for where their mass lies, with fewer points farther out: the pairs of
 * points that an average visits are fewer by far if R is seldom large. */
#ifndef PRV_RATIO_THINNING_H
#define PRV_RATIO_THINNING_H

#include "lattices/ratio_law.h"
#include "lattices/ratio_stretches.h"

/* Moves masses far from log R = 0 to every second point, every fourth one, and so on up to
 * PRV_WIDEST_STRIDE (ratio_stretches.h): from above split with their mean kept, from below merged. `share` is
 * the spacing as a part of the deviation. Points everywhere may be `coarser` >= 1 times as far apart; if all
 * points with mass are then a stride apart, the lattice has that spacing. If an error is returned, the law is
 * as it was. O(length). PRV_ERR_MEMORY. */
prv_status prv_ratio_thin(const prv_ratio_side *side, double share, double coarser, prv_ratio_law *law);

/* How far apart points may lie whose log R is so far from 0, nats. No bound relies on it. */
double prv_ratio_thinned_spacing(double share, double from_zero);

/* Points of one law a stride apart, in a row. */
typedef struct prv_ratio_row {
    const double *mass;
    int64_t first; /* the number of the first one */
    size_t count;
} prv_ratio_row;

/* A stretch of a law as a row of this stride, which is no less than its own and so wide that points lie 1/2
 * nat apart at most if it is wider: masses between are split or merged as above, *shift is what means miss
 * their points by. Masses are written to `masses`, of prv_ratio_room_of_row numbers. PRV_ERR_MEMORY. */
prv_status prv_ratio_thin_stretch(const prv_ratio_side *side, const prv_ratio_law *law,
                                  const prv_ratio_stretch *stretch, size_t stride, double *masses,
                                  prv_ratio_row *row, double *shift);
size_t prv_ratio_room_of_row(const prv_ratio_stretch *stretch);

#endif
