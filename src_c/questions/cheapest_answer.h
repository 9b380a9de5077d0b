/* Bounds of the pairs of directions, by the cheapest way that brings them as close as asked: the totals, a
 * closed form, inequalities, the laws of a single combined mechanism, a range of counts, lattices. */
#ifndef PRV_CHEAPEST_ANSWER_H
#define PRV_CHEAPEST_ANSWER_H

#include "questions/kept_ranges.h"

/* Bounds of epsilon at each delta, or of delta at each epsilon, of the pairs of these directions, whoever
 * attains them. reports may be NULL. */
prv_status prv_answer_cheapest(prv_direction *directions, size_t direction_count, const prv_options *options,
                               prv_question question, const double *values, size_t length, prv_bounds *bounds,
                               prv_report *reports);

/* prv_answer of epsilons for one mechanism whose pairs are attained, by bracketing, with ranges of counts
 * that are kept: the same bits. */
prv_status prv_answer_kept(prv_direction *directions, size_t direction_count, prv_kept_ranges *kept,
                           const prv_options *options, const double *deltas, size_t length,
                           prv_bounds *bounds, prv_report *reports);

#endif
