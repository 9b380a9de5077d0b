/* The worst case of a quantity that grows as privacy falls: the greatest over the directions, and over data
 * sets if no two data sets have the pairs of the directions. */
#ifndef PRV_WORST_CASE_H
#define PRV_WORST_CASE_H

#include <stdbool.h>

#include "curve/attained.h"

/* Puts the greater of both in each place of *worst; *report is that of the greater upper bound. The first of
 * all replaces what is there. */
void prv_take_worse(bool is_first, const prv_bounds *bounds, const prv_report *bounds_report,
                    prv_bounds *worst, prv_report *report);

/* Bounds of a quantity of the pair of one direction, asked about `value`, and how they came about. *report is
 * 0 before; on PRV_ERR_MEMORY_LIMIT its `memory` is what is needed. */
typedef prv_status (*prv_answer_direction)(prv_direction *direction, const prv_options *options, double value,
                                           prv_bounds *bounds, prv_report *report);

/* A quantity between `least` and `greatest`, and the tilts of its question by which data sets are chosen, if
 * a step has a choice of them (prv_has_range); else tilts[0] serves. */
typedef struct prv_quantity {
    prv_answer_direction answer;
    double least, greatest;
    const double *tilts; /* [tilt_count], at least one */
    size_t tilt_count;
} prv_quantity;

/* The worst case at `value`: the upper bound and the estimate are those of the pairs of the directions; so is
 * the lower one if two data sets have these pairs, else it is the greatest of data sets. Statuses of
 * `answer`, PRV_ERR_MEMORY, PRV_ERR_INTERRUPTED, PRV_ERR_BOUNDS. */
prv_status prv_worst_case(const prv_quantity *quantity, prv_directions *directions,
                          const prv_options *options, double value, prv_bounds *bounds, prv_report *report);

#endif
