/* The truncation L of the paper's Theorem 5.5: how far losses reach that are not negligible. */
#ifndef PRV_TRUNCATION_H
#define PRV_TRUNCATION_H

#include "curve/direction.h"

/* An upper bound (nats) of
 *     2 + max(eps_error + eps(delta_error / 4), max_i eps_i(delta_error / (8 k))),
 * with eps the curve of the finite losses of all k steps and eps_i that of step i, and of the same with the
 * lower tails in place of the curves. HUGE_VAL if the profiles do not tell. O(cells). */
double prv_truncation(const prv_direction *direction, double eps_error, double delta_error);

#endif
