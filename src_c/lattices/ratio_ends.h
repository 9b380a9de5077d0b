/* The last step of every operation on laws of likelihood ratios: the ends are cut, and mass is moved to where
 * R = 0 or the loss is infinite until the law is one of the whole null measure again. */
#ifndef PRV_RATIO_ENDS_H
#define PRV_RATIO_ENDS_H

#include "lattices/ratio_law.h"

/* Cuts points so large that the special measure's masses there are not known: all that is left is finite. Of
 * a dominating law they move to an infinite loss ('remove'), which has at most the mass 1, or to the next
 * point below ('add'); of a dominated one they are dropped. O(length). */
void prv_ratio_cut_far_points(const prv_ratio_side *side, prv_ratio_law *law);

/* Points from `first` on, before `end`, are kept. */
typedef struct prv_ratio_kept {
    size_t first, end;
} prv_ratio_kept;

/* All points but, at either end, as many as have no more mass than may be lost there. O(length). */
prv_ratio_kept prv_ratio_choose_ends(const prv_ratio_law *law, const prv_ratio_side *side);

/* Cuts the ends of a law on a lattice by as much as `side` allows, and completes it. If memory runs out, the
 * law is as it was but for the masses at its ends. O(length). PRV_ERR_MEMORY. */
prv_status prv_ratio_close(const prv_ratio_side *side, prv_ratio_law *law);

/* Of a dominating law: mass beyond 1 is taken from the end of small losses, or what is missing is put there.
 * Of a dominated one, in the direction 'remove': what is not on points counts as R = 0. O(length). */
void prv_ratio_complete(const prv_ratio_side *side, prv_ratio_law *law);

/* Products of tiny masses may vanish: what a dominating law may miss at `count` points, `each` at most at a
 * point, is put at an infinite loss. */
void prv_ratio_allow_for_vanished(size_t count, double each, const prv_ratio_side *side, prv_ratio_law *law);

#endif
