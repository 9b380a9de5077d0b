/* Averages, whose lattices may be too wide: simpler pairs bound them, too. */
#ifndef PRV_AVERAGE_ANSWER_H
#define PRV_AVERAGE_ANSWER_H

#include "curve/direction.h"

/* prv_answer_cheapest, but that where the pairs are averages and their bounds are wider than asked, those of
 * simpler pairs are taken that are closer. reports may be NULL. */
prv_status prv_answer_averages(prv_direction *directions, size_t direction_count, const prv_options *options,
                               prv_question question, const double *values, size_t length, prv_bounds *bounds,
                               prv_report *reports);

#endif
