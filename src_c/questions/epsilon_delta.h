/* Epsilon at deltas and delta at epsilons, over directions that are made already. */
#ifndef PRV_EPSILON_DELTA_H
#define PRV_EPSILON_DELTA_H

#include "questions/kept_ranges.h"

/* PRV_OK, or what is wrong with the options or the values. */
prv_status prv_check_question(const prv_options *options, prv_question question, const double *values,
                              size_t length);

/* Bounds of epsilon at each delta, or of delta at each epsilon, over these directions: what they bound is the
 * worst case of the mechanisms over data sets, whether their dominating pairs are attained or not. Every
 * answer passes here. reports may be NULL. */
prv_status prv_answer(prv_direction *directions, size_t direction_count, const prv_options *options,
                      prv_question question, const double *values, size_t length, prv_bounds *bounds,
                      prv_report *reports);

/* The same, but that lower bounds and estimates are those of the pairs of the directions, whoever attains
 * them. */
prv_status prv_answer_pairs(prv_direction *directions, size_t direction_count, const prv_options *options,
                            prv_question question, const double *values, size_t length, prv_bounds *bounds,
                            prv_report *reports);

/* prv_answer of epsilons for one mechanism whose pairs are attained, by bracketing, with ranges of counts
 * that are kept: the same bits. */
prv_status prv_answer_kept(prv_direction *directions, size_t direction_count, prv_kept_ranges *kept,
                           const prv_options *options, const double *deltas, size_t length,
                           prv_bounds *bounds, prv_report *reports);

#endif
