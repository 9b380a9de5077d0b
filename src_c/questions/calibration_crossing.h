/* Where the level crosses its target, about: a secant on estimates between coarse bounds. Nothing is proven
 * here. */
#ifndef PRV_CALIBRATION_CROSSING_H
#define PRV_CALIBRATION_CROSSING_H

#include "questions/calibration_search.h"

/* The crossing as far as it is known. */
typedef struct prv_crossing {
    prv_calibration_point above, within; /* nearest points with an estimate above the target, and not above */
    bool has_above, has_within;
    prv_calibration_point recent, before; /* points that a secant can be drawn through, `recent` the last */
    int usable;                           /* how many of these there are */
    double position;                      /* where it is thought to be */
    double slope;                         /* -d level / d position there; 0 if unknown */
} prv_crossing;

/* Statuses of prv_epsilon. */
prv_status prv_find_crossing(prv_calibration_search *search, prv_crossing *crossing);

/* The width of fine bounds near the crossing, of the level: of what lies between the crossing and the ends of
 * the tolerance around it, the most that leaves room for the place of the crossing, which is only estimated.
 */
double prv_fine_width(const prv_calibration_search *search, const prv_crossing *crossing);

#endif
