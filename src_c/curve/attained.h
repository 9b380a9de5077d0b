/* What a lower bound is a bound of: pairs that two data sets really have, where the dominating pair is none
 * of them (PAIRS.md, section 8). */
#ifndef PRV_ATTAINED_H
#define PRV_ATTAINED_H

#include "curve/direction.h"

/* How far the pair of a composition is that of two data sets. */
typedef enum prv_attainment {
    PRV_ATTAINED,      /* the dominating pair is that of two data sets, once and composed */
    PRV_ATTAINED_EACH, /* each value of its curve is that of two data sets, others at others; which does not
                          compose */
    PRV_NOT_ATTAINED   /* its curve is above those of all data sets, as far as is known */
} prv_attainment;

/* Of a composition of steps with counts > 0, whichever pairs they stand for. */
prv_attainment prv_attainment_of(const prv_step *steps, size_t step_count, prv_neighbors neighbors);
prv_attainment prv_direction_attainment(const prv_direction *direction);

/* Takes an upper bound of the mechanism that is better than that of its pair, if it is. Unless the pair is
 * attained, the bound may lie below all that the pair has: then the pair's lower bound is none of the
 * mechanism, and goes down with the upper one until a bound from data sets takes its place (prv_answer). */
void prv_take_upper(const prv_direction *direction, double upper, prv_bounds *bounds);

/* Whether a step has a bounded range, of which the data sets that are worst at one question are not at
 * another. */
bool prv_has_range(const prv_direction *direction);

/* Whether the losses of attained pairs have atoms alone. */
bool prv_are_data_discrete(const prv_direction *direction);

/* Directions of attained pairs: in each, all steps have the laws of the same two data sets, with queries
 * chosen for them. A direction of PRV_REPLACE_ONE stands for both orders of the data sets, and becomes two
 * unless these are alike.
 *   lam      [count], the tilt of the question in directions[i], by which data sets are chosen
 *   offset   in [-1/2, 1/2]. The sum of few steps with two losses each lies on a coarse lattice, which
 *            moves by its period if the range moves by 1 / steps; `offset` moves the sum by this part of
 *            the period
 *   data     prv_directions_free frees it, whatever is returned */
prv_status prv_data_directions_new(const prv_direction *directions, size_t count, const prv_options *options,
                                   const double *lam, double offset, prv_directions *data);

#endif
