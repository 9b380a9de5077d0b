#include "questions/epsilon_delta.h"

#include <math.h>

#include "base/allocate.h"
#include "base/progress.h"
#include "curve/attained.h"
#include "questions/data_bounds.h"
#include "questions/enclosed_step.h"
#include "questions/own_transforms.h"
#include "questions/pair_answer.h"
#include "questions/question.h"

/* Puts a lower bound from data sets in place of that of a pair that none have, through the gate. The width of
 * a delta is by the slope that the pair's bounds tell. */
static prv_status put_lower(prv_question question, double infinite, double lower, prv_bounds *b,
                            prv_report *r)
{
    const double pair = b->lower, before = r->width;
    b->lower = lower;
    const prv_status status = prv_gate_range(0.0, question == PRV_ASK_EPSILON ? HUGE_VAL : 1.0, b);
    r->attained = 0;
    if (question == PRV_ASK_EPSILON) {
        r->width = b->upper > b->lower ? b->upper - b->lower : 0.0;
    } else if (b->upper > b->lower) {
        const double high = b->upper - infinite, of_pair = pair - infinite, low = b->lower - infinite;
        const double slope = of_pair > 0.0 && before > 0.0 ? log(high / of_pair) / before : 0.0;
        r->width = low > 0.0 && slope > 0.0 ? log(high / low) / slope : HUGE_VAL;
    }
    r->unattained = fmax(r->width - before, 0.0);
    return status;
}

prv_status prv_answer(prv_direction *directions, size_t direction_count, const prv_options *options,
                      prv_question question, const double *values, size_t length, prv_bounds *bounds,
                      prv_report *reports)
{
    if (prv_direction_attainment(&directions[0]) != PRV_NOT_ATTAINED)
        return prv_answer_pairs(directions, direction_count, options, question, values, length, bounds,
                                reports);
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_PARTS, options);
    layer.now.questions = 2;
    double *lower = prv_allocate(length, sizeof *lower), infinite = 0.0;
    if (lower == NULL) return PRV_ERR_MEMORY;
    prv_status status = prv_answer_pairs(directions, direction_count, options, question, values, length,
                                         bounds, reports);
    if (status != PRV_OK) goto done;
    layer.now.question = 1;
    for (size_t i = 0; i < length; i++) lower[i] = 0.0;
    status = prv_raise_by_data(directions, direction_count, options, question, values, length, bounds, lower);
    if (status != PRV_OK) goto done;
    for (size_t v = 0; v < direction_count; v++) infinite = fmax(infinite, directions[v].all.infinite.mass);
    for (size_t i = 0; i < length; i++) {
        prv_report unwanted = {0}, *report = reports != NULL ? &reports[i] : &unwanted;
        status = put_lower(question, infinite, lower[i], &bounds[i], report);
        if (status != PRV_OK) goto done;
    }
done:
    prv_release(lower);
    return status;
}

static prv_status ask(const prv_step *steps, size_t step_count, const prv_options *options,
                      prv_question question, const double *values, size_t length, prv_bounds *bounds,
                      prv_report *reports)
{
    prv_directions directions;
    prv_status status = prv_check_question(options, question, values, length);
    if (status != PRV_OK) return status;
    prv_own_transforms own;
    status = prv_own_transforms_begin(&own, options, &options);
    if (status != PRV_OK) return status;
    const prv_fineness first = length > 0 ? prv_first_fineness(steps, step_count, question, values[0])
                                          : PRV_COARSE_FINENESS;
    status = prv_directions_new(steps, step_count, &first, options, &directions);
    if (status != PRV_OK) goto done;
    status = prv_answer(directions.each, directions.count, options, question, values, length, bounds,
                        reports);
    prv_directions_free(&directions);
done:
    prv_own_transforms_end(&own);
    return status;
}

prv_status prv_epsilon(const prv_step *steps, size_t step_count, const prv_options *options,
                       const double *deltas, size_t length, prv_bounds *bounds, prv_report *reports)
{
    return ask(steps, step_count, options, PRV_ASK_EPSILON, deltas, length, bounds, reports);
}

prv_status prv_delta(const prv_step *steps, size_t step_count, const prv_options *options,
                     const double *epsilons, size_t length, prv_bounds *bounds, prv_report *reports)
{
    return ask(steps, step_count, options, PRV_ASK_DELTA, epsilons, length, bounds, reports);
}
