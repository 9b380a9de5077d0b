/* How many more runs of one mechanism a budget allows, after many other steps: those are summed once, at the
 * frequencies of one plan (growth.h), so that each number of runs that is tried costs one reading. */
#ifndef PRV_STEPS_LEFT_H
#define PRV_STEPS_LEFT_H

#include <stdbool.h>

#include "prvcore.h"

/* The budget, and what is to run after the steps. */
typedef struct prv_steps_left_question {
    const prv_step *steps; /* [step_count] of which the last is the mechanism that is to run, once */
    size_t step_count;
    double epsilon, delta; /* > 0 */
    double tolerance;      /* of prv_calibrate */
} prv_steps_left_question;

/* The most runs with which the upper bound is within the budget, and about what epsilon grows by there with
 * the logarithm of the runs; *found is false if this way cannot tell, as where few steps make it no faster
 * than prv_calibrate, no run fits, or rounding keeps bounds too wide. */
prv_status prv_steps_left_by_growth(const prv_steps_left_question *question, const prv_options *options,
                                    bool *found, uint64_t *left, double *slope);

#endif
