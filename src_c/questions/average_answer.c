#include "questions/average_answer.h"

#include <math.h>

#include "base/allocate.h"
#include "planning/aim.h"
#include "questions/cheapest_answer.h"
#include "questions/question.h"
#include "questions/simpler_pairs.h"

/* Takes what simpler pairs say of one value, from above or from below. */
static prv_status take_simpler_bound(prv_simpler_pairs *simpler, bool above, const prv_options *options,
                                     prv_question question, double value, prv_bounds *b)
{
    prv_bounds found;
    const prv_options whole = prv_without_small(options);
    const prv_status status = prv_answer_cheapest(simpler->directions.each, simpler->directions.count, &whole,
                                                  question, &value, 1, &found, NULL);
    if (prv_is_too_fine(status)) return PRV_OK; /* the bounds found before hold */
    if (status != PRV_OK) return status;
    if (above)
        b->upper = fmin(b->upper, found.upper);
    else
        b->lower = fmax(b->lower, found.lower);
    return PRV_OK;
}

/* The report of bounds that simpler pairs have made closer, if they have. */
static void tell_of_simpler(const prv_options *options, prv_question question, const prv_bounds *before,
                            prv_bounds *b, prv_report *r)
{
    if (b->upper == before->upper && b->lower == before->lower) return;
    if (!(b->estimate >= b->lower && b->estimate <= b->upper)) b->estimate = 0.5 * (b->lower + b->upper);
    if (question == PRV_ASK_EPSILON) {
        r->width = b->upper > b->lower ? b->upper - b->lower : 0.0;
        r->accurate = r->width <= prv_width_asked(options, b->lower);
    } else {
        r->accurate = prv_is_relatively_close(options, question, b->lower, b->upper);
    }
    r->accurate = r->accurate || prv_is_decided(options, b->lower, b->upper);
    /* If small passes were too few, larger ones would have given other bits. */
    if (r->accurate && !prv_is_engine_small(options)) r->limit = PRV_LIMIT_NONE;
    r->discretization = r->width;
    r->truncation = r->wrap_around = r->rounding = 0.0;
}

/* Where bounds of averages are wider than asked, those of simpler pairs may be closer. */
static prv_status take_simpler_pairs(const prv_direction *directions, size_t direction_count,
                                     const prv_options *options, prv_question question, const double *values,
                                     size_t length, prv_bounds *bounds, prv_report *reports)
{
    bool any = false;
    for (size_t i = 0; i < length; i++) any = any || !reports[i].accurate;
    if (!any || options->mesh_size > 0.0) return PRV_OK;
    prv_simpler_pairs simpler[2];
    prv_status status = prv_simpler_pairs_new(directions, direction_count, true, options, &simpler[1]);
    const prv_status below = prv_simpler_pairs_new(directions, direction_count, false, options, &simpler[0]);
    if (status == PRV_OK) status = below;
    for (size_t i = 0; i < length && status == PRV_OK; i++) {
        const prv_bounds before = bounds[i];
        if (reports[i].accurate) continue;
        for (int above = 0; above < 2 && status == PRV_OK; above++)
            status = take_simpler_bound(&simpler[above], above == 1, options, question, values[i],
                                        &bounds[i]);
        if (status != PRV_OK) break;
        tell_of_simpler(options, question, &before, &bounds[i], &reports[i]);
        status = prv_gate_range(0.0, question == PRV_ASK_EPSILON ? HUGE_VAL : 1.0, &bounds[i]);
    }
    prv_simpler_pairs_free(&simpler[0]);
    prv_simpler_pairs_free(&simpler[1]);
    const bool none = status == PRV_ERR_COUNT || status == PRV_ERR_SAMPLING_PROBABILITY ||
                      prv_is_too_fine(status);
    return none ? PRV_OK : status;
}

prv_status prv_answer_averages(prv_direction *directions, size_t direction_count, const prv_options *options,
                               prv_question question, const double *values, size_t length, prv_bounds *bounds,
                               prv_report *reports)
{
    if (!prv_have_averages(&directions[0]))
        return prv_answer_cheapest(directions, direction_count, options, question, values, length, bounds,
                                   reports);
    prv_report *own = reports == NULL ? prv_allocate(length, sizeof *own) : NULL;
    if (reports == NULL && own == NULL) return PRV_ERR_MEMORY;
    if (reports == NULL) reports = own;
    prv_status status = prv_answer_cheapest(directions, direction_count, options, question, values, length,
                                            bounds, reports);
    if (status == PRV_OK)
        status = take_simpler_pairs(directions, direction_count, options, question, values, length, bounds,
                                    reports);
    prv_release(own);
    return status;
}
