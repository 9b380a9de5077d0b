#include "questions/pair_answer.h"

#include <math.h>
#include <stdbool.h>

#include "curve/attained.h"
#include "curve/chernoff.h"
#include "questions/average_answer.h"

double prv_most_of_all_ranges(prv_direction *directions, size_t direction_count, prv_question question,
                              double value, double *lam)
{
    double most = 0.0;
    for (size_t v = 0; v < direction_count; v++)
        most = fmax(most, prv_most_of_ranges(&directions[v], question, value, &lam[v]));
    return most;
}

/* Takes an upper bound of bounded ranges if it is better than that of the pair. The parts of the width shrink
 * with it. */
static void put_upper(const prv_direction *direction, prv_question question, double upper, prv_bounds *b,
                      prv_report *r)
{
    if (!(upper < b->upper)) return;
    const double low = b->lower, before = b->upper;
    prv_take_upper(direction, upper, b);
    b->estimate = fmin(b->estimate, upper);
    double part = 0.0;
    if (upper > low && question == PRV_ASK_EPSILON)
        part = isfinite(before) ? (upper - low) / (before - low) : 1.0;
    else if (upper > low)
        part = low > 0.0 ? log(upper / low) / log(before / low) : 1.0;
    r->width *= part;
    r->discretization *= part;
    r->truncation *= part;
    r->wrap_around *= part;
    r->rounding *= part;
}

prv_status prv_answer_pairs(prv_direction *directions, size_t direction_count, const prv_options *options,
                            prv_question question, const double *values, size_t length, prv_bounds *bounds,
                            prv_report *reports)
{
    const prv_status status = prv_answer_averages(directions, direction_count, options, question, values,
                                                  length, bounds, reports);
    if (status != PRV_OK) return status;
    const bool ranges = prv_direction_attainment(&directions[0]) == PRV_NOT_ATTAINED &&
                        prv_has_range(&directions[0]);
    for (size_t i = 0; i < length; i++) {
        double lam[2];
        prv_report unwanted = {0}, *report = reports != NULL ? &reports[i] : &unwanted;
        report->attained = 1;
        if (ranges)
            put_upper(&directions[0], question,
                      prv_most_of_all_ranges(directions, direction_count, question, values[i], lam),
                      &bounds[i], report);
    }
    return PRV_OK;
}
