#include "questions/question.h"

#include <math.h>
#include <string.h>

#include "base/allocate.h"
#include "base/arithmetic.h"
#include "base/progress.h"
#include "mechanisms/support.h"
#include "lattices/lattice.h"
#include "questions/own_transforms.h"

static prv_status check_options(const prv_options *o)
{
    const prv_status arithmetic = prv_check_arithmetic();
    if (arithmetic != PRV_OK) return arithmetic;
    return prv_options_fault(o) == NULL ? PRV_OK : PRV_ERR_OPTIONS;
}

bool prv_is_decided(const prv_options *o, double lower, double upper)
{
    return o->threshold > 0.0 && (upper <= o->threshold || lower > o->threshold);
}

bool prv_is_engine_small(const prv_options *o)
{
    return o->engine == PRV_ENGINE_FIRST || o->engine == PRV_ENGINE_SMALL;
}

bool prv_is_engine_open(const prv_options *o)
{
    return o->engine == PRV_ENGINE_AUTO || prv_is_engine_small(o);
}

prv_options prv_without_small(const prv_options *options)
{
    prv_options whole = *options;
    if (prv_is_engine_small(options)) whole.engine = PRV_ENGINE_AUTO;
    return whole;
}

uint64_t prv_add_count(uint64_t total, uint64_t count)
{
    return total <= PRV_MOST_STEPS && count <= PRV_MOST_STEPS - total ? total + count : PRV_MOST_STEPS + 1;
}

size_t prv_place_of(const size_t *table, size_t size, const prv_step *distinct,
                    const prv_mechanism *mechanism)
{
    /* The middle bits of the product that ends a hash depend on all of it. */
    size_t place = (size_t)(prv_mechanism_hash(mechanism) >> 24) & (size - 1);
    while (table[place] != 0 && !prv_mechanism_equal(distinct[table[place] - 1].mechanism, mechanism))
        place = (place + 1) & (size - 1);
    return place;
}

prv_status prv_distinct_steps(const prv_step *steps, size_t step_count, prv_step *distinct, size_t *length)
{
    uint64_t total = 0;
    for (size_t j = 0; j < step_count; j++) total = prv_add_count(total, steps[j].count);
    if (total > PRV_MOST_STEPS) return PRV_ERR_COUNT;
    size_t size = 2, n = 0;
    while (size / 2 < step_count) size *= 2;
    size_t *table = prv_allocate(size, sizeof *table);
    if (table == NULL) return PRV_ERR_MEMORY;
    memset(table, 0, size * sizeof *table);
    for (size_t j = 0; j < step_count; j++) {
        if (steps[j].count == 0) continue;
        size_t *place = &table[prv_place_of(table, size, distinct, steps[j].mechanism)];
        if (*place > 0) {
            distinct[*place - 1].count += steps[j].count;
        } else {
            distinct[n++] = steps[j];
            *place = n;
        }
    }
    prv_release(table);
    *length = n;
    return PRV_OK;
}

size_t prv_distinct_directions(const prv_step *steps, size_t step_count, prv_neighbors neighbors,
                               bool adds[2])
{
    bool symmetric = true;
    for (size_t j = 0; j < step_count; j++) symmetric = symmetric && prv_is_symmetric(steps[j].mechanism);
    const bool remove = neighbors != PRV_ADD, add = neighbors == PRV_ADD || neighbors == PRV_ADD_OR_REMOVE;
    size_t n = 0;
    if (remove) adds[n++] = false;
    if (add && !(remove && symmetric)) adds[n++] = true;
    return n;
}

static prv_status directions_of(const prv_step *steps, size_t step_count, const prv_fineness *first,
                                const prv_options *options, prv_directions *directions)
{
    const prv_neighbors neighbors = options->neighbors;
    prv_status status = prv_check_steps(steps, step_count, neighbors);
    if (status != PRV_OK) return status;
    bool adds[2];
    const size_t count = prv_distinct_directions(steps, step_count, neighbors, adds);
    while (directions->count < count) {
        const size_t i = directions->count;
        status = prv_direction_new(steps, step_count, neighbors, adds[i], first, options,
                                   &directions->each[i]);
        if (status != PRV_OK) {
            prv_directions_free(directions);
            return status;
        }
        directions->count++;
    }
    return PRV_OK;
}

