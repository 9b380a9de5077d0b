/* One question to a composition, put the same way to both discretizations. */
#ifndef PRV_QUESTION_H
#define PRV_QUESTION_H

#include "base/progress.h"
#include "curve/attained.h"
#include "planning/layout.h"

/* The caller's transforms of this length; PRV_ERR_FFT if there are none. */
prv_status prv_plan_fft(const prv_options *options, size_t length, prv_fft *fft);

/* PRV_OK or PRV_ERR_OPTIONS. */
prv_status prv_check_options(const prv_options *options);

#define PRV_MOST_STEPS (UINT64_C(1) << 53)

/* The sum, or PRV_MOST_STEPS + 1 where it is above PRV_MOST_STEPS. */
uint64_t prv_add_count(uint64_t total, uint64_t count);

/* PRV_OK, or what is wrong with the options or the values. */
prv_status prv_check_question(const prv_options *options, prv_question question, const double *values,
                              size_t length);

/* The steps that do something, each mechanism once, into distinct[step_count]; *length of them. PRV_ERR_COUNT
 * where they are more than PRV_MOST_STEPS together. O(step_count). */
prv_status prv_distinct_steps(const prv_step *steps, size_t step_count, prv_step *distinct, size_t *length);

/* The directions that have to be looked at, 1 or 2: one, where all mechanisms are symmetric. adds[] gets 0
 * for remove (or replace-one), 1 for add. */
size_t prv_distinct_directions(const prv_step *steps, size_t step_count, prv_neighbors neighbors,
                               int adds[2]);

/* Makes them of the distinct steps; nothing is left to be freed unless PRV_OK is returned. */
prv_status prv_directions_new(const prv_step *steps, size_t step_count, const prv_options *options,
                              prv_directions *directions);

/* The report of an answer that took no composition. */
void prv_report_known(const prv_options *options, prv_report *report);

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

/* Bracketing: directions are the directions asked (1 or 2). `value` is a delta in (m_inf, 1), or a finite
 * epsilon below the greatest loss. bracketing.c */
prv_status prv_bracket(prv_direction *directions, size_t direction_count, const prv_options *options,
                       prv_question question, double value, prv_bounds *bounds, prv_report *report);

/* Mean-matching: one composition a direction answers all values. mean_matching.c */
prv_status prv_mean_matching(prv_direction *directions, size_t direction_count, const prv_options *options,
                             prv_question question, const double *values, size_t length, prv_bounds *bounds,
                             prv_report *reports);

#endif
