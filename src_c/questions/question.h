/* What all questions to a composition share: checks, its distinct steps, its directions, and the loop over
 * the values asked. */
#ifndef PRV_QUESTION_H
#define PRV_QUESTION_H

#include <stdbool.h>

#include "curve/direction.h"

/* Whether bounds tell on which side of options->threshold the answer lies; false if that was not asked. */
bool prv_is_decided(const prv_options *options, double lower, double upper);

/* Whether the engine is chosen by what is asked. */
bool prv_is_engine_open(const prv_options *options);
/* If so, whether it makes small passes only: PRV_ENGINE_SMALL, PRV_ENGINE_FIRST. */
bool prv_is_engine_small(const prv_options *options);
/* Options of a question whose report nobody sees, so that it could not tell that small passes were too few:
 * its bounds are to have the bits of PRV_ENGINE_AUTO. */
prv_options prv_without_small(const prv_options *options);

/* The sum, or PRV_MOST_STEPS + 1 if it is above PRV_MOST_STEPS. */
uint64_t prv_add_count(uint64_t total, uint64_t count);

/* The place of a mechanism in a hash table of distinct steps: where an equal one is, or an empty place.
 * Entries of table[size], size a power of two, are positions in distinct[], from 1, or 0; some must be 0. */
size_t prv_place_of(const size_t *table, size_t size, const prv_step *distinct,
                    const prv_mechanism *mechanism);

/* Puts the steps of counts above 0 into distinct[step_count], equal mechanisms once; *length gets their
 * number. PRV_ERR_COUNT if the counts add up to more than PRV_MOST_STEPS. O(step_count). */
prv_status prv_distinct_steps(const prv_step *steps, size_t step_count, prv_step *distinct, size_t *length);

/* The number of directions that matter, 1 or 2: one if all mechanisms are symmetric. adds[] gets
 * false for remove (or replace-one), true for add. */
size_t prv_distinct_directions(const prv_step *steps, size_t step_count, prv_neighbors neighbors,
                               bool adds[2]);

/* Makes the directions of the distinct steps, with combined mechanisms as finely as `first` says, or coarsely
 * if it is NULL; nothing is left to be freed unless PRV_OK is returned. */
prv_status prv_directions_new(const prv_step *steps, size_t step_count, const prv_fineness *first,
                              const prv_options *options, prv_directions *directions);

/* The report of an answer that took no composition. */
void prv_report_known(const prv_options *options, prv_report *report);

/* PRV_OK, or the rule that a value breaks. */
typedef prv_status (*prv_check_value)(double value);

/* PRV_OK, or what is wrong with the options or with one of the values. */
prv_status prv_check_values(const prv_options *options, prv_check_value check, const double *values,
                            size_t length);

/* The same of a question for epsilon or delta. */
prv_status prv_check_question(const prv_options *options, prv_question question, const double *values,
                              size_t length);

/* Answers epsilon at the delta `value`, or delta at the epsilon `value`, by the totals of all directions,
 * through the gate; true if they suffice. */
bool prv_answer_by_totals(const prv_direction *directions, size_t count, prv_question question, double value,
                          prv_bounds *b);

/* Bounds at value number i, and how they came about. *report is 0 before; on PRV_ERR_MEMORY_LIMIT its
 * `memory` is what is needed. */
typedef prv_status (*prv_answer_one)(void *context, const prv_options *options, size_t i, prv_bounds *bounds,
                                     prv_report *report);

/* The loop over values of every question: `answer` gets `context`, and options by which progress tells the
 * number of the value. Stops at the first failure. reports may be NULL. */
prv_status prv_answer_each(const prv_options *options, size_t length, prv_answer_one answer, void *context,
                           prv_bounds *bounds, prv_report *reports);

/* A public query whose values are answered one by one, over the directions of the composition. */
typedef struct prv_query {
    prv_check_value check;
    prv_status (*answer)(prv_directions *directions, const prv_options *options, double value,
                         prv_bounds *bounds, prv_report *report);
} prv_query;

/* Checks, makes the directions, answers each value, and frees what it made. reports may be NULL. */
prv_status prv_ask_each(const prv_query *query, const prv_step *steps, size_t step_count,
                        const prv_options *options, const double *values, size_t length, prv_bounds *bounds,
                        prv_report *reports);

#endif