prv_status prv_directions_new(const prv_step *steps, size_t step_count, const prv_fineness *first,
                              const prv_options *options, prv_directions *directions)
{
    directions->count = 0;
    prv_step *distinct = prv_allocate(step_count, sizeof *distinct);
    if (distinct == NULL) return PRV_ERR_MEMORY;
    size_t length;
    prv_status status = prv_distinct_steps(steps, step_count, distinct, &length);
    if (status != PRV_OK) goto done;
    status = directions_of(distinct, length, first, options, directions);
done:
    prv_release(distinct);
    return status;
}

void prv_report_known(const prv_options *options, prv_report *report)
{
    memset(report, 0, sizeof *report);
    report->accurate = report->attained = 1;
    report->direction = options->neighbors;
}

prv_status prv_check_values(const prv_options *options, prv_check_value check, const double *values,
                            size_t length)
{
    const prv_status status = check_options(options);
    if (status != PRV_OK) return status;
    for (size_t i = 0; i < length; i++) {
        const prv_status broken = check(values[i]);
        if (broken != PRV_OK) return broken;
    }
    return PRV_OK;
}

static prv_status check_delta(double delta)
{
    return delta >= 0.0 && delta <= 1.0 ? PRV_OK : PRV_ERR_DELTA;
}

static prv_status check_epsilon(double epsilon)
{
    return isnan(epsilon) ? PRV_ERR_EPSILON : PRV_OK;
}

prv_status prv_check_question(const prv_options *options, prv_question question, const double *values,
                              size_t length)
{
    return prv_check_values(options, question == PRV_ASK_EPSILON ? check_delta : check_epsilon, values,
                            length);
}

bool prv_answer_by_totals(const prv_direction *directions, size_t count, prv_question question, double value,
                          prv_bounds *b)
{
    const prv_totals *totals[2] = {NULL, NULL};
    for (size_t i = 0; i < count; i++) totals[i] = &directions[i].all;
    return prv_gate_direct(totals, count, question, value, b);
}

prv_status prv_answer_each(const prv_options *options, size_t length, prv_answer_one answer, void *context,
                           prv_bounds *bounds, prv_report *reports)
{
    prv_layer layer;
    options = prv_layer_over(&layer, PRV_KNOWS_QUESTIONS, options);
    layer.now.questions = length;
    for (size_t i = 0; i < length; i++) {
        prv_report report = {0};
        layer.now.question = i;
        prv_status status = prv_check_interrupt(options);
        if (status != PRV_OK) return status;
        status = answer(context, options, i, &bounds[i], &report);
        if (status == PRV_ERR_MEMORY_LIMIT && reports != NULL) reports[0].memory = report.memory;
        if (status != PRV_OK) return status;
        if (reports != NULL) reports[i] = report;
    }
    return PRV_OK;
}

/* The context that prv_ask_each passes to prv_answer_each. */
typedef struct asking {
    const prv_query *query;
    prv_directions directions;
    const double *values;
} asking;

static prv_status answer_query(void *context, const prv_options *options, size_t i, prv_bounds *bounds,
                               prv_report *report)
{
    asking *a = context;
    return a->query->answer(&a->directions, options, a->values[i], bounds, report);
}

prv_status prv_ask_each(const prv_query *query, const prv_step *steps, size_t step_count,
                        const prv_options *options, const double *values, size_t length, prv_bounds *bounds,
                        prv_report *reports)
{
    asking a = {.query = query, .values = values};
    if (options->threshold > 0.0) return PRV_ERR_OPTIONS; /* of epsilons and deltas alone */
    prv_status status = prv_check_values(options, query->check, values, length);
    if (status != PRV_OK) return status;
    prv_own_transforms own;
    status = prv_own_transforms_begin(&own, options, &options);
    if (status != PRV_OK) return status;
    status = prv_directions_new(steps, step_count, NULL, options, &a.directions);
    if (status != PRV_OK) goto done;
    status = prv_answer_each(options, length, answer_query, &a, bounds, reports);
    prv_directions_free(&a.directions);
done:
    prv_own_transforms_end(&own);
    return status;
}
